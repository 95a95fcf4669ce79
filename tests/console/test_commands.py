"""`rebuno console`: on a store of this machine, and on a server."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import rebuno
from tests.console.support import Browser, asks, browser, served, texts
from tests.server.support import TOKEN


@contextmanager
def console(*words: str, key: str = "", expected: int = 0) -> Iterator[str]:
    """A console that runs; the link that it prints. It ends with SIGINT, and with this code."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REBUNO")}
    line = [sys.executable, "-m", "rebuno_cli.main", "console", "--no-browser", *words]
    env = kept | {"REBUNO_API_KEY": key, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        try:
            first = run.stdout.readline()
            assert first.startswith("console at http://127.0.0.1:"), first + run.stderr.read()
            yield first.split()[-1]
        finally:
            run.send_signal(signal.SIGINT)
            run.wait(30)
        assert run.returncode == expected, run.stderr.read()
        assert "Traceback" not in run.stderr.read()


def refused(*words: str, key: str = "") -> tuple[int, str]:
    """The exit code and the words of a console that does not start."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REBUNO")}
    line = [sys.executable, "-m", "rebuno_cli.main", "console", "--no-browser", *words]
    done = subprocess.run(line, env=kept | {"REBUNO_API_KEY": key}, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def split(link: str) -> tuple[str, str]:
    """The address and the path of a link."""
    base, _, path = link.partition("/console/")
    return base, f"/console/{path}"


async def answers(one: Browser, path: Path, enter: str, name: str) -> None:
    """Comes in by the link, and answers the one question."""
    await one.get("/console/questions", 403)
    assert (await one.http.get(enter)).status_code == 303
    assert "pay" in texts(await one.get("/console/questions"))
    async with rebuno.operate(path) as operator:
        [question] = await operator.approvals(status="pending")
    place = f"/console/questions/{question.id}"
    fields = {"answer": "grant", "form_token": await one.form_token()}
    foreign = await one.send(place, fields, origin="https://evil.example")
    assert foreign.status_code == 403
    assert (await one.send(place, {**fields, "form_token": "0" * 64})).status_code == 403
    done = await one.send(place, fields)
    assert done.status_code == 303
    assert "pay: granted" in texts(await one.get(done.headers["location"]))
    async with rebuno.operate(path) as operator:
        assert (await operator.approval(question.id)).decided_by == name


def test_the_console_of_a_store_lets_in_who_has_its_link(tmp_path: Path) -> None:
    """Once; what is answered there is answered in the store."""
    import getpass

    path = tmp_path / "a.db"

    async def scenario(url: str, enter: str) -> None:
        async with browser(url) as one, browser(url) as late:
            await answers(one, path, enter, getpass.getuser())
            assert (await late.http.get(enter)).status_code == 403
            assert (await late.send("/console/sign-in", {"key": "x"})).status_code == 403
            assert (await one.http.get("/console/questions", headers={"host": "evil.example"})).status_code == 421

    asyncio.run(asks(path))
    with console("--db", str(path)) as link:
        asyncio.run(scenario(*split(link)))


def test_the_console_of_a_server_is_shown_under_the_key_of_who_has_started_it(tmp_path: Path) -> None:
    """The browser gets neither the key nor the server's cookie; changes arrive while it is open."""
    path = tmp_path / "a.db"

    async def scenario() -> None:
        await asks(path)
        async with served(db=str(path)) as server:
            command = asyncio.to_thread(_console, server.url, path)
            await command

    def _console(url: str, path: Path) -> None:
        with console("--url", url, key=TOKEN) as link:
            asyncio.run(_visit(*split(link), path))

    async def _visit(url: str, enter: str, path: Path) -> None:
        async with browser(url) as one:
            await answers(one, path, enter, "bootstrap")
            assert [name.startswith("rebuno_console") for name in one.http.cookies] == [True]
            assert TOKEN not in str(one.http.cookies)
            style = await one.http.get("/console/static/console.css")
            assert style.headers["content-type"].startswith("text/css")
            async with one.http.stream("GET", "/console/live/questions") as answer:
                assert (await anext(answer.aiter_lines())).startswith("data: ")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--db", "none.db"), 3, "none.db"),
        (("--url", "http://127.0.0.1:9"), 3, "not reached"),
        (("--url", "ftp://x"), 2, "no URL"),
        ((), 2, "--db"),
        (("--db", "a.db", "--port", "70000"), 2, "70000"),
    ],
)
def test_a_console_that_cannot_be_says_why(words: tuple[str, ...], code: int, said: str) -> None:
    """No store, no server, no such address."""
    status, told = refused(*words)
    assert status == code, told
    assert said in told
    assert "Traceback" not in told


def test_a_server_that_does_not_know_the_key_has_no_console_for_it() -> None:
    """The command says so, and starts nothing."""

    async def scenario() -> None:
        async with served() as server:
            status, told = await asyncio.to_thread(refused, "--url", server.url, key="wrong-key-of-mine")
            assert status == 3
            assert "does not know this key" in told

    asyncio.run(scenario())
