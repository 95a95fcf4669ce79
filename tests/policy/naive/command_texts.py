"""Hypothesis strategies for conditions about options, and for submissions with a shell text."""

from typing import Final

from hypothesis import strategies as st

from rebuno.policy.matcher.facts import Facts

WORDS: Final = [
    "dev", "dev", "prod", "get", "''", "-n", "-n", "--namespace", "--namespace=dev", "--namespace=", "-ndev", "-n=dev",
    "-vn", "-v", "-A", "--all", "--al", "--name", "--name=dev", "--n", "-namespace", "--A", "--", "-", "-5", "-n5",
    "$x", "*", "; k", "; env k", "-Anprod", "--other", "--other=x",
]  # fmt: skip
ODD: Final = ["", ";", "k 'open", 5, None, {"a": 1}, ["k -n dev", "k -A"]]
NAMED: Final = ['== "-n"', '!= "-n"', 'in ["-n", "--namespace"]', 'not in ["-A", "--all"]', '== "--ALL" ignoring case']
GIVEN: Final = [
    '== "dev"', '!= "prod"', 'in ["dev", "prod"]', 'not in ["prod"]', 'like "d*"', 'contains "e"',
    '== "DEV" ignoring case',
    "== args.v", 'has (it == "dev" or it given)', 'has (it == "")', "is string",
]  # fmt: skip
SPELLINGS: Final = ["-n --namespace", "-n", "--namespace", "-A --all"]
PLACES: Final = ["args.c", "command of args.c"]


@st.composite
def tests(draw: st.DrawFn, places: list[str]) -> str:
    """One test of options."""
    place, quantifier = draw(st.sampled_from(places)), draw(st.sampled_from(["any", "every", "no"]))
    facet = draw(st.sampled_from(["option", *(f'option "{one}"' for one in SPELLINGS)]))
    shape = draw(st.sampled_from(["asked", "asked", "asked", "presence", "right"]))
    if shape == "presence":
        return f"{facet} of {place} {draw(st.sampled_from(['given', 'missing']))}"
    if shape == "right" and facet != "option":
        return f"args.v {draw(st.sampled_from(['in', 'not in']))} {facet} of {place}"
    return f"{quantifier} {facet} of {place} {draw(st.sampled_from(NAMED if facet == 'option' else GIVEN))}"


@st.composite
def conditions(draw: st.DrawFn) -> str:
    """A test, or a block over the commands."""
    if draw(st.booleans()):
        return draw(tests(PLACES))
    parts = draw(st.lists(tests(["it"]), min_size=1, max_size=3))
    joined = draw(st.sampled_from([" and ", " or "])).join(parts)
    return f"{draw(st.sampled_from(['any', 'every', 'no']))} command of args.c has ({joined})"


@st.composite
def submissions(draw: st.DrawFn) -> Facts:
    """A call with a shell text."""
    words = draw(st.lists(st.sampled_from(WORDS), max_size=6))
    text = " ".join([draw(st.sampled_from(["k", "k", "env k"])), *words])
    odd = draw(st.integers(0, 9)) == 0
    args = {"c": draw(st.sampled_from(ODD)) if odd else text, "v": draw(st.sampled_from(["dev", "prod", "", 5]))}
    return Facts("tool_call", "shell", args)
