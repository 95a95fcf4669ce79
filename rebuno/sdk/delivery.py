"""Runs a handler for one delivery of an execution, to its end or until another delivery takes over."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, Final

from rebuno.errors import LeaseSuperseded, NotFoundError, RebunoError, Terminated, ValidationError
from rebuno.model.execution import ExecutionStatus
from rebuno.sdk.binding import bind
from rebuno.sdk.context import ExecutionContext
from rebuno.sdk.ending import Completed, Failed, Waits, ending, log_failure
from rebuno.sdk.http_transport import HTTPTransport
from rebuno.sdk.link import DeliveryLink

logger: Final = logging.getLogger("rebuno.agent")

_INVALID: Final = "input_invalid"


async def deliver(line: DeliveryLink, agent_id: str, handler: Callable[..., Any], executor: Executor) -> None:
    """Fetches the execution, runs its handler and reports the end. If the delivery is lost, the handler is stopped and
    nothing is reported.

    Raises:
        RebunoError: the kernel takes no report, and will deliver the execution again.
    """
    transport = HTTPTransport(line)
    beats = asyncio.create_task(_beat(line))
    try:
        with suppress(LeaseSuperseded, Terminated):
            await _deliver(transport, agent_id, handler, executor)
    finally:
        beats.cancel()
        transport.stop()
        await asyncio.wait({beats})


async def _deliver(transport: HTTPTransport, agent_id: str, handler: Callable[..., Any], executor: Executor) -> None:
    row = await transport.line.send("GET")
    if ExecutionStatus(row["status"]).terminal:
        return
    try:
        bound = bind(handler, row["input"])
    except ValidationError as misfit:
        said = str(misfit)
        await transport.fail_execution(said if said.startswith(_INVALID) else f"{_INVALID}: {said}")
        return
    context = ExecutionContext(
        transport,
        executor,
        execution_id=transport.line.delivery.execution_id,
        agent_id=agent_id,
        # Not the one that the handler got, which may change it.
        input=row["input"],
        served=transport,
    )
    task = asyncio.create_task(context.run(bound))
    try:
        ours = await _before(transport.line, task)
        if ours and context.blocked:
            ours = await _before(transport.line, asyncio.create_task(context.settle()))
    finally:
        context.end()
        # Nothing happens to a task that is done.
        task.cancel()
        await asyncio.wait({task})
        await context.settle()
    if ours:
        await _end(transport, task, blocked=context.blocked)


async def _before(line: DeliveryLink, task: "asyncio.Task[Any]") -> bool:
    """Waits for a task. False if the delivery is lost first."""
    lost = asyncio.create_task(line.lost.wait())
    try:
        await asyncio.wait({task, lost}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        lost.cancel()
    return not line.lost.is_set()


async def _end(transport: HTTPTransport, task: "asyncio.Task[Any]", *, blocked: bool) -> None:
    await transport.flush()
    match ending(task, blocked=blocked):
        case Waits():
            # The kernel does not know of bodies that were given up, and would wait for them.
            if transport.released:
                await transport.suspend()
        case Completed(output=output, state=state):
            await transport.complete(output, state)
        case Failed(reason=reason, raised=raised) as failed:
            log_failure(failed, transport.line.delivery.execution_id)
            await transport.fail_execution(reason, raised)


async def _beat(line: DeliveryLink) -> None:
    """Sends heartbeats until the delivery is lost."""
    beat = line.delivery.beat
    with suppress(LeaseSuperseded):
        while True:
            await asyncio.sleep(beat)
            try:
                async with asyncio.timeout(beat):
                    await line.once("POST", "heartbeat")
            except LeaseSuperseded:
                raise
            except (NotFoundError, Terminated):
                line.lost.set()
                return
            except (RebunoError, TimeoutError) as error:
                logger.warning("a heartbeat of execution %s failed: %s", line.delivery.execution_id, error)
                line.check(error)
