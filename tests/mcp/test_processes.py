"""The command itself: on stdio and on a port, with servers on stdio and on a port."""

from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import MCPError

from rebuno_cli.main import main
from tests.mcp import forwarded
from tests.mcp.processes import SECRET, TRANSPORTS, running, served, server_on_port
from tests.mcp.support import FRONTS, play, said, written

fronts = pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS)
transports = pytest.mark.parametrize("transport", TRANSPORTS)


@fronts
@transports
def test_a_call_is_made_and_cancelled(tmp_path: Path, front: str, transport: str) -> None:
    """Whatever the client's transport is."""
    play(forwarded.cancellation(partial(running, tmp_path, front=front, transport=transport), front, "auto"))


@fronts
def test_a_server_may_be_behind_a_url(tmp_path: Path, front: str) -> None:
    """What it asks its client comes through."""

    async def work() -> None:
        async with server_on_port(tmp_path) as url:
            opened = partial(running, tmp_path, front=front, server_one={"url": url})
            await forwarded.elicitation(opened, front, "auto")

    play(work())


def test_a_server_behind_a_url_that_is_gone(tmp_path: Path) -> None:
    """A call that was on its way has an unknown outcome; a later one says that the server is not running."""

    async def work() -> None:
        async with server_on_port(tmp_path) as url, running(tmp_path, server_one={"url": url}) as the:
            result = await the.client.call_tool("one__die", {})
            assert "the outcome of one.die is unknown" in said(result)
            later = await the.client.call_tool("one__add", {"a": 1})
            assert "is not running" in said(later)
            assert the.calls("die") == 1

    play(work())


def test_the_token_of_a_port_is_required(tmp_path: Path) -> None:
    """Every user of the machine can reach the port."""

    async def work() -> None:
        async with running(tmp_path, transport="http", token="let-me-in-please") as the:
            assert said(await the.client.call_tool("one__log", {})) == "logged"
        path = written(tmp_path, token="let-me-in-please")
        with (tmp_path / "proxy.log").open("a") as log:
            async with served(["mcp", "proxy", "--config", str(path)], log) as url, httpx2.AsyncClient() as http:
                for headers in ({}, {"Authorization": "Bearer let-me-in"}):
                    assert (await http.post(url, json={}, headers=headers)).status_code == 401
                wrong = {"Authorization": "Bearer let-me-in-please", "Host": "evil.example"}
                assert (await http.post(url, json={}, headers=wrong)).status_code == 421

    play(work())


def test_what_the_proxy_says_holds_no_secret(tmp_path: Path) -> None:
    """Not what a server writes to its stderr either."""

    async def work() -> None:
        async with running(tmp_path, server_one={"env": {"SECRET": "${SECRET}"}}) as the:
            with pytest.raises(MCPError, match=r"bad \[secret\]"):
                await the.client.call_tool("one__leak", {"raise": True})
            await the.until(lambda: "the token is [secret]" in (tmp_path / "proxy.log").read_text())

    play(work())
    assert SECRET not in (tmp_path / "proxy.log").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--stdio", "--port", "1"], "give `--stdio` or `--port`, not both"),
        (["--wait", "soon"], "`--wait`: "),
    ],
)
def test_wrong_usage_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    """With exit code 2."""
    assert main(["mcp", "proxy", "--config", str(written(tmp_path)), *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        ({"policy": ""}, 2, "names no `policy`"),
        ({"store": ""}, 2, "names no `store`"),
        ({"bundle": "bundle tests\nrule a { allow }\n"}, 2, "error["),
        ({"store": "nowhere/tests.db"}, 3, "nowhere"),
    ],
    ids=["policy", "store", "bundle", "folder"],
)
def test_a_proxy_that_cannot_judge_does_not_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: dict[str, Any], code: int, message: str
) -> None:
    """And says why in one sentence."""
    path = written(tmp_path, **config)
    assert main(["mcp", "proxy", "--config", str(path), "--port", "0"]) == code
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown
