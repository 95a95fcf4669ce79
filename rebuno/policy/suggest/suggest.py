"""Suggests a bundle and its cases from what was recorded."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rebuno.model.decision import Verdict
from rebuno.model.step import Kind
from rebuno.policy.compile import compile_text
from rebuno.policy.format.format import format_bundle
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.suggest.cases import case, case_file, earlier_step, expressible
from rebuno.policy.suggest.choose import Choice, choose, tied
from rebuno.policy.suggest.hints import Hints
from rebuno.policy.suggest.leaves import key_of
from rebuno.policy.suggest.probe import Tried
from rebuno.policy.suggest.seen import SeenRun, read_run, replayed
from rebuno.policy.suggest.sources import ResultPath, Results, statement
from rebuno.policy.suggest.text import Path, name_of
from rebuno.policy.suggest.tool import SuggestSettings, Tool, tools_of
from rebuno.policy.suggest.ways import Strength, known
from rebuno.policy.suggest.write import BundleParts, Sets, lists, write_bundle
from rebuno.policy.syntax.keywords import RESERVED_WORDS
from rebuno.policy.syntax.source import Source
from rebuno.policy.testing.backtest import RecordedStep

OFTEN: Final = 2
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A bundle and its case file. `steps` ran in `executions`; the bundle lets `allowed` of them run and asks a person
    about the others. `left_out` steps never ran. `cases_left_out` cases had no place in the case file."""

    bundle: str
    cases: str
    executions: int
    steps: int
    allowed: int
    left_out: int
    cases_left_out: int = 0

    @property
    def asks(self) -> int:
        """The steps that a person is asked about."""
        return self.steps - self.allowed

    def to_json(self) -> dict[str, Any]:
        """`{"bundle", "cases", "executions", "steps", "allowed", "asks", "left_out",
        "cases_left_out"}`."""
        return {
            "bundle": self.bundle,
            "cases": self.cases,
            "executions": self.executions,
            "steps": self.steps,
            "allowed": self.allowed,
            "asks": self.asks,
            "left_out": self.left_out,
            "cases_left_out": self.cases_left_out,
        }


def suggest_bundle(
    executions: Iterable[Sequence[RecordedStep]],
    *,
    name: str = "suggested",
    agent: str = "",
    often: int = OFTEN,
    hints: Hints | None = None,
) -> Suggestion:
    """The narrowest readable bundle that lets the recorded steps run, or asks about them, and its cases.

    `executions` are the steps of each execution. A literal stands in the bundle only if it was seen in `often`
    executions. `hints` are what definitions of tools tell. `agent` is whose steps these are, for the cases. A `name`
    that no bundle can have is replaced by `suggested`.
    """
    name = name if is_bundle_name(name) else "suggested"
    runs = [read_run(number, steps) for number, steps in enumerate(executions)]
    calls = [call for run in runs for call in run.calls]
    settings = SuggestSettings(
        often, any(call.facts.input is not None or call.facts.turns for call in calls), hints or Hints()
    )
    base = _base(runs)
    tools = tools_of((call for call in calls if call.facts.kind == Kind.TOOL.value), settings)
    models = sorted({call.target for call in calls if call.facts.kind == Kind.LLM.value})
    sets = _sets(tools, base, often)
    choices = {target: found for target, tool in tools.items() if (found := choose(tool, often)) is not None}
    text = write_bundle(BundleParts(name, base, sets, tools, choices, models, len(runs), len(calls)))
    text = format_bundle(Source(text, stem=name))
    policy = compile_text(text, name=name)
    trusted = {place.target for places in sets.places.values() for place in places}
    cases, allowed = _cases(runs, policy, trusted)
    file = case_file(agent, cases, f"{name}.rbp")
    never = sum(run.left_out for run in runs)
    left_out = file.left_out + len(calls) - len(cases)
    return Suggestion(text, file.text, len(runs), len(calls), allowed, never, left_out)


def is_bundle_name(name: str) -> bool:
    """Whether a bundle can be named so."""
    return _NAME.fullmatch(name) is not None and name not in RESERVED_WORDS


def _base(runs: Iterable[SeenRun]) -> list[str]:
    """The lines that every suggestion begins with, but for what it does not need."""
    facts = [call.facts for run in runs for call in run.calls]
    narrow = facts and all(
        one.input is None or (isinstance(one.input, dict) and isinstance(one.input.get("request"), str))
        for one in facts
    )
    lines = ["workdir session"] if any(one.workdir for one in facts) else []
    if any(one.input is not None or one.turns for one in facts):
        lines.append(f"known asked = {'input.request' if narrow else 'input'} or turns")
    return lines


def _sets(tools: Mapping[str, Tool], base: Sequence[str], often: int) -> Sets:
    """Finds out which ways fit, in two rounds: a result may be trusted because its call was tied to another result."""
    statements: dict[str, str] = {}
    places: dict[str, Sequence[ResultPath]] = {}
    names: set[str] = set()
    lines = [*base, *lists()]
    _measure(tools, lines)
    for _ in range(2):
        choices = {}
        for target, tool in tools.items():
            found = tied(tool) if tool.looks else choose(tool, often)
            if found is not None:
                choices[target] = found
        results = Results(tools, choices)
        added = _add_known(tools, choices, results, names)
        if not added:
            break
        for name, (mine, said) in added.items():
            statements[name], places[name] = said, mine
        _measure(tools, [*lines, *statements.values()])
    return Sets(statements, places)


def _measure(tools: Mapping[str, Tool], lines: Sequence[str]) -> None:
    probe = Tried(lines, [asks for tool in tools.values() for asks in tool.conditions()])
    for tool in tools.values():
        tool.measure(probe)


def _add_known(
    tools: Mapping[str, Tool], choices: Mapping[str, Choice], results: Results, names: set[str]
) -> dict[str, tuple[Sequence[ResultPath], str]]:
    added: dict[str, tuple[Sequence[ResultPath], str]] = {}
    by_places: dict[tuple[ResultPath, ...], str] = {}
    fresh: list[tuple[Tool, Path, str]] = []
    for tool in tools.values():
        for path in tool.ways:
            untied = tool.present(path) - _tied_calls(tool, path)
            mine = tuple(results.places_for(tool, path, sorted(untied))) if untied else ()
            if not mine:
                continue
            if mine not in by_places:
                name = name_of(f"{key_of(path) or tool.target}_read", names, joint="_", rest="values")
                by_places[mine] = name
                added[name] = (mine, statement(name, mine, tools, choices))
            fresh.append((tool, path, by_places[mine]))
    for tool, path, name in fresh:
        place = sum(way.strength is Strength.TIED for way in tool.ways[path])
        tool.ways[path].insert(place, known(name))
        tool.fits.clear()
    return added


def _tied_calls(tool: Tool, path: Path) -> set[int]:
    narrow = [number for number, way in enumerate(tool.ways[path]) if way.strength is Strength.TIED]
    return set[int]().union(*(tool.fits.get((path, number), set()) for number in narrow))


def _cases(runs: Iterable[SeenRun], policy: Policy, trusted: set[str]) -> tuple[list[dict[str, Any]], int]:
    cases = []
    allowed = 0
    for run in runs:
        done = replayed(run, policy.decide)
        for number, (call, decision) in enumerate(done):
            earlier = [
                earlier_step(one, approved=said.verdict is not Verdict.ALLOW)
                for one, said in done[:number]
                if one.target in trusted and one.ended < (call.facts.as_of or 0)
            ]
            allowed += decision.verdict is Verdict.ALLOW
            if expressible(call):
                cases.append(case(call, decision, earlier))
    return cases, allowed
