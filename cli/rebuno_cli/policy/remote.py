"""Implements `rebuno policy test --agent`: the kernel tests the bundle with its own layers and recorded steps."""

from typing import TYPE_CHECKING, Any

from rebuno.errors import ValidationError
from rebuno_cli import connection

if TYPE_CHECKING:
    from rebuno.policy.testing.cases import Case
    from rebuno.types import Tested
    from rebuno_cli.backend import Desk


def test(path: str, agent: str, executions: list[str], db: str | None, url: str | None, *, as_json: bool) -> int:
    """Asks the bundle at `path`, as if it were the agent's, about the cases beside it and the recorded steps of
    `executions`; the exit code.

    Raises:
        BundleError: the bundle or its cases have errors.
    """
    from rebuno.policy.inline import inline
    from rebuno.policy.syntax.source import read
    from rebuno.policy.testing.discovery import find
    from rebuno.policy.testing.reader import read_cases
    from rebuno_cli.render import console, output, tested

    suites = find([path])
    if len(suites) != 1:
        raise ValidationError(f"`{path}` holds {len(suites)} bundles; name the one to ask")
    suite = suites[0]
    cases = [_said(case) for case in read_cases(read(suite.cases)).cases] if suite.cases is not None else []
    text = inline(suite.path)

    async def ask(desk: "Desk") -> "Tested":
        return await desk.test_policy(agent, bundle=text, cases=cases, execution_ids=executions)

    result = connection.work(db, url, ask)
    if as_json:
        output.write_json(tested.tested_json(result))
    else:
        console.write(tested.tested(result))
    return int(bool(result.failed))


def _said(case: "Case") -> dict[str, Any]:
    said = {"name": case.name, **case.submission.to_json()}
    if case.expect is not None:
        said["expect"] = case.expect.value
    if case.expect_rule is not None:
        said["expect_rule"] = case.expect_rule
    return said
