"""Reads policy test files, and single submissions, into cases; every mistake is reported with its place."""

import difflib
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from rebuno.errors import BundleError, ValidationError
from rebuno.model.decision import Verdict
from rebuno.model.step import Kind, StepStatus
from rebuno.policy.cases import Case, CaseFile, Earlier, Submission
from rebuno.policy.cases_yaml import CODE, Node, node_of, read_yaml
from rebuno.policy.diagnostics import Diagnostic, Severity, ordered
from rebuno.policy.source import NOWHERE, Source
from rebuno.policy.syntax import Span

KINDS: Final = {"tool": Kind.TOOL, "llm": Kind.LLM, **{kind.value: kind for kind in Kind}}
VERDICTS: Final = {verdict.value: verdict for verdict in Verdict}
_STATUSES: Final = {status.value: status for status in StepStatus}

_FILE: Final = ("agent_id", "cases")
_CASE: Final = ("name", "kind", "target", "args", "agent_id", "input", "history", "expect", "expect_rule")
_EARLIER: Final = ("kind", "target", "args", "result", "status", "approved")
_LINE: Final = ("kind", "target", "args", "agent", "input", "history")
_LATER: Final = ("at",)

T = TypeVar("T")


def read_cases(source: Source) -> CaseFile:
    """The cases of a `.policytest.yaml` text.

    Raises:
        BundleError: with every mistake in it.
    """
    reader = _Reader(source.path)
    cases = reader.file(read_yaml(source))
    if reader.errors:
        raise BundleError(ordered(reader.errors))
    return CaseFile(source.path, tuple(cases), tuple(reader.warnings))


def read_submission(data: Any, where: str = "") -> Submission:
    """A submission given as JSON data: `{"target", "kind"?, "args"?, "input"?, "agent"?, "history"?}`.

    Raises:
        ValidationError: with every mistake in it, after `where`.
    """
    reader = _Reader("")
    node = node_of(data, NOWHERE)
    submission = reader.submission(node, reader.mapping(node, "a step", _LINE), "agent", "")
    if reader.errors:
        said = "; ".join(f"{d.message} ({d.help})" if d.help else d.message for d in reader.errors)
        raise ValidationError(f"{where}: {said}" if where else said)
    return submission


class _Reader:
    def __init__(self, path: str) -> None:
        self.path = path
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []

    def wrong(self, message: str, span: Span, help: str = "") -> None:
        self.errors.append(Diagnostic(CODE, message, span, self.path, help))

    def file(self, root: Node) -> list[Case]:
        fields = self.mapping(root, "a file of cases", _FILE)
        agent = self.text(fields, "agent_id")
        if "cases" not in fields:
            self.wrong("the file has no `cases`", root.span, "write `cases:` and a list of cases")
            return []
        return [self.case(node, agent) for node in self.list(fields, "cases")]

    def case(self, node: Node, agent: str) -> Case:
        fields = self.mapping(node, "a case", _CASE)
        submission = self.submission(node, fields, "agent_id", agent)
        expect = self.one_of(fields, "expect", VERDICTS)
        rule = self.text(fields, "expect_rule") or None
        name = self.text(fields, "name") or f"{submission.target} (line {node.span.line})"
        if "expect" not in fields and "expect_rule" not in fields:
            message = f"the case `{name}` asserts nothing"
            hint = "add `expect` or `expect_rule`"
            span = next(iter(node.keys.values()), node.span)
            self.warnings.append(Diagnostic(CODE, message, span, self.path, hint, Severity.WARNING))
        return Case(name, submission, expect, rule, node.span.line)

    def submission(self, node: Node, fields: dict[str, Node], agent_key: str, agent: str) -> Submission:
        return Submission(
            self.one_of(fields, "kind", KINDS) or Kind.TOOL,
            self.target(node, fields),
            self.plain(fields, "args", {}),
            self.text(fields, agent_key) or agent,
            self.plain(fields, "input"),
            tuple(map(self.earlier, self.list(fields, "history"))),
        )

    def earlier(self, node: Node) -> Earlier:
        fields = self.mapping(node, "an earlier step", _EARLIER)
        approved = self.plain(fields, "approved", False)
        if not isinstance(approved, bool):
            self.wrong("`approved` is neither true nor false", fields["approved"].span)
        return Earlier(
            self.one_of(fields, "kind", KINDS) or Kind.TOOL,
            self.target(node, fields),
            self.plain(fields, "args", {}),
            self.plain(fields, "result"),
            self.one_of(fields, "status", _STATUSES) or StepStatus.SUCCEEDED,
            approved is True,
        )

    def target(self, node: Node, fields: dict[str, Node]) -> str:
        target = self.text(fields, "target")
        if not isinstance(node.value, dict):
            return ""
        if "target" not in fields:
            self.wrong("`target` is missing", node.span, "name the tool, the model or the local step")
        elif target == "" and fields["target"].value in ("", None):
            self.wrong("`target` is empty", fields["target"].span, "name the tool, the model or the local step")
        return target

    def mapping(self, node: Node, what: str, keys: tuple[str, ...]) -> dict[str, Node]:
        if not isinstance(node.value, dict):
            self.wrong(f"{what} is a mapping, this is {_called(node.value)}", node.span, f"its keys: {', '.join(keys)}")
            return {}
        for key, span in node.keys.items():
            if key in _LATER:
                self.wrong(f"not built yet: `{key}`", span, "take it out")
            elif key not in keys:
                self.wrong(f"unknown key `{key}`", span, _meant(key, keys))
        return node.value

    def list(self, fields: dict[str, Node], key: str) -> list[Node]:
        node = fields.get(key)
        if node is None or node.value is None:
            return []
        if not isinstance(node.value, list):
            self.wrong(f"`{key}` is {_called(node.value)}, not a list", node.span, "begin each element with `-`")
            return []
        return node.value

    def text(self, fields: dict[str, Node], key: str) -> str:
        node = fields.get(key)
        if node is None or node.value is None:
            return ""
        if not isinstance(node.value, str):
            self.wrong(f"`{key}` is {_called(node.value)}, not text", node.span, "put it in quotes")
            return ""
        return node.value

    def plain(self, fields: dict[str, Node], key: str, default: Any = None) -> Any:
        return fields[key].plain() if key in fields else default

    def one_of(self, fields: dict[str, Node], key: str, choices: dict[str, T]) -> T | None:
        if key not in fields:
            return None
        value = fields[key].value
        if isinstance(value, str) and value in choices:
            return choices[value]
        shown = f"`{value}`" if isinstance(value, str) else _called(value)
        self.wrong(f"`{key}` is {shown}", fields[key].span, _meant(value, choices))
        return None


def _called(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "a truth value", type(None): "empty"}
    return names.get(type(value), "a number")


def _meant(given: Any, choices: Iterable[str]) -> str:
    offered = list(choices)
    close = difflib.get_close_matches(given, offered, 1, 0.5) if isinstance(given, str) else []
    return f"did you mean `{close[0]}`?" if close else f"one of {', '.join(offered)}"
