"""Scenarios of people: approvals, sessions, forks, keys and mistakes."""

import asyncio
import secrets
from collections.abc import Awaitable

import httpx2

import rebuno
from tests.conformance.published.world import SECRET, World
from tests.llm.provider import provider


async def approvals_are_granted(world: World) -> None:
    """A question names what it is about, blocks the execution, and its grant lets the body run once."""
    execution = await world.client.create("paying", {"amount": 40})
    question = await world.asked(execution.id)
    assert (question.status, question.message) == ("pending", "Did you order this payment?")
    (step,) = await world.steps(execution.id)
    assert (step.step_id, step.status, step.args) == (question.step_id, "awaiting_approval", {"amount": 40})
    assert (await world.status(execution.id, "blocked")).output is None
    assert world.count(execution.id, "pay") == 0
    await world.client.grant_approval(question.id, decided_by="ana", rationale="ordered in May")
    assert (await world.completed(execution.id)).output == "paid 40"
    assert world.count(execution.id, "pay") == 1
    known = await world.client.get_approval(question.id)
    assert (known.status, known.decided_by, known.rationale) == ("granted", "ana", "ordered in May")
    try:
        await world.client.deny_approval(question.id)
    except rebuno.ConflictError:
        return
    raise AssertionError("a question was answered twice")


async def approvals_are_denied(world: World) -> None:
    """A denial's rationale is the text that the model gets, and the execution goes on."""
    with provider() as stub:
        execution = await world.client.create("told", {"url": stub.url, "person": True})
        question = await world.asked(execution.id)
        await world.client.deny_approval(question.id, decided_by="eva", rationale="not this month")
        done = await world.completed(execution.id)
        said = stub.requests[0].body["messages"][1]["content"]
    assert done.output == said == "pay not allowed. reason: [policy_denied] not this month (HTTP 403)"
    assert world.count(execution.id, "pay") == 0
    assert (await world.client.get_approval(question.id)).status == "denied"
    silent = await world.client.create("paying", {"amount": 1})
    question = await world.asked(silent.id)
    await world.client.deny_approval(question.id)
    assert "approval_denied" in (await world.completed(silent.id)).output
    assert question.id in [one.id for one in await world.client.list_approvals(status="denied")]


async def sessions_run_in_turn(world: World) -> None:
    """Executions of one session run one after another, each with the state of the one before."""
    session, go = f"talk-{secrets.token_hex(4)}", world.folder / secrets.token_hex(4)
    first = await world.client.create("counting", {"path": str(go)}, session=session)
    second = await world.client.create("counting", {"path": str(go)}, session=session)
    other = await world.client.create("counting", {"path": str(go)}, session=f"{session}-other")
    assert [one.status for one in (first, second, other)] == ["running", "pending", "running"]
    await world.noted(first.id, "linger")
    assert world.count(second.id, "linger") == 0
    go.touch()
    done = [await world.completed(one.id) for one in (first, second, other)]
    assert [one.output for one in done] == [{"number": 1}, {"number": 2}, {"number": 1}]
    next_one = await world.client.create(
        "counting", {"path": str(go)}, session=f"{session}-new", parent_execution_id=second.id
    )
    done_one = await world.completed(next_one.id)
    assert (done_one.output, done_one.parent_execution_id) == ({"number": 3}, second.id)


async def forks_replay_their_beginning(world: World) -> None:
    """A fork replays what its source had settled, and asks before each effect that happens at most once."""
    source = await world.client.create("travelling", {"place": "rome"})
    await world.grant(source.id)
    done = await world.completed(source.id)
    assert done.output == [3, "paid 3", "kept rome"]
    at_seq = (await world.types(source.id)).index("step.succeeded") + 1
    fork = await world.client.fork(source.id, at_seq=at_seq, session=f"fork-{secrets.token_hex(4)}")
    assert (fork.forked_from, fork.fork_seq, fork.input) == (source.id, at_seq, {"place": "rome"})
    first = await world.grant(fork.id)
    await world.status(fork.id, "blocked")

    async def second() -> str | None:
        pending = await world.client.list_approvals()
        return next((one.id for one in pending if one.execution_id == fork.id and one.id != first.id), None)

    await world.client.grant_approval(await world.until("the second question", second))
    assert (await world.completed(fork.id)).output == [3, "paid 3", "kept rome"]
    assert [world.count(fork.id, what) for what in ("add", "pay", "keep")] == [0, 1, 1]


async def forks_take_a_bundle(world: World) -> None:
    """A fork may have a bundle of its own: what the source was asked about is refused in it."""
    source = await world.client.create("paying", {"amount": 5})
    await world.grant(source.id)
    await world.completed(source.id)
    strict = 'bundle strict\ndefault deny because "nothing today"\n'
    fork = await world.client.fork(source.id, at_seq=1, policy_bundle=strict)
    assert "nothing today" in (await world.completed(fork.id)).output


async def keys_make_executions_once(world: World) -> None:
    """The same idempotency key gives the same execution, and another input is a conflict."""
    key = secrets.token_hex(4)
    both = await asyncio.gather(
        *(world.client.create("echoing", {"x": 10**30}, idempotency_key=key, on_behalf_of="eva") for _ in range(2))
    )
    assert both[0].id == both[1].id
    assert (both[0].idempotency_key, both[0].on_behalf_of) == (key, "eva")
    assert (await world.completed(both[0].id)).output == {"x": 10**30}
    try:
        await world.client.create("echoing", {"x": 1}, idempotency_key=key)
    except rebuno.ConflictError:
        return
    raise AssertionError("one key has two inputs")


async def mistakes_have_types(world: World) -> None:
    """Each mistake raises the type that the package has for it."""
    nobody = "01920000-0000-7000-8000-000000000001"
    execution = await world.client.create("echoing", {"a": None})
    await world.completed(execution.id)
    known = world.client
    cases: list[tuple[str, type[Exception], Awaitable[object]]] = [
        ("no such execution", rebuno.NotFoundError, known.get(nobody)),
        ("no such agent", rebuno.NotFoundError, known.create("nobody-here")),
        ("no such step", rebuno.NotFoundError, known.get_step(execution.id, "0" * 64)),
        ("a blank session", rebuno.ValidationError, known.create("echoing", session=" ")),
        ("an event that is not there", rebuno.ValidationError, known.fork(execution.id, at_seq=10_000)),
        ("the end of what has ended", rebuno.ConflictError, known.cancel(execution.id)),
    ]
    for what, error, call in cases:
        try:
            await call
        except error:
            continue
        raise AssertionError(f"{what}: no {error.__name__}")


async def keys_are_scoped(world: World) -> None:
    """A token that is not known opens nothing, and a key only what its scopes say."""
    made = await world.operator.post("/v0/api-keys", json={"name": "reader", "scopes": ["executions:read"]})
    made.raise_for_status()
    execution = await world.client.create("echoing", 1)
    async with rebuno.Client(world.url, made.json()["token"]) as reader:
        assert (await reader.get(execution.id)).id == execution.id
        try:
            await reader.create("echoing", 2)
        except rebuno.ForbiddenError:
            pass
        else:
            raise AssertionError("a reader writes")
    async with rebuno.Client(world.url, "not-a-token") as stranger:
        try:
            await stranger.get(execution.id)
        except rebuno.UnauthorizedError:
            return
    raise AssertionError("a stranger reads")


async def inputs_are_bound(world: World) -> None:
    """A model validates the input, a misfit fails with a reason, and the raw input is given as it is."""
    good = await world.client.create("ordering", {"item": "tea"})
    assert (await world.completed(good.id)).output == {"item": "tea", "count": 1}
    bad = await world.client.create("ordering", {"count": "many"})
    failed = await world.ended(bad.id)
    assert failed.status == "failed"
    assert (failed.failure_reason or "").startswith("input_invalid: ")
    raw = [1.0, 1, 10**30, "\u0000", {"b": None, "a": []}, -0.0]
    same = await world.client.create("echoing", raw)
    assert repr((await world.completed(same.id)).output) == repr(raw).replace(
        "{'b': None, 'a': []}", "{'a': [], 'b': None}"
    )
    nothing = await world.client.create("echoing")
    assert (await world.completed(nothing.id)).output is None


async def agents_say_what_they_take(world: World) -> None:
    """An agent publishes its description and the schema of its input by itself."""

    async def look() -> httpx2.Response | None:
        answer = await world.operator.get("/v0/agents/ordering")
        return answer if answer.json().get("input_schema") else None

    known = (await world.until("the metadata", look)).json()
    assert known["input_schema"]["required"] == ["item"]
    assert known["description"].startswith("Takes a model")
    assert SECRET not in str(known)
