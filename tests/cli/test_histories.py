"""`rebuno exec verify`, `export` and `import` on real stores and files."""

import json
import os
import sqlite3
from pathlib import Path

import pytest

import rebuno as library
from rebuno.policy import compile_text
from tests.cli.support import Ran, rebuno

POLICY = compile_text("bundle tests\ndefault allow\n")


@library.tool("histories.act")
async def act(n: int) -> int:
    return n + 1


async def agent() -> int:
    """Three steps in a row."""
    n = 0
    for _ in range(3):
        n = await act(n)
    return n


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a store with one execution."""
    library.run_sync(agent, path=tmp_path / "one.db", policy=POLICY, id="run")
    return tmp_path


def _change(store: Path, change: str) -> None:
    connection = sqlite3.connect(store)
    with connection:
        connection.execute(change)
    connection.close()


def _ask(folder: Path, *argv: str, db: str = "one.db", stdin: bytes = b"") -> Ran:
    ran = rebuno(*argv, "--db", db, within=folder, stdin=stdin)
    assert "Traceback" not in ran.err
    return ran


def test_verify_prints_the_head_and_compares_it(folder: Path) -> None:
    """Code 0 for the head that was printed, 1 for another, 2 for what is no hash, 4 for no execution."""
    ran = _ask(folder, "exec", "verify", "run")
    assert (ran.code, "9 events and 3 steps are sound" in ran.out) == (0, True)
    head = ran.out.split()[-1]
    data = json.loads(_ask(folder, "exec", "verify", "run", "--head", head, "--json").out)
    assert (data["valid"], data["fault"], data["head_hash"]) == (True, None, head)
    ran = _ask(folder, "exec", "verify", "run", "--head", head[::-1])
    assert (ran.code, "the head is another one" in ran.out) == (1, True)
    assert _ask(folder, "exec", "verify", "run", "--head", head[:8]).code == 2
    assert _ask(folder, "exec", "verify", "nothing").code == 4


def test_verify_names_the_first_fault(folder: Path) -> None:
    """With code 1, in words and in JSON."""
    _change(folder / "one.db", "UPDATE steps SET result = '7' WHERE args = '{\"n\":1}'")
    ran = _ask(folder, "exec", "verify", "run")
    assert (ran.code, "the outcome is not the one that was recorded" in ran.out) == (1, True)
    assert json.loads(_ask(folder, "exec", "verify", "run", "--json").out)["valid"] is False


def test_an_execution_goes_from_store_to_store(folder: Path) -> None:
    """The head is the same everywhere; the store is made where there is none."""
    out = _ask(folder, "exec", "export", "run", "run.jsonl").out
    taken = _ask(folder, "exec", "import", "run.jsonl", db="two.db")
    assert (taken.code, taken.out) == (0, out)
    assert out.endswith(f"head {_ask(folder, 'exec', 'verify', 'run', db='two.db').out.split()[-1]}\n")
    again = _ask(folder, "exec", "import", "run.jsonl", db="two.db")
    assert (again.code, "already" in again.err) == (4, True)
    told = json.loads(_ask(folder, "exec", "import", "run.jsonl", "--json", db="three.db").out)
    assert (told["events"], told["steps"], told["status"]) == (9, 3, "completed")


def test_an_execution_goes_through_a_pipe(folder: Path) -> None:
    """From standard output to standard input, byte for byte what a file holds."""
    piped = _ask(folder, "exec", "export", "run", "-").out.encode()
    _ask(folder, "exec", "export", "run", "run.jsonl")
    assert piped == (folder / "run.jsonl").read_bytes()
    assert _ask(folder, "exec", "import", "-", db="two.db", stdin=piped).code == 0
    assert _ask(folder, "exec", "export", "run", "-", "--json").code == 2


def test_a_history_is_written_to_a_pipe_and_not_in_its_place(folder: Path) -> None:
    """What is no file, a device as well, stays what it is; a folder that is not there is named as it was given."""
    _ask(folder, "exec", "export", "run", "run.jsonl")
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert _ask(folder, "exec", "export", "run", "pipe").code == 0
        assert os.read(reader, 1 << 20) == (folder / "run.jsonl").read_bytes()
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    ran = _ask(folder, "exec", "export", "run", "none/run.jsonl")
    assert (ran.code, ran.err) == (3, "error: `none/run.jsonl`: no such file or directory\n")


def test_a_damaged_history_is_neither_written_nor_taken(folder: Path) -> None:
    """Code 3 and one sentence; the store stays empty, the file unwritten."""
    _ask(folder, "exec", "export", "run", "run.jsonl")
    file = folder / "run.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"result":"2"', b'"result":"9"'))
    ran = _ask(folder, "exec", "import", "run.jsonl", db="two.db")
    assert (ran.code, ran.err.count("\n"), "`run.jsonl`" in ran.err) == (3, 1, True)
    assert not (folder / "two.db").exists()
    _change(folder / "one.db", "DELETE FROM steps WHERE args = '{\"n\":1}'")
    ran = _ask(folder, "exec", "export", "run", "other.jsonl")
    assert (ran.code, "damaged" in ran.err) == (3, True)
    assert not (folder / "other.jsonl").exists()
    assert _ask(folder, "exec", "import", "none.jsonl").code == 3
