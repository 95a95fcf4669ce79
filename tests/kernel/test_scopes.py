"""Grants that cover more than the step that was asked about."""

import pytest

from rebuno.errors import ValidationError
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.history.verify import check
from rebuno.kernel.lifecycle.fork import fork
from rebuno.model.answer import AnswerKind
from rebuno.policy.compile import compile_policy, compile_text
from rebuno.policy.matcher.policy import Policy
from rebuno.policy.syntax.source import Source
from tests.kernel.support import Bench, Play, policy

HOUR = 3600.0

RULES = """\
bundle ship
default deny because "not a tool of this agent"
rule no-push { deny tool "shell" when args.command == "git push" because "never push" }
rule ask {
  require approval for tool "shell", "deploy" or local "shell"
  because "it may change things"
}
rule pay { require approval for tool "pay" because "money" }
rule free { allow tool "outer" }
"""


def rules(more: str = "") -> Policy:
    """What the tests below are judged by."""
    return compile_text(RULES + more)


async def granted(b: Bench, scope: str, under: Policy) -> str:
    """`cargo test` was asked about and granted; the execution runs again."""
    await b.begin(under)
    question = await b.submit(target="shell", args={"command": "cargo test"})
    await b.suspend()
    await b.answer(question.approval_id, granted=True, scope=scope)
    await b.begin(under)
    assert (await b.submit(target="shell", args={"command": "cargo test"})).kind is AnswerKind.PROCEED
    return question.approval_id


# The scope · what the agent does next (kind, target, command) → the answer.
NEXT: list[tuple[str, str, str, str, AnswerKind]] = [
    ("once", "tool_call", "shell", "cargo publish", AnswerKind.BLOCKED),
    ("once", "tool_call", "shell", "cargo test", AnswerKind.BLOCKED),  # the same call again is another step
    ("execution", "tool_call", "shell", "cargo test", AnswerKind.PROCEED),
    ("execution", "tool_call", "shell", "cargo publish", AnswerKind.PROCEED),
    ("execution", "tool_call", "deploy", "cargo test", AnswerKind.BLOCKED),  # another tool
    ("execution", "local", "shell", "cargo test", AnswerKind.BLOCKED),  # another kind
    ("rule", "tool_call", "deploy", "now", AnswerKind.PROCEED),
    ("rule", "local", "shell", "cargo test", AnswerKind.PROCEED),
    ("rule", "tool_call", "pay", "9", AnswerKind.BLOCKED),  # another rule
    ("execution", "tool_call", "shell", "git push", AnswerKind.DENIED),  # no grant outranks a deny
    ("rule", "tool_call", "shell", "git push", AnswerKind.DENIED),
]


@pytest.mark.parametrize(("scope", "kind", "target", "command", "expected"), NEXT)
def test_a_grant_covers_what_its_scope_says(
    scope: str, kind: str, target: str, command: str, expected: AnswerKind, judge: Play
) -> None:
    """No more, for the rest of the execution however long that lasts; what is not covered is asked about."""

    async def scenario(b: Bench) -> None:
        await granted(b, scope, rules())
        b.clock.advance(24 * HOUR)
        answer = await b.submit(kind=kind, target=target, args={"command": command})
        assert answer.kind is expected

    judge(scenario)


def test_a_covered_step_names_the_grant(play: Play) -> None:
    """In its row and in the log; the verdict of the rule stays what it was."""

    async def scenario(b: Bench) -> None:
        approval_id = await granted(b, "execution", rules())
        answer = await b.submit(target="shell", args={"command": "ls"})
        step = await b.store.step(answer.step_id)
        assert (step.approval_id, step.verdict, step.rule_id) == (approval_id, "require_approval", "ask")
        events = await b.store.events(b.attempt.execution.id)
        said = next(e.payload for e in events if e.type == "step.executing" and e.payload["step_id"] == step.step_id)
        assert said["approval_id"] == approval_id
        answered = next(event.payload for event in events if event.type == "approval.granted")
        assert answered["scope"] == "execution"

    play(scenario)


@pytest.mark.parametrize("scope", ["execution", "rule"])
def test_a_grant_ends_with_its_policy_and_its_execution(scope: str, play: Play) -> None:
    """Under other texts, and in another run, people are asked again; back under the old ones it counts again."""

    async def scenario(b: Bench) -> None:
        await granted(b, scope, rules())
        await b.begin(rules("# another digest\n"))
        assert (await b.submit(target="shell", args={"command": "ls"})).kind is AnswerKind.BLOCKED
        await b.begin(rules(), key="run-2")
        assert (await b.submit(target="shell", args={"command": "cargo test"})).kind is AnswerKind.BLOCKED

    play(scenario)


@pytest.mark.parametrize(("minutes", "expected"), [(4, AnswerKind.PROCEED), (6, AnswerKind.BLOCKED)])
def test_a_rule_s_own_limit_of_age_binds_wider_grants_too(minutes: int, expected: AnswerKind, play: Play) -> None:
    """Who answers cannot make a grant last longer than who wrote the rule allows."""

    async def scenario(b: Bench) -> None:
        under = compile_text('bundle b\nrule ask { require approval for tool "shell" expires 5m because "ask" }')
        await granted(b, "rule", under)
        b.clock.advance(minutes * 60)
        assert (await b.submit(target="shell", args={"command": "ls"})).kind is expected

    play(scenario)


def test_a_covered_step_that_was_cut_off_runs_again(play: Play) -> None:
    """The grant that let it start lets it start again; one for a single step is too old by then."""

    async def scenario(b: Bench) -> None:
        approval_id = await granted(b, "execution", rules())
        await b.submit(target="shell", args={"command": "ls"})
        b.clock.advance(HOUR)
        await b.begin(rules())
        for command in ("cargo test", "ls"):
            answer = await b.submit(target="shell", args={"command": command})
            assert answer.kind is AnswerKind.PROCEED
            assert (await b.store.step(answer.step_id)).approval_id == approval_id

    play(scenario)


def test_a_covered_step_does_not_wait_inside_an_at_most_once_body(play: Play) -> None:
    """Nobody has to be asked, so nothing is in the way."""

    async def scenario(b: Bench) -> None:
        await granted(b, "execution", rules())
        outer = await b.submit(target="outer", idempotency="at_most_once")
        inner = await b.submit(target="shell", args={"command": "ls"}, parent=outer.step_id)
        assert inner.kind is AnswerKind.PROCEED
        other = await b.submit(target="pay", parent=outer.step_id)
        assert (other.kind, other.rule_id) == (AnswerKind.DENIED, "__nested_wait")

    play(scenario)


def test_a_blocked_attempt_starts_nothing_that_is_covered(play: Play) -> None:
    """It is as if the rule allowed it, and a blocked attempt starts nothing new."""

    async def scenario(b: Bench) -> None:
        await granted(b, "execution", rules())
        assert (await b.submit(target="pay")).kind is AnswerKind.BLOCKED
        assert (await b.submit(target="shell", args={"command": "ls"})).kind is AnswerKind.EXECUTION_BLOCKED

    play(scenario)


def test_a_grant_answers_for_one_rule_only(play: Play) -> None:
    """Where a rule of another layer asks too, its question is put, though the same rule decides."""

    async def scenario(b: Bench) -> None:
        team = 'bundle team\ndefault allow\nrule rm { require approval for tool "shell" when args.command == "rm" }\n'
        under = compile_policy([Source(RULES, "ship.rbp"), Source(team, "team.rbp")])
        await granted(b, "rule", under)
        assert (await b.submit(target="shell", args={"command": "ls"})).kind is AnswerKind.PROCEED
        asked = await b.submit(target="shell", args={"command": "rm"})
        assert (asked.kind, asked.rule_id) == (AnswerKind.BLOCKED, "ask")

    play(scenario)


def test_what_comes_instead_of_a_recorded_step_is_not_covered(play: Play) -> None:
    """The kernel's own question is put whatever was granted; and a grant about it covers nothing else."""

    async def scenario(b: Bench) -> None:
        once = "at_most_once"
        await b.begin(rules())
        question = await b.submit(target="pay", args={"n": 100}, idempotency=once)
        await b.suspend()
        await b.answer(question.approval_id, granted=True, scope="execution")
        await b.begin(rules())
        other = await b.submit(target="pay", args={"n": 900}, idempotency=once)
        assert other.kind is AnswerKind.BLOCKED
        assert '{"n":100}' in (await b.store.approval(other.approval_id)).message
        await b.begin(rules(), key="run-2")
        await b.submit(target="outer", args={"n": 1}, idempotency=once)
        await b.begin(rules(), key="run-2")
        other = await b.submit(target="outer", args={"n": 2}, idempotency=once)
        assert (other.kind, other.rule_id) == (AnswerKind.BLOCKED, "__diverged")
        with pytest.raises(ValidationError, match="leave the scope `rule` out"):
            await b.answer(other.approval_id, granted=True, scope="rule")

    play(scenario)


def test_the_effects_of_a_fork_can_be_granted_together(play: Play) -> None:
    """With one answer to the kernel's question; what a rule asks about in a fork is asked about each time."""

    async def scenario(b: Bench) -> None:
        once = "at_most_once"
        source = await b.begin(rules())
        assert isinstance(source, Attempt)
        key = (await fork(b.store, source.execution, source.execution.head_seq)).id
        await b.begin(rules(), key=key)
        asked = await b.submit(target="outer", idempotency=once)
        assert (asked.kind, asked.rule_id) == (AnswerKind.BLOCKED, "__fork_effect")
        await b.suspend()
        await b.answer(asked.approval_id, granted=True, scope="rule")
        await b.begin(rules(), key=key)
        for number in range(3):
            args = {} if number == 0 else {"n": number}
            assert (await b.submit(target="outer", args=args, idempotency=once)).kind is AnswerKind.PROCEED
        asked = await b.submit(target="pay", idempotency=once)
        await b.suspend()
        await b.answer(asked.approval_id, granted=True, scope="rule")
        await b.begin(rules(), key=key)
        assert (await b.submit(target="pay", idempotency=once)).kind is AnswerKind.PROCEED
        assert (await b.submit(target="pay", args={"n": 1}, idempotency=once)).kind is AnswerKind.BLOCKED

    play(scenario)


def test_people_see_what_the_rules_of_all_layers_say(play: Play) -> None:
    """Each message once, the deciding rule's first."""

    async def scenario(b: Bench) -> None:
        texts = [
            f'bundle l{n}\nrule ask {{ require approval for tool "act" {clauses} because "ask" }}'
            for n, clauses in enumerate(['message "Sure?"', 'message "Budget is yours?"', 'message "Sure?"'])
        ]
        await b.begin(compile_policy([Source(text, f"l{n}.rbp") for n, text in enumerate(texts)]))
        asked = await b.submit()
        assert (await b.store.approval(asked.approval_id)).message == "Sure?\nBudget is yours?"

    play(scenario)


@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        (("execution", "rule"), "execution"),
        (("rule", "execution"), "execution"),
        (("rule", "once"), "once"),
        (("once", "rule"), "once"),
        (("rule", "rule"), "rule"),
    ],
)
def test_of_several_votes_the_narrowest_scope_counts(scopes: tuple[str, str], expected: str, judge: Play) -> None:
    """Nobody's grant covers more than that person granted."""

    async def scenario(b: Bench) -> None:
        await b.begin(compile_text('bundle b\nrule ask { require approval for tool "act" quorum 2 because "ask" }'))
        question = await b.submit()
        for name, scope in zip(("ana", "ben"), scopes, strict=True):
            answered = await b.answer(question.approval_id, granted=True, by=name, scope=scope)
            assert (await check(b.store, b.attempt.execution.id)).fault == ""
        assert (answered.status, answered.scope) == ("granted", expected)

    judge(scenario)


def test_a_denial_covers_one_step(play: Play) -> None:
    """The next one is asked about again."""

    async def scenario(b: Bench) -> None:
        await b.begin(rules())
        question = await b.submit(target="shell", args={"command": "a"})
        await b.suspend()
        await b.answer(question.approval_id, granted=False)
        await b.begin(rules())
        assert (await b.submit(target="shell", args={"command": "a"})).kind is AnswerKind.DENIED
        assert (await b.submit(target="shell", args={"command": "b"})).kind is AnswerKind.BLOCKED

    play(scenario)


def test_scopes_that_there_are_not(play: Play) -> None:
    """An unknown one is refused, and so is a wider one where a done step is asked about; nothing is recorded."""

    async def scenario(b: Bench) -> None:
        await b.begin(policy("ask"))
        question = await b.submit()
        with pytest.raises(ValidationError, match="one of once, execution, rule"):
            await b.answer(question.approval_id, granted=True, scope="forever")
        await b.begin(policy("allow"), key="run-2")
        await b.succeed(await b.submit())
        await b.begin(policy("deny"), key="run-2")
        revoked = await b.submit()
        with pytest.raises(ValidationError, match="leave the scope `rule` out"):
            await b.answer(revoked.approval_id, granted=True, scope="rule")
        assert {asked.status for asked in await b.store.approvals()} == {"pending"}

    play(scenario)


def test_covered_arguments_are_not_approved_ones(play: Play) -> None:
    """`approved` means what a person has read, and a covered step's arguments nobody has."""

    async def scenario(b: Bench) -> None:
        under = compile_text(
            'bundle b\nknown seen = approved tool "pay" at to\n'
            'rule again { allow tool "send" when args.to in seen }\n'
            'rule ask { require approval for tool "pay" because "ask" }\n'
        )
        await b.begin(under)
        question = await b.submit(target="pay", args={"to": "ana"})
        await b.suspend()
        await b.answer(question.approval_id, granted=True, scope="execution")
        await b.begin(under)
        await b.succeed(await b.submit(target="pay", args={"to": "ben"}))
        assert (await b.submit(target="send", args={"to": "ana"})).kind is AnswerKind.PROCEED
        assert (await b.submit(target="send", args={"to": "ben"})).kind is AnswerKind.DENIED

    play(scenario)
