"""Shows why a step was decided so, then and today, and why a person is asked."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from rebuno_cli.render.escape import escape, spelled
from rebuno_cli.render.layout import hanging

_LONGEST: Final = 300
_STYLE: Final = {"yes": "green", "no": "red", "maybe": "yellow"}


def explained(told: Mapping[str, Any]) -> Iterator[RenderableType]:
    """What was recorded, and the traces of then and today."""
    recorded = told["recorded"]
    line = Text(f"{recorded['kind']} ")
    line.append(spelled(recorded["target"]), "bold")
    line.append(f" [{escape(recorded['step_id'], 12)}]: {_decided(recorded, 'rule_id')}", "not bold")
    yield line
    if recorded.get("doubt"):
        yield Text(f"fired on maybe, because of `{escape(recorded['doubt'], _LONGEST)}`", "yellow")
    then, today = told["then"], told["today"]
    same = told["today_digest"] == recorded["digest"]
    yield Text()
    yield Text("under the bundle of then, which is today's" if same else "under the bundle of then", "bold")
    yield from _trace(then)
    if not same:
        yield Text()
        yield Text("under today's bundle", "bold")
        yield from _trace(today)


def _trace(trace: Mapping[str, Any] | None) -> Iterator[RenderableType]:
    if trace is None:
        yield Text("  its texts make no policy here", "yellow")
        return
    yield Text(f"  {_decided(trace, 'rule')}")
    for layer in trace.get("layers") or (trace,):
        for rule in layer["rules"]:
            if rule["outcome"] in ("other subject", "not reached"):
                continue
            line = Text(f"rule {escape(rule['rule'])}, line {rule['line']}: {rule['outcome']}")
            yield hanging("- ", line, margin=2)
            for test in rule.get("tests", ()):
                yield from _test(test, 4)


def _test(test: Mapping[str, Any], margin: int) -> Iterator[RenderableType]:
    line = Text(f"{test['answer']}: ", _STYLE.get(test["answer"], ""))
    line.append(escape(test["text"], _LONGEST), "default")
    if test["why"]:
        line.append(f" ({escape(test['why'], _LONGEST)})", "dim")
    yield hanging("", line, margin=margin)
    for child in test.get("children", ()):
        yield from _test(child, min(margin + 2, 12))


def _decided(said: Mapping[str, Any], rule: str) -> str:
    text = f"{str(said['decision']).replace('_', ' ')} by {escape(said[rule])}"
    text += f" of bundle {escape(said['bundle'])}" if said["bundle"] else ""
    return f"{text}, because {escape(said['reason'], _LONGEST)}" if said["reason"] else text


def why(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Why a person is asked, a line each."""
    for test in told["tests"]:
        said = f"{test['answer']}: {escape(test['test'], _LONGEST)}"
        told_why = f" ({escape(test['why'], _LONGEST)})" if test["why"] else ""
        yield "test", f"rule {escape(test['rule'])} ({test['verdict'].replace('_', ' ')}), {said}{told_why}"
    for value in told["origins"]:
        yield "from", f"{escape(value['path'], 120)}: {', '.join(map(_place, value['stands']))}"
    more = told["done_before"] - len(told["before"])
    if more > 0:
        yield "before", f"{more} more steps"
    for step in told["before"]:
        yield "before", f"{step['kind']} {spelled(step['target'])} {escape(step['args'], 120)}: {step['status']}"
    if (last := told["last"]) is not None:
        by = f" by {escape(last['decided_by'])}" if last["decided_by"] else ""
        reason = f": {escape(last['rationale'], _LONGEST)}" if last["rationale"] else ""
        yield "last time", f"{last['status']}{by} at {escape(last['decided_at'] or '')}{reason}"


def _place(place: Mapping[str, Any]) -> str:
    match place["from"]:
        case "request":
            return f"the request ({escape(place['path'], 80)})"
        case "turn":
            return "what the user said later"
        case "result":
            return f"a result of {escape(place.get('target', ''), 60)} ({escape(place['path'], 80)})"
    return "nowhere"
