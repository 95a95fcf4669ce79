"""Runs the executions that a served kernel delivers to one agent."""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from rebuno.errors import LeaseSuperseded, RebunoError
from rebuno.packaged import needing
from rebuno.sdk.context import BODY_THREADS
from rebuno.sdk.delivery import deliver
from rebuno.sdk.inputs import input_schema, schema_of
from rebuno.sdk.link import Delivery, DeliveryLink, Link
from rebuno.sdk.requests import TIMEOUT
from rebuno.sdk.webhook import WebhookApp

if TYPE_CHECKING:
    from pydantic import BaseModel

logger: Final = logging.getLogger("rebuno.agent")


class Agent:
    """The handler of one agent, as a web application that the kernel's webhooks call: `Agent("banker").run(handler)`.

    The handler is the same that an embedded kernel runs. `description`, `output_schema` (a JSON Schema or a pydantic
    model) and the schema of what the handler takes are told to the kernel when the application starts.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        secret: str | None = None,
        base_url: str | None = None,
        webhook_path: str = "/webhook",
        kernel_timeout: float = TIMEOUT,
        description: str | None = None,
        output_schema: "dict[str, Any] | type[BaseModel] | None" = None,
    ) -> None:
        """`secret` is the agent's secret (default REBUNO_AGENT_SECRET), `base_url` the kernel's URL (default
        REBUNO_URL), `kernel_timeout` the time limit for the kernel's answers, in seconds.

        Raises:
            ValueError: the id is empty, or the secret or the URL is not given.
            ValidationError: it is no URL of a kernel, or holds credentials.
        """
        secret = os.environ.get("REBUNO_AGENT_SECRET", "") if secret is None else secret
        base_url = base_url or os.environ.get("REBUNO_URL", "")
        if not agent_id:
            raise ValueError("the agent's id is empty")
        if not secret:
            raise ValueError("no secret is given; pass `secret=` or set REBUNO_AGENT_SECRET")
        if not base_url:
            raise ValueError("no kernel is named; pass `base_url=` or set REBUNO_URL")
        self.agent_id = agent_id
        self.description = description
        self.output_schema = output_schema
        self.app = WebhookApp(webhook_path, secret, accept=self._accept, start=self._publish, stop=self.close)
        self._link = Link(base_url, agent_id, secret, timeout=kernel_timeout)
        self._executor = ThreadPoolExecutor(BODY_THREADS, thread_name_prefix="rebuno-body")
        self._handler: Callable[..., Any] | None = None
        # Of each execution the delivery that runs here, and every task that is not done.
        self._running: dict[str, tuple[Delivery, asyncio.Task[None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._published: asyncio.Task[None] | None = None
        self._closed = False

    def bind(self, handler: Callable[..., Any]) -> None:
        """Sets the handler of all executions. Call it before serving `app` yourself."""
        self._handler = handler

    def run(self, handler: Callable[..., Any], *, host: str = "127.0.0.1", port: int = 5000) -> None:
        """Serves the application until the process is told to stop (SIGINT, SIGTERM). Handlers that run then are
        stopped, and resumed elsewhere when their leases have run out. `host` is the address to listen at: this machine
        alone unless it says otherwise (`0.0.0.0`: every address).

        Raises:
            RebunoError: the extra `server`, which brings a web server, is not installed.
        """
        with needing("server", "`Agent.run`"):
            import uvicorn

        self.bind(handler)
        uvicorn.run(self.app, host=host, port=port, log_config=None)

    async def publish_metadata(self) -> None:
        """Sends the agent's description and schemas to the kernel. The application does so when it starts, and after a
        failure again on the next delivery.

        Raises:
            RebunoError: the kernel cannot be reached, or does not know the agent.
        """
        await self._link.set_metadata(
            description=self.description,
            input_schema=None if self._handler is None else input_schema(self._handler),
            output_schema=schema_of(self.output_schema),
        )

    async def join(self) -> None:
        """Waits until no execution runs here."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Stops the running executions and closes the connections. It accepts no more deliveries."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await self.join()
        self._executor.shutdown(wait=False, cancel_futures=True)
        await self._link.close()

    def _accept(self, delivery: Delivery) -> bool:
        if self._handler is None:
            raise RuntimeError(f"the agent `{self.agent_id}` has no handler; call `bind` before its app is served")
        if self._closed:
            return False
        if self._published is None:
            self._publish()
        older = self._running.get(delivery.execution_id)
        if older is not None and older[0].dispatch_id == delivery.dispatch_id and older[0].attempt >= delivery.attempt:
            return True
        self._spawn(self._run(delivery, self._handler, contended=older is not None))
        return True

    async def _run(self, delivery: Delivery, handler: Callable[..., Any], *, contended: bool) -> None:
        line = DeliveryLink(self._link, delivery)
        task = asyncio.current_task()
        if task is None:
            return
        execution_id = delivery.execution_id
        try:
            if contended:
                # Webhooks may be late: the kernel knows which delivery is the newer one.
                await line.send("POST", "heartbeat")
                if (older := self._running.get(execution_id)) is not None:
                    older[1].cancel()
            self._running[execution_id] = (delivery, task)
            await deliver(line, self.agent_id, handler, self._executor)
        except LeaseSuperseded:
            return
        except RebunoError as error:
            logger.warning("execution %s is given up: %s", execution_id, error, extra={"execution_id": execution_id})
        finally:
            if self._running.get(execution_id) == (delivery, task):
                del self._running[execution_id]

    def _publish(self) -> None:
        self._published = self._spawn(self._try_to_publish())

    async def _try_to_publish(self) -> None:
        try:
            await self.publish_metadata()
        except RebunoError as error:
            # It may start before its kernel, or before it is registered there.
            logger.warning("what the agent `%s` says of itself is not published: %s", self.agent_id, error)
            self._published = None

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        with suppress(asyncio.CancelledError):
            if (error := task.exception()) is not None:
                logger.error("a delivery to the agent `%s` failed", self.agent_id, exc_info=error)
