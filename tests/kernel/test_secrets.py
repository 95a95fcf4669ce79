"""`secret` in the kernel: values are judged and handed on in clear, and written, shown and told as marks."""

from hashlib import sha256

import pytest

from rebuno.errors import ConflictError
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.history.verify import check
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle import execution, say
from rebuno.kernel.operator import Operator
from rebuno.model import identity
from rebuno.model.answer import AnswerKind
from tests.kernel.sealing import (
    ALL,
    PASSWORD,
    PIN,
    STORED,
    TOKEN,
    Sealed,
    act,
    login,
    marked,
    nothing_shows,
    part,
    under,
    vault,
)
from tests.kernel.support import Bench, Opener


@pytest.fixture(params=["secrets", "secrets, all encrypted"])
def play(opener: Opener, request: pytest.FixtureRequest) -> Sealed:
    return Sealed(opener, encrypt=request.param != "secrets")


# ---------------------------------------------------------------- stored, and replayed


def test_arguments_and_results_are_stored_as_marks(play: Sealed) -> None:
    """`login {"password": "s3cret-pw"}` is stored as `{"password": {"secret": "#…"}}`, and so is its result."""

    async def scenario(b: Bench) -> None:
        await b.begin(under())
        step = await login(b)
        assert identity.parse(step.args) == {"user": "bob", "password": marked(b, PASSWORD)}
        assert identity.parse(step.result or "") == {"token": marked(b, TOKEN)}
        row = await vault(b)
        assert identity.parse(row.result or "") == [
            {"name": "db", "password": marked(b, STORED)},
            {"name": "x", "password": marked(b, "short")},
        ]
        await nothing_shows(b, *ALL, '"short"')

    play(scenario)


def test_a_replay_gives_the_handler_what_is_clear(play: Sealed) -> None:
    """Equal calls replay; a wrong password is another step."""

    async def scenario(b: Bench) -> None:
        await b.begin(under())
        first = await login(b)
        await b.begin(under())
        again = await b.submit(target="login", args={"user": "bob", "password": PASSWORD})
        assert (again.kind, again.step_id) == (AnswerKind.REPLAY, first.step_id)
        assert identity.parse(again.result or "") == {"token": TOKEN}
        other = await b.submit(target="login", args={"user": "bob", "password": "wrong-password"})
        assert (other.kind, other.step_id != first.step_id) == (AnswerKind.PROCEED, True)

    play(scenario)


def test_identity_is_keyed(play: Sealed) -> None:
    """Step ids and hashes of arguments do not tell what was in them; the same call in another execution has the same
    hash under the same key, and equal values have equal marks."""

    async def scenario(b: Bench) -> None:
        await b.begin(under())
        step = await login(b)
        clear = identity.canonical({"user": "bob", "password": PASSWORD})
        assert step.args_hash != identity.args_hash(clear)
        scope = (b.attempt.execution.id, "tool_call", "login", step.args_hash, 0)
        assert step.step_id != identity.step_id(*scope)
        assert b.attempt.seals is not None
        assert step.step_id == b.attempt.seals.step_id(*scope)
        mark = marked(b, PASSWORD)
        created, *_, ended = await b.store.events(b.attempt.execution.id)
        assert created.payload["seal_key"] == play.ring.current
        assert created.payload["input_hash"] != identity.args_hash("{}")
        assert ended.payload["outcome_hash"] != identity.args_hash(identity.canonical({"token": TOKEN}))
        await b.begin(under(), key="run-2")
        other = await login(b)
        assert (other.args_hash, other.step_id == step.step_id) == (step.args_hash, False)
        assert marked(b, PASSWORD) == mark

    play(scenario)


def test_errors_of_a_body_are_told_in_clear_and_written_as_marks(play: Sealed) -> None:
    """Both runs take the same branch."""

    async def scenario(b: Bench) -> None:
        await b.begin(under())
        answer = await b.submit(target="login", args={"password": PASSWORD})
        said = {"type": "ValueError", "message": f"{PASSWORD} is wrong"}
        kept = identity.canonical({"type": "ValueError", "message": f"{PASSWORD} is wrong", "traceback": []})
        await b.kernel.fail(b.attempt, answer.step_id, identity.canonical(said), raised=kept)
        row = await b.store.step(answer.step_id)
        assert identity.parse(row.error or "") == {**said, "message": f"{part(b, PASSWORD)} is wrong"}
        await nothing_shows(b)
        await b.begin(under())
        again = await b.submit(target="login", args={"password": PASSWORD})
        assert identity.parse(again.error or "") == said

    play(scenario)


# ---------------------------------------------------------------- it spreads


@pytest.mark.parametrize("verdict", ["allow", "deny", "require approval for"])
def test_arguments_later_keep_what_is_around_it(play: Sealed, verdict: str) -> None:
    """`send_mail {"body": "pw=s3cret-pw"}` is stored with the mark in place of the password, also where it was
    denied."""
    because = ' because "no"' if verdict != "allow" else ""
    rule = f'rule mail {{ {verdict} tool "send_mail"{because} }}\n'

    async def scenario(b: Bench) -> None:
        await b.begin(under(rule))
        await login(b)
        answer = await b.submit(target="send_mail", args={"body": f"pw={PASSWORD}", "to": "ann"})
        row = await b.store.step(answer.step_id)
        assert identity.parse(row.args) == {"body": f"pw={part(b, PASSWORD)}", "to": "ann"}
        encoded = await b.submit(target="other", args={"url": "https://e.example/?k=s3cret%2Dpw"})
        hidden = await b.store.step(encoded.step_id) if encoded.step_id else None
        if hidden is not None:
            assert identity.parse(hidden.args) == {"url": marked(b, PASSWORD)}
        await nothing_shows(b, *ALL, "s3cret%2Dpw")

    play(scenario)


def test_results_model_calls_and_local_steps(play: Sealed) -> None:
    """Wherever it stands later; after a restart as well."""

    async def scenario(b: Bench) -> None:
        await b.begin(under())
        await login(b)
        await vault(b)
        await b.begin(under())
        await b.submit(target="login", args={"user": "bob", "password": PASSWORD})
        await b.submit(target="read_vault", args={})
        messages = [{"role": "user", "content": f"log in with {PASSWORD}"}]
        answer = await b.submit(target="m", kind="llm_call", args={"messages": messages})
        body = identity.canonical(
            {"content": f"the token is {TOKEN}", "usage": {"input_tokens": 3, "output_tokens": 4}}
        )
        await b.succeed(answer, {"status": 200, "headers": {"content-type": "application/json"}, "body": body})
        row = await b.store.step(answer.step_id)
        assert (row.input_tokens, row.output_tokens) == (3, 4)
        assert part(b, TOKEN) in identity.parse(row.result or "")["body"]
        local = await b.submit(target="join", kind="local", args={"a": [STORED]})
        await b.succeed(local, f"{STORED}!")
        await nothing_shows(b)

    play(scenario)


def test_the_end_of_an_execution(play: Sealed) -> None:
    """Output, reason of failure, and what was raised."""

    async def scenario(b: Bench) -> None:
        await b.begin(under())
        await login(b)
        row = await execution.finish(b.attempt, output=identity.canonical({"token": TOKEN}))
        assert identity.parse(row.output or "") == {"token": TOKEN}
        told = await Operator(b.store).execution(row.id)
        assert told.output == {"token": part(b, TOKEN)}
        await nothing_shows(b)
        await b.begin(under(), key="run-2")
        await login(b)
        raised = {"type": "ValueError", "message": PASSWORD, "traceback": [], "file": f"/x/{PASSWORD}.py"}
        await execution.finish(b.attempt, failure_reason=f"agent_error: {PASSWORD}", raised=raised)
        await nothing_shows(b)

    play(scenario)


def test_the_input(play: Sealed) -> None:
    """What `secret input.PATH` names is a mark, a short value too; equal inputs take the execution up again."""

    async def scenario(b: Bench) -> None:
        given = identity.canonical({"pin": PIN, "card": "x", "also": "the pin is 1234"})
        store = b.store
        b.kernel = Kernel(store, under())
        begun = await b.kernel.begin(agent_id="agent", input=given, key="run-1")
        assert isinstance(begun, Attempt)
        b.attempt = begun
        row = await store.execution(begun.execution.id)
        assert identity.parse(row.input) == {"pin": marked(b, PIN), "card": "x", "also": "the pin is 1234"}
        assert begun.input == identity.parse(given)
        await execution.abandon(begun)
        again = await b.kernel.begin(agent_id="agent", input=given, key="run-1")
        assert isinstance(again, Attempt)
        assert again.input == identity.parse(given)
        await execution.abandon(again)
        with pytest.raises(ConflictError, match="another input"):
            await b.kernel.begin(agent_id="agent", input='{"pin":"1235"}', key="run-1")
        assert (await check(store, row.id)).fault == ""

    play(scenario)


def test_what_the_user_says_later(play: Sealed) -> None:
    """Judged in clear, written with marks."""
    rule = 'known asked = input or turns\nrule pay { deny tool "pay" when args.to not in asked because "no" }\n'

    async def scenario(b: Bench) -> None:
        await b.begin(under(rule))
        await login(b)
        turn = await say.say(b.store, b.attempt.execution.id, f"use {PASSWORD}")
        assert turn.text == f"use {part(b, PASSWORD)}"
        await b.begin(under(rule))
        await b.submit(target="login", args={"user": "bob", "password": PASSWORD})
        answer = await b.submit(target="pay", args={"to": PASSWORD})
        assert answer.kind is AnswerKind.PROCEED
        await nothing_shows(b)

    play(scenario)


# ---------------------------------------------------------------- judged in clear


TESTS = (
    'known codes = result of tool "login" at token\n'
    'known pws = result of tool "read_vault" at [].password\n'
    'rule use { allow tool "use" when args.code in codes }\n'
    'rule out { deny tool "http_get" when any text of args contains any pws because "a password would leave" }\n'
    'rule same { deny tool "same" when after tool "login" where (args.password == this.args.password) because "x" }\n'
    'rule rest { deny tool "use" because "unknown" }\n'
)


def test_tests_see_the_value(play: Sealed) -> None:
    """Equality, `known`, `contains any`, joins; in the run itself and after a restart."""

    async def scenario(b: Bench) -> None:
        await b.begin(under(TESTS))
        await login(b)
        await vault(b)

        async def judged() -> list[AnswerKind]:
            asked = [
                ("use", {"code": TOKEN}),
                ("use", {"code": "other"}),
                ("http_get", {"url": f"https://{STORED}.e.example/"}),
                ("http_get", {"url": "https://e.example/"}),
                ("same", {"password": PASSWORD}),
                ("same", {"password": "another-one"}),
            ]
            return [(await b.submit(target=target, args=args)).kind for target, args in asked]

        go, no = AnswerKind.PROCEED, AnswerKind.DENIED
        assert await judged() == [go, no, no, go, no, go]
        await b.begin(under(TESTS))
        await b.submit(target="login", args={"user": "bob", "password": PASSWORD})
        await b.submit(target="read_vault", args={})
        assert await judged() == [go, no, no, go, no, go]
        # What was running is judged anew, and comes to the same; so does what is new.
        assert (await b.submit(target="use", args={"code": TOKEN, "n": 2})).kind is go
        await nothing_shows(b)

    play(scenario)


def test_a_limit_for_each_sealed_value_keeps_its_digest(play: Sealed) -> None:
    """One pot a value, over executions and after a new key of the ring; nobody can find the value by trying."""
    rule = 'rule pay { allow tool "pay" limit 1 per 1h for each args.account }\nsecret tool "pay" at args.account\n'

    async def scenario(b: Bench) -> None:

        await b.begin(under(rule))
        assert (await act(b, "pay", {"account": "4711"})).status == "succeeded"
        await b.begin(under(rule), key="run-2")
        full = await b.submit(target="pay", args={"account": "4711"})
        assert full.kind is AnswerKind.RATE_LIMITED
        assert (await act(b, "pay", {"account": "4712"})).status == "succeeded"
        pots = await b.store.pots()
        plain = sha256(b"=4711e0").hexdigest()
        assert pots
        assert not any(plain in repr(pot) or "4711" in repr(pot) for pot in pots)
        await nothing_shows(b, plain)

    play(scenario)


# ---------------------------------------------------------------- questions


def test_a_question_with_a_mark_names_the_step_that_sealed_it(play: Sealed) -> None:
    """And a text with values in it shows the mark, whatever a person writes is searched too."""
    rule = 'rule ask { require approval for tool "ask" message f"May {args.q}?" because "x" }\n'

    async def scenario(b: Bench) -> None:
        await b.begin(under(rule))
        step = await login(b)
        answer = await b.submit(target="ask", args={"q": f"send {TOKEN}"})
        assert answer.kind is AnswerKind.BLOCKED
        question = await b.store.approval(answer.approval_id)
        assert marked(b, TOKEN)["secret"] in question.message
        assert f"was sealed by the step `login` ({step.step_id[:12]})" in question.message
        await b.suspend()
        denied = await b.answer(answer.approval_id, granted=False, rationale=f"not {TOKEN}")
        assert denied.rationale == f"not {part(b, TOKEN)}"
        await nothing_shows(b)
        await b.begin(under(rule))
        await b.submit(target="login", args={"user": "bob", "password": PASSWORD})
        again = await b.submit(target="ask", args={"q": f"send {TOKEN}"})
        assert (again.kind, again.reason) == (AnswerKind.DENIED, denied.rationale)

    play(scenario)


def test_no_wider_grant_answers_a_question_with_a_mark(play: Sealed) -> None:
    """A person is asked each time; what has none is covered."""
    rule = 'rule ask { require approval for tool "ask" because "x" }\n'

    async def scenario(b: Bench) -> None:
        await b.begin(under(rule))
        await login(b)
        first = await b.submit(target="ask", args={"q": "plain"})
        await b.suspend()
        await b.answer(first.approval_id, granted=True, scope="rule")
        await b.begin(under(rule))
        await b.submit(target="login", args={"user": "bob", "password": PASSWORD})
        await b.submit(target="ask", args={"q": "plain"})
        assert (await b.submit(target="ask", args={"q": "other"})).kind is AnswerKind.PROCEED
        assert (await b.submit(target="ask", args={"q": f"with {TOKEN}"})).kind is AnswerKind.BLOCKED

    play(scenario)
