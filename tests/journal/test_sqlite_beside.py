"""A store beside programs that copy its log, and beside processes of a version that marks no log: no strangers."""

import subprocess
import sys
from pathlib import Path

import pytest

from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.sqlite.log_mark import FileState, LogState, Mark, fault, read_file
from tests.journal.builders import in_loop, started, written
from tests.journal.test_sqlite_marks import big, sound

OTHER = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
for line in sys.stdin:
    c.execute(line).fetchall()
    print("done", flush=True)
"""


class Program:
    """Another program with SQLite's own tools, or a process of a version that marks no log."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", OTHER, str(path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=20)
        assert self._process.returncode == 0

    def does(self, *statements: str) -> None:
        """Has it carried out."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for statement in statements:
            self._process.stdin.write(f"{statement}\n")
            self._process.stdin.flush()
            assert self._process.stdout.readline() == "done\n"


def later(path: Path) -> None:
    """Returns once the clock of the file system has moved on since the file was changed."""
    probe = path.with_name("probe")
    probe.write_text("")
    while probe.stat().st_mtime_ns <= path.stat().st_mtime_ns:
        probe.write_text("")


@in_loop
async def test_a_log_that_another_program_began_may_be_copied_in_part(tmp_path: Path) -> None:
    """It writes first to the log, and copies as much of it as a reader lets it, which is not as far as our mark."""
    path = tmp_path / "agent.db"
    store = await SQLiteStore.open(path)
    await started(store)
    with Program(path) as other, Program(path) as reader:
        for n in range(3):
            await written(store, big(n))
            other.does("PRAGMA wal_checkpoint(FULL)", f"INSERT INTO policies VALUES ('a{n}', 1, '')")
            reader.does("BEGIN", "SELECT count(*) FROM events")
            await written(store, big(n))
            later(path)
            other.does("PRAGMA wal_checkpoint(PASSIVE)")
            await written(store, big(n))
            reader.does("COMMIT")
    await store.close()
    assert await sound(path) == 10


@in_loop
async def test_a_file_of_pages_of_several_moments_is_no_strangers(tmp_path: Path) -> None:
    """A copy in part leaves out the pages that were written again since. By itself the file is too short for its own
    count of pages then; with its log it is whole, while the store is open and after a crash."""
    path = tmp_path / "agent.db"
    store = await SQLiteStore.open(path)
    await started(store)
    other_way = {"x": "y", "y": "x"}
    unreadable = 0
    with Program(path) as other, Program(path) as reader:
        for n in range(4):
            other.does("PRAGMA wal_checkpoint(FULL)")
            await written(store, big(n))
            reader.does("BEGIN", "SELECT count(*) FROM events")
            newest = "WHERE n = (SELECT max(n) FROM events)"
            for old, new in other_way.items():
                other.does(f"UPDATE events SET payload = replace(payload, '{old * 9}', '{new * 9}') {newest}")
            later(path)
            other.does("PRAGMA wal_checkpoint(PASSIVE)")
            unreadable += not read_file(path, None).readable
            second = await SQLiteStore.open(path)
            await second.close()
            await written(store, big(n))
            reader.does("COMMIT")
    assert unreadable > 0
    await store.close()
    assert await sound(path) == 9


@pytest.mark.parametrize(
    ("log_inode", "entered_ns", "live", "replaced"),
    [(8, 30, False, True), (8, 10, True, True), (8, 10, False, False), (9, 30, False, False)],
)
def test_a_log_that_has_its_number_by_chance_belongs_to_its_copy(
    log_inode: int, entered_ns: int, live: bool, replaced: bool
) -> None:
    """A removed log's number is given to the next file. Of a file and a log that were copied, the log came last."""
    mark = Mark(b"newer---", b"older---", 1, file_inode=7, log_inode=8, changed_ns=5)
    log = LogState(log_inode, 20, 3, (mark,), ((1, 4, 0),), begun_marked=True)
    file = FileState(17, 5, 4096, True, (1, 4, 0), Mark(b"older---", b"oldest--"), entered_ns)
    assert ("was replaced" in fault(file, log, live=live)) == replaced
