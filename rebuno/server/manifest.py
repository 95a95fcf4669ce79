"""A manifest: the agents of a server and their policies in one YAML file, its secrets from the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field
from pydantic import ValidationError as Misfit

from rebuno.errors import ValidationError
from rebuno.kernel import Serving
from rebuno.model.environment import filled
from rebuno.policy import inline_bundle, read_source, read_yaml
from rebuno.server.webhooks import AllowList


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a manifest; its policies' paths are relative to `folder`."""

    agents: "tuple[_Agent, ...]"
    folder: Path

    async def apply(self, serving: Serving, allowed: AllowList) -> None:
        """Registers the agents and sets their policies; everything else in the store stays.

        Raises:
            ValidationError, BundleError, StoreError
        """
        for agent in self.agents:
            allowed.check(agent.webhook_url)
            await serving.put_agent(
                agent.id,
                webhook_url=agent.webhook_url,
                secret=agent.secret,
                lease=agent.lease_timeout_seconds or 0.0,
            )
            if agent.policy:
                await serving.set_policy(agent.id, inline_bundle(self.folder / agent.policy))


class _Agent(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: str
    webhook_url: str
    secret: str = Field(repr=False, min_length=1)
    lease_timeout_seconds: float | None = None
    policy: str = ""


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    agents: list[_Agent] = Field(min_length=1)


def read_manifest(path: str | Path, environment: Mapping[str, str] = os.environ) -> Manifest:
    """The manifest at `path`, with every `${NAME}` in it replaced from the environment.

    Raises:
        BundleError: it cannot be read, or is no YAML.
        ValidationError: a variable is not set, or the manifest is not as it should be.
    """
    data = read_yaml(read_source(path), "manifest", "write `agents:` and a list of agents").plain()
    try:
        file = _File.model_validate(filled(data, environment, "manifest"))
    except Misfit as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        wrong = "; ".join(f"`{'.'.join(map(str, one['loc']))}`: {one['msg'].lower()}" for one in found[:10])
        raise ValidationError(f"the manifest `{path}` does not fit: {wrong}") from None
    return Manifest(tuple(file.agents), Path(path).parent)
