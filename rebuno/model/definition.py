"""What a server says of a tool, and the digest under which people know that they have read it."""

import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from rebuno.errors import NotJSON, ValidationError
from rebuno.model import identity

# In bytes, each. Both stand in the first event of every step.
LONGEST_NAME: Final = 64 * 1024
# In characters, of a text that an agent sends: a model reads it before each call, and who lists tools reads them all.
LONGEST: Final = 256 * 1024

_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
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
        NotJSON: the description is no text, or a schema is something that JSON cannot hold.
    """
    if not isinstance(description, str | None):
        raise NotJSON("definition.description", "is no text")
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
        ValidationError: it is none, too long, or its digest is not that of its description.
    """
    if not isinstance(said, dict) or not said.keys() <= _PARTS:
        raise ValidationError(f"a definition is an object of {', '.join(sorted(_PARTS))}")
    server, name, digest = (said.get(key) or "" for key in ("server", "name", "digest"))
    if not (isinstance(server, str) and isinstance(name, str) and isinstance(digest, str) and name):
        raise ValidationError("a definition has a `server` and a `name`, which are texts")
    if len(server.encode()) > LONGEST_NAME or len(name.encode()) > LONGEST_NAME:
        raise ValidationError(f"the `server` and the `name` of a definition have {LONGEST_NAME:,} bytes at most")
    if digest and not _DIGEST.fullmatch(digest):
        raise ValidationError("the `digest` of a definition is a SHA-256 in 64 hexadecimal digits")
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
    if len(found.text) > LONGEST:
        raise ValidationError(f"the definition of a tool has {LONGEST:,} characters at most, and this one more")
    if digest not in ("", found.digest):
        raise ValidationError(f"the digest of the definition of `{name}` is not that of its description")
    return found


def described(text: str) -> dict[str, Any]:
    """What the text of a definition says: `server`, `name` and `description`, which are texts, and both schemas.

    Raises:
        ValidationError: it is none that `define` has written.
    """
    said = identity.parse(text)
    if not isinstance(said, dict) or said.keys() != _PARTS - {"digest"} or not said["name"]:
        raise ValidationError("it does not describe a tool")
    if not all(isinstance(said[key], str) for key in ("server", "name", "description")):
        raise ValidationError("the `server`, the `name` and the `description` of a tool are texts")
    return said


def recorded(said: Any) -> Definition | None:
    """The definition that an event speaks of; None where it speaks of none."""
    if not isinstance(said, dict):
        return None
    server, name, digest = said.get("server", ""), said.get("name", ""), said.get("digest", "")
    if isinstance(server, str) and isinstance(name, str) and isinstance(digest, str):
        return Definition(server, name, digest if _DIGEST.fullmatch(digest) else "")
    return None
