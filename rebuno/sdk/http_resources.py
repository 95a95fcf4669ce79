"""The routes of resources, for a handler over HTTP."""

from typing import Any

from rebuno.errors import RebunoError
from rebuno.model import identity
from rebuno.model.answer import Answer
from rebuno.model.resource import Captured, RegisteredResource, Registration, StepResource
from rebuno.sdk.link import DeliveryLink


class HTTPResources:
    """What `rebuno.sdk.transport.ResourceTransport` describes. Every request may safely be sent twice."""

    def __init__(self, line: DeliveryLink) -> None:
        self._line = line

    async def register(self, asked: Registration) -> RegisteredResource:
        """Registers a resource."""
        said = {
            "key": asked.key,
            "driver_id": asked.driver_id,
            "configuration": identity.parse(asked.configuration),
            "coverage_reuse": asked.coverage_reuse,
            "every_steps": asked.every_steps,
            "on_completion": asked.on_completion,
        }
        view = await self._line.send("POST", "resources", body=identity.canonical(said).encode())
        try:
            return _read(view)
        except (KeyError, TypeError) as error:
            raise RebunoError(f"the kernel's answer about the resource `{asked.key}` is none: {error}") from None

    async def bind(self, key: str, binding: str) -> None:
        """Notes what it is bound to."""
        await self._line.send("POST", "resources", key, "binding", body=f'{{"binding":{binding}}}'.encode())

    async def publish(self, captured: Captured) -> None:
        """Publishes checkpoints."""
        await self._line.send("POST", "resources", "checkpoints", body=identity.canonical(captures(captured)).encode())


def captures(captured: Captured) -> dict[str, Any]:
    """Checkpoints as the protocol has them."""
    made = [
        {"key": one.key, "generation": one.generation, "checkpoint_ref": one.checkpoint_ref}
        for one in captured.captures
    ]
    failed = [{"key": one.key, "generation": one.generation, "error": one.error} for one in captured.failures]
    return {name: found for name, found in (("captures", made), ("capture_failures", failed)) if found}


def with_resources(answer: Answer, said: Any) -> Answer:
    """A decision with the resources that the kernel tells of."""
    told = said.get("resources") if isinstance(said, dict) else None
    for one in told if isinstance(told, list) else ():
        touched = StepResource(str(one["key"]), int(one["generation"]), one.get("due") is True)
        answer.resources = (*answer.resources, touched)
    return answer


def _read(view: Any) -> RegisteredResource:
    asked = Registration(
        view["key"],
        view.get("driver_id", ""),
        identity.canonical(view.get("configuration")),
        view.get("coverage_reuse", False),
        view.get("every_steps", 0),
        view.get("on_completion", False),
    )
    binding = view.get("binding")
    return RegisteredResource(
        asked,
        view.get("registered_seq", 0),
        view["generation"],
        view.get("count", 0),
        None if binding is None else identity.canonical(binding),
        view.get("checkpoint_ref") or "",
        view.get("covered") is True,
    )
