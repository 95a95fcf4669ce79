"""What the facets of options are certain of is so for every parser that takes the words."""

from shlex import quote
from typing import Final

from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.policy.facets.option_parsers import PARSERS, THROUGHOUT, Met, Option, Program, RefusedError
from tests.policy.facets.test_option import answer

NAMESPACE: Final = Option(("-n", "--namespace"), True)
OTHERS: Final = [
    ("-o", "--output"), ("-v", "--verbose"), ("-A", "--all"), ("-d",), ("-e", "--env"), ("--name",), ("--names",),
    ("--message", "-m"), ("--no",), ("-x", "--namespaces"), ("-5",),
]  # fmt: skip
WORDS: Final = [
    "dev", "dev", "prod", "get", "-n", "-n", "--namespace", "--namespace=dev", "--namespace=prod", "-ndev", "-nprod",
    "-n=dev", "-vn", "-vndev", "-nv", "-on", "-o", "-v", "-vA", "-od", "-dev", "--name", "--name=dev", "--names",
    "--na", "--n", "--nam=prod", "--message", "--message=x", "--mess", "-m", "-mn", "--", "-", "-5", "--no", "--all",
    "-A", "-namespace", "-namespace=dev", "--A", "--o", "-x", "-x=n", "", "=", "-e", "--env=-n", "--namespace=",
]  # fmt: skip
LISTED: Final = ["-n", "--namespace", "-o", "--output", "-v", "-A", "--name", "--names", "--message", "-m", "-d", "-5"]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A program with a namespace and other options; which take a value is open."""
    others = draw(st.lists(st.sampled_from(OTHERS), unique=True, max_size=len(OTHERS)))
    return (NAMESPACE, *(Option(names, draw(st.booleans())) for names in others))


lines = st.lists(st.sampled_from(WORDS), max_size=6)


def parsed(program: Program, words: list[str]) -> dict[str, Met]:
    """What each parser that takes the words makes of them."""
    found = {}
    for name, parse in PARSERS.items():
        try:
            found[name] = parse(program, words)
        except RefusedError:
            continue
    return found


def given_to(met: Met) -> list[str | None]:
    """The values of the namespace."""
    return [value for option, value in met if option is NAMESPACE]


@settings(max_examples=8000, deadline=None)
@given(programs(), lines)
def test_what_is_sure_is_so_for_every_parser(program: Program, words: list[str]) -> None:
    """Of the values of one option: all of them, one of them, and none."""
    text = " ".join(["k", *map(quote, words)])
    every = answer('every option "-n --namespace" of args.command == "dev"', text)
    some = answer('any option "-n --namespace" of args.command == "dev"', text)
    missing = answer('option "-n --namespace" of args.command missing', text)
    event(f"every {every}, any {some}, missing {missing}")
    for name, met in parsed(program, words).items():
        values = given_to(met)
        if every is True:
            assert set(values) <= {"dev"}, name
        if missing is True:
            assert values == [], name
        if name in THROUGHOUT:
            if every is True or some is True:
                assert "dev" in values, name
            if missing is False:
                assert values, name
        if every is False:
            assert values == [] or set(values) != {"dev"} or name not in THROUGHOUT, name
        if some is False:
            assert "dev" not in values, name


@settings(max_examples=8000, deadline=None)
@given(programs(), lines, st.lists(st.sampled_from(LISTED), unique=True, min_size=1, max_size=8))
def test_no_other_option_gets_through(program: Program, words: list[str], listed: list[str]) -> None:
    """Where each option is in a list, no parser meets an option of which no name is in it; where none is, none is."""
    # A name that the program does not have may be short for another one, which the rule then lets in by that name.
    listed = [name for name in listed if any(name in option.names for option in program)] or ["-n"]
    text = " ".join(["k", *map(quote, words)])
    names = ", ".join(f'"{name}"' for name in listed)
    only = answer(f"every option of args.command in [{names}]", text)
    some = answer(f"any option of args.command in [{names}]", text)
    none = answer(f"no option of args.command in [{names}]", text)
    event(f"every {only}, any {some}, no {none}")
    for name, met in parsed(program, words).items():
        in_list = [any(one in listed for one in option.names) for option, _ in met]
        if only is True:
            assert all(in_list), name
        if some is True and name in THROUGHOUT:
            assert any(in_list), name
        if none is True:
            # A rule that names an option has to give all its names.
            whole = [all(one in listed for one in option.names) for option, _ in met]
            assert not any(whole), name
