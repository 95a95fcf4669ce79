"""Whatever was recorded: the bundle compiles, denies nothing that was seen, and allows nothing beyond what it says."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebuno.model.decision import Verdict
from tests.policy.suggest.runs import NEVER_RAN, run, suggested, verdict

SLOW = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
ODD = st.sampled_from(
    [
        'say "no"',
        "{x} }} {",
        "a\nb\r\nc",
        "\x00\x1b[31m\x7f",
        "\u202eevil\u200b",
        "\\u0022 or 1 == 1",
        '"] or args.to given #',
        "ünïcode 𝒳",
        "~/.ssh/id_rsa",
        "../../etc/passwd",
        "src/a.py",
        "https://evil.example/?x=1",
        "www.page.example",
        "a@b.example",
        "2026-05-01",
        "*",
        "[a-z]",
        "",
        " ",
    ]
)
TEXTS = st.one_of(ODD, st.text(max_size=12), st.sampled_from(["general", "Ann", "x1", "7"]))
SCALARS = st.one_of(TEXTS, st.integers(-5, 10**18), st.booleans(), st.none(), st.floats(allow_nan=False))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)
KEYS = st.one_of(
    st.sampled_from(["to", "body", "path", "url", "command", "sql", "code", "id", "amount", "day", "content", "cwd"]),
    st.text(min_size=1, max_size=6),
)
TOOLS = st.one_of(
    st.sampled_from(["get_item", "list_all", "send_it", "shell", "write_file", "delete_it", "srv.create", "local"]),
    st.text(min_size=1, max_size=8),
)
CALLS = st.tuples(
    TOOLS, st.one_of(st.none(), st.dictionaries(KEYS, VALUES, max_size=4)), st.one_of(VALUES, st.just(NEVER_RAN))
)
RUNS = st.lists(
    st.tuples(st.one_of(st.none(), TEXTS), st.lists(CALLS, max_size=5), st.sampled_from(["", "/work/project"])),
    max_size=4,
)


@SLOW
@given(RUNS)
def test_nothing_that_ran_is_denied(runs: list[tuple[str | None, list[Any], str]]) -> None:
    """And each bundle is sound, formatted, and says what its cases say; `suggested` looks at that. A run that is seen
    twice makes literals of its values, and one whose request names them ties them, so that both are written too."""
    recorded = [run(request, *calls, workdir=workdir) for request, calls, workdir in runs]
    twice = [run(f"again {request}", *calls, workdir=workdir) for request, calls, workdir in runs]
    named = [run(_naming(calls), *calls, workdir=workdir) for _, calls, workdir in runs]
    ran = sum(call[2] is not NEVER_RAN for _, calls, _ in runs for call in calls)
    for times, chosen in ((2, [*recorded, *twice]), (1, named), (3, [*recorded, *twice, *named])):
        found = suggested(*chosen)
        assert found.steps == times * ran == found.allowed + found.asks
        assert found.left_out == times * sum(len(calls) for _, calls, _ in runs) - found.steps
    brought = [
        run(f"task {day}", ("get_note", {}, {"body": _naming(calls)}), *calls, workdir=workdir)
        for _, calls, workdir in runs
        for day in range(3)
    ]
    assert suggested(*brought).steps == 3 * (ran + len(runs))


def _naming(calls: list[Any]) -> str:
    """A request that names all texts and numbers of the arguments."""
    waiting = [args for _, args, _ in calls]
    said = ["please use"]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif value is not None:
            said.append(str(value))
    return " ".join(said)


@SLOW
@given(st.text(min_size=1, max_size=30), st.sampled_from(["to", "channel", "url", "path", "account"]))
def test_a_value_that_was_seen_once_lets_nothing_pass(value: str, key: str) -> None:
    """Whatever it is, and however often the same tool was called with what the user named."""
    usual = [run(f"write to friend{n}", ("send_it", {key: f"friend{n}", "amount": 5})) for n in range(3)]
    found = suggested(*usual, run("tidy up", ("send_it", {key: value, "amount": 5})))
    assert verdict(found.bundle, "another day", "send_it", {key: value, "amount": 5}) is not Verdict.ALLOW
    assert verdict(found.bundle, "write to friend9", "send_it", {key: "friend9", "amount": 5}) is Verdict.ALLOW


@SLOW
@given(st.text(min_size=2, max_size=12), st.integers(6, 10**12), st.text(min_size=1, max_size=5))
def test_nothing_wider_than_the_rule_says_is_allowed(other: str, number: int, key: str) -> None:
    """No other account, no larger number, no other key, no other tool."""
    seen = [run(f"pay account{n} what we owe", ("pay_bill", {"account": f"account{n}", "amount": 5})) for n in range(3)]
    bundle = suggested(*seen).bundle
    asks = "pay account7 what we owe"
    good = {"account": "account7", "amount": 5}
    assert verdict(bundle, asks, "pay_bill", good) is Verdict.ALLOW
    if other not in asks:
        assert verdict(bundle, asks, "pay_bill", good | {"account": other}) is not Verdict.ALLOW
    assert verdict(bundle, asks, "pay_bill", good | {"amount": number}) is not Verdict.ALLOW
    assert verdict(bundle, asks, "pay_bill", good | {"amount": -number}) is not Verdict.ALLOW
    if key not in good:
        assert verdict(bundle, asks, "pay_bill", good | {key: 1}) is not Verdict.ALLOW
    assert verdict(bundle, asks, f"pay_bill{key}", good) is Verdict.DENY
