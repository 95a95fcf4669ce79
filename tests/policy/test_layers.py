"""Several bundles make one policy: the strictest wins, and what each deciding rule asks for is kept."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import rebuno
from rebuno.errors import BundleError
from rebuno.model.decision import STRICTNESS, Decision, Verdict
from rebuno.model.obligation import Asking, Limit, LimitScope, Obligation, Otherwise
from rebuno.policy.compile import compile_policy, compile_text, permissive
from rebuno.policy.explain.explain import explain, known_values
from rebuno.policy.matcher import policy as decide
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.policy import Layers, Policy
from rebuno.policy.syntax.source import Source
from rebuno.testing import assert_decision
from tests.policy import bundles as made

ORG = """bundle org
default allow
rule no-shell { deny tool "shell" or local "rm" because "not here" }
rule ask { require approval for tool "pay" when args.n > 5 approvers "ann" message "Pay?" because "much" }
"""
AGENT = """bundle agent
default deny because "not its task"
rule pay { allow tool "pay" limit 5 per 1h }
rule ask-too { require approval for tool "shell", "mail" because "careful" }
rule reads { allow tool "read" }
"""
LIMIT = Obligation("agent", "pay", limit=Limit(5, 3600, LimitScope.EXECUTION, Otherwise.RATE_LIMITED))
ANN = Obligation("org", "ask", asking=Asking(("ann",), message="Pay?"))


def layered(*texts: str) -> Policy:
    return compile_policy([Source(text, stem=f"layer{n}") for n, text in enumerate(texts)])


@pytest.mark.parametrize(
    ("kind", "target", "n", "verdict", "rule", "bundle", "obligations"),
    [
        ("tool_call", "read", 1, Verdict.ALLOW, "default", "org", ()),  # both allow: the first is named
        ("tool_call", "pay", 1, Verdict.ALLOW, "default", "org", (LIMIT,)),  # the other's limit counts all the same
        ("tool_call", "pay", 9, Verdict.APPROVAL, "ask", "org", (ANN, LIMIT)),
        ("tool_call", "shell", 1, Verdict.DENY, "no-shell", "org", ()),  # deny over approval
        ("tool_call", "mail", 1, Verdict.APPROVAL, "ask-too", "agent", ()),  # approval over allow
        ("tool_call", "other", 1, Verdict.DENY, "default", "agent", ()),
        ("local", "now", 1, Verdict.ALLOW, "local", "org", ()),  # in no layer is a local step met by its default
        ("local", "rm", 1, Verdict.DENY, "no-shell", "org", ()),
    ],
)
def test_the_strictest_layer_decides(
    kind: str, target: str, n: int, verdict: Verdict, rule: str, bundle: str, obligations: tuple[Obligation, ...]
) -> None:
    """The decision is the strictest layer's in every field, with what all layers ask for unless it denies."""
    policy = layered(ORG, AGENT)
    decision = policy.decide(Facts(kind, target, {"n": n}))
    assert (decision.verdict, decision.rule_id, decision.bundle) == (verdict, rule, bundle)
    assert decision.obligations == obligations
    [alone] = [layer for layer in policy.layers if layer.name == bundle]
    single = alone.decide(Facts(kind, target, {"n": n}))
    for field in ("reason", "line", "message", "digest"):
        assert getattr(decision, field) == getattr(single, field)


@pytest.mark.parametrize("verdict", ["allow", "deny", "require approval for"])
def test_the_first_of_equals_is_named(verdict: str) -> None:
    """Which layer the journal names does not depend on chance."""
    texts = [f"bundle b{n} rule r{n} {{ {verdict} any step }}" for n in range(3)]
    assert layered(*texts).decide(Facts("tool_call", "x")).rule_id == "r0"


def test_deciding_again_makes_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same decisions of the layers are one object, and what is kept is bounded."""
    policy = layered(ORG, AGENT)
    assert isinstance(policy, Layers)
    first = policy.decide(Facts("tool_call", "pay", {"n": 9}))
    assert policy.decide(Facts("tool_call", "pay", {"n": 10})) is first
    monkeypatch.setattr(decide, "MOST_COMBINED", 2)
    for target in ("read", "mail", "shell", "other"):
        policy.decide(Facts("tool_call", target, {"n": 1}))
        assert len(policy._combined) <= 2
    assert policy.decide(Facts("tool_call", "pay", {"n": 9})).obligations == first.obligations


def test_digests_and_names() -> None:
    """The digest covers every layer and their order; each decision carries the whole policy's."""
    one, other = compile_text(ORG), compile_text(AGENT)
    both, turned = layered(ORG, AGENT), layered(AGENT, ORG)
    assert len({one.digest, other.digest, both.digest, turned.digest}) == 4
    assert both.name == "org + agent"
    assert [source.text for source in both.sources] == [ORG, AGENT]
    for target in ("read", "shell", "mail"):
        assert both.decide(Facts("tool_call", target, {"n": 1})).digest == both.digest


def test_texts_cannot_be_moved_between_layers() -> None:
    """Two policies whose texts are the same when run together have two digests."""
    a, b, rest = "bundle a\n", "bundle b\n", "default allow\n"
    assert layered(a + rest, b).digest != layered(a, b + rest).digest


def test_layers_with_mistakes() -> None:
    """All mistakes of all layers come at once, and two layers cannot share a name."""
    with pytest.raises(BundleError) as caught:
        layered("bundle a\nrule r { allow tool x }", "bundle b\nrule r { allow tool y }", "bundle a")
    assert [d.code for d in caught.value.diagnostics] == ["unknown-name", "unknown-name", "duplicate-bundle"]
    with pytest.raises(BundleError, match="two layers are named `bundle`"):
        compile_policy([Source("default deny"), Source("default deny")])


def test_a_trace_tells_every_layer() -> None:
    """The trace is the deciding layer's, with each layer's own beside it."""
    policy = layered(ORG, AGENT)
    told = explain(policy, Facts("tool_call", "mail", {"n": 1}))
    assert [rule.rule_id for rule in told.rules] == ["pay", "ask-too", "reads"]
    assert [(layer.decision.bundle, layer.decision.verdict.value) for layer in told.layers] == [
        ("org", "allow"),
        ("agent", "require_approval"),
    ]
    data = told.to_json()
    assert (data["bundle"], [layer["bundle"] for layer in data["layers"]]) == ("agent", ["org", "agent"])
    assert "version" not in data["layers"][0]
    assert "layers" not in explain(compile_text(ORG), Facts("tool_call", "x")).to_json()


def test_known_values_of_layers_are_told_apart() -> None:
    """Layers may use one name for two things."""
    policy = layered('bundle a\nknown k = ["x"]', 'bundle b\nknown k = ["y"]')
    assert known_values(policy, Facts("tool_call", "t")) == {"a.k": ["x"], "b.k": ["y"]}


def test_a_kernel_takes_several_paths(tmp_path: Path) -> None:
    """`policy=["org.rbp", "agent.rbp"]` is one policy, in an open kernel as in an assertion."""
    for name, text in [("org", ORG), ("agent", AGENT)]:
        (tmp_path / f"{name}.rbp").write_text(text.replace("limit 5 per 1h", "").replace('approvers "ann"', ""))
    paths: list[str | Path] = [tmp_path / "org.rbp", str(tmp_path / "agent.rbp")]
    assert_decision(paths, "deny", "shell", {"n": 1}, rule="no-shell")

    async def opened() -> str:
        async with rebuno.open(tmp_path / "a.db", policy=paths) as kernel:
            return kernel.policy.name

    assert asyncio.run(opened()) == "org + agent"


def strictness(decision: Decision) -> int:
    return STRICTNESS[decision.verdict]


@settings(max_examples=40, deadline=None)
@given(st.lists(made.bundles(), min_size=2, max_size=3), st.lists(made.facts(), min_size=1, max_size=3))
def test_layers_are_as_strict_as_the_strictest(texts: list[str], submissions: list[Facts]) -> None:
    """For any bundles and any submission, by `decide` as by `explain`."""
    named = [text.replace("bundle made", f"bundle made{n}") for n, text in enumerate(texts)]
    singles = [made.policy_of(text) for text in named]
    policy = Layers([layer for single in singles for layer in single.layers])
    for facts in submissions:
        decision = policy.decide(made.again(facts))
        alone = [single.decide(made.again(facts)) for single in singles]
        assert strictness(decision) == max(map(strictness, alone))
        winner = next(one for one in alone if one.verdict is decision.verdict)
        assert (decision.bundle, decision.rule_id, decision.reason) == (winner.bundle, winner.rule_id, winner.reason)
        told = explain(policy, made.again(facts))
        assert (told.decision.bundle, told.decision.rule_id) == (decision.bundle, decision.rule_id)
        assert told.decision.obligations == decision.obligations
        event(f"{decision.verdict} of {sorted({one.verdict.value for one in alone})}")


@settings(max_examples=30, deadline=None)
@given(made.bundles(), made.facts())
def test_a_permissive_layer_changes_nothing(text: str, facts: Facts) -> None:
    """Appended, a layer that allows everything leaves every decision as it was."""
    single = made.policy_of(text)
    for open_layer in (permissive(), made.policy_of("bundle open\ndefault allow")):
        policy = Layers([*single.layers, *open_layer.layers])
        assert policy.decide(made.again(facts)) is single.decide(made.again(facts))
