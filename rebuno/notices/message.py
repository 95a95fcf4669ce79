"""What a target is told of a question: bounded in size, and with nothing in it that hides or moves other text."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from rebuno.journal.notices import NoticeRow, NoticeStage
from rebuno.model.clock import rfc3339
from rebuno.model.visible import escape, stored
from rebuno.types import Approval

# In characters.
_NAME: Final = 200
_TEXT: Final = 1_000
_ARGS: Final = 2_000
_TEMPLATE: Final = 4_000
_PLACE: Final = re.compile(r"\{([a-z_]*)\}")
_PLACES: Final = frozenset(
    {"agent", "args", "call", "deadline", "decided_by", "execution", "id", "message", "rule", "status", "url"}
)
_TEMPLATES: Final = {
    NoticeStage.ASKED: "{agent} asks to call {call}: {message}",
    NoticeStage.HALF: "half of the time is over: {agent} asks to call {call} until {deadline}: {message}",
    NoticeStage.NEARLY: "nearly expired: {agent} asks to call {call} until {deadline}: {message}",
    NoticeStage.ANSWERED: "{status}: {agent} asked to call {call}: {message}",
}


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice as it is told. `id` is the same in every repetition; `text` is one line for people, `url` the question's
    page, or empty; `question` is JSON whose texts are escaped and shortened."""

    id: str
    event: str
    created_at: str
    text: str
    url: str
    question: dict[str, Any]

    @property
    def body(self) -> dict[str, Any]:
        """The JSON of web hooks and commands."""
        told: dict[str, Any] = {"id": self.id, "event": f"question.{self.event}", "created_at": self.created_at}
        told["text"] = self.text
        if self.url:
            told["url"] = self.url
        return {**told, "question": self.question}


def check_template(text: str) -> None:
    """Raises `ValueError` for a template that is too long, or that has a place for something unknown."""
    if len(text) > _TEMPLATE:
        raise ValueError(f"a text has {_TEMPLATE} characters at most")
    for name in _PLACE.findall(text):
        if name not in _PLACES:
            raise ValueError(f"the text has no `{{{name}}}`; it may have {', '.join(sorted(_PLACES))}")


def notice_id(row: NoticeRow) -> str:
    """The same for every try."""
    named = f"{row.approval_id}\n{row.target}\n{row.stage.name}"
    return "ntc_" + hashlib.sha256(named.encode()).hexdigest()[:32]


def compose(row: NoticeRow, asked: Approval, agent: str, *, template: str, base: str, with_args: bool) -> Notice:
    """The notice of a question. `base` is the beginning of links, or empty."""
    url = f"{base}/console/questions/{quote(asked.id, safe='')}" if base else ""
    question = _question(asked, agent, answered=row.stage is NoticeStage.ANSWERED, with_args=with_args)
    places = {
        **{name: question.get(name) or "" for name in ("id", "args", "rule", "status", "decided_by")},
        "agent": question["agent_id"],
        "call": question["target"] or question["kind"],
        "deadline": question.get("expires_at") or "",
        "execution": question["execution_id"],
        "message": question.get("message") or "a person must agree",
        "url": url,
    }
    text = _PLACE.sub(lambda found: places[found[1]], template or _TEMPLATES[row.stage])
    return Notice(notice_id(row), row.stage.name.lower(), rfc3339(row.created_at), text[:_TEMPLATE], url, question)


def _question(asked: Approval, agent: str, *, answered: bool, with_args: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": asked.id,
        "execution_id": asked.execution_id,
        "agent_id": escape(agent, _NAME),
        "kind": asked.kind,
        "target": escape(asked.target, _NAME),
        "message": escape(asked.message, _TEXT),
        "rule": escape(asked.rule_id, _NAME),
        "approvers": [escape(one, _NAME) for one in asked.approvers[:20]],
        "quorum": asked.quorum,
        "asked_at": _moment(asked.created_at),
    }
    if with_args:
        told["args"] = stored(asked.raw("args"), _ARGS)
        if asked.edited_by:
            told["edited_args"] = stored(asked.raw("edited_args"), _ARGS)
    if asked.timeout_at:
        told["expires_at"] = _moment(asked.timeout_at)
    if answered:
        told |= {
            "status": asked.status,
            "decided_by": escape(asked.decided_by, _NAME),
            "rationale": escape(asked.rationale, _TEXT),
        }
    return told


def _moment(at: datetime | None) -> str:
    return "" if at is None else rfc3339(at.timestamp())
