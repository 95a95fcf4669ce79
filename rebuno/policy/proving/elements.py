"""The elements that quantifiers look at, and what facets read.

A list has as many elements as one wants, but of those a few are enough: each test of the list keeps its answer where
one element that decides it stays. So a list of the model has one element for each test that is asked of it.
"""

from collections.abc import Callable
from typing import Any, Final

import z3

from rebuno.policy.facets.reading import Facet
from rebuno.policy.proving.values import ABSENT, JSON, ModelAnswer, Sort, Value
from rebuno.policy.syntax.keywords import FACET_MODULES as OWN

# What a test asks of one element.
Ask = Callable[[Value], ModelAnswer]

# Facets whose values are plain texts or numbers, and which read texts alone but for those below.
PLAIN: Final = frozenset({"host", "scheme", "port", "address", "domain", "size", "number", "amount"})
# Facets whose values are compared as plain texts and numbers are. What one of them reads with doubt is neither.
COMPARED: Final = PLAIN | {"statement", "word", "mailbox", "key"}
# Facets that give texts, and values of which every test is maybe.
OF_WORDS: Final = frozenset({"word", "mailbox"})
_NUMBERS: Final = frozenset({"number", "amount"})
_OF_TEXTS: Final = frozenset({"host", "scheme", "port", "address", "domain"})
_NEVER_EMPTY: Final = frozenset({"command", "program"})
# Tests of one list; with more of them it is taken for any list.
_MOST_USES: Final = 10


class Group:
    """The elements of a list, or the values that facets with several values read. Tests are `ask`ed of it first;
    `settle` then makes the elements."""

    def __init__(
        self,
        key: str,
        source: Value,
        add: Callable[[Any], None],
        facets: tuple[Facet, ...] = (),
        *,
        flat: bool = True,
    ) -> None:
        self.key = key
        self.add = add
        self.source = source
        self.facets = facets
        # Whether each element is one of the list's own; else it was found further down, and may be anything.
        self.flat = flat
        self.uses: dict[tuple[bool, str], tuple[Ask, ModelAnswer]] = {}
        self.slots: list[tuple[Any, Value]] = []
        self.settled = False

    def ask(self, what: str, every: bool, ask: Ask) -> ModelAnswer:
        """The answer of `every` or `any` element to a question; `what` tells equal questions."""
        found = self.uses.get((every, what))
        if found is not None:
            return found[1]
        name = f"{self.key}!{'every' if every else 'any'} {what}"
        answer = ModelAnswer(z3.Bool(f"{name}!yes"), z3.Bool(f"{name}!possible"))
        self.add(z3.Implies(answer.yes, answer.possible))
        # INVARIANT: a test that comes after the elements were made has any answer: they were made for the others.
        if not self.settled:
            self.uses[every, what] = (ask, answer)
        return answer

    def settle(self) -> None:
        """Makes the elements, and says what the answers are. With too many tests the answers stay any."""
        self.settled = True
        if len(self.uses) > _MOST_USES:
            return
        add = self.add
        self._make(add, len(self.uses))
        for (every, _), (ask, answer) in self.uses.items():
            found = [(active, ask(value)) for active, value in self.slots]
            join = z3.And if every else z3.Or
            for mine, theirs in zip(answer, zip(*(one for _, one in found), strict=True), strict=True):
                parts = [
                    z3.Implies(active, one) if every else z3.And(active, one)
                    for (active, _), one in zip(found, theirs, strict=True)
                ]
                add(mine == join(parts))

    def _make(self, add: Callable[[Any], None], number: int) -> None:
        source = self.source
        for at in range(number):
            value = Value(f"{self.key}[{at}]")
            active = z3.Bool(f"{value.key}!there")
            add(value.is_(*Sort))
            self.slots.append((active, value))
        free = [active for active, _ in self.slots]
        if self.facets:
            # Nothing to read gives one absent element, and what cannot be read one that cannot.
            first = self.slots[0]
            for sort in (Sort.MISSING, Sort.UNREADABLE):
                alone = z3.And(first[0], first[1].is_(sort), *[z3.Not(active) for active in free[1:]])
                base = source.absent if sort is Sort.MISSING else source.is_(sort)
                add(z3.Implies(base, alone))
            if self.facets[-1].name in OF_WORDS | {"key"}:
                rest = (Sort.READING,) if self.facets[-1].name in OF_WORDS else ()
                for _, value in self.slots:
                    add(value.is_(Sort.MISSING, Sort.UNREADABLE, Sort.TEXT, *rest))
            if any(facet.name in _NEVER_EMPTY for facet in self.facets):
                add(z3.Implies(source.is_(Sort.TEXT), z3.Or(free)))
            return
        # A value that is no list counts as a list of one; an empty list as one absent element.
        single = Value(f"{self.key}[]", source if self.flat else None)
        itself = z3.Bool(f"{single.key}!there")
        if self.flat:
            add(z3.If(source.is_(Sort.EMPTY), single.is_(Sort.MISSING), single.same(source)))
        else:
            add(z3.Implies(source.absent, single.is_(Sort.MISSING)))
            add(single.is_(*Sort))
        add(z3.Implies(source.is_(Sort.LIST), z3.Not(itself)))
        add(z3.Implies(z3.Not(source.is_(Sort.LIST, Sort.READING, Sort.OBJECT)), itself))
        if self.flat:
            add(z3.Implies(source.is_(Sort.OBJECT), itself))
        add(z3.Or(itself, *free))
        open_sorts = (Sort.LIST, Sort.READING) if self.flat else (Sort.LIST, Sort.READING, Sort.OBJECT)
        add(z3.Implies(z3.Not(source.is_(*open_sorts)), z3.And([z3.Not(active) for active in free])))
        for _, value in self.slots if self.flat else ():
            # A word of a command may not be known.
            add(z3.Or(value.is_(*JSON), source.is_(Sort.READING)))
        self.slots.append((itself, single))


def read_by(facet: Facet, source: Value, value: Value, add: Callable[[Any], None]) -> None:
    """Says what a facet with a single value reads in a source."""
    there = z3.Not(source.absent)
    empty = source.is_(Sort.EMPTY) if facet.sees_empty else z3.BoolVal(False)
    add(z3.Implies(z3.And(source.absent, z3.Not(empty)), value.is_(Sort.MISSING)))
    add(z3.Implies(source.is_(Sort.UNREADABLE), value.is_(Sort.UNREADABLE)))
    if facet.name not in OWN:
        add(value.is_(*Sort))
        return
    if facet.name not in PLAIN:
        add(value.is_(Sort.MISSING, Sort.UNREADABLE, Sort.READING, Sort.TEXT, Sort.NUMBER))
        return
    add(value.is_(Sort.MISSING, Sort.UNREADABLE, Sort.NUMBER if facet.value == "number" else Sort.TEXT))
    if facet.name in _OF_TEXTS:
        add(z3.Implies(z3.And(there, z3.Not(source.is_(Sort.TEXT))), value.is_(Sort.UNREADABLE)))
    elif facet.name in _NUMBERS:
        of_number = z3.And(value.is_(Sort.NUMBER), value.number == source.number)
        add(z3.Implies(source.is_(Sort.NUMBER), of_number))
        add(z3.Implies(source.is_(Sort.TEXT), value.is_(Sort.NUMBER, Sort.UNREADABLE)))
        others = z3.Not(z3.Or(source.absent, source.is_(Sort.NUMBER, Sort.TEXT)))
        add(z3.Implies(others, value.is_(Sort.UNREADABLE)))
    elif facet.name == "size":
        add(z3.Implies(z3.Or(empty, source.is_(Sort.TEXT, Sort.LIST, Sort.OBJECT)), value.is_(Sort.NUMBER)))
        add(z3.Implies(empty, value.number == 0))
        add(z3.Implies(source.is_(Sort.TEXT), value.number == z3.ToReal(z3.Length(source.text))))
        add(z3.Implies(source.is_(Sort.LIST), value.number >= 1))
        add(z3.And(value.number >= 0, z3.IsInt(value.number)))
        counted = z3.Or(source.is_(*ABSENT), source.is_(Sort.TEXT, Sort.LIST, Sort.OBJECT))
        add(z3.Implies(z3.Not(counted), value.is_(Sort.UNREADABLE)))
