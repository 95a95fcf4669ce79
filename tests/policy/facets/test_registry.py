"""Which facets there are: our own, each written down once, and those of installed packages."""

import hashlib
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from rebuno.errors import BundleError
from rebuno.policy.compile import compile_text
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.facets import registry
from rebuno.policy.facets.sql import facets as sql
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.keywords import RESERVED_WORDS, SOFT_FACETS

Install = Callable[..., None]

MODULE = """
from rebuno.policy.facets.reading import Facet
from rebuno.policy.values.json_values import UNREADABLE

def read(value, around):
    if value == "boom":
        raise ZeroDivisionError
    return value.upper() if type(value) is str else UNREADABLE

def literal(value, around):
    if type(value) is not str:
        raise ValueError("a shout is a text")
    return value.upper()

SHOUT = Facet(name="shout", of="a text", gives="it in capitals", value="string", read=read, literal=literal)
CRY = Facet(name="cry", of="a text", gives="it in capitals", value="string", read=read, literal=literal)
"""


def _forget() -> None:
    registry.packaged_facets.cache_clear()
    registry.find_facet.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Lays packages out as an installer does, each by its name with its entry points."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(**packages: str) -> None:
        (tmp_path / "shouting.py").write_text(MODULE, encoding="utf-8")
        for package, points in packages.items():
            info = tmp_path / f"{package}-1.5.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n", encoding="utf-8")
            (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{points}\n", encoding="utf-8")
        _forget()

    yield install
    sys.modules.pop("shouting", None)
    monkeypatch.undo()
    _forget()


def bundle(test: str) -> str:
    return f'default deny\nrule r {{ allow tool "t" when {test} }}'


def refused(test: str) -> tuple[str, str, str]:
    """The code, message and hint of the only error."""
    with pytest.raises(BundleError) as caught:
        compile_text(bundle(test))
    (found,) = caught.value.diagnostics
    return found.code, found.message, found.help


def test_every_module_gives_the_facets_that_it_is_listed_for() -> None:
    """The table of names and the modules are one truth, and each name but the new ones is a word of the language."""
    for module in dict.fromkeys(registry.BUILT_IN_FACETS.values()):
        given = [facet.name for facet in import_module(f"rebuno.policy.facets.{module}").FACETS]
        assert given == [name for name, of in registry.BUILT_IN_FACETS.items() if of == module]
    assert registry.BUILT_IN_FACETS.keys() - SOFT_FACETS <= RESERVED_WORDS
    assert not SOFT_FACETS & RESERVED_WORDS
    assert registry.find_facet("nothing") is None


@pytest.mark.parametrize("name", list(registry.BUILT_IN_FACETS))
def test_every_facet_says_what_it_is(name: str) -> None:
    """What it reads and gives is told in words, and what it gives has a type that tests know."""
    facet = registry.find_facet(name)
    assert facet is not None
    assert facet.of
    assert facet.gives
    assert facet.value in ("string", "number", "date", "list", "option")


def test_a_facet_of_a_package(install: Install) -> None:
    """A package's facet reads like our own, and its name and version count into the digest where it is used."""
    install(loud_facets="shout = shouting:SHOUT")
    policy = compile_text(bundle('shout of args.x == "Hey"'))
    decided = [policy.decide(Facts("tool_call", "t", {"x": value})).rule_id for value in ("hey", "ho", 5)]
    assert decided == ["r", "default", "default"]
    text = bundle('shout of args.x == "Hey"')
    fields = ["rbp 1; loud_facets 1.5", "0", text]
    assert policy.digest == hashlib.sha256(b"".join(b"%d:%s" % (len(f), f.encode()) for f in fields)).hexdigest()
    plain = bundle("args.x given")
    expected = hashlib.sha256(b"".join(b"%d:%s" % (len(f), f.encode()) for f in ["rbp 1", "0", plain])).hexdigest()
    assert compile_text(plain).digest == expected
    assert refused("shout of args.x == 5")[:2] == ("bad-value", "`shout of` never gives this: a shout is a text")
    assert refused("shot of args.x == 5")[::2] == ("unknown-facet", "did you mean `shout`?")


def test_what_a_package_fails_on_is_unreadable(install: Install) -> None:
    """A deny fires on it, an allow does not, and both evaluators say the same."""
    install(loud_facets="shout = shouting:SHOUT")
    facts = Facts("tool_call", "t", {"x": "boom"})
    for rule, expected in (("allow", "default"), ("deny", "r")):
        policy = compile_text(f'default allow\nrule r {{ {rule} tool "t" when shout of args.x == "Hey" }}')
        assert policy.decide(facts).rule_id == explain_decision(policy, facts).decision.rule_id == expected


@pytest.mark.parametrize(
    ("packages", "test", "code", "words"),
    [
        ({"one": "host = shouting:SHOUT"}, 'host of args.x == "a"', "bad-facet", "by rebuno itself and by `one 1.5`"),
        ({"one": "function = shouting:SHOUT"}, 'any function of args.x == "a"', "bad-facet",
         "`function of` is claimed by rebuno itself and by `one 1.5`"),
        ({"one": "written_table = shouting:SHOUT"}, 'any written_table of args.x == "a"', "bad-facet",
         "`written_table of` is claimed by rebuno itself and by `one 1.5`"),
        ({"one": "shout = shouting:SHOUT", "two": "shout = shouting:SHOUT"}, 'shout of args.x == "a"', "bad-facet",
         "by `one 1.5` and by `two 1.5`"),
        ({"one": "shout = shouting:CRY"}, 'shout of args.x == "a"', "bad-facet", "`shouting:CRY` is none of that name"),
        ({"one": "shout = shouting:read"}, 'shout of args.x == "a"', "bad-facet", "`shouting:read` is none"),
        ({"one": "shout = shouting:NONE"}, 'shout of args.x == "a"', "bad-facet", "cannot be loaded"),
        ({"one": "shout = nowhere:SHOUT"}, 'shout of args.x == "a"', "bad-facet", "cannot be loaded"),
        ({"one": "amount = shouting:SHOUT"}, "amount of args.x == 5", "bad-facet", "by rebuno itself and by `one 1.5`"),
        ({"one": "word = shouting:SHOUT"}, 'any word of args.x == "a"', "bad-facet", "`word of` is claimed by rebuno"),
        ({"one": "shout = shouting:SHOUT\nwhen = shouting:CRY"}, 'shout of args.x == "a"', "bad-facet",
         "`one 1.5` gives a facet `when`, which is a word of the language"),
    ],
)  # fmt: skip
def test_faulty_packages(install: Install, packages: dict[str, str], test: str, code: str, words: str) -> None:
    """A facet that two claim, that is named like a word, or that is none, is an error of the bundle that names it."""
    install(**packages)
    found, message, _ = refused(test)
    assert (found, words in message) == (code, True)
    assert compile_text(bundle("args.x given")).decide(Facts("tool_call", "t", {"x": 1})).rule_id == "r"


def test_what_an_extra_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package that reads SQL a bundle about SQL is refused, with what to install."""
    monkeypatch.setattr(sql, "FACETS", ())
    _forget()
    code, message, help = refused('every statement of args.q == "select"')
    _forget()
    assert (code, message) == ("facet-not-installed", "`statement of` needs the package `sqlglot`")
    assert help == "install it (the extra `sql`): `pip install 'sqlglot<31,>=30'`"
