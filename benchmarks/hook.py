"""What a hook costs before every call: `rebuno-hook` beside the start of a Python, and beside OpenMoat's hook.

200 calls of the shell, as Claude Code announces them, are put to `rebuno-hook claude-code` with the shipped bundle and
a store of their own, in a home of their own. Each is settled before the next one comes, which is not measured. In turn
with each call `python3 -I -c pass` is run, with the same Python, and OpenMoat's hook on the same event where it is
installed (on the PATH or in ~/.cargo/bin). The figures are the ratios of the medians: of the wall time, of the
processor time (that of the process and of its children; the judge's own is printed beside it), and of the wall time
where no judge runs yet.

The bounds: 2.5 times the wall time of the Python, 40 times without a judge, 1.5 times the processor time of OpenMoat.
Exit 0: the bounds hold. Exit 1: they do not. Exit 2: a hook cannot be run, or does not let the call through.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

CALLS: Final = 200
COLD: Final = 10
WARM_UP: Final = 5
PYTHON: Final = (sys.executable, "-I", "-c", "pass")
BOUNDS: Final[Mapping[str, float]] = {"wall_ratio": 2.5, "cold_ratio": 40.0, "openmoat_cpu_ratio": 1.5}
FOLDERS: Final = {"XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"}
# In seconds: for what a hook may wait, and until a judge has ended.
PATIENCE: Final = 60.0


class HookFailedError(Exception):
    """A hook that was to be measured did something else."""


@dataclass(slots=True)
class Times:
    """Of each run of a program the wall time and the processor time, in seconds."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def medians(self) -> tuple[float, float]:
        """Those of the wall time and of the processor time."""
        return statistics.median(self.wall), statistics.median(self.cpu)


@dataclass(frozen=True, slots=True)
class Bench:
    """A folder with a project, a home and what a hook needs to run in it."""

    folder: Path
    environ: Mapping[str, str]

    @property
    def project(self) -> Path:
        """Where the agent works."""
        return self.folder / "project"

    def run(self, command: Sequence[str], event: Mapping[str, Any], times: Times | None = None) -> str:
        """What a program prints of an event.

        Raises:
            HookFailedError: it does not end with 0.
        """
        given, out, said = (self.folder / name for name in ("event", "out", "said"))
        given.write_text(json.dumps(event), encoding="utf-8")
        actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_OPEN, 0, str(given), os.O_RDONLY, 0)]
        for stream, file in ((1, out), (2, said)):
            actions.append((os.POSIX_SPAWN_OPEN, stream, str(file), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        began = time.perf_counter()
        pid = os.posix_spawn(command[0], list(command), self.environ, file_actions=actions)
        _, status, used = os.wait4(pid, 0)
        wall = time.perf_counter() - began
        if status != 0:
            why = said.read_text("utf-8", "replace").strip()[-300:]
            raise HookFailedError(f"{Path(command[0]).name} ended with {os.waitstatus_to_exitcode(status)}: {why}")
        if times is not None:
            times.wall.append(wall)
            times.cpu.append(used.ru_utime + used.ru_stime)
        return out.read_text("utf-8", "replace")


def event(name: str, number: int, project: Path, **more: Any) -> dict[str, Any]:
    """An event of Claude Code about one call of the shell; each call has a command of its own."""
    return {
        "session_id": "benchmark",
        "transcript_path": str(project / "transcript.jsonl"),
        "cwd": str(project),
        "permission_mode": "default",
        "hook_event_name": name,
        "tool_name": "Bash",
        "tool_input": {"command": f"ls -la src-{number}"},
        "tool_use_id": f"toolu_{number:04}",
        **more,
    }


@contextmanager
def bench() -> Iterator[Bench]:
    """A home in which nothing was ever judged. The judge that was started in it ends with it."""
    with tempfile.TemporaryDirectory(prefix="hook-bench-") as name:
        folder = Path(name)
        environ = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}
        environ["CLAUDE_PROJECT_DIR"] = str(folder / "project")
        for variable, below in FOLDERS.items():
            (folder / below).mkdir(mode=0o700)
            environ[variable] = str(folder / below)
        (folder / "home").mkdir()
        (folder / "project").mkdir()
        made = Bench(folder, environ)
        try:
            yield made
        finally:
            end_judge(made)


def judge_of(found: Bench) -> int:
    """The process of the judge; 0 where none listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        try:
            asking.connect(str(found.folder / "run" / "rebuno" / "judge.sock"))
        except OSError:
            return 0
        credentials = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[0])


def cpu_of(pid: int) -> float:
    """The seconds of the processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def end_judge(found: Bench) -> None:
    """Ends the judge, and waits until it has ended."""
    pid = judge_of(found)
    if pid:
        os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + PATIENCE
    while pid and _runs(pid):
        if time.monotonic() > until:
            raise HookFailedError("the judge does not end")
        time.sleep(0.005)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def _moat(program: str | None) -> Iterator[tuple[Bench, list[str]] | None]:
    # OpenMoat's hook in a home of its own, with its default policy; None where it is not installed.
    if program is None:
        yield None
        return
    with bench() as found:
        subprocess.run(
            [program, "init", "--yes", "--hosts", "claude-code"],
            env=dict(found.environ),
            cwd=found.project,
            capture_output=True,
            check=True,
            timeout=120,
        )
        yield found, [program, "guard", "--host", "claude-code"]


def openmoat() -> str | None:
    """Where OpenMoat is installed."""
    path = os.pathsep.join([os.environ.get("PATH", ""), str(Path.home() / ".cargo" / "bin")])
    return shutil.which("openmoat", path=path)


def hook() -> str:
    """The program of this Python's environment. Raises `HookFailedError`: there is none."""
    beside = Path(sys.executable).parent / "rebuno-hook"
    found = str(beside) if beside.exists() else shutil.which("rebuno-hook")
    if found is None:
        raise HookFailedError("rebuno-hook is not installed; run `pip install -e .`")
    return found


def _call(found: Bench, command: Sequence[str], number: int, times: Times | None) -> None:
    before = event("PreToolUse", number, found.project)
    said = found.run(command, before, times)
    if said.strip():
        decision = json.loads(said).get("hookSpecificOutput", {}).get("permissionDecision")
        if decision != "allow":
            raise HookFailedError(f"the call was not let through: {said.strip()[:300]}")
    found.run(command, event("PostToolUse", number, found.project, tool_response={"stdout": "", "stderr": ""}))


def measure(calls: int, cold: int) -> tuple[dict[str, float | None], dict[str, float]]:
    """The ratios, and what they were computed from, in milliseconds.

    Raises:
        HookFailedError: a hook does not do what is to be measured.
    """
    command = [hook(), "claude-code"]
    python, ours, theirs, first = Times(), Times(), Times(), Times()
    with bench() as found, _moat(openmoat()) as moat:
        for number in range(WARM_UP):
            _call(found, command, number, None)
        judge = judge_of(found)
        used = cpu_of(judge)
        for number in range(WARM_UP, WARM_UP + calls):
            found.run(PYTHON, {}, python)
            _call(found, command, number, ours)
            if moat is not None:
                where, guard = moat
                where.run(guard, event("PreToolUse", number, where.project), theirs)
        # Each call is two events.
        used = (cpu_of(judge) - used) / (2 * calls)
        for number in range(WARM_UP + calls, WARM_UP + calls + cold):
            end_judge(found)
            _call(found, command, number, first)
    (wall, cpu), (python_wall, python_cpu), (cold_wall, _) = ours.medians, python.medians, first.medians
    moat_wall, moat_cpu = theirs.medians if theirs.cpu else (0.0, 0.0)
    ratios = {
        "wall_ratio": round(wall / python_wall, 2),
        "cpu_ratio": round(cpu / python_cpu, 2),
        "cold_ratio": round(cold_wall / python_wall, 1),
        "openmoat_cpu_ratio": round(cpu / moat_cpu, 2) if moat_cpu else None,
    }
    seconds = {
        "python wall": python_wall, "python processor": python_cpu, "hook wall": wall, "hook processor": cpu,
        "judge processor": used, "hook wall, no judge": cold_wall, "openmoat wall": moat_wall,
        "openmoat processor": moat_cpu,
    }  # fmt: skip
    return ratios, {name: round(value * 1000, 2) for name, value in seconds.items()}


def missed(ratios: Mapping[str, float | None]) -> list[str]:
    """The bounds that do not hold, a sentence each."""
    over = ((name, value) for name, bound in BOUNDS.items() if (value := ratios[name]) is not None and value > bound)
    return [f"{name} is {value:g}, over {BOUNDS[name]:g}" for name, value in over]


def main() -> int:
    """Prints the figures; the exit code says whether the bounds hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the ratios as JSON only")
    parser.add_argument("--calls", type=int, default=CALLS, help="how many calls are measured")
    parser.add_argument("--cold", type=int, default=COLD, help="how many calls are measured without a judge")
    options = parser.parse_args()
    try:
        ratios, milliseconds = measure(max(options.calls, 1), max(options.cold, 1))
    except (HookFailedError, OSError, subprocess.SubprocessError) as error:
        print(f"hook: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(ratios))
    else:
        for name, value in {**milliseconds, **ratios}.items():
            print(f"{name:22}{'-' if value is None else format(value, 'g'):>10}")
    wrong = missed(ratios)
    for sentence in wrong:
        print(f"hook: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
