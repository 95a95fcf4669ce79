"""Steps that a solution of the model stands for. A solution says what tests answer; a step must be found of which they
do, so each is only a proposal, and the real `decide` has the last word."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import z3

from rebuno.model.step import Kind, StepStatus
from rebuno.policy.matcher.index import KINDS
from rebuno.policy.proving.decisions import NUMBERS, LayerModel, ModelTarget
from rebuno.policy.proving.model import ModelStep
from rebuno.policy.proving.past import patterns
from rebuno.policy.proving.values import Sort, Value
from rebuno.policy.syntax import tree
from rebuno.policy.testing.cases import CaseSubmission, EarlierStep

_KINDS: Final = {number: kind for kind, number in NUMBERS.items()}
_LEFT_OUT: Final = object()
_MOST_STEPS: Final = 200  # earlier ones
_MOST_CASES: Final = 60  # whose values are borrowed
_DEEPEST: Final = 8


class Witness:
    """Makes steps of the solutions of one model."""

    def __init__(self, step: ModelStep, target: ModelTarget, layers: Sequence[LayerModel]) -> None:
        self._step = step
        self._target = target
        self._layers = layers

    def steps(self, model: Any, cases: Sequence[CaseSubmission]) -> Iterator[CaseSubmission]:
        """Proposals: the solution itself, then with what makes values known, then with the values of cases."""
        args = self._value(model, self._step.roots["args"]) if "args" in self._step.roots else {}
        args = {} if args is _LEFT_OUT else args
        kind = Kind(_KINDS[model.eval(self._target.kind, model_completion=True).as_long()])
        text = _text(model, self._step.target)
        agent = _text(model, self._step.roots["agent"].text) if "agent" in self._step.roots else ""
        input = self._value(model, self._step.roots["input"]) if "input" in self._step.roots else None
        first = CaseSubmission(kind, text, args, agent, None if input is _LEFT_OUT else input)
        first = replace(first, history=self._history(model, first))
        for one in _fuller(first):
            yield from self._made_known(one)
        for case in [case for case in cases if case.kind is kind and case.target == text][:_MOST_CASES]:
            for merged in (_merged(case.args, args), _merged(args, case.args)):
                yield replace(case, args=merged)
                yield replace(case, args=merged, history=(*case.history, *first.history))
                yield from self._made_known(replace(first, args=merged))

    # ------------------------------------------------------------ values

    def _value(self, model: Any, value: Value, depth: int = 0) -> Any:
        sort = Sort(model.eval(value.sort, model_completion=True).as_long())
        match sort:
            case Sort.NULL:
                return None
            case Sort.EMPTY:
                return []
            case Sort.TRUE | Sort.FALSE:
                return sort is Sort.TRUE
            case Sort.NUMBER:
                return _number(model, value.number)
            case Sort.TEXT:
                return self._written(model, value)
            case Sort.LIST | Sort.READING if depth < _DEEPEST:
                return self._list(model, value, depth)
            case Sort.OBJECT if depth < _DEEPEST:
                found = {key: self._value(model, one, depth + 1) for key, one in value.keys.items()}
                return {key: one for key, one in found.items() if one is not _LEFT_OUT}
            case Sort.ODD:
                return float("nan")
            case _:
                return _LEFT_OUT

    def _list(self, model: Any, value: Value, depth: int) -> list[Any]:
        found: list[Any] = []
        for group in value.groups.values():
            for active, slot in () if group.facets else group.slots:
                if slot.alias is None and z3.is_true(model.eval(active, model_completion=True)):
                    one = self._value(model, slot, depth + 1)
                    found += [] if one is _LEFT_OUT else [one]
        for position, item in sorted(value.items.items()):
            one = self._value(model, item, depth + 1)
            if one is not _LEFT_OUT:
                found += ["x"] * (position + 1 - len(found))
                found[position] = one
        return found or ["x"]

    def _written(self, model: Any, value: Value) -> str:
        """The text, or one of which a facet may read what the solution says."""
        read = {name: self._value(model, one) for name, one in value.facets.items()}
        host = read.get("host", read.get("domain"))
        if "domain" in read and isinstance(host, str):
            return f"a@{host or 'x.example'}"
        if read.keys() & {"host", "scheme", "port", "address"}:
            scheme, port = read.get("scheme"), read.get("port")
            begun = scheme if isinstance(scheme, str) and scheme else "https"
            shown = host if isinstance(host, str) and host else "x.example"
            return f"{begun}://{shown}:{port}/" if isinstance(port, int) else f"{begun}://{shown}/"
        if isinstance(read.get("number"), int | float):
            return str(read["number"])
        if isinstance(read.get("amount"), int | float):
            return f"{read['amount']} EUR"
        return _text(model, value.text)

    # ------------------------------------------------------------ what else the step needs

    def _history(self, model: Any, first: CaseSubmission) -> tuple[EarlierStep, ...]:
        found: list[EarlierStep] = []
        for expr, sure, perhaps, _ in self._step.pasts.numbers.values():
            numbers = [_number(model, one) for one in (sure, perhaps)]
            if isinstance(expr, tree.Sum):
                continue
            target = _meant(expr.subject, self._layers)
            if target is None:
                continue
            earlier = EarlierStep(*target, first.args, None, StepStatus.SUCCEEDED)
            found += [earlier] * min(int(numbers[0]), _MOST_STEPS)
            running = replace(earlier, status=StepStatus.EXECUTING)
            found += [running] * min(int(numbers[1] - numbers[0]), _MOST_STEPS)
        return tuple(found)

    def _made_known(self, step: CaseSubmission) -> Iterator[CaseSubmission]:
        yield step
        texts = list(_scalars(step.args))
        for layer in self._layers:
            for sources in layer.model.definitions.written.values():
                input: Any = step.input
                history: list[EarlierStep] = []
                for source in sources:
                    match source:
                        case tree.InputSource(path) if path.root == "input":
                            input = _at(input, path.parts, " ".join(map(str, texts)))
                        case tree.ResultSource(subject, ats):
                            target = _meant(subject, self._layers)
                            if target is not None:
                                for value in texts:
                                    result: Any = None
                                    for at in ats:
                                        result = _at(result, at.path.parts, value)
                                    history.append(EarlierStep(*target, {}, result))
                        case _:
                            pass
                yield replace(step, input=input)
                yield replace(step, input=input, history=(*history, *step.history))


def _fuller(step: CaseSubmission) -> Iterator[CaseSubmission]:
    # Empty texts are what no source can make known, and what no facet can read.
    yield step
    filled = _filled(step.args)
    if filled != step.args:
        yield replace(step, args=filled)


def _filled(value: Any) -> Any:
    if value == "" and type(value) is str:
        return "word"
    if type(value) is list:
        return [_filled(one) for one in value]
    return {key: _filled(one) for key, one in value.items()} if type(value) is dict else value


def _meant(subject: tree.Subject, layers: Sequence[LayerModel]) -> tuple[Kind, str] | None:
    for layer in layers:
        for group in subject.groups:
            names = [item.text for item in group.patterns if isinstance(item, tree.Name)]
            if all(name in layer.model.values for name in names):
                for pattern in patterns(group, layer.model.values):
                    return Kind(KINDS[group.kind]), pattern.replace("*", "x").replace("?", "x")
    return None


def _at(value: Any, parts: Sequence[tree.PathPart], found: Any) -> Any:
    """A value that holds `found` at a path."""
    if not parts:
        return found
    first, *rest = parts
    match first:
        case tree.Key(name):
            out = dict(value) if type(value) is dict else {}
            out[name] = _at(out.get(name), rest, found)
            return out
        case tree.Index(position):
            return [None] * position + [_at(None, rest, found)]
        case tree.Each():
            inner = value[0] if type(value) is list and value else None
            return [_at(inner, rest, found)]
        case _:
            return {"x": _at(None, rest, found)}


def _merged(one: Any, other: Any) -> Any:
    return {**one, **other} if type(one) is dict and type(other) is dict else other


def _scalars(value: Any) -> Iterator[Any]:
    stack = [value]
    while stack:
        one = stack.pop()
        if type(one) is list:
            stack.extend(one)
        elif type(one) is dict:
            stack.extend(one.values())
        elif type(one) in (str, int, float):
            yield one


def _text(model: Any, text: Any) -> str:
    found = model.eval(text, model_completion=True)
    return _unescaped(found.as_string())


def _unescaped(text: str) -> str:
    import re

    return re.sub(r"\\u\{([0-9a-fA-F]+)\}", lambda found: chr(int(found[1], 16)), text)


def _number(model: Any, number: Any) -> int | float:
    found = model.eval(number, model_completion=True)
    if z3.is_algebraic_value(found):
        found = found.approx(20)
    if z3.is_int_value(found):
        return int(found.as_long())
    exact = found.as_fraction()
    return int(exact) if exact.denominator == 1 else float(exact)
