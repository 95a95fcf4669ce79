"""Scenarios of effects: tools, local steps, model calls, and what policies refuse."""

from typing import Any

from rebuno.types import Step
from tests.conformance.published.world import World
from tests.llm.provider import INPUT_TOKENS, OUTPUT_TOKENS, provider


async def tools_run_and_are_recorded(world: World) -> None:
    """Tools of every sort run once, and their steps hold arguments, results and errors."""
    execution = await world.client.create("tooling", {"n": 40})
    assert execution.status == "running"
    done = await world.completed(execution.id)
    assert done.output == {
        "sum": 42,
        "kept": "kept é\u2028<&>",
        "broken": "broken: no such file",
        "found": "CAT: A WORD",
        "twice": [2, 2],
    }
    steps = await world.steps(execution.id)
    assert sorted(one.target for one in steps) == ["add", "add", "add", "broken", "keep", "lookup"]
    assert {one.kind for one in steps} == {"tool_call"}
    (broken,) = [one for one in steps if one.target == "broken"]
    assert (broken.status, broken.error) == ("failed", {"message": "no such file"})
    (kept,) = [one for one in steps if one.target == "keep"]
    assert (kept.idempotency, kept.args, kept.result) == ("at_most_once", {"text": "é\u2028<&>"}, "kept é\u2028<&>")
    (added,) = [one for one in steps if one.target == "add" and one.args["a"] != 1]
    assert sorted(one.occurrence for one in steps if one.target == "add" and one.args["a"] == 1) == [0, 1]
    assert world.count(execution.id, "add") == 3
    one = await world.client.get_step(execution.id, added.step_id)
    assert (one.args, one.result, one.status) == ({"a": 40, "b": 2}, 42, "succeeded")
    types = await world.types(execution.id)
    assert (types[0], types[-1]) == ("execution.created", "execution.completed")
    assert types.count("step.succeeded") == 5


async def steps_replay(world: World) -> None:
    """A local step's value is the same after a person was asked, and a refused one raises."""
    execution = await world.client.create("stepping")
    await world.grant(execution.id)
    done = await world.completed(execution.id)
    assert done.output["paid"] == "paid 1"
    assert len(set(done.output["rolled"])) == 3
    assert done.output["refused"] == "no-forbidden-steps: policy_denied: nobody needs this step"
    rolls = sorted(await world.steps(execution.id, "roll"), key=lambda one: one.occurrence)
    assert [(one.kind, one.result, one.occurrence) for one in rolls] == [
        ("local", rolled, number) for number, rolled in enumerate(done.output["rolled"])
    ]
    assert (world.count(execution.id, "roll"), world.count(execution.id, "forbidden")) == (3, 0)


def _body(step: Step) -> dict[str, Any]:
    assert step.kind == "llm_call"
    result: dict[str, Any] = step.result
    return result


async def models_answer(world: World) -> None:
    """A call through the `openai` client is one step, and is not made again by the run that follows an approval."""
    with provider() as stub:
        execution = await world.client.create("asking", {"url": stub.url, "models": ["gpt-5", "gpt-5", "gpt-mini"]})
        await world.grant(execution.id)
        done = await world.completed(execution.id)
        assert [request.body["model"] for request in stub.requests] == ["gpt-5", "gpt-5", "gpt-mini"]
    assert [text.split()[:2] for text in done.output] == [["answer", "1"], ["answer", "2"], ["answer", "3"]]
    steps = await world.steps(execution.id)
    assert sorted(one.target for one in steps) == ["gpt-5", "gpt-5", "gpt-mini", "pay"]
    bodies = [_body(one) for one in steps if one.target == "gpt-5"]
    assert [one["status"] for one in bodies] == [200, 200]
    assert sum("answer 1" in one["body"] for one in bodies) == 1


async def models_stream(world: World) -> None:
    """A streamed call is seen by who listens while it is made, recorded whole, and replayed as a stream."""
    with provider(pace=0.05) as stub:
        execution = await world.client.create("streaming", {"url": stub.url})
        await world.asked(execution.id)
        async with world.deltas(execution.id) as deltas:
            first = await world.grant(execution.id)
            second = await _next_question(world, execution.id, first.id)
            (step,) = await world.steps(execution.id, "gpt-5")
            whole = _body(step)["body"]

            async def heard() -> bool | None:
                return "".join(one["data"] for one in deltas) == whole or None

            await world.until("the deltas", heard)
            assert [one["seq"] for one in deltas] == list(range(len(deltas)))
            assert {one["step_id"] for one in deltas} == {step.step_id}
        assert len(deltas) > 1
        await world.client.grant_approval(second)
        done = await world.completed(execution.id)
        assert len(stub.requests) == 1
    assert "".join(done.output["words"]) == "answer 1 <é & \u2028>"
    assert done.output["tokens"] == INPUT_TOKENS + OUTPUT_TOKENS


async def chats_stream(world: World) -> None:
    """A streamed chat is what the handler gets. Its record may be missing: after the last event the provider's client
    gives it a tenth of a second, and then hangs up."""
    with provider() as stub:
        execution = await world.client.create("chatting", {"url": stub.url})
        done = await world.completed(execution.id)
        assert len(stub.requests) == 1
    assert "".join(done.output) == "answer 1 <é & \u2028>"
    (step,) = await world.steps(execution.id)
    assert (step.kind, step.target) == ("llm_call", "gpt-5")


async def _next_question(world: World, execution_id: str, before: str) -> str:
    async def look() -> str | None:
        pending = await world.client.list_approvals()
        return next((one.id for one in pending if one.execution_id == execution_id and one.id != before), None)

    return await world.until(f"{execution_id} to ask again", look)


async def models_are_refused(world: World) -> None:
    """A refused model call fails the execution with the rule's reason, however the provider's client wraps it."""
    with provider() as stub:
        execution = await world.client.create("asking", {"url": stub.url, "models": ["secret-1"]})
        failed = await world.ended(execution.id)
        assert stub.requests == []
    assert (failed.status, failed.failure_reason) == ("failed", "policy_denied: this model is not for agents")


async def models_wait_for_a_person(world: World) -> None:
    """A model call that a person must agree to suspends the execution, though the provider's client sees an error."""
    with provider() as stub:
        execution = await world.client.create("asking", {"url": stub.url, "models": ["asked-1"]})
        await world.asked(execution.id)
        assert stub.requests == []
        await world.grant(execution.id)
        done = await world.completed(execution.id)
        assert len(stub.requests) == 1
    assert done.output[0].startswith("answer 1")


async def models_are_limited(world: World) -> None:
    """A limit on a model reaches the handler through the provider's client as a limit."""
    with provider() as stub:
        execution = await world.client.create("asking", {"url": stub.url, "models": ["rare-1", "rare-1"]})
        await world.grant(execution.id)
        failed = await world.ended(execution.id)
        assert len(stub.requests) == 1
    assert (failed.status, failed.failure_reason) == ("failed", "rate_limit_exceeded")


async def a_denial_is_told_to_the_model(world: World) -> None:
    """A tool that the policy refuses returns a text, which the model gets; its body does not run."""
    with provider() as stub:
        execution = await world.client.create("told", {"url": stub.url, "person": False})
        done = await world.completed(execution.id)
        said = stub.requests[0].body["messages"][1]["content"]
    assert done.output == said == "mail not allowed. reason: [policy_denied] mail stays in the house (HTTP 403)"
    (step,) = await world.steps(execution.id, "mail")
    assert step.status == "denied"
    assert world.count(execution.id, "mail") == 0


async def limits_refuse(world: World) -> None:
    """A step over a limit raises in the handler, and fails the execution where that lets it pass."""
    caught = await world.client.create("searching", {"catch": True})
    assert (await world.completed(caught.id)).output == ["about cats", "about dogs", "rate_limit_exceeded"]
    execution = await world.client.create("searching", {"catch": False})
    failed = await world.ended(execution.id)
    assert (failed.status, failed.failure_reason) == ("failed", "rate_limit_exceeded")
    assert world.count(execution.id, "search") == 2
    assert "step.rate_limited" in await world.types(execution.id)


async def limits_park(world: World) -> None:
    """A step that waits for room lets go of its agent and is delivered again, without doing anything twice."""
    execution = await world.client.create("fetching", {"pages": 3})
    assert (await world.completed(execution.id)).output == [0, 1, 2]
    assert world.count(execution.id, "fetch") == 3
