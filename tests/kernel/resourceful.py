"""An agent in a test that works on resources, request by request."""

from dataclasses import dataclass
from typing import Any

from rebuno.journal.records import EventRow
from rebuno.kernel.served.kernel import ReportAnswer
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, Submission
from rebuno.model.resource import Capture, Captured, CaptureFailure, RegisteredResource, Registration
from tests.kernel.served import Run, World


@dataclass
class Works(Run):
    """A run whose steps declare resources."""

    async def register(self, key: str = "box", **more: Any) -> RegisteredResource:
        """A resource with a checkpoint after every step, unless more is said."""
        asked = Registration(key, **{"driver_id": "test", "every_steps": 1, **more})
        return await self.serving.register_resource(self.agent, self.id, self.dispatch, asked)

    async def bind(self, key: str = "box", binding: object = "a-box") -> None:
        await self.serving.bind_resource(self.agent, self.id, self.dispatch, key, identity.canonical(binding))

    async def publish(self, *captures: Capture | CaptureFailure) -> None:
        await self.serving.publish_checkpoints(self.agent, self.id, self.dispatch, captured(*captures))

    async def change(self, *keys: str, target: str = "act", kind: str = "tool_call", **more: Any) -> Answer:
        """A step that declares these resources, up to its body."""
        said = identity.canonical(more.pop("args", {}))
        promise = more.pop("idempotency", "safe_to_retry")
        submission = Submission(kind, target, said, promise, resources=keys)
        number = more.pop("number", 0)
        return await self.serving.submit(self.agent, self.id, self.dispatch, submission, number)

    async def after(self, answer: Answer, *captures: Capture | CaptureFailure, value: object = "done") -> ReportAnswer:
        """The body's result, with checkpoints."""
        text = identity.canonical(value)
        made = captured(*captures)
        return await self.serving.complete_step(self.agent, self.id, self.dispatch, answer.step_id, text, made)

    async def failed(self, answer: Answer, *captures: Capture | CaptureFailure) -> ReportAnswer:
        """The body's failure, with checkpoints."""
        error, made = '{"message":"no"}', captured(*captures)
        return await self.serving.fail_step(self.agent, self.id, self.dispatch, answer.step_id, error, captures=made)

    async def work(self, *keys: str, ref: str, **more: Any) -> Answer:
        """A step and a checkpoint of each resource that it says is due."""
        answer = await self.change(*keys, **more)
        assert answer.kind is AnswerKind.PROCEED, answer
        made = [Capture(one.key, one.generation, ref) for one in answer.resources if one.due]
        await self.after(answer, *made)
        return answer

    async def view(self, key: str = "box", **more: Any) -> RegisteredResource:
        """The resource, by registering it again."""
        return await self.register(key, **more)

    async def told(self, w: World, *types: str) -> list[EventRow]:
        """The events of these types."""
        return [event for event in await w.store.events(self.id) if event.type in types]

    async def refusals(self, w: World) -> list[str]:
        """Why checkpoints were refused, in order."""
        return [str(event.payload["error"]) for event in await self.told(w, "resource.checkpoint_failed")]

    async def checkpoints(self, w: World) -> list[tuple[str, int, str, int | None]]:
        """The checkpoints by key, event, reference, and the event that ends them."""
        found = (await w.serving.fork_points(self.id)).checkpoints
        return [(one.key, one.covered_seq, one.checkpoint_ref, one.invalidated_seq) for one in found]


def captured(*captures: Capture | CaptureFailure) -> Captured:
    """Captures and failures, sorted."""
    return Captured(
        tuple(one for one in captures if isinstance(one, Capture)),
        tuple(one for one in captures if isinstance(one, CaptureFailure)),
    )


def works(run: Run) -> Works:
    """The same run."""
    return Works(run.serving, run.webhook, run.agent, run.number)


async def begun(w: World, **more: Any) -> Works:
    """A new execution of a new agent, delivered."""
    await w.agent()
    return works(await w.begin(**more))
