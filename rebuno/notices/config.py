"""The file of the targets that are told of questions, its secrets from the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic import ValidationError as Misfit

from rebuno.errors import ValidationError
from rebuno.journal.notices import NoticeStage
from rebuno.model.environment import filled
from rebuno.notices.message import check_template
from rebuno.policy import read_source, read_yaml

EventName = Literal["asked", "half", "nearly", "answered"]
_WAYS: Final = ("webhook", "command", "slack", "mail")


def _url(url: str) -> str:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("this is no http or https URL")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the URL holds credentials; a web hook is signed with its `secret`")
    return url


def _template(text: str) -> str:
    check_template(text)
    return text


def _argument(text: str) -> str:
    if "\0" in text:
        raise ValueError("an argument of a command holds no NUL")
    return text


def _header(text: str) -> str:
    if not text.isprintable() or "@" not in text or not text.isascii():
        raise ValueError("this is no mail address")
    return text


Url = Annotated[str, AfterValidator(_url)]
Template = Annotated[str, AfterValidator(_template)]
MailAddress = Annotated[str, AfterValidator(_header)]


class _FilePart(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class MailWay(_FilePart):
    """A mail server and who is written to."""

    host: str = Field(min_length=1)
    port: int = Field(default=587, ge=1, le=65535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    username: str = ""
    password: str = Field(default="", repr=False)
    sender: MailAddress = Field(alias="from")
    to: list[MailAddress] = Field(min_length=1, max_length=50)

    @model_validator(mode="after")
    def _safe(self) -> "MailWay":
        if self.security == "none" and self.password:
            raise ValueError("a password is sent only to a server with `security: starttls` or `tls`")
        return self


class NoticeTarget(_FilePart):
    """Who is told, in one of the ways `webhook`, `command`, `slack` and `mail`, and of which events. `timeout` is how
    long one try may take, `pause` how long the first pause after a failed one is, in seconds; with `args: false` the
    arguments of the call are left out."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    webhook: Url | None = Field(default=None, repr=False)
    secret: str = Field(default="", repr=False)
    command: list[Annotated[str, AfterValidator(_argument)]] | None = Field(default=None, min_length=1, repr=False)
    slack: Url | None = Field(default=None, repr=False)
    mail: MailWay | None = None
    events: list[EventName] = Field(default=["asked", "half", "nearly", "answered"], min_length=1)
    text: Template = ""
    args: bool = True
    timeout: float = Field(default=10.0, gt=0, le=60)
    pause: float = Field(default=1.0, gt=0, le=300)

    @model_validator(mode="after")
    def _one_way(self) -> "NoticeTarget":
        if sum(getattr(self, way) is not None for way in _WAYS) != 1:
            raise ValueError("a target has exactly one of `webhook`, `command`, `slack` and `mail`")
        if self.webhook is not None and len(self.secret) < 16:
            raise ValueError("a web hook is signed: give a `secret` of 16 characters at least")
        if self.webhook is None and self.secret:
            raise ValueError("only a web hook has a `secret`")
        if self.command is not None and not self.command[0]:
            raise ValueError("the command has no program")
        return self

    def wants(self, stage: NoticeStage) -> bool:
        """Whether it is told at this stage of a question."""
        return stage.name.lower() in self.events


class _NoticeFile(_FilePart):
    public_url: Url | None = None
    targets: list[NoticeTarget] = Field(min_length=1, max_length=50)


@dataclass(frozen=True, slots=True)
class Notices:
    """Who is told of questions. `public_url` is where browsers find the server, without a slash at its end; empty:
    nothing is linked."""

    targets: tuple[NoticeTarget, ...]
    public_url: str = ""


def read_notices(path: str | Path, public_url: str = "", environment: Mapping[str, str] = os.environ) -> Notices:
    """The targets in the file at `path`, with every `${NAME}` in it replaced from the environment. `public_url` goes
    before that of the file.

    Raises:
        BundleError: it cannot be read, or is no YAML.
        ValidationError: a variable is not set, the file is not as it should be, or the URL is none.
    """
    data = read_yaml(read_source(path), "notify", "write `targets:` and a list of targets").plain()
    try:
        file = _NoticeFile.model_validate(filled(data, environment, "file of notices"))
    except Misfit as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        wrong = "; ".join(
            f"`{'.'.join(map(str, one['loc']))}`: {one['msg'].removeprefix('Value error, ')}" for one in found[:10]
        )
        raise ValidationError(f"the file of notices `{path}` does not fit: {wrong}") from None
    names = [target.name for target in file.targets]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValidationError(f"the file of notices `{path}` has several targets `{twice[0]}`; give each its own name")
    try:
        base = _url(public_url) if public_url else file.public_url or ""
    except ValueError as error:
        raise ValidationError(f"`--public-url`: {error}") from None
    return Notices(tuple(file.targets), base.rstrip("/"))
