"""Sessions of hosts as executions: one event to one answer."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from rebuno.errors import ConflictError, NotFoundError
from rebuno.hosts.answer import NOTHING, HookAnswer
from rebuno.hosts.events import (
    CallBegins,
    CallEnded,
    EventPlace,
    HostEvent,
    Noticed,
    Prompted,
    SessionBegun,
    SessionEnded,
    SubagentBegun,
    SubagentEnded,
    TurnInterrupted,
)
from rebuno.hosts.host import HookHost, host_named
from rebuno.hosts.settings import HookSettings
from rebuno.hosts.shorten import shortened, shortened_text
from rebuno.hosts.vocabulary import TABLES, JudgedTool, judged_tools

if TYPE_CHECKING:
    from rebuno.gate import Ask, Gate, Recorded, Verdict
    from rebuno.types import Approval

# Of a turn, in bytes: the kernel takes no longer one.
_LONGEST_TURN: Final = 65_536
# What is left of the hook's time when a question is given up, in seconds.
_SPARE: Final = 2.0

# Where a host gives its calls no ids, two that begin at once must not come to one.
_numbering: "WeakKeyDictionary[Gate, asyncio.Lock]" = WeakKeyDictionary()


async def answer(
    host: str, event: dict[str, Any], environ: Mapping[str, str], gate: "Gate", settings: HookSettings
) -> HookAnswer:
    """What a hook of `host` answers to one event, a JSON object, judged through an open gate. `environ` are the
    variables that the host gave the hook. Where the policy is only observed, the gate was opened so.

    Raises:
        ValidationError: the event lacks what it must have.
        RebunoError: there is no answer. Whatever is raised, the call must not run.
    """
    module = host_named(host)
    return await _Hook(module, environ, gate, settings).answer(module.read_event(event, environ))


class _Hook:
    def __init__(self, host: HookHost, environ: Mapping[str, str], gate: "Gate", settings: HookSettings) -> None:
        self.host = host
        self.agent = host.NAME
        self.gate = gate
        self.settings = settings
        self.user = environ.get("USER") or environ.get("LOGNAME") or "user"
        self.until = asyncio.get_running_loop().time() + settings.deadline - _SPARE

    async def answer(self, event: HostEvent) -> HookAnswer:
        match event:
            case CallBegins():
                return await self.begins(event)
            case CallEnded():
                await self.ended(event)
            case Prompted() if event.typed and event.text.strip():
                await self.prompted(event)
            case SessionBegun() if event.resumed:
                await self.start(event.place, resumed=True)
            case SubagentBegun(place=place):
                await self.start(place)
            case SubagentEnded(place=place) | SessionEnded(place=place):
                await self.gate.end(place.key, self.agent)
            case TurnInterrupted(place=place) if await self.execution_id(place):
                await self.start(place, resumed=True)
            case Prompted() | SessionBegun() | TurnInterrupted() | Noticed():
                # A session without a prompt is none yet: its first prompt is its input.
                pass
        return NOTHING

    # ------------------------------------------------------------ sessions

    async def start(self, place: EventPlace, *, resumed: bool = False) -> None:
        parent = place.session if place.subagent else ""
        if parent:
            await self.start(replace(place, subagent=""))
        await self.gate.start(place.key, self.agent, workdir=place.workdir, parent=parent, resumed=resumed)

    async def execution_id(self, place: EventPlace) -> str:
        """The id of the session's execution, empty where there is none yet."""
        try:
            return (await self.gate.operator.execution(place.key)).id
        except NotFoundError:
            return ""
        except ConflictError:
            # It stands for several: of other agents, or because their ids begin so.
            return ""

    async def prompted(self, event: Prompted) -> None:
        place, text = event.place, shortened_text(event.text, _LONGEST_TURN)
        execution = await self.execution_id(place)
        if not execution:
            await self.gate.start(place.key, self.agent, request=text, workdir=place.workdir)
            return
        if event.attended:
            await self.withdraw(execution)
        await self.gate.say(place.key, self.agent, text)

    async def withdraw(self, execution: str) -> None:
        """The user has gone on without granting what the host asked: that was a no."""
        for question in await self.pending(execution):
            if not question.approvers and question.quorum == 1:
                why = "not granted in the host before the next prompt"
                try:
                    await self.gate.operator.deny(question.id, decided_by=self.user, rationale=why)
                except ConflictError:
                    continue  # answered in between

    async def pending(self, execution: str) -> "list[Approval]":
        if not execution:
            return []
        return await self.gate.operator.approvals(status="pending", execution_id=execution)

    # ------------------------------------------------------------ outcomes

    async def ended(self, event: CallEnded) -> None:
        tools = self.tools(event)
        given: dict[str, Any] = {"result": shortened(event.result)}
        if event.unknown:
            given = {"unknown": True}
        elif event.error is not None:
            given = {"error": {"type": "HostToolError", "message": shortened_text(event.error)}}
        by = self.user if event.attended else ""
        async for ids in self.ids(event.place, event.id, tools, ended=True):
            if any([await self.settle(event.place, one, granted_by=by, **given) for one in ids]):
                return

    async def settle(self, place: EventPlace, call_id: str, **given: Any) -> bool:
        return await self.gate.settle(place.key, call_id, self.agent, **given)

    # ------------------------------------------------------------ calls

    def tools(self, event: CallBegins | CallEnded) -> list[JudgedTool]:
        return judged_tools(self.agent, event.tool, event.place.cwd, TABLES[self.agent])

    async def begins(self, call: CallBegins) -> HookAnswer:
        from rebuno.gate import Allow, Ask, Deny

        tools = self.tools(call)
        await self.start(call.place)
        asked_before = await self.asked_before(call, tools)
        tool, verdict = await self.judged(call, tools, asked_before)
        if isinstance(verdict, Allow):
            quiet = self.settings.observe or any(one.quiet for one in tools)
            return self.host.allowed(call, quiet=quiet)
        if isinstance(verdict, Ask):
            return await self.question(call, tool, verdict, asked_before)
        from rebuno.gate import text

        if isinstance(verdict, Deny):
            return self.host.denied(call, text.denied(tool, verdict))
        return self.host.denied(call, _over(tool, verdict))

    async def asked_before(self, call: CallBegins, tools: Sequence[JudgedTool]) -> "list[Approval]":
        if call.asking != "defer" and len(tools) == 1:
            return []
        return await self.pending(await self.execution_id(call.place))

    async def judged(
        self, call: CallBegins, tools: Sequence[JudgedTool], waiting: "Sequence[Approval]"
    ) -> "tuple[str, Verdict]":
        """The strictest verdict on the parts of a call, and the tool that it is about."""
        from rebuno.gate import Allow, Ask, Deny, Recorded

        if len(tools) > 1 and (found := _waits_already(tools, waiting)):
            # Judged, the other parts would use up what was granted to them.
            return found
        async for ids in self.ids(call.place, call.id, tools, ended=False):
            found = []
            for one, call_id in zip(tools, ids, strict=True):
                found.append((one.tool, await self.judge(call, one, call_id)))
                if isinstance(found[-1][1], Deny):
                    break
            if not call.id and all(isinstance(verdict, Recorded) for _, verdict in found):
                continue
            strictest = min(found, key=lambda pair: [Deny, Recorded, Ask, Allow].index(type(pair[1])))
            if not isinstance(strictest[1], Allow | Ask):
                await self.give_up(call.place, found, ids)
            elif isinstance(strictest[1], Allow) and not call.asking_after:
                for call_id in ids:
                    await self.settle(call.place, call_id, result=None)
            return strictest
        raise ConflictError("no number is left for this call")

    async def judge(self, call: CallBegins, one: JudgedTool, call_id: str) -> "Verdict":
        from rebuno.model.definition import Definition

        definition = Definition(one.server, one.server_tool, "") if one.server else None
        raw = shortened({"host": self.agent, "event": call.event, **call.raw})
        verdict = await self.gate.judge(
            call.place.key, call_id, one.tool, one.args, self.agent, safe=one.safe, definition=definition, call=raw
        )
        return verdict

    async def give_up(self, place: EventPlace, found: "Sequence[tuple[str, Verdict]]", ids: Sequence[str]) -> None:
        """Ends the parts that were let in of a call that does not run."""
        from rebuno.gate import Allow

        why = {"type": "NotRun", "message": "not run: another part of the same call was refused"}
        for (_, verdict), call_id in zip(found, ids, strict=False):
            if isinstance(verdict, Allow):
                await self.settle(place, call_id, error=why)

    async def question(
        self, call: CallBegins, tool: str, asked: "Ask", before: "Sequence[Approval]"
    ) -> HookAnswer:
        """What the person, or the model, is told of a question."""
        from rebuno.gate import text

        message = text.waiting(tool, asked, store=self.settings.db)
        if call.asking == "ask" and not asked.approvers and asked.quorum == 1:
            return self.host.asked(call, asked.message or asked.reason or message)
        if call.asking == "defer":
            open_now = await self.pending(await self.execution_id(call.place))
            if any(one.id == asked.approval_id for one in before):
                # The host loses a call that is put off twice.
                return self.host.denied(call, message)
            if open_now and open_now[0].id != asked.approval_id:
                # Of several calls that are put off the host keeps one.
                first = open_now[0]
                return self.host.denied(
                    call,
                    f"one at a time: {tool} did not run, since {first.target or 'another call'} waits for a person "
                    f"(question {first.id}). {message}",
                )
            return self.host.asked(call, message)
        return self.host.denied(call, message)
