"""Conditions of a bundle as formulas over the values of one step. What is not known exactly has any answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final

import z3

from rebuno.policy.facets.reading import Facet
from rebuno.policy.facets.registry import FacetError
from rebuno.policy.matcher.build import names_of
from rebuno.policy.matcher.operands import Block, lens, literal, may_be_absent, normal_right, path_context
from rebuno.policy.matcher.tests import signs
from rebuno.policy.proving.elements import COMPARED, OF_WORDS, Ask, Group, read_by
from rebuno.policy.proving.past import Pasts, patterns
from rebuno.policy.proving.plain import given, is_type, plain_answer, with_value
from rebuno.policy.proving.sources import Definitions
from rebuno.policy.proving.values import (
    JSON,
    MAYBE,
    NO,
    ModelAnswer,
    Sort,
    Value,
    all_of,
    any_of,
    exactly,
    inverted,
    where,
)
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Op

# Parts of conditions that are looked into; what comes after them has any answer.
_MOST_PARTS: Final = 20_000


_ROOTS: Final[dict[str, tuple[Sort, ...]]] = {
    "target": (Sort.TEXT,),
    "agent": (Sort.TEXT,),
    "args": (Sort.MISSING, *JSON),
    "input": (Sort.MISSING, *JSON),
}


class _UnknownError(Exception):
    """The model does not know a part of this test."""


class ModelStep:
    """The values of one step, which all bundles that are asked about it share."""

    def __init__(self) -> None:
        self.rules: list[Any] = []
        self.roots: dict[str, Value] = {}
        self.target = z3.String("target")
        self.answers: dict[tuple[str, str], tuple[Value | None, ModelAnswer]] = {}
        self.opposites: dict[tuple[str, str], ModelAnswer] = {}
        # The answers of tests of `known` sets: the value, the set with how it is asked, and the answer.
        self.known: dict[tuple[str, str], dict[frozenset[str], ModelAnswer]] = {}
        self.pasts = Pasts(self.add)
        self.pending: list[Group] = []
        self.left = _MOST_PARTS
        self._number = count()

    def add(self, formula: Any) -> None:
        """Says what holds in every step."""
        self.rules.append(formula)

    def any(self, key: str, what: str, value: Value | None = None) -> ModelAnswer:
        """The answer to a question of which nothing is known: the same for the same question."""
        found = self.answers.get((key, what))
        if found is None:
            name = f"any {next(self._number)}"
            answer = ModelAnswer(z3.Bool(f"{name}!yes"), z3.Bool(f"{name}!possible"))
            self.add(z3.Implies(answer.yes, answer.possible))
            found = self.answers[key, what] = (value, answer)
        return found[1]

    def opposed(self, key: str, what: str, negated: bool) -> ModelAnswer:
        """As `any`, of a test or of its negation: where one is yes the other is no, and nothing more is known."""
        answer = self.any(key, what)
        other = self.opposites.get((key, what))
        if other is None:
            other = self.opposites[key, what] = self.any(key, f"not {what}")
            self.add(z3.Implies(answer.yes, z3.Not(other.possible)))
            self.add(z3.Implies(other.yes, z3.Not(answer.possible)))
        return other if negated else answer

    def settle(self) -> None:
        """Makes the elements of all lists, those inside of elements too."""
        while self.pending:
            self.pending.pop(0).settle()

    # ------------------------------------------------------------ places

    def root(self, name: str) -> Value:
        """The value that paths with this root start from."""
        value = self.roots.get(name)
        if value is None:
            value = self.roots[name] = Value(name)
            self.add(value.is_(*_ROOTS.get(name, tuple(Sort))))
            if name == "target":
                self.add(value.text == self.target)
        return value

    def at(self, value: Value, parts: Sequence[tree.PathPart]) -> Value:
        """The value at the end of a path of keys and positions."""
        for part in parts:
            # An element that is the value itself has its keys, too.
            value = value.alias or value
            if isinstance(part, tree.Key):
                value = value.keys.get(part.name) or self._key(value, part.name)
            elif isinstance(part, tree.Index):
                value = value.items.get(part.position) or self._item(value, part.position)
            else:
                raise _UnknownError
        return value

    def _key(self, value: Value, name: str) -> Value:
        # INVARIANT: no two places share a name, whatever an argument is called: `args["a.b"]` is not `args.a.b`.
        written = f".{name}" if name.isidentifier() else f"[{name!r}]"
        found = value.keys[name] = Value(value.key + written)
        self._below(value, found, Sort.OBJECT)
        return found

    def _item(self, value: Value, position: int) -> Value:
        found = value.items[position] = Value(f"{value.key}[#{position}]")
        self._below(value, found, Sort.LIST)
        return found

    def _below(self, value: Value, found: Value, holder: Sort) -> None:
        inside = value.is_(holder, Sort.READING)
        self.add(z3.Implies(value.absent, found.is_(Sort.MISSING)))
        self.add(z3.Implies(z3.Not(z3.Or(value.absent, inside)), found.is_(Sort.UNREADABLE)))
        self.add(z3.Implies(value.is_(holder), found.is_(Sort.MISSING, *JSON)))
        self.add(found.is_(*Sort))

    def read(self, facet: Facet, value: Value) -> Value:
        """What a facet with a single value reads."""
        if value.alias is not None and not facet.sees_empty:
            value = value.alias
        found = value.facets.get(facet.name)
        if found is None:
            found = value.facets[facet.name] = Value(f"{facet.name}({value.key})")
            read_by(facet, value, found, self.add)
        return found

    def group(self, source: Value, key: str, facets: tuple[Facet, ...] = (), *, flat: bool = True) -> Group:
        """The elements at a source; `key` tells those of one source apart."""
        found: Group | None = source.groups.get(key)
        if found is None:
            found = source.groups[key] = Group(f"{source.key}|{key}", source, self.add, facets, flat=flat)
            self.pending.append(found)
        return found


class BundleModel:
    """The conditions of one bundle over a step."""

    def __init__(self, step: ModelStep, bundle: tree.Bundle) -> None:
        self.step = step
        self.values: Mapping[str, Any] = names_of(bundle).values
        self.definitions = Definitions(bundle)
        self._context = path_context(bundle)
        self._conditions = {one.name.text: one.expr for one in bundle.statements if isinstance(one, tree.Condition)}

    def expr(self, expr: tree.Expr, negated: bool, block: Block | None = None, it: Value | None = None) -> ModelAnswer:
        """The answer of a condition, or of its negation. `it` is the element of the block around it."""
        self.step.left -= 1
        if self.step.left < 0:
            return self._any(expr, negated, it)
        match expr:
            case tree.Not(item):
                return self.expr(item, not negated, block, it)
            case tree.And(items) | tree.Or(items):
                join = all_of if isinstance(expr, tree.And) is not negated else any_of
                return join([self.expr(item, negated, block, it) for item in items])
            case tree.ConditionRef(name) if name.text in self._conditions:
                return self.expr(self._conditions[name.text], negated)
            case tree.Test():
                try:
                    return self._test(expr, negated, block, it)
                except (_UnknownError, FacetError, ValueError):
                    return self._any(expr, negated, it)
            case tree.After() | tree.Count() | tree.Sum():
                found = self.step.pasts.answer(self._written_out(expr), negated, self.definitions.key)
                return self._any(expr, negated, it) if found is None else found
            case _:
                return self._any(expr, negated, it)

    def _written_out(self, expr: tree.Past) -> tree.Past:
        # A list of tools by its name is the list.
        groups = []
        for group in expr.subject.groups:
            texts = sorted(set(patterns(group, self.values)))
            groups.append(replace(group, patterns=tuple(tree.Literal(text, group.span) for text in texts)))
        return replace(expr, subject=replace(expr.subject, groups=tuple(groups)))

    def _any(self, expr: tree.Expr, negated: bool, it: Value | None) -> ModelAnswer:
        # INVARIANT: whatever the model does not know comes here: any answer, and the same to the same question.
        what = f"{self.definitions.places} {self.definitions.key(expr)}"
        return self.step.opposed(it.key if it is not None else "", what, negated)

    # ------------------------------------------------------------ tests

    def _test(self, test: tree.Test, negated: bool, block: Block | None, it: Value | None) -> ModelAnswer:
        op, flipped, every = signs(test, negated)
        look = lens(test.operand, op, block)
        if len(look.chain) < len(test.operand.facets):
            raise _UnknownError  # a facet that is not known
        if may_be_absent(look.chain):
            raise _UnknownError  # an element that may not be there says one thing to `any` and another to `every`
        chain = tuple(reversed(look.chain))
        if op is Op.GIVEN and every is None:
            return self._given(test.operand, chain, flipped, it)
        ask: Ask
        if test.block is not None:
            inner, inside = test.block, Block(look.facet)

            def ask_block(value: Value) -> ModelAnswer:
                return self.expr(inner, flipped, inside, value)

            ask = ask_block
            by = inside.facet.name if inside.facet else ""
            what = f"has {flipped} {by} {self.definitions.places} {self.definitions.key(inner)}"
        else:
            ask, what = self._element(test, op, flipped, look.facet, it)
        if every is None:
            return ask(self._single(test.operand, chain, it))
        return self._quantified(test.operand, chain, every, what, ask, it)

    def _start(self, path: tree.Path, it: Value | None) -> Value:
        if path.root != "it":
            return self.step.root(path.root)
        if it is None:
            raise _UnknownError
        return it

    def _single(self, operand: tree.Operand, chain: Sequence[Facet], it: Value | None) -> Value:
        [path] = operand.paths
        value = self.step.at(self._start(path, it), path.parts)
        return self._through(chain, value)

    def _through(self, chain: Sequence[Facet], value: Value) -> Value:
        for facet in chain:
            if facet.many:
                raise _UnknownError
            value = self.step.read(facet, value)
        return value

    def _given(self, operand: tree.Operand, chain: Sequence[Facet], negated: bool, it: Value | None) -> ModelAnswer:
        many = any(path.many for path in operand.paths) or any(facet.many for facet in chain)
        answers: list[ModelAnswer] = []
        for path in operand.paths:
            if many:
                found, there = self._at_path(path, chain, False, "given", self._is_given(False), it, apart=False)
            else:
                value = self.step.at(self._start(path, it), path.parts)
                found, there = self._is_given(False)(self._through(chain, value)), z3.Not(value.absent)
            answers.append(found if len(operand.paths) == 1 else where(there, found, NO))
        # What is absent everywhere is one absent element, which is not given.
        answer = any_of(answers)
        return inverted(answer) if negated else answer

    def _is_given(self, negated: bool) -> Ask:
        def ask(value: Value) -> ModelAnswer:
            answer = given(value, lambda: self._of(value, "given"))
            return inverted(answer) if negated else answer

        return ask

    def _element(
        self, test: tree.Test, op: Op, negated: bool, facet: Facet | None, it: Value | None
    ) -> tuple[Ask, str]:
        """What the test asks of one element, and the words of that question."""
        if op is Op.GIVEN:
            return self._is_given(negated), f"{negated} given"
        if op is Op.IS:
            name = str(test.right.value) if isinstance(test.right, tree.Literal) else ""
            return (
                lambda value: is_type(value, name, negated, lambda: self._of(value, f"is {name}")),
                f"{negated} is {name}",
            )
        by = f"{facet.name} {self.definitions.places}" if facet is not None else ""
        right = test.right
        if isinstance(right, tree.Name) and right.text not in self.values:
            known = self.definitions.known(right.text)
            if known is None:
                raise _UnknownError
            asked = f"{'mentions' if op is Op.CONTAINS_ANY else 'in'} {test.ignoring_case} {by}"
            sources = self.definitions.sources[right.text]
            return (
                lambda value: with_value(value, self._known(value, op, sources, asked), negated),
                f"{negated} {asked} {sorted(sources)}",
            )
        if isinstance(right, tree.Operand):
            at = it.key if it is not None and any(path.root == "it" for path in right.paths) else ""
            what = f"{op.value} {test.ignoring_case} {by} {at} {right!r}"
            return lambda value: self._with_path(value, what, negated), f"{negated} {what}"
        raw = literal(right, self.values)
        what = f"{op.value} {test.ignoring_case} {by} {raw!r}"
        normal: Any = raw
        doubtful = facet is not None and facet.name in OF_WORDS
        exact = facet is None or (facet.name in COMPARED and op is not Op.UNDER and facet.pattern is None)
        if exact:
            normal = normal_right(facet, op, raw, self._context)

        def ask(value: Value) -> ModelAnswer:
            def anything() -> ModelAnswer:
                return self._of(value, what)

            if not exact:
                return with_value(value, anything(), negated)
            found = plain_answer(value, op, normal, test.ignoring_case, anything, doubtful=doubtful)
            return with_value(value, found, negated)

        return ask, f"{negated} {what}"

    def _of(self, value: Value, what: str) -> ModelAnswer:
        known = value.alias or value
        return self.step.any(known.key, what, known)

    def _with_path(self, value: Value, what: str, negated: bool) -> ModelAnswer:
        known = value.alias or value
        asked = self.step.opposed(known.key, what, negated)
        return where(value.absent, MAYBE if negated else NO, asked)

    def _known(self, value: Value, op: Op, sources: frozenset[str], asked: str) -> ModelAnswer:
        known = value.alias or value
        answer = self.step.any(known.key, f"{asked} {sorted(sources)}", known)
        held = self.step.known.setdefault((known.key, asked), {})
        if sources not in held:
            for other, theirs in held.items():
                # A set with all sources of another holds whatever that one holds.
                for smaller, less, larger, more in (
                    (sources, answer, other, theirs),
                    (other, theirs, sources, answer),
                ):
                    if smaller <= larger:
                        self.step.add(z3.Implies(less.yes, more.yes))
                        self.step.add(z3.Implies(less.possible, more.possible))
            held[sources] = answer
            if op is not Op.CONTAINS_ANY:
                scalar = (Sort.TRUE, Sort.FALSE, Sort.NUMBER, Sort.TEXT, Sort.READING)
                self.step.add(z3.Implies(answer.yes, known.is_(*scalar)))
        return answer

    # ------------------------------------------------------------ quantifiers

    def _quantified(
        self, operand: tree.Operand, chain: Sequence[Facet], every: bool, what: str, ask: Ask, it: Value | None
    ) -> ModelAnswer:
        found = [self._at_path(path, chain, every, what, ask, it, apart=True) for path in operand.paths]
        if len(found) == 1:
            return found[0][0]
        # A path that is absent is left out; if all are, there is one absent element.
        left_out = exactly(z3.BoolVal(every))
        answer = (all_of if every else any_of)([where(there, one, left_out) for one, there in found])
        nothing = self._through_absent(chain, ask)
        return where(z3.Or([there for _, there in found]), answer, nothing)

    def _through_absent(self, chain: Sequence[Facet], ask: Ask) -> ModelAnswer:
        # Every facet leaves what is absent absent; it was no empty list, but nothing at all.
        nothing = Value("nothing")
        self.step.add(nothing.is_(Sort.MISSING))
        return ask(nothing)

    def _at_path(
        self,
        path: tree.Path,
        chain: Sequence[Facet],
        every: bool,
        what: str,
        ask: Ask,
        it: Value | None,
        *,
        apart: bool,
    ) -> tuple[ModelAnswer, Any]:
        """The answer over the elements of one path, and whether the path is there at all."""
        parts = path.parts
        first = next((at for at, part in enumerate(parts) if not isinstance(part, tree.Key | tree.Index)), len(parts))
        source = self.step.at(self._start(path, it), parts[:first])
        rest = parts[first + 1 :]
        there = z3.Not(source.absent)
        last = max((at for at, facet in enumerate(chain) if facet.many), default=-1) + 1
        split, single = tuple(chain[:last]), tuple(chain[last:])
        if split:
            names = " ".join(facet.name for facet in split)
            key = f"{names} of {parts[first:]!r} {'apart' if apart or first < len(parts) else 'whole'}"
            group, rest = self.step.group(source, key, split), ()
        elif first == len(parts) and not apart:
            return ask(self._through(single, source)), there
        else:
            simple = first == len(parts) or (
                isinstance(parts[first], tree.Each) and all(isinstance(part, tree.Key | tree.Index) for part in rest)
            )
            if simple:
                group = self.step.group(source, "elements")
            else:
                group, rest = self.step.group(source, f"{parts[first:]!r}", flat=False), ()
        after = f"{rest!r} {' '.join(facet.name for facet in single)}"

        def follow(value: Value) -> ModelAnswer:
            return ask(self._through(single, self.step.at(value, rest)))

        return group.ask(f"{after} {what}", every, follow), there
