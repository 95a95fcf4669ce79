"""What commit 23cb6e4 answered, beside what is answered now: a repair moves an answer to maybe, and nowhere else.

`first_edition.jsonl` was recorded under that commit: each line has a source of `known k`, a test, the text of the input
(and of `args.t`), the value of `args.v`, and the answer.
"""

import json
from collections import Counter
from pathlib import Path

from rebuno.policy.compile import compile_text
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.policy import Policy

RECORDED = [json.loads(line) for line in Path(__file__).with_name("first_edition.jsonl").read_text().splitlines()]


def policy(source: str, test: str) -> Policy:
    """A bundle that tells the three answers of a test apart."""
    return compile_text(
        f"default deny\nknown k = {source}\nrule yes {{ allow any step when {test} }}\n"
        f"rule maybe {{ deny any step when {test} }}\nrule no {{ deny any step }}"
    )


def test_a_repair_never_newly_allows() -> None:
    """Each recorded answer is the same now, or maybe; and maybe stays maybe."""
    policies: dict[tuple[str, str], Policy] = {}
    moved: Counter[tuple[str, str]] = Counter()
    for source, test, text, value, before in RECORDED:
        asked = policies.get((source, test)) or policy(source, test)
        policies[source, test] = asked
        evidence = [Evidence(1, "tool_call", "list", {}, [text]), Evidence(2, "tool_call", "vault", {}, [value])]
        facts = Facts("tool_call", "t", {"v": value, "t": text}, input={"request": text}, history=History(evidence))
        now = asked.decide(facts).rule_id
        assert now in (before, "maybe"), (source, test, text, value)
        moved[before, now] += 1
    # The corpus holds what was repaired, on both sides.
    assert moved["yes", "maybe"] > 5
    assert moved["no", "maybe"] > 5
    assert min(moved["yes", "yes"], moved["no", "no"], moved["maybe", "maybe"]) > 100
