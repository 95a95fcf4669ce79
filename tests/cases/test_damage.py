"""D16: a full disk, a damaged file, a file that is no store. What is known to have happened is never begun anew."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.errors import StoreFull
from tests.embedded.support import bundle, in_loop, run
from tests.journal.small_disk import small_disk
from tests.sdk.support import Crash

OPEN = bundle("allow")
COUNT = 10
HALF = COUNT // 2


class Agent:
    """Ten effects that may be done once, each a line of a file; `stops` after how many it dies."""

    def __init__(self, folder: Path, stops: int = COUNT + 1) -> None:
        self.folder = folder
        self.stops = stops
        # Called in the body of a step before its effect, and by the handler before a step.
        self.inside: Callable[[int], None] = lambda number: None
        self.between: Callable[[int], None] = lambda number: None

    def lines(self) -> list[str]:
        """The effects so far."""
        file = self.folder / "effects"
        return file.read_text().splitlines() if file.exists() else []

    async def handler(self) -> list[Any]:
        """The run."""
        said: list[Any] = []
        for number in range(1, COUNT + 1):
            if number > self.stops:
                raise Crash
            self.between(number)

            def body(number: int) -> int:
                self.inside(number)
                with (self.folder / "effects").open("a") as file:
                    file.write(f"{number}\n")
                return number

            try:
                said.append(await rebuno.step("act", body, {"number": number}, idempotency="at_most_once"))
            except rebuno.ToolError as error:
                said.append(error.reason)
        return said


async def half_done(folder: Path) -> Path:
    """A store in which the first half of a run is recorded, as one file."""
    path = folder / "agent.db"
    with pytest.raises(Crash):
        await run(path, OPEN, Agent(folder, HALF).handler)
    return path


def cut(size: Callable[[int], int]) -> Callable[[Path], None]:
    """Cuts the file to a size that depends on the one it has."""
    return lambda path: os.truncate(path, size(path.stat().st_size))


def overwrite(at: float, length: int) -> Callable[[Path], None]:
    """Overwrites so many bytes, from that part of the file on."""

    def harm(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(int(path.stat().st_size * at))
            file.write(b"\xa5" * length)

    return harm


def becomes(content: bytes) -> Callable[[Path], None]:
    """Replaces the file."""
    return lambda path: (path.write_bytes(content), None)[1]


def becomes_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE: dict[str, Callable[[Path], None]] = {
    "a byte short": cut(lambda size: size - 1),
    "a page short": cut(lambda size: size - 4096),
    "half of it": cut(lambda size: size // 2),
    "nothing but the head": cut(lambda size: 100),
    "empty": cut(lambda size: 0),
    "no head": overwrite(0, 100),
    "no first page": overwrite(0, 4096),
    "a page in the middle": overwrite(0.5, 4096),
    "no end": overwrite(0.9, 4096),
    "a text": becomes(b"once upon a time\n" * 400),
    "an archive": becomes(b"PK\x03\x04" + bytes(8000)),
    "zeros": becomes(bytes(8192)),
    "a folder": becomes_a_folder,
}


@pytest.mark.parametrize("harm", DAMAGE.values(), ids=DAMAGE.keys())
@in_loop
async def test_a_damaged_store_is_refused_or_goes_on_and_begins_nothing_anew(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    """D16.3: the error names the file and leaves it as it is; no effect that was recorded is made again."""
    path = await half_done(tmp_path)
    harm(path)
    left = path.read_bytes() if path.is_file() else b""
    agent = Agent(tmp_path)
    recorded = [str(number) for number in range(1, HALF + 1)]
    refused: rebuno.StoreError | None = None
    try:
        await run(path, OPEN, agent.handler)
    except rebuno.StoreError as error:
        refused = error
    if refused is None:
        assert agent.lines() == [str(number) for number in range(1, COUNT + 1)]
    else:
        assert str(path) in f"{refused} {refused.path}"
        assert agent.lines() == recorded
        assert not path.is_file() or path.read_bytes() == left


@pytest.mark.parametrize("during", [False, True], ids=["before its start", "between effect and record"])
@in_loop
async def test_a_disk_that_is_full_stops_the_run_until_there_is_room(tmp_path: Path, during: bool) -> None:
    """D16.1 and 2: what could not be begun did not run; of what ran and could not be recorded the error says so, and
    it is indeterminate afterwards. Everything else is done once."""
    with small_disk(tmp_path / "disk") as disk:
        path, agent = disk.folder / "agent.db", Agent(tmp_path)

        def fill(number: int) -> None:
            if number == HALF:
                disk.fill()

        if during:
            agent.inside = fill
        else:
            agent.between = fill
        with pytest.raises(StoreFull, match="full") as told:
            await run(path, OPEN, agent.handler)
        assert str(path) in str(told.value)
        assert ("the body of the step `act` has run" in str(told.value)) == during
        assert agent.lines() == [str(number) for number in range(1, HALF + during)]
        disk.free()
        again = Agent(tmp_path)
        ended = await run(path, OPEN, again.handler)
    expected: list[Any] = list(range(1, COUNT + 1))
    if during:
        expected[HALF - 1] = "indeterminate"
    assert ended.output == expected
    assert again.lines() == [str(number) for number in range(1, COUNT + 1)]
