"""The transport to a served kernel: every submission and outcome is a request that may safely be sent twice."""

import asyncio
from typing import Any

from rebuno.errors import RebunoError, Terminated, ValidationError
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, CallKey, Submission
from rebuno.model.definition import Definition
from rebuno.model.raised import KEY as RAISED
from rebuno.model.resource import Captured
from rebuno.sdk.deltas import Deltas
from rebuno.sdk.http_resources import HTTPResources, captures, with_resources
from rebuno.sdk.link import DeliveryLink

_TERMINAL = frozenset({"succeeded", "failed", "denied", "cancelled"})


class HTTPTransport:
    """One attempt's way to its kernel, as `rebuno.sdk.transport` describes it. `released` tells that a body ended
    without an outcome."""

    def __init__(self, line: DeliveryLink) -> None:
        self.line = line
        self.released = False
        self._count = 0
        # The digests of the definitions whose descriptions the kernel has been told.
        self._described: set[str] = set()
        # What the kernel takes besides, as far as it is known: definitions, and whether the call runs edited arguments.
        self._takes = {"definition", "edits"}
        # Requests go one after the other, so that the kernel counts identical submissions in the order of the calls.
        self._turn = asyncio.Lock()
        self._late: set[asyncio.Task[Any]] = set()
        self._deltas = Deltas(self._delta)
        self.external = HTTPResources(line)

    @property
    def url(self) -> str:
        """Where the kernel is."""
        return self.line.link.url

    # ------------------------------------------------------------ steps

    def recorded(self, call_key: CallKey) -> tuple[Any] | Answer | None:
        """None: only the kernel knows the recorded steps."""
        return None

    def start(self, submission: Submission, on_answer: object) -> bool:
        """False: every answer needs a request."""
        return False

    async def submit(self, submission: Submission) -> Answer:
        """Asks the kernel; the request's number makes a repeated one the same one."""
        self._count += 1
        # The args are JSON text already, and go as they are.
        said = dict(
            kind=identity.canonical(submission.kind),
            target=identity.canonical(submission.target),
            args=submission.args,
            idempotency=identity.canonical(submission.idempotency),
            submission=str(self._count),
            **({"parent_step_id": identity.canonical(submission.parent_id)} if submission.parent_id else {}),
            **({"resources": identity.canonical(list(submission.resources))} if submission.resources else {}),
        )
        async with self._turn:
            more = self._more(submission)
            dropped: set[str] = set()
            while True:
                try:
                    answer = _answer(await self.line.send("POST", "steps", body=_object(**said, **more)))
                    self._takes -= dropped
                    return answer
                except ValidationError:
                    # An earlier kernel takes less; or it is the step itself that it does not take.
                    if not more:
                        raise
                    dropped.add(more.popitem()[0])

    def _more(self, submission: Submission) -> dict[str, str]:
        """What is said besides to a kernel that takes it, the newest last."""
        more: dict[str, str] = {}
        if submission.definition is not None and "definition" in self._takes:
            more["definition"] = self._definition(submission.definition)
        if submission.edits and "edits" in self._takes:
            more["edits"] = "true"
        return more

    def _definition(self, definition: Definition) -> str:
        """The definition of a tool, with its description the first time that this attempt tells it."""
        if not definition.text or definition.digest in self._described:
            return definition.said
        self._described.add(definition.digest)
        return f'{{"digest":"{definition.digest}",{definition.text.removeprefix("{")}'

    async def succeed(
        self, step_id: str, result: str, value: object, *, captured: Captured | None = None
    ) -> Answer | None:
        """Reports a result."""
        return await self._report(step_id, "complete", _object(result=result, **_captures(captured)))

    async def fail(
        self,
        step_id: str,
        error: str,
        *,
        wait: bool = True,
        raised: str = "",
        nothing_done: bool = False,
        captured: Captured | None = None,
    ) -> Answer | None:
        """Reports a failure. Without `wait` the request is pending on return, and `flush` waits for it."""
        # Within the error, where a kernel that does not look for it takes it too.
        said = f"{error.removesuffix('}')},{identity.canonical(RAISED)}:{raised}}}" if raised else error
        report = self._fail(step_id, {"error": said, **_captures(captured)}, nothing_done=nothing_done)
        if wait:
            return await report
        late = asyncio.create_task(report)
        self._late.add(late)
        return None

    async def _fail(self, step_id: str, said: dict[str, str], *, nothing_done: bool) -> Answer | None:
        if nothing_done:
            try:
                return await self._report(step_id, "fail", _object(**said, nothing_done="true"))
            except ValidationError:
                # An earlier kernel takes the error alone.
                pass
        return await self._report(step_id, "fail", _object(**said))

    def release(self, step_id: str) -> None:
        """Notes the release; the kernel is told when the attempt ends."""
        self.released = True

    async def flush(self) -> None:
        """Waits for the pending reports."""
        self._deltas.stop()
        if self._late:
            await asyncio.gather(*self._late)

    def stop(self) -> None:
        """Ends pending requests: the attempt is over."""
        self._deltas.stop()
        for late in self._late:
            late.cancel()

    async def _report(self, step_id: str, how: str, said: bytes) -> Answer | None:
        await self._deltas.end(step_id)
        answer = await self.line.send("POST", "steps", step_id, how, body=said)
        match _text(answer, "decision"):
            case "recorded":
                return None
            case "replay":
                return _replay(answer, step_id)
            case "execution_terminal":
                raise Terminated
            case unknown:
                raise RebunoError(f"the kernel answers `{unknown}` to an outcome, which this rebuno does not know")

    # ------------------------------------------------------------ what only a served kernel has

    async def previous(self) -> Any:
        """What the execution continues from."""
        return (await self.line.send("GET", "previous"))["state"]

    async def suspend(self) -> bool:
        """Whether the execution waits now."""
        return (await self.line.send("POST", "suspend"))["suspended"] is True

    async def outcome(self, step_id: str) -> Answer | None:
        """The recorded end of a step."""
        row = await self.line.send("GET", "steps", step_id)
        return _replay(row, step_id) if _text(row, "status") in _TERMINAL else None

    def publish(self, step_id: str, text: str) -> None:
        """Queues a piece, to be sent soon."""
        self._deltas.add(step_id, text)

    async def _delta(self, step_id: str, seq: int, data: str) -> None:
        said = identity.canonical({"seq": seq, "data": data}).encode()
        await self.line.once("POST", "steps", step_id, "stream", body=said)

    # ------------------------------------------------------------ the end

    async def complete(self, output: str, state: str | None) -> None:
        """Ends the execution with an output and, if there is one, a state for the next of its session."""
        await self.line.send("POST", "complete", body=_object(output=output, **({"state": state} if state else {})))

    async def fail_execution(self, reason: str, raised: dict[str, Any] | None = None) -> None:
        """Ends the execution as failed."""
        error = identity.canonical(reason)
        if raised is not None:
            try:
                await self.line.send("POST", "fail", body=_object(error=error, raised=identity.canonical(raised)))
            except ValidationError:
                # An earlier kernel takes the reason alone.
                pass
            else:
                return
        await self.line.send("POST", "fail", body=_object(error=error))


def _captures(captured: Captured | None) -> dict[str, str]:
    found = {} if captured is None else captures(captured)
    return {name: identity.canonical(several) for name, several in found.items()}


def _object(**members: str) -> bytes:
    """A JSON object of JSON texts."""
    return ("{" + ",".join(f'"{name}":{text}' for name, text in members.items()) + "}").encode()


def _answer(said: Any) -> Answer:
    step_id, decision = _text(said, "step_id"), _text(said, "decision")
    match decision:
        case "replay":
            return _replay(said, step_id)
        case "blocked" if not _text(said, "approval_id") and _text(said, "reason"):
            return Answer(AnswerKind.PARKED, step_id, reason=_text(said, "reason"))
        case _ if decision in set(AnswerKind):
            answer = Answer(
                AnswerKind(decision),
                step_id,
                reason=_text(said, "reason"),
                rule_id=_text(said, "rule_id"),
                approval_id=_text(said, "approval_id"),
                args=_changed(said),
            )
            return with_resources(answer, said)
        case _:
            raise RebunoError(f"the kernel answers `{decision}`, which this rebuno does not know; upgrade it")


def _replay(said: dict[str, Any], step_id: str) -> Answer:
    error = said.get("error")
    if error is not None:
        if isinstance(error, dict):
            # An earlier kernel keeps it with the error.
            error = {key: value for key, value in error.items() if key != RAISED}
        return Answer(AnswerKind.REPLAY, step_id, error=identity.canonical(error), args=_changed(said))
    return Answer(AnswerKind.REPLAY, step_id, result=identity.canonical(said.get("result")), args=_changed(said))


def _changed(said: Any) -> str | None:
    """The arguments that an approver has written, where one has."""
    return identity.canonical(said["args"]) if isinstance(said, dict) and "args" in said else None


def _text(said: Any, key: str) -> str:
    found = said.get(key) if isinstance(said, dict) else None
    return found if isinstance(found, str) else ""
