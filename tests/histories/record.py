"""Records programs: `python -m tests.histories.record NAME…`. A file that is there is never written again."""

import asyncio
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import rebuno
from rebuno.kernel import recording_lines
from tests.histories.programs import INPUT, PROGRAMS, policy

HERE = Path(__file__).parent


async def record(name: str) -> None:
    """Runs one program on a store of its own, and writes its file."""
    program = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        async with rebuno.open(Path(folder) / "agent.db", policy=policy()) as kernel:
            await program.how(kernel, lambda: kernel.run(program.handler, INPUT, id=name, agent="histories"))
        async with rebuno.operate(Path(folder) / "agent.db") as operator:
            recording = await operator.record(name)
    with (HERE / f"{name}.jsonl").open("x", encoding="ascii") as file:
        file.writelines(recording_lines(recording))


def main(names: list[str]) -> None:
    """Records the named programs. A recording names the host that it was made on: here, none."""
    with patch("rebuno.journal.liveness.this_host", return_value="somewhere"):
        for name in names:
            asyncio.run(record(name))


if __name__ == "__main__":
    main(sys.argv[1:])
