"""Implements `rebuno policy test --agent`: the kernel tests the bundle with its own layers and recorded steps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rebuno.errors import ValidationError
from rebuno_cli import connection

if TYPE_CHECKING:
    from rebuno.policy import Case
    from rebuno.types import Tested
    from rebuno_cli.backend import Backend


def test(path: str, agent: str, executions: Sequence[str], db: str | None, url: str | None, *, as_json: bool) -> int:
    """Asks the bundle at `path`, as if it were the agent's, about the cases beside it and the recorded steps of
    `executions`; the exit code.

    Raises:
        BundleError: the bundle or its cases have errors.
    """
    from rebuno.policy import find_bundles, inline_bundle, read_cases, read_source
    from rebuno_cli.render import tested
    from rebuno_cli.render.show import show

    suites = find_bundles([path])
    if len(suites) != 1:
        raise ValidationError(f"`{path}` holds {len(suites)} bundles; name the one to ask")
    suite = suites[0]
    cases = [_said(case) for case in read_cases(read_source(suite.cases)).cases] if suite.cases is not None else []
    text = inline_bundle(suite.path)

    async def ask(backend: "Backend") -> "Tested":
        return await backend.test_policy(agent, bundle=text, cases=cases, execution_ids=executions)

    result = connection.work(db, url, ask)
    show(as_json, lambda: tested.tested_json(result), lambda: tested.tested(result))
    return int(bool(result.failed))


def _said(case: "Case") -> dict[str, Any]:
    said = {"name": case.name, **case.submission.to_json()}
    if case.expect is not None:
        said["expect"] = case.expect.value
    if case.expect_rule is not None:
        said["expect_rule"] = case.expect_rule
    return said
