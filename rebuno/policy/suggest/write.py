"""Writes a suggested bundle: the sets it stands on, a rule for what only looks, a rule a tool, and the question."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rebuno.policy.suggest.choose import Choice, closed_keys, something_given, tests_of
from rebuno.policy.suggest.folders import GUARDS, KEYS
from rebuno.policy.suggest.sources import ResultPath
from rebuno.policy.suggest.text import name_of, pattern, quoted
from rebuno.policy.suggest.tool import Tool
from rebuno.policy.suggest.ways import Strength

# What a comment shows of values.
_MOST_SHOWN: Final = 8
_LONGEST_SHOWN: Final = 80
_HEAD: Final = """\
# Suggested from {calls} in {runs}. Read it before you use it: it allows what was seen, and what was seen
# is not always what should be.
#
# A value passes if the user wrote it, if a trusted result holds it, or if it was seen in several executions. A result
# is trusted if its tool only looks and the user named what it looks for; texts that others write never are. What was
# seen once and is tied to nothing asks, and so does all that looks dangerous. Whatever was never seen is denied.
"""


@dataclass(frozen=True)
class Sets:
    """The sets of trusted values: the statement and the places of each, by name, in the order of their definition."""

    statements: Mapping[str, str]
    places: Mapping[str, Sequence[ResultPath]]


@dataclass(frozen=True)
class BundleParts:
    """What a bundle is written from."""

    name: str
    base: Sequence[str]
    sets: Sets
    tools: Mapping[str, Tool]
    choices: Mapping[str, Choice]
    models: Sequence[str]
    runs: int
    calls: int


def lists() -> list[str]:
    """The lists of files that no suggestion opens or writes."""
    return [_let("keys", KEYS), _let("guards", GUARDS)]


def _let(name: str, values: Iterable[str]) -> str:
    return f"let {name} = [{', '.join(map(quoted, values))}]"


def counted(number: int, what: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def write_bundle(given: BundleParts) -> str:
    """The text of the bundle, not yet formatted."""
    rules = _rules(given)
    body = "\n\n".join(rules)
    sets = _used_sets(given.sets.statements, body)
    everything = "\n".join((*sets, body))
    head = _HEAD.format(calls=counted(given.calls, "call"), runs=counted(given.runs, "execution"))
    lines = [f"{head}bundle {given.name}", 'default deny because "never seen"']
    lines += [line for line in given.base if line == "workdir session"]
    lines += [line for line in lists() if _names(everything, line.split()[1])]
    lines += [f"\n# What the user wrote.\n{line}" for line in given.base if _names(everything, line.split()[1])]
    lines += [f"\n{line}" for line in sets]
    return "\n".join([*lines, "", body, ""])


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)) is not None


def _used_sets(statements: Mapping[str, str], body: str) -> list[str]:
    used: set[str] = set()
    text = body
    for name, said in reversed(list(statements.items())):
        if _names(text, name):
            used.add(name)
            text += "\n" + said
    return [said for name, said in statements.items() if name in used]


def _rules(given: BundleParts) -> list[str]:
    names: set[str] = {"looks", "asks", "models"}
    out = []
    looking = {t: c for t, c in given.choices.items() if given.tools[t].looks and c.free and _flat(given.tools[t], c)}
    if looking:
        out.append(_looking(given, looking))
    for target, choice in given.choices.items():
        if target not in looking:
            tool = given.tools[target]
            tests = [*closed_keys(tool, choice), *something_given(tool, choice), *tests_of(choice)]
            name = name_of(target, names, joint="-", rest="tool")
            rule = _rule(name, [target], tests, f"seen {_times(tool, choice)}")
            out.append(_doubts(tool, choice) + rule)
    if given.models:
        models = ", ".join(map(pattern, given.models))
        out.append(f'rule models {{\n  allow llm {models}\n  because "models that were seen"\n}}')
    if given.tools:
        out.append(_asks(given))
    return out


def _doubts(tool: Tool, choice: Choice) -> str:
    """A comment on the literals that the user did not write."""
    said = [way.template for each in choice.ways.values() for way in each if way.strength is Strength.LITERAL]
    found = sorted({one for each in tool.doubtful.values() for one in each if any(one in text for text in said)})
    if not found:
        return ""
    shown = [one if len(one) <= _LONGEST_SHOWN else f"{one[:_LONGEST_SHOWN]}…" for one in found[:_MOST_SHOWN]]
    lines = ["# Look at these values: no user wrote them, they stood in texts that earlier steps had brought.\n"]
    lines += [f"# - {one}\n" for one in shown]
    lines += [f"# and {len(found) - _MOST_SHOWN} more\n"] if len(found) > _MOST_SHOWN else []
    return "".join(lines)


def _flat(tool: Tool, choice: Choice) -> bool:
    return all(len(tool.calls[number].args.objects) == 1 for number in choice.calls)


def _looking(given: BundleParts, looking: Mapping[str, Choice]) -> str:
    keys = sorted(
        {key for t, c in looking.items() for n in c.calls for key in given.tools[t].calls[n].args.objects.get((), ())}
    )
    calls = sum(len(choice.calls) for choice in looking.values())
    runs = {given.tools[t].calls[n].run for t, c in looking.items() for n in c.calls}
    tests = []
    if keys:
        asked = any(line.startswith("known asked") for line in given.base)
        bare = any(given.tools[t].calls[n].facts.args is None for t, c in looking.items() for n in c.calls)
        test = f"every key of args in [{', '.join(map(quoted, keys))}]"
        tests.append(f"(args missing or {test})" if bare else test)
        tests.append("every link of text of args in asked" if asked else "link of text of args missing")
    else:
        tests.append("key of args missing")
    why = f"looking changes nothing; seen {counted(calls, 'time')} in {counted(len(runs), 'execution')}"
    return _rule("looks", list(looking), tests, why)


def _times(tool: Tool, choice: Choice) -> str:
    runs = {tool.calls[number].run for number in choice.calls}
    said = f"{counted(len(choice.calls), 'time')} in {counted(len(runs), 'execution')}"
    others = len(tool.calls) - len(choice.calls)
    return f"{said}; {counted(others, 'other call')} asked" if others else said


def _rule(name: str, targets: Sequence[str], tests: Sequence[str], why: str) -> str:
    tools = ", ".join(map(pattern, targets))
    when = f"  when {' and '.join(tests)}\n" if tests else ""
    return f"rule {name} {{\n  allow tool {tools}\n{when}  because {quoted(why)}\n}}"


def _asks(given: BundleParts) -> str:
    tools = ", ".join(map(pattern, given.tools))
    return (
        "# What is left of these tools is shown to a person.\n"
        f"rule asks {{\n  require approval for tool {tools}\n"
        '  message "This was not seen often enough to run by itself. Did you ask for it?"\n'
        '  because "seen once, or dangerous, or tied to nothing"\n}'
    )
