"""Reads policy test files and single submissions. Every mistake is reported with its place."""

import re
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from rebuno.errors import BundleError, ValidationError
from rebuno.model.clock import from_rfc3339
from rebuno.model.decision import Verdict
from rebuno.model.step import Kind, StepStatus
from rebuno.policy.syntax.diagnostics import Diagnostic, Severity, ordered
from rebuno.policy.syntax.keywords import did_you_mean
from rebuno.policy.syntax.source import NO_SPAN, Source
from rebuno.policy.syntax.tree import Span
from rebuno.policy.syntax.yaml import CODE, YamlNode, node_of, read_yaml
from rebuno.policy.testing.cases import Case, CaseFile, CaseSubmission, EarlierStep, Turn

CASE_KINDS: Final = {"tool": Kind.TOOL, "llm": Kind.LLM, **{kind.value: kind for kind in Kind}}
CASE_VERDICTS: Final = {verdict.value: verdict for verdict in Verdict}
_STATUSES: Final = {status.value: status for status in StepStatus}

_FILE: Final = ("agent_id", "at", "workdir", "cases")
_CASE: Final = (
    "name",
    "kind",
    "target",
    "args",
    "agent_id",
    "parent",
    "input",
    "root_input",
    "turns",
    "definition",
    "workdir",
    "history",
    "at",
    "expect",
    "expect_rule",
)
_ASKED: Final = ("parent", "input", "root_input", "turns", "definition", "workdir", "history", "at")
_EARLIER: Final = (
    "kind",
    "target",
    "args",
    "result",
    "status",
    "approved",
    "allowed",
    "at",
    "ended_at",
    "error",
    "nothing_done",
    "definition",
)
_TURN: Final = ("text", "at")
_DEFINITION: Final = ("server", "name", "digest")
_ERROR: Final = ("type", "message")
_LINE: Final = ("kind", "target", "args", "agent", *_ASKED)
# Python accepts more than RFC 3339 allows: weeks, and times without seconds or offset.
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)

T = TypeVar("T")


def read_cases(source: Source, *, rules: frozenset[str] | None = None) -> CaseFile:
    """The cases of a `.policytest.yaml` text. A case that expects a rule that is none of `rules` is warned of.

    Raises:
        BundleError: the cases have mistakes; the exception lists all of them.
    """
    reader = _CaseReader(source.path, rules)
    cases = reader.file(read_yaml(source))
    if reader.errors:
        raise BundleError(ordered(reader.errors))
    return CaseFile(source.path, tuple(cases), tuple(reader.warnings))


def parse_cases(data: Any) -> CaseFile:
    """The cases in JSON data: `{"agent_id"?, "at"?, "workdir"?, "cases": […]}`.

    Raises:
        BundleError: the cases have mistakes; the exception lists all of them.
    """
    reader = _CaseReader("")
    cases = reader.file(node_of(data, NO_SPAN))
    if reader.errors:
        raise BundleError(ordered(reader.errors))
    return CaseFile("", tuple(cases), tuple(reader.warnings))


def read_submission(data: Any, where: str = "") -> CaseSubmission:
    """A submission given as JSON data: `{"target", "kind"?, "args"?, "input"?, "agent"?, "history"?, "at"?}`.

    Raises:
        ValidationError: the submission has mistakes; the message lists all of them after `where`.
    """
    reader = _CaseReader("")
    node = node_of(data, NO_SPAN)
    submission = reader.submission(node, reader.mapping(node, "a step", _LINE), "agent")
    if reader.errors:
        said = "; ".join(f"{d.message} ({d.help})" if d.help else d.message for d in reader.errors)
        raise ValidationError(f"{where}: {said}" if where else said)
    return submission


class _CaseReader:
    def __init__(self, path: str, rules: frozenset[str] | None = None) -> None:
        self.path = path
        self.rules = rules
        # The first line of each named case.
        self.names: dict[str, int] = {}
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []

    def wrong(self, message: str, span: Span, help: str = "") -> None:
        self.errors.append(Diagnostic(CODE, message, span, self.path, help))

    def warned(self, message: str, span: Span, help: str) -> None:
        self.warnings.append(Diagnostic(CODE, message, span, self.path, help, Severity.WARNING))

    def file(self, root: YamlNode) -> list[Case]:
        fields = self.mapping(root, "a file of cases", _FILE)
        agent, at, folder = self.text(fields, "agent_id"), self.time(fields), self.workdir(fields)
        if "cases" not in fields:
            self.wrong("the file has no `cases`", root.span, "write `cases:` and a list of cases")
            return []
        cases = self.list(fields, "cases")
        if not cases and fields["cases"].value in (None, []):
            self.warned("the file asserts nothing: `cases` is empty", fields["cases"].span, "add a case")
        return [self.case(node, agent, at, folder) for node in cases]

    def case(self, node: YamlNode, agent: str, at: float | None, folder: str) -> Case:
        fields = self.mapping(node, "a case", _CASE)
        submission = self.submission(node, fields, "agent_id", agent, at, folder)
        expect = self.one_of(fields, "expect", CASE_VERDICTS)
        rule = self.text(fields, "expect_rule") or None
        named = self.text(fields, "name")
        name = named or f"{submission.target} (line {node.span.line})"
        if named and (first := self.names.setdefault(named, node.span.line)) != node.span.line:
            told = f"two cases are called `{name}`; the first is on line {first}"
            self.warned(told, fields["name"].span, "`--case` and reports tell cases apart by their names")
        if rule and self.rules is not None and rule not in self.rules:
            help = did_you_mean(rule, self.rules) or "a rule of an outer layer is known with `--layer`"
            self.warned(f"no rule is called `{rule}`", fields["expect_rule"].span, help)
        if "expect" not in fields and "expect_rule" not in fields:
            span = next(iter(node.keys.values()), node.span)
            self.warned(f"the case `{name}` asserts nothing", span, "add `expect` or `expect_rule`")
        return Case(name, submission, expect, rule, node.span.line)

    def submission(
        self,
        node: YamlNode,
        fields: dict[str, YamlNode],
        agent_key: str,
        agent: str = "",
        at: float | None = None,
        folder: str = "",
    ) -> CaseSubmission:
        return CaseSubmission(
            self.one_of(fields, "kind", CASE_KINDS) or Kind.TOOL,
            self.target(node, fields),
            self.plain(fields, "args", {}),
            self.text(fields, agent_key) or agent,
            self.plain(fields, "input"),
            tuple(map(self.earlier, self.list(fields, "history"))),
            self.time(fields) if "at" in fields else at,
            self.text(fields, "parent"),
            tuple(turn for node in self.list(fields, "turns") if (turn := self.turn(node)) is not None),
            self.plain(fields, "root_input"),
            self.texts(fields, "definition", "a definition", _DEFINITION),
            self.workdir(fields) if "workdir" in fields else folder,
        )

    def earlier(self, node: YamlNode) -> EarlierStep:
        fields = self.mapping(node, "an earlier step", _EARLIER)
        approved, allowed = self.truth(fields, "approved"), self.truth(fields, "allowed")
        if approved and allowed:
            self.wrong("a step is `allowed` or `approved`, not both", fields["allowed"].span, "take one out")
        status = self.one_of(fields, "status", _STATUSES)
        error = self.texts(fields, "error", "an error", _ERROR)
        clean = self.truth(fields, "nothing_done")
        if (error is not None or clean is not None) and status not in (None, StepStatus.FAILED):
            key = "error" if error is not None else "nothing_done"
            self.wrong(f"`{key}` belongs to a step that failed", fields[key].span, "write `status: failed`")
        failed = StepStatus.FAILED if error is not None or clean is not None else StepStatus.SUCCEEDED
        return EarlierStep(
            self.one_of(fields, "kind", CASE_KINDS) or Kind.TOOL,
            self.target(node, fields),
            self.plain(fields, "args", {}),
            self.plain(fields, "result"),
            status or failed,
            approved is True,
            self.time(fields),
            self.time(fields, "ended_at"),
            {"type": "", "message": ""} if error is None and clean is not None else error,
            clean,
            self.texts(fields, "definition", "a definition", _DEFINITION),
            allowed,
        )

    def turn(self, node: YamlNode) -> Turn | None:
        if isinstance(node.value, str):
            return Turn(node.value)
        if not isinstance(node.value, dict):
            self.wrong(f"a turn is {_called(node.value)}", node.span, "write its text, or `{text: …, at: …}`")
            return None
        fields = self.mapping(node, "a turn", _TURN)
        if "text" not in fields:
            self.wrong("the turn has no `text`", node.span, "write what the user said")
        return Turn(self.text(fields, "text"), self.time(fields))

    def texts(self, fields: dict[str, YamlNode], key: str, what: str, keys: tuple[str, ...]) -> dict[str, str] | None:
        """A mapping of texts; None where it is left out or empty. What is left out in it stays out."""
        if key not in fields or fields[key].value is None:
            return None
        inner = self.mapping(fields[key], what, keys)
        return {name: self.text(inner, name) for name in keys if name in inner and inner[name].value is not None}

    def truth(self, fields: dict[str, YamlNode], key: str) -> bool | None:
        value = self.plain(fields, key)
        if value is None or isinstance(value, bool):
            return value
        self.wrong(f"`{key}` is neither true nor false", fields[key].span)
        return None

    def workdir(self, fields: dict[str, YamlNode]) -> str:
        folder = self.text(fields, "workdir")
        if folder and not folder.startswith("/"):
            self.wrong(f"`workdir` `{folder}` is no absolute path", fields["workdir"].span, "begin it with `/`")
        return folder

    def target(self, node: YamlNode, fields: dict[str, YamlNode]) -> str:
        target = self.text(fields, "target")
        if not isinstance(node.value, dict):
            return ""
        if "target" not in fields:
            self.wrong("`target` is missing", node.span, "name the tool, the model or the local step")
        elif target == "" and fields["target"].value in ("", None):
            self.wrong("`target` is empty", fields["target"].span, "name the tool, the model or the local step")
        return target

    def mapping(self, node: YamlNode, what: str, keys: tuple[str, ...]) -> dict[str, YamlNode]:
        if not isinstance(node.value, dict):
            self.wrong(f"{what} is a mapping, this is {_called(node.value)}", node.span, f"its keys: {', '.join(keys)}")
            return {}
        for key, span in node.keys.items():
            if key not in keys:
                self.wrong(f"unknown key `{key}`", span, _meant(key, keys))
        return node.value

    def list(self, fields: dict[str, YamlNode], key: str) -> list[YamlNode]:
        node = fields.get(key)
        if node is None or node.value is None:
            return []
        if not isinstance(node.value, list):
            self.wrong(f"`{key}` is {_called(node.value)}, not a list", node.span, "begin each element with `-`")
            return []
        return node.value

    def text(self, fields: dict[str, YamlNode], key: str) -> str:
        node = fields.get(key)
        if node is None or node.value is None:
            return ""
        if not isinstance(node.value, str):
            self.wrong(f"`{key}` is {_called(node.value)}, not text", node.span, "put it in quotes")
            return ""
        return node.value

    def time(self, fields: dict[str, YamlNode], key: str = "at") -> float | None:
        if key not in fields or fields[key].value is None:
            return None
        text = self.text(fields, key)
        try:
            if _TIME.fullmatch(text):
                return from_rfc3339(text.upper())
        except ValueError:
            pass  # a day or an hour that does not exist
        hint = "write it like 2026-01-31T08:30:00Z or 2026-01-31T09:30:00+01:00"
        self.wrong(f"`{key}` is `{text}`, which is no time", fields[key].span, hint)
        return None

    def plain(self, fields: dict[str, YamlNode], key: str, default: Any = None) -> Any:
        return fields[key].plain() if key in fields else default

    def one_of(self, fields: dict[str, YamlNode], key: str, choices: dict[str, T]) -> T | None:
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
    import difflib

    close = difflib.get_close_matches(given, offered, 1, 0.5) if isinstance(given, str) else []
    return f"did you mean `{close[0]}`?" if close else f"one of {', '.join(offered)}"
