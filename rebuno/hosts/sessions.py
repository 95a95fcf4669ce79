"""Sessions of hosts as executions: one event to one answer."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from rebuno.errors import ConflictError, NotFoundError
from rebuno.gate import Allow, Ask, Deny, Gate, Recorded, Verdict, text
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
from rebuno.model import identity
from rebuno.model.definition import Definition

if TYPE_CHECKING:
    from rebuno.types import Approval, Execution, Step

# Of a turn, in bytes: the kernel takes no longer one.
_LONGEST_TURN: Final = 65_536
# What is left of the hook's time when a question is given up, in seconds.
_SPARE: Final = 2.0
# A session ends after so many seconds without a call; hosts do not always say that it has ended.
_IDLE: Final = 86_400.0
# How many executions are looked through for one whose id is that of others too.
_MOST: Final = 10_000
# How many numbers are tried for a call without an id.
_TRIES: Final = 64
_ENDED: Final = frozenset({"succeeded", "failed", "denied", "cancelled"})
_STRICTNESS: Final = [Deny, Recorded, Ask, Allow]
_NOT_RUN: Final = {"type": "NotRun", "message": "not run: another part of the same call was refused"}

# Where a host gives its calls no ids, two that begin at once must not come to one.
_numbering: "WeakKeyDictionary[Gate, asyncio.Lock]" = WeakKeyDictionary()


async def answer(
    host: str, event: dict[str, Any], environ: Mapping[str, str], gate: Gate, settings: HookSettings
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
    def __init__(self, host: HookHost, environ: Mapping[str, str], gate: Gate, settings: HookSettings) -> None:
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
            case SessionBegun():
                await self.session_begun(event)
            case SubagentBegun(place=place):
                await self.start(place)
            case SubagentEnded(place=place) | SessionEnded(place=place):
                await self.withdraw(place)
                await self.gate.end(place.key, self.agent)
            case TurnInterrupted(place=place) if await self.execution_id(place):
                await self.start(place, resumed=True)
            case Prompted() | TurnInterrupted() | Noticed():
                pass
        return NOTHING

    # ------------------------------------------------------------ sessions

    async def session_begun(self, event: SessionBegun) -> None:
        # A session without a prompt is none yet: its first prompt is its input.
        if event.resumed:
            await self.start(event.place, resumed=True)
        await self.gate.idle(seconds=_IDLE)
        await self.gate.operator.sweep(retention=self.settings.retention)

    async def start(self, place: EventPlace, *, resumed: bool = False) -> None:
        parent = place.session if place.subagent else ""
        if parent:
            await self.start(replace(place, subagent=""))
        await self.gate.start(place.key, self.agent, workdir=place.workdir, parent=parent, resumed=resumed)

    async def execution_id(self, place: EventPlace) -> str:
        """The id of the session's execution, empty where there is none yet."""

        def own(one: "Execution") -> bool:
            key = one.idempotency_key or ""
            return one.agent_id == self.agent and (key == place.key or key.startswith(f"{place.key}~"))

        operator = self.gate.operator
        try:
            found = await operator.execution(place.key)
        except NotFoundError:
            return ""
        except ConflictError:
            found = None
        if found is not None and own(found):
            return found.id
        # A session of another host has this id, or the id of an execution begins so.
        others = await operator.executions(agent_id=self.agent, limit=_MOST)
        return next((one.id for one in others if own(one)), "")

    async def prompted(self, event: Prompted) -> None:
        place, text = event.place, shortened_text(event.text, _LONGEST_TURN)
        execution = await self.execution_id(place)
        if not execution:
            await self.gate.start(place.key, self.agent, request=text, workdir=place.workdir)
            return
        await self.withdraw(place)
        await self.gate.say(place.key, self.agent, text)

    async def withdraw(self, place: EventPlace) -> None:
        """Denies the questions that the host has put to its user, who has gone on without letting the calls run."""
        if not (pending := await self.pending(place)):
            return
        calls = await self.first_calls(place)
        for question in pending:
            if _raw(calls.get(question.step_id)).get("asking") == "ask":
                with suppress(ConflictError):  # answered in between
                    why = "not granted in the host"
                    await self.gate.operator.deny(question.id, decided_by=self.user, rationale=why)

    async def first_calls(self, place: EventPlace) -> dict[str, dict[str, Any]]:
        """Of each step of the session the call that it was first judged for: its `id`, and the host's words (`raw`)."""
        found: dict[str, dict[str, Any]] = {}
        for event in await self.gate.operator.events(await self.execution_id(place)):
            call, step = event.payload.get("call"), event.payload.get("step_id")
            if isinstance(call, dict) and isinstance(step, str):
                found.setdefault(step, call)
        return found

    async def pending(self, place: EventPlace) -> "list[Approval]":
        """The open questions of a session, the oldest first."""
        execution = await self.execution_id(place)
        return await self.gate.operator.approvals(status="pending", execution_id=execution) if execution else []

    async def of_this_turn(self, place: EventPlace) -> "list[Approval]":
        """The open questions that were asked since the user's last prompt, the oldest first."""
        turns = (await self.gate.operator.execution(await self.execution_id(place))).turns
        since = turns[-1].at if turns else None
        pending = await self.pending(place)
        return [one for one in pending if since is None or one.created_at is None or one.created_at >= since]

    # ------------------------------------------------------------ outcomes

    async def ended(self, event: CallEnded) -> None:
        tools = judged_tools(self.agent, event.tool, event.place.cwd, TABLES[self.agent])
        if event.unknown:
            given: dict[str, Any] = {"unknown": True}
        elif event.error is not None:
            given = {"error": {"type": "HostToolError", "message": shortened_text(event.error)}}
        else:
            given = {"result": shortened(event.result)}
        if event.asked:
            given["granted_by"] = self.user
        if event.id:
            await self.settle(event.place, _parts(event.id, tools), **given)
            return
        async with self.numbering():
            equal = await self.equal(event.place, tools)
            first = next((at for at, step in enumerate(equal) if step.status not in _ENDED), None)
            if first is None:
                return
            # The call of a step has its number in the order of the steps, or a higher one.
            used = await self.numbers(event.place, tools)
            for number in sorted({*used, *range(len(equal))}):
                if number < first:
                    continue
                if await self.settle(event.place, _parts(f"{_digest(tools)}.{number}", tools), **given):
                    return

    async def settle(self, place: EventPlace, ids: Sequence[str], **given: Any) -> bool:
        """Records how the parts of a call ended; True if that was news of one."""
        return any([await self.gate.settle(place.key, one, self.agent, **given) for one in ids])

    async def equal(self, place: EventPlace, tools: Sequence[JudgedTool]) -> "list[Step]":
        """The steps of the session that are the same as the first part of a call."""
        execution = await self.execution_id(place)
        steps = await self.gate.operator.steps(execution) if execution else []
        return [step for step in steps if _same(tools[0], step.target, step.args)]

    async def numbers(self, place: EventPlace, tools: Sequence[JudgedTool]) -> set[int]:
        """The numbers of the equal calls that were judged in this session."""
        beginning = f"{_digest(tools)}."
        found = set()
        for event in await self.gate.operator.events(await self.execution_id(place)):
            call = event.payload.get("call")
            own = call.get("id") if isinstance(call, dict) else None
            if isinstance(own, str) and own.startswith(beginning):
                found.add(int(own.removeprefix(beginning).partition("/")[0]))
        return found

    def numbering(self) -> asyncio.Lock:
        return _numbering.setdefault(self.gate, asyncio.Lock())

    # ------------------------------------------------------------ calls

    async def begins(self, call: CallBegins) -> HookAnswer:
        tools = judged_tools(self.agent, call.tool, call.place.cwd, TABLES[self.agent])
        await self.start(call.place)
        before = await self.pending(call.place) if call.asking == "defer" or len(tools) > 1 else []
        tool: str
        verdict: Verdict
        if found := _asked_already(tools, before):
            # Were the other parts judged, they would use up what was granted to them.
            tool, verdict = found
        elif call.id:
            tool, verdict, _ = await self.judged(call, tools, _parts(call.id, tools))
        else:
            async with self.numbering():
                tool, verdict = await self.numbered(call, tools)
        if call.id and not call.settles and isinstance(verdict, Allow):
            await self.settle(call.place, _parts(call.id, tools), result=None)
        return await self.told(call, tools, tool, verdict, before)

    async def numbered(self, call: CallBegins, tools: Sequence[JudgedTool]) -> tuple[str, Verdict]:
        """The verdict on a call to which the host gives no id: it is known by what it is, and counted."""
        # A number counts once: a step that was granted is taken by a call that has one more than there are steps.
        begin = len(await self.equal(call.place, tools))
        if begin:
            begin = max(begin, 1 + max(await self.numbers(call.place, tools), default=0))
        for number in range(begin, begin + _TRIES):
            ids = _parts(f"{_digest(tools)}.{number}", tools)
            tool, verdict, taken = await self.judged(call, tools, ids)
            if not taken:
                if not call.settles and isinstance(verdict, Allow):
                    await self.settle(call.place, ids, result=None)
                return tool, verdict
        raise ConflictError("this call was made too often to be told from the earlier ones")

    async def judged(
        self, call: CallBegins, tools: Sequence[JudgedTool], ids: Sequence[str]
    ) -> tuple[str, Verdict, bool]:
        """The strictest verdict on the parts of a call, the tool that it is about, and whether all have ended."""
        found: list[tuple[str, Verdict]] = []
        for one, call_id in zip(tools, ids, strict=True):
            found.append((one.tool, await self.judge(call, one, call_id)))
            if isinstance(found[-1][1], Deny):
                break
        tool, verdict = min(found, key=lambda pair: _STRICTNESS.index(type(pair[1])))
        if isinstance(verdict, Deny | Recorded):
            # What was let in of a call that does not run.
            let_in = [call_id for (_, part), call_id in zip(found, ids, strict=False) if isinstance(part, Allow)]
            await self.settle(call.place, let_in, error=_NOT_RUN)
        return tool, verdict, all(isinstance(part, Recorded) for _, part in found)

    async def judge(self, call: CallBegins, one: JudgedTool, call_id: str) -> Verdict:
        key = call.place.key
        verdict = await self.gate.judge(
            key,
            call_id,
            one.tool,
            one.args,
            self.agent,
            safe=one.safe,
            definition=Definition(one.server, one.server_tool, "") if one.server else None,
            call=shortened({"event": call.event, "asking": call.asking, **call.raw}),
        )
        if isinstance(verdict, Ask) and self.settings.wait and not _host_asks(call, verdict):
            left = self.until - asyncio.get_running_loop().time()
            seconds = max(0.0, min(self.settings.wait, left))
            return await self.gate.wait(key, call_id, self.agent, verdict, seconds=seconds)
        return verdict

    # ------------------------------------------------------------ words

    async def told(
        self,
        call: CallBegins,
        tools: Sequence[JudgedTool],
        tool: str,
        verdict: Verdict,
        before: "Sequence[Approval]",
    ) -> HookAnswer:
        match verdict:
            case Allow():
                quiet = self.settings.observe or any(one.quiet for one in tools)
                return self.host.allowed(call, quiet=quiet)
            case Ask():
                return await self.question(call, tool, verdict, before)
            case Deny():
                return self.host.denied(call, text.denied(tool, verdict))
            case Recorded(unknown=True):
                return self.host.denied(call, text.unknown(tool))
            case _:
                return self.host.denied(call, f"this very call of {tool} has ended already, and does not run again")

    async def question(self, call: CallBegins, tool: str, asked: Ask, before: "Sequence[Approval]") -> HookAnswer:
        """What the person, or the model, is told of a question."""
        waits = text.waiting(tool, asked, store=self.settings.db)
        if _host_asks(call, asked):
            return self.host.asked(call, text.brief(asked.message or asked.reason) or waits)
        if call.asking != "defer" or not await self.put_off_first(call, asked, before):
            return self.host.denied(call, await self.refusals(call.place, asked) + waits)
        oldest = next(iter(await self.of_this_turn(call.place)), None)
        if oldest is not None and oldest.id != asked.approval_id:
            # Of several calls that are put off in one turn the host keeps one.
            first = f"{text.brief(oldest.target, 200)} waits for a person (question {oldest.id})"
            return self.host.denied(call, f"one at a time: {first}. {waits}")
        return self.host.asked(call, waits)

    async def put_off_first(self, call: CallBegins, asked: Ask, before: "Sequence[Approval]") -> bool:
        """Whether it is this call that is put off, and for the first time: the host loses an equal call beside it, and
        one that is put off again as the session is resumed. A second hook of the same call gets the same answer."""
        first = (await self.first_calls(call.place)).get(asked.step_id)
        if first is None or first.get("id") != call.id:
            return False
        if process := _raw(first).get("process"):
            return bool(process == call.raw.get("process"))
        return all(one.id != asked.approval_id for one in before)

    async def refusals(self, place: EventPlace, asked: Ask) -> str:
        """What a person said who denied such a call before. A host that gives a call a new id each time would not learn
        of it, as it is asked about anew."""
        operator, execution = self.gate.operator, await self.execution_id(place)
        question = await operator.approval(asked.approval_id)
        for one in reversed(await operator.approvals(status="denied", execution_id=execution)):
            if one.target == question.target and one.args == question.args:
                why = f": {text.brief(one.rationale)}" if one.rationale else ""
                return f"{text.brief(one.decided_by or 'A person', 200)} has denied this call before{why}. "
        return ""


def _raw(call: Mapping[str, Any] | None) -> Mapping[str, Any]:
    raw = call.get("raw") if call else None
    return raw if isinstance(raw, dict) else {}


def _host_asks(call: CallBegins, asked: Ask) -> bool:
    # The host's user is nobody's approver by name.
    return call.asking == "ask" and not asked.approvers and asked.quorum == 1


def _parts(call_id: str, tools: Sequence[JudgedTool]) -> list[str]:
    return [call_id] if len(tools) == 1 else [f"{call_id}/{number}" for number in range(len(tools))]


def _digest(tools: Sequence[JudgedTool]) -> str:
    whole = identity.canonical([[one.tool, one.args] for one in tools], "args")
    return hashlib.sha256(whole.encode()).hexdigest()[:32]


def _same(tool: JudgedTool, target: str, args: Any) -> bool:
    value = args.value() if hasattr(args, "value") else args
    return target == tool.tool and identity.canonical(value) == identity.canonical(tool.args)


def _asked_already(tools: Sequence[JudgedTool], waiting: "Sequence[Approval]") -> tuple[str, Ask] | None:
    """The question that a part of a call waits for."""
    for one in tools if len(tools) > 1 else ():
        for question in waiting:
            if _same(one, question.target, question.args):
                asked = Ask(
                    question.id,
                    question.message or "",
                    question.reason or "",
                    question.rule_id or "",
                    question.step_id,
                    tuple(question.approvers),
                    question.quorum,
                )
                return one.tool, asked
    return None
