"""Reads the YAML bundles of the published Rebuno kernel: rules with plain tests on targets, agents and arguments.

`yaml_convert` writes them as rules of our own language.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import re2

from rebuno.errors import BundleError
from rebuno.policy.interop.yaml_notations import UnreadableError, glob, seconds
from rebuno.policy.syntax.diagnostics import MOST, Code, Diagnostic, DiagnosticReport, Severity, ordered
from rebuno.policy.syntax.keywords import did_you_mean
from rebuno.policy.syntax.source import Source
from rebuno.policy.syntax.text import Lines, refused
from rebuno.policy.syntax.tree import Span
from rebuno.policy.syntax.yaml import YamlNode, comments_of, read_yaml
from rebuno.policy.values.json_values import shown
from rebuno.policy.values.regexes import regex

SUFFIXES: Final = (".yaml", ".yml")
# 8 MiB and 1,600,000 values: ten thousand rules have a quarter of that.
_TIMES: Final = 8
# Paths of other languages, which would be the name of an argument that no call has: `items[0]`, `$.config`, `a.*.b`.
_FOREIGN: Final = re.compile(r"\[(?:[0-9]*|\*|['\"].*)\]|^\$\.|^/|(?:^|\.)[*#](?:\.|$)")
# What YAML 1.1 and Go read as null, and JSON has no word for.
_NULLS: Final = frozenset(("~", "Null", "NULL"))

_SCOPES: Final = ("execution", "session", "agent", "global")
_DECISIONS: Final = ("allow", "deny", "require_approval", "judge")

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class YamlArgument:
    """What the text of one argument must fulfil, all of it; None where it asks for nothing.

    `key` is the name of an argument. With dots in it, it is also a way into nested objects; `steps` are the names on
    that way, empty where there are no dots."""

    key: str
    steps: tuple[str, ...] = ()
    equals: str | None = None
    contains: str | None = None
    one_of: tuple[str, ...] = ()
    regex: str | None = None


@dataclass(frozen=True, slots=True)
class YamlRateLimit:
    """At most `max_calls` in `window` seconds; over it a step waits at most `max_wait` seconds, 0 for not at all."""

    max_calls: int
    window: int
    per_what: str
    max_wait: int
    on_limiter_error: str


@dataclass(frozen=True, slots=True)
class YamlBudget:
    """At most so many tokens in an execution or a session (`scope`); `on_exceed` is `deny` or `require_approval`."""

    max_tokens: int
    on_exceed: str
    scope: str = "execution"


@dataclass(frozen=True, slots=True)
class YamlApproval:
    """Who is asked, for how many seconds (0: the kernel's default), and with which words."""

    approvers: tuple[str, ...]
    timeout: int
    message: str


@dataclass(frozen=True, slots=True)
class YamlRule:
    """One rule. Of each group of `targets` (globs as they are written) and `agents` one must match, all `arguments`
    must; `kind` is empty for steps of every kind. `judged`: there a model decides, here a person does."""

    id: str
    line: int
    targets: tuple[tuple[str, ...], ...]
    agents: tuple[tuple[str, ...], ...]
    kind: str
    arguments: tuple[YamlArgument, ...]
    decision: str
    judged: bool
    reason: str
    approval: YamlApproval | None
    rate_limit: YamlRateLimit | None
    budget: YamlBudget | None


@dataclass(frozen=True, slots=True)
class YamlBundle:
    """A YAML bundle; `rules` stand in the order in which they are tried, `warnings` in the order of the file."""

    default: str
    rules: tuple[YamlRule, ...]
    warnings: tuple[Diagnostic, ...] = ()


def read_yaml_bundle(source: Source) -> YamlBundle:
    """The bundle of a YAML text.

    Raises:
        BundleError: the text is no YAML, or no bundle, or holds a character that may not stand in a bundle; all
            mistakes are in it, each with its line.
    """
    text = source.text.removeprefix("\ufeff")
    _, unseen = refused(Lines(text, source.path), source.path, MOST + 1, lambda: comments_of(text))
    if unseen:
        raise BundleError(ordered(unseen))
    root = read_yaml(Source(text, source.path), Code.YAML_BUNDLE, "write `rules:` and a list of rules", times=_TIMES)
    reader = _BundleReader(text, source.path)
    bundle = reader.bundle(root)
    found = ordered(reader.report.findings)
    if reader.report.failed:
        raise BundleError([finding for finding in found if finding.severity is Severity.ERROR])
    return replace(bundle, warnings=tuple(found))


def _brief(text: str) -> str:
    return shown(text)[1:-1]


class _BundleReader:
    def __init__(self, text: str, path: str) -> None:
        self.text_read = text
        self.report = DiagnosticReport(path)

    # ------------------------------------------------------------ the parts of a bundle

    def bundle(self, root: YamlNode) -> YamlBundle:
        keys = self.keys(root, "a bundle", ("default_action", "rules"))
        default = self.choice(keys.get("default_action"), "default_action", ("allow", "deny"), "deny")
        nodes = self.items(keys["rules"], "rules") if "rules" in keys else []
        found = [self.rule(node) for node in nodes]
        first: dict[Any, Span] = {}
        for (rule, priority), node in zip(found, nodes, strict=True):
            for name, value in (("id", rule.id), ("priority", priority)):
                earlier = first.setdefault((name, value), node.span)
                if earlier is not node.span and value not in (None, ""):
                    self.error(f"two rules have the {name} `{value}`; the first is at line {earlier.line}", node.span)
        with_priority = [(priority, rule) for rule, priority in found if priority is not None]
        if with_priority and len(with_priority) < len(found):
            self.error("some rules have a `priority` and some have none", root.span, "give it to all rules or to none")
        elif with_priority:
            return YamlBundle(default, tuple(rule for _, rule in sorted(with_priority, key=lambda pair: pair[0])))
        return YamlBundle(default, tuple(rule for rule, _ in found))

    def rule(self, node: YamlNode) -> tuple[YamlRule, int | None]:
        keys = self.keys(node, "a rule", ("id", "priority", "when", "then"), needed=("id", "then"))
        priority = self.number(keys["priority"], "priority", least=None) if "priority" in keys else None
        asked = ("target", "targets", "agent_id", "agent_ids", "step_kind", "arguments")
        when = self.optional(keys.get("when"), "`when`", asked)
        given = ("decision", "reason", "approval_config", "rate_limit", "budget", "judge")
        then = self.optional(keys.get("then"), "`then`", given, needed=("decision",))
        arguments: dict[str, YamlNode] = {}
        if "arguments" in when:
            arguments = self.mapping(when["arguments"], "`arguments`")
        decision = self.choice(then.get("decision"), "decision", _DECISIONS, "deny")
        if decision == "judge":
            help = "write rules that decide it, or leave it to a person"
            message = "`decision: judge` is read as `require_approval`: a model's answer cannot be recomputed"
            self.report.warning(Code.YAML_BUNDLE, message, then["decision"].span, help)
        if "judge" in then:
            self.judge(then["judge"], decision)
        rule = YamlRule(
            id=self.filled(keys["id"], "id") if "id" in keys else "",
            line=node.span.line,
            targets=self.groups(when, "target", "targets", self.pattern),
            agents=self.groups(when, "agent_id", "agent_ids", self.filled),
            kind=self.choice(when.get("step_kind"), "step_kind", ("tool_call", "llm_call", "local"), ""),
            arguments=tuple(self.argument(key, value) for key, value in arguments.items()),
            decision="require_approval" if decision == "judge" else decision,
            judged=decision == "judge",
            reason=self.text(then["reason"], "reason") if "reason" in then else "",
            approval=self.approval(then["approval_config"]) if "approval_config" in then else None,
            rate_limit=self.rate_limit(then["rate_limit"]) if "rate_limit" in then else None,
            budget=self.budget(then["budget"]) if "budget" in then else None,
        )
        return rule, priority

    def argument(self, key: str, node: YamlNode) -> YamlArgument:
        keys = self.keys(node, f"the argument `{key}`", ("equals", "contains", "one_of", "regex"))
        if not keys and isinstance(node.value, dict):
            help = "write `equals`, `contains`, `one_of` or `regex`"
            self.error(f"the argument `{key}` is asked for nothing, so every value would do", node.span, help)
        return YamlArgument(
            key,
            self.steps(key, node),
            self.filled(keys["equals"], "equals") if "equals" in keys else None,
            self.filled(keys["contains"], "contains") if "contains" in keys else None,
            self.several(keys["one_of"], "one_of", self.text) if "one_of" in keys else (),
            self.expression(keys["regex"]) if "regex" in keys else None,
        )

    def steps(self, key: str, node: YamlNode) -> tuple[str, ...]:
        steps = tuple(key.split("."))
        if key == "<<":
            help = "write the keys out, or give the whole value by an alias: `arguments: *name`"
            self.error("a merge key (`<<`) is not read", node.span, help)
        elif not all(steps):
            self.error(f"the argument `{_brief(key)}` has an empty name", node.span, "write `name` or `name.inner`")
        elif _FOREIGN.search(key):
            help = "write names with dots, `name.inner`; rules about elements of lists are written in `.rbp`"
            self.error(f"the argument `{_brief(key)}` is no name", node.span, help)
        return steps if len(steps) > 1 else ()

    def approval(self, node: YamlNode) -> YamlApproval:
        keys = self.keys(node, "`approval_config`", ("approvers", "timeout", "message"))
        approvers = keys.get("approvers")
        return YamlApproval(
            tuple(self.filled(item, "approvers") for item in self.items(approvers, "approvers")) if approvers else (),
            self.duration(keys["timeout"], "timeout") if "timeout" in keys else 0,
            self.text(keys["message"], "message") if "message" in keys else "",
        )

    def judge(self, node: YamlNode, decision: str) -> None:
        # What the model is told has no effect where a person is asked, but is looked at as the rest is.
        if decision != "judge":
            self.error("`judge` stands beside `decision: judge` only", node.span)
        keys = self.keys(node, "`judge`", ("instructions", "threshold", "fallback"))
        if "instructions" in keys:
            self.text(keys["instructions"], "instructions")
        self.choice(keys.get("fallback"), "fallback", ("allow", "deny", "require_approval"), "require_approval")
        threshold = keys["threshold"].value if "threshold" in keys else 0
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
            self.error("`threshold` is no number from 0 to 1", keys["threshold"].span)

    def rate_limit(self, node: YamlNode) -> YamlRateLimit:
        known = ("max_calls", "window", "per_what", "max_wait", "on_limiter_error")
        keys = self.keys(node, "`rate_limit`", known, needed=("max_calls", "window"))
        return YamlRateLimit(
            self.number(keys["max_calls"], "max_calls", least=1) if "max_calls" in keys else 1,
            self.duration(keys["window"], "window") if "window" in keys else 1,
            self.choice(keys.get("per_what"), "per_what", _SCOPES, "execution"),
            self.duration(keys["max_wait"], "max_wait") if "max_wait" in keys else 0,
            self.choice(keys.get("on_limiter_error"), "on_limiter_error", ("allow", "deny"), "allow"),
        )

    def budget(self, node: YamlNode) -> YamlBudget:
        keys = self.keys(node, "`budget`", ("max_tokens", "on_exceed", "scope"), needed=("max_tokens",))
        return YamlBudget(
            self.number(keys["max_tokens"], "max_tokens", least=1) if "max_tokens" in keys else 1,
            self.choice(keys.get("on_exceed"), "on_exceed", ("deny", "require_approval"), "deny"),
            self.choice(keys.get("scope"), "scope", ("execution", "session"), "execution"),
        )

    # ------------------------------------------------------------ values

    def error(self, message: str, span: Span, help: str = "") -> None:
        self.report.error(Code.YAML_BUNDLE, message, span, help)

    def mapping(self, node: YamlNode, what: str) -> dict[str, YamlNode]:
        if isinstance(node.value, dict):
            return node.value
        self.error(f"{what} is no mapping", node.span, "write keys and values")
        return {}

    def keys(self, node: YamlNode, what: str, known: Sequence[str], needed: Sequence[str] = ()) -> dict[str, YamlNode]:
        found = self.mapping(node, what)
        for key in found:
            if key not in known:
                help = did_you_mean(key, list(known)) or f"known are {', '.join(f'`{name}`' for name in known)}"
                self.error(f"{what} has no key `{_brief(key)}`", node.keys[key], help)
        for key in needed:
            if isinstance(node.value, dict) and key not in found:
                self.error(f"{what} needs the key `{key}`", node.span)
        return found

    def optional(
        self, node: YamlNode | None, what: str, known: Sequence[str], needed: Sequence[str] = ()
    ) -> dict[str, YamlNode]:
        return {} if node is None or (node.value is None and not needed) else self.keys(node, what, known, needed)

    def text(self, node: YamlNode, what: str) -> str:
        value = node.value
        if isinstance(value, str) and self.text_read[node.span.start : node.span.end] not in _NULLS:
            return value
        if isinstance(value, int | float):  # truth values too: a plain word stands for itself
            return self.text_read[node.span.start : node.span.end]
        self.error(f"`{what}` is no text", node.span, "write one value, in quotes where it is not plain")
        return ""

    def filled(self, node: YamlNode, what: str) -> str:
        text = self.text(node, what)
        if node.value == "":
            self.error(f"an empty `{what}` would match anything", node.span, "leave the key out, or write a value")
        return text

    def items(self, node: YamlNode, what: str) -> list[YamlNode]:
        if isinstance(node.value, list):
            return node.value
        self.error(f"`{what}` is no list", node.span, "write `[…]`, or a line with `-` for each item")
        return []

    def several(self, node: YamlNode, what: str, read: Callable[[YamlNode, str], str]) -> tuple[str, ...]:
        found = self.items(node, what)
        if node.value == []:
            self.error(f"an empty `{what}` would match anything", node.span, "leave the key out, or name something")
        return tuple(read(item, what) for item in found)

    def groups(
        self, keys: dict[str, YamlNode], one: str, many: str, read: Callable[[YamlNode, str], str]
    ) -> tuple[tuple[str, ...], ...]:
        single = [(read(keys[one], one),)] if one in keys else []
        return (*single, *([self.several(keys[many], many, read)] if many in keys else []))

    def choice(self, node: YamlNode | None, what: str, options: Sequence[str], default: str) -> str:
        if node is None:
            return default
        text = self.text(node, what)
        if text in options:
            return text
        write = f"write {', '.join(f'`{option}`' for option in options)}"
        help = did_you_mean(text, list(options)) or write
        self.error(f"`{what}` cannot be `{_brief(text)}`", node.span, help)
        return default

    def number(self, node: YamlNode, what: str, least: int | None) -> int:
        if type(node.value) is int and (least is None or node.value >= least):
            return node.value
        self.error(f"`{what}` is no whole number{'' if least is None else f' from {least} on'}", node.span)
        return least or 0

    def converted(self, node: YamlNode, what: str, convert: Callable[[str], _T], otherwise: _T) -> _T:
        text = self.filled(node, what)
        try:
            return convert(text) if text else otherwise
        except UnreadableError as error:
            self.error(f"`{what}`: {error}", node.span, error.help)
            return otherwise

    def duration(self, node: YamlNode, what: str) -> int:
        return self.converted(node, what, seconds, 1)

    def pattern(self, node: YamlNode, what: str) -> str:
        self.converted(node, what, glob, "")
        return self.text(node, what)

    def expression(self, node: YamlNode) -> str:
        text = self.filled(node, "regex")
        try:
            regex(text)
        except re2.error as error:
            why = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
            self.error(f"`regex` is no RE2 expression: {why}", node.span)
        return text
