"""What a server says of a tool, and the digest under which people know that they have read it."""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.model import identity

_PARTS: Final = frozenset({"server", "name", "digest", "description", "input_schema", "output_schema"})
_DESCRIBED: Final = ("description", "input_schema", "output_schema")


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool as its server describes it. `server` is empty for a tool of the agent itself. `digest` is the SHA-256 in
    hex digits of `text`, the canonical JSON of the whole description; both are empty where nobody has shown the
    description, and `text` also where it is told elsewhere. `said` is what an event says of it: the canonical JSON of
    `server`, `name` and, if there is one, `digest`; `facts` is what a policy sees, the same as a JSON value."""

    server: str
    name: str
    digest: str
    text: str = ""
    said: str = field(init=False, compare=False)
    facts: dict[str, str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        seen = {"name": self.name, "server": self.server}
        if self.digest:
            seen["digest"] = self.digest
        object.__setattr__(self, "facts", seen)
        object.__setattr__(self, "said", identity.canonical(seen))


def define(
    server: str, name: str, *, description: str | None, input_schema: Any = None, output_schema: Any = None
) -> Definition:
    """The definition of a tool. The schemas are JSON values, None where the server gives none; annotations are left
    out, since a server promises nothing by them.

    Raises:
        NotJSON: a schema is something that JSON cannot hold.
    """
    whole = {
        "description": description or "",
        "input_schema": input_schema,
        "name": name,
        "output_schema": output_schema,
        "server": server,
    }
    text = identity.canonical(whole, "definition")
    return Definition(server, name, digest_of(text), text)


def digest_of(text: str) -> str:
    """The digest of a definition's text."""
    return sha256(text.encode()).hexdigest()


def read(said: Any) -> Definition:
    """A definition as an agent sends it: `{"server", "name", "digest"?}`, and with `description`, `input_schema` and
    `output_schema` the whole description.

    Raises:
        ValidationError: it is none, or its digest is not that of its description.
    """
    if not isinstance(said, dict) or not said.keys() <= _PARTS:
        raise ValidationError(f"a definition is an object of {', '.join(sorted(_PARTS))}")
    server, name, digest = (said.get(key) or "" for key in ("server", "name", "digest"))
    if not (isinstance(server, str) and isinstance(name, str) and isinstance(digest, str) and name):
        raise ValidationError("a definition has a `server` and a `name`, which are texts")
    if not any(key in said for key in _DESCRIBED):
        return Definition(server, name, digest)
    description = said.get("description") or ""
    if not isinstance(description, str):
        raise ValidationError("the `description` of a definition is text")
    found = define(
        server,
        name,
        description=description,
        input_schema=said.get("input_schema"),
        output_schema=said.get("output_schema"),
    )
    if digest not in ("", found.digest):
        raise ValidationError(f"the digest of the definition of `{name}` is not that of its description")
    return found


def recorded(said: Any) -> Definition | None:
    """The definition that an event speaks of; None where it speaks of none."""
    if not isinstance(said, dict):
        return None
    server, name, digest = said.get("server", ""), said.get("name", ""), said.get("digest", "")
    if isinstance(server, str) and isinstance(name, str) and isinstance(digest, str):
        return Definition(server, name, digest)
    return None
