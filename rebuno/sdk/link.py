"""Sends an agent's requests to its kernel: signs them, and retries while the kernel is away."""

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from rebuno.errors import APIError, LeaseSuperseded, NetworkError
from rebuno.model import identity
from rebuno.sdk import signing
from rebuno.sdk.requests import Requests, route

# Between two tries of a request, in seconds; each is about twice as long as the one before.
_FIRST_PAUSE: Final = 0.05
_LAST_PAUSE: Final = 2.0
_BEAT: Final = 30.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook: the execution to run, its dispatch and attempt, and the number of seconds that the agent may be
    silent."""

    execution_id: str
    dispatch_id: str
    attempt: int
    lease: float

    @property
    def beat(self) -> float:
        """The heartbeat interval in seconds."""
        return min(self.lease / 3, _BEAT)

    def headers(self) -> dict[str, str]:
        """The headers of a request of this delivery."""
        return {"Rebuno-Dispatch-Id": self.dispatch_id, "Rebuno-Dispatch-Attempt": str(self.attempt)}


class Link:
    """The connections of one agent to its kernel."""

    def __init__(self, url: str, agent_id: str, secret: str, *, timeout: float) -> None:
        self.agent_id = agent_id
        self._secret = secret
        self._requests = Requests(url, timeout=timeout)
        self.url = self._requests.url

    async def send(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Any:
        """Sends a request once; answers and raises as `Requests.send`."""
        request = self._requests.build(method, path, body)
        request.headers.update(headers or {})
        self._sign(request, body)
        return await self._requests.send(request)

    async def set_metadata(self, *, description: str | None, input_schema: Any, output_schema: Any) -> None:
        """Sends the agent's description and schemas to the kernel."""
        said = {"description": description, "input_schema": input_schema, "output_schema": output_schema}
        await self.send("PUT", route("agents", self.agent_id, "metadata"), identity.canonical(said).encode())

    async def close(self) -> None:
        """Closes the connections."""
        await self._requests.close()

    def _sign(self, request: httpx2.Request, body: bytes) -> None:
        headers = request.headers
        # The kernel takes a signature for so many minutes: each try has its own.
        headers["Rebuno-Timestamp"] = str(int(time.time()))
        headers["Rebuno-Agent-Id"] = self.agent_id
        headers["Rebuno-Signature"] = signing.request(
            self._secret,
            request.method,
            request.url.raw_path.decode("ascii"),
            headers["Rebuno-Timestamp"],
            body,
            dispatch_id=headers.get("Rebuno-Dispatch-Id", ""),
            dispatch_attempt=headers.get("Rebuno-Dispatch-Attempt", ""),
        )


class DeliveryLink:
    """The requests of one delivery. `lost` is set once it has been replaced, or has been silent for so long that the
    kernel must have replaced it. Later requests would be refused."""

    def __init__(self, link: Link, delivery: Delivery) -> None:
        self.link = link
        self.delivery = delivery
        self.lost = asyncio.Event()
        self._heard = time.monotonic()

    async def once(self, method: str, *parts: str, body: bytes = b"") -> Any:
        """Sends a request of this execution once.

        Raises:
            LeaseSuperseded: another delivery has taken this one's place.
            NetworkError: the kernel cannot be reached.
            RebunoError: it refuses, as the error says.
        """
        path = route("executions", self.delivery.execution_id, *parts)
        try:
            said = await self.link.send(method, path, body, self.delivery.headers())
        except LeaseSuperseded:
            self.lost.set()
            raise
        self._heard = time.monotonic()
        return said

    async def send(self, method: str, *parts: str, body: bytes = b"") -> Any:
        """Sends a request and retries while the kernel is away or fails, until the lease must have run out. Raises as
        `once`."""
        pause = _FIRST_PAUSE
        while True:
            try:
                return await self.once(method, *parts, body=body)
            except NetworkError as error:
                away: Exception = error
            except APIError as error:
                if error.status_code < 500:
                    raise
                away = error
            self.check(away)
            # Many agents wait for the same kernel, and must not all come at once.
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, _LAST_PAUSE)

    def check(self, away: Exception) -> None:
        """Gives the delivery up if the kernel has not been reached for the time of the lease.

        Raises:
            LeaseSuperseded
        """
        silent = time.monotonic() - self._heard
        if silent > self.delivery.lease:
            self.lost.set()
            raise LeaseSuperseded(f"the kernel was not reached for {silent:.0f} s, and the lease has run out") from away
