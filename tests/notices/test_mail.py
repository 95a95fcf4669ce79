"""Mail, against a real SMTP server on loopback."""

import asyncio
import socket
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiosmtpd.controller import Controller

import rebuno
from rebuno.policy import compile_text
from tests.embedded.support import in_loop
from tests.notices.asking import POLICY, letter


class Mailbox:
    """Takes every mail but the first one."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.tries = 0
        self.mails: asyncio.Queue[bytes] = asyncio.Queue()

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        """What the server calls for each mail."""
        self.tries += 1
        if self.tries == 1:
            return "451 try again later"
        self.loop.call_soon_threadsafe(self.mails.put_nowait, envelope.content)
        return "250 OK"


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
@in_loop
async def test_a_mail_is_sent_until_it_is_taken(tmp_path: Path) -> None:
    """In plain text, with an id of its own and no header that somebody else wrote."""
    box = Mailbox()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        way = {
            "host": "127.0.0.1",
            "port": port,
            "security": "none",
            "from": "rebuno@example.com",
            "to": ["ann@example.com"],
        }
        file = tmp_path / "n.yaml"
        file.write_text(yaml.safe_dump({"targets": [{"name": "post", "mail": way, "pause": 0.01}]}))
        async with rebuno.open(tmp_path / "a.db", policy=compile_text(POLICY), notify=file) as kernel:
            await kernel.run(letter, {"to": "bob\r\nBcc: eve@example.com"}, id="one", agent="clerk")
            async with asyncio.timeout(60):
                mail = message_from_bytes(await box.mails.get(), policy=default)
    finally:
        controller.stop()
    assert box.tries == 2
    assert (mail["To"], mail["Subject"], mail["Bcc"]) == ("ann@example.com", "A person is asked: send", None)
    assert mail["Message-ID"].startswith("<ntc_")
    assert mail.get_content_type() == "text/plain"
    assert "\\r\\nBcc: eve@example.com" in mail.get_content()
