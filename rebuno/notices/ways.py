"""The ways to a target: web hook, command, Slack and mail. Each raises `NetworkError` where it was not taken."""

import asyncio
import json
import os
import signal
import smtplib
import ssl
import threading
from contextlib import suppress
from email.message import EmailMessage
from typing import Any, Final

import httpx2

from rebuno.errors import NetworkError
from rebuno.notices.config import MailWay, NoticeTarget
from rebuno.notices.message import Notice
from rebuno.sdk import signing

# Slack's own bounds, in characters.
_SLACK_HEADER: Final = 150
_SLACK_SECTION: Final = 3_000
_SUBJECT: Final = 150
_TITLES: Final = {
    "asked": "A person is asked",
    "half": "Half of the time is over",
    "nearly": "Nearly expired",
    "answered": "Answered",
}


async def tell(http: httpx2.AsyncClient, target: NoticeTarget, notice: Notice) -> None:
    """Tells a target once, for as long as its `timeout` at most. What a message says never names the target's URL,
    which may hold a secret."""
    try:
        async with asyncio.timeout(target.timeout):
            if target.webhook is not None:
                await _post(http, target.webhook, _json(notice.body), notice.id, secret=target.secret)
            elif target.slack is not None:
                await _post(http, target.slack, _json(slack(notice)), notice.id)
            elif target.command is not None:
                await _run(target.command, _json(notice.body), notice.id)
            elif target.mail is not None:
                await _mail(target.mail, mail(target.mail, notice), target.timeout)
    except TimeoutError:
        raise NetworkError(f"no answer within {target.timeout:g} seconds") from None


def slack(notice: Notice) -> dict[str, Any]:
    """A message of Slack: what others wrote stands in plain text, in which nothing is a link, a name or a mark."""
    asked = notice.question
    lines = [notice.text, *(f"{name}: {asked[name]}" for name in _shown(asked))]
    title = f"{_TITLES[notice.event]}: {asked['target'] or asked['kind']}"
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": _plain(title, _SLACK_HEADER)},
        {"type": "section", "text": _plain("\n".join(lines), _SLACK_SECTION)},
    ]
    if notice.url:
        label = "Look at it" if notice.event == "answered" else "Answer"
        blocks.append(
            {"type": "actions", "elements": [{"type": "button", "text": _plain(label, 75), "url": notice.url}]}
        )
    # The text of the notification is marked up unless it is escaped.
    text = notice.text[:1_000].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": text, "blocks": blocks, "metadata": {"event_type": "rebuno", "event_payload": {"id": notice.id}}}


def mail(way: MailWay, notice: Notice) -> EmailMessage:
    """A mail in plain text."""
    asked = notice.question
    message = EmailMessage()
    message["From"] = way.sender
    message["To"] = ", ".join(way.to)
    message["Subject"] = f"{_TITLES[notice.event]}: {asked['target'] or asked['kind']}"[:_SUBJECT]
    message["Message-ID"] = f"<{notice.id}@{way.sender.rpartition('@')[2].rstrip('>')}>"
    message["Auto-Submitted"] = "auto-generated"
    lines = [notice.text, "", *(f"{name}: {asked[name]}" for name in _shown(asked))]
    message.set_content("\n".join([*lines, *(["", notice.url] if notice.url else []), ""]))
    return message


def _shown(asked: dict[str, Any]) -> list[str]:
    names = ("agent_id", "target", "args", "rule", "expires_at", "status", "decided_by", "rationale", "execution_id")
    return [name for name in names if asked.get(name)]


def _plain(text: str, most: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": text if len(text) <= most else text[: most - 1] + "…", "emoji": False}


def _json(data: dict[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "backslashreplace")


async def _post(http: httpx2.AsyncClient, url: str, body: bytes, id: str, *, secret: str = "") -> None:
    headers = {"Content-Type": "application/json", "Rebuno-Notice": id}
    if secret:
        headers["Rebuno-Signature"] = signing.webhook(secret, body)
    try:
        async with http.stream("POST", url, content=body, headers=headers) as got:
            status = got.status_code
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise NetworkError(f"no answer: {type(error).__name__}") from None
    if not 200 <= status < 300:
        raise NetworkError(f"the answer was {status}")


async def _run(command: list[str], body: bytes, id: str) -> None:
    # The secrets of the server are not the command's.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REBUNO_")}
    nowhere = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=nowhere,
            stderr=nowhere,
            env={**environment, "REBUNO_NOTICE": id},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise NetworkError(f"the command could not be started: {type(error).__name__}") from None
    try:
        await process.communicate(body)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        raise NetworkError(f"the command ended with {process.returncode}")


async def _mail(way: MailWay, message: EmailMessage, seconds: float) -> None:
    # A thread of its own that nobody waits for: a server that hangs holds up neither others nor the end of the program.
    loop = asyncio.get_running_loop()
    sent: asyncio.Future[str] = loop.create_future()

    def arrived(fault: str) -> None:
        if not sent.done():
            sent.set_result(fault)

    def work() -> None:
        try:
            _send(way, message, seconds)
            fault = ""
        except (OSError, smtplib.SMTPException, ValueError) as error:
            fault = f"the mail was not taken: {type(error).__name__}"
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(arrived, fault)

    threading.Thread(target=work, name="rebuno notice", daemon=True).start()
    if fault := await sent:
        raise NetworkError(fault)


def _send(way: MailWay, message: EmailMessage, timeout: float) -> None:
    context = ssl.create_default_context()
    server: smtplib.SMTP
    if way.security == "tls":
        server = smtplib.SMTP_SSL(way.host, way.port, timeout=timeout, context=context)
    else:
        server = smtplib.SMTP(way.host, way.port, timeout=timeout)
    with server:
        if way.security == "starttls":
            server.starttls(context=context)
        if way.username:
            server.login(way.username, way.password)
        server.send_message(message)
