"""A host in a room of its own with our hook installed, as a person would install it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from rebuno.hosts.live import PAGE, Ended, InstalledHost, PlannedCall, Provider, Room, Script, command, simulated
from tests.hosts.processes import end_all
from tests.hosts.review import review

BUNDLE: Final = Path(__file__).with_name("hosts.rbp")
PROGRAMS: Final = Path(sys.executable).parent
PATIENCE: Final = 120.0
SETTINGS: Final = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini-cli": ".gemini/settings.json",
    "opencode": ".config/opencode/plugins/rebuno.js",
}


class NotOffered(Exception):  # noqa: N818 - no error: the host, or this machine, has no such thing
    """Why a scenario cannot be played here."""


@dataclass(frozen=True, slots=True)
class Played:
    """A run of the host, with what its model was asked and told."""

    provider: Provider
    ended: Ended
    session: str

    def told(self, turn: int, number: int = 0, script: str = "main") -> str:
        """What the model was told of a call; an AssertionError where it was told nothing."""
        found = self.provider.told(turn, number, script)
        assert found is not None, f"the model was told nothing of call {number} of turn {turn} of {script}\n{self}"
        return found

    def asked(self, turn: int = 0, script: str = "main") -> bool:
        """Whether the model was asked for this turn."""
        return turn in self.provider.turns(script)

    def shown(self) -> str:
        """All that the person at the terminal sees, and the model with them."""
        told = [text for one in self.provider.exchanges for text in one.told.values()]
        return "\n".join([self.ended.out, self.ended.err, *told])

    def __str__(self) -> str:
        lines = [f"{one.script} {one.turn}: {one.calls} {one.told}" for one in self.provider.exchanges]
        said = f"exit code {self.ended.code}\n{self.ended.out[-3000:]}\n{self.ended.err[-3000:]}"
        return "\n".join([*lines, said])


def placed(value: Any, project: Path) -> Any:
    """A JSON value in which `{project}` is the project's folder."""
    return json.loads(json.dumps(value).replace("{project}", str(project)))


@dataclass(slots=True)
class Scene:
    """One host, one home, one project, one bundle, one store; `log` is what happened, for a report of a failure."""

    host: InstalledHost
    folder: Path
    room: Room = field(init=False)
    bundle: Path = field(init=False)
    store: Path = field(init=False)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.room = Room.below(self.folder)
        own = self.folder.resolve() / "own"
        (own / "store").mkdir(parents=True)
        self.bundle = own / "hosts.rbp"
        self.store = own / "store" / "journal.db"
        shutil.copyfile(BUNDLE, self.bundle)
        self.host.driver.furnish(self.room, "http://127.0.0.1:1")

    @property
    def name(self) -> str:
        """The host's name."""
        return self.host.driver.name

    def rebuno(self, *words: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Runs our command with the home of this room; an AssertionError where it ends with another code than this."""
        environment = self.host.environment(self.room, "http://127.0.0.1:1")
        path = os.pathsep.join([str(PROGRAMS), str(Path(self.host.executable).parent), environment["PATH"]])
        done = subprocess.run(
            [str(PROGRAMS / "rebuno"), *words],
            cwd=self.room.project,
            env={**environment, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        self.log.append(f"$ rebuno {' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}[{done.returncode}]")
        assert code is None or done.returncode == code, self.log[-1]
        return done

    def install(self, *more: str) -> None:
        """Installs the hook for the user of this room."""
        where = ["--scope", "user", "--policy", str(self.bundle), "--db", str(self.store)]
        self.rebuno("hook", "install", self.name, *where, *more)
        self.reviewed()

    def reviewed(self) -> None:
        """Reviews the hooks, where the host asks for that."""
        if self.name == "codex":
            assert review(self.host, self.room) > 0

    def settings(self) -> Path:
        """The host's own settings, where the hook is."""
        return self.room.home / SETTINGS[self.name]

    def play(
        self,
        *turns: Sequence[PlannedCall | str],
        helpers: Sequence[Script] = (),
        prompt: str = "do it",
        resume: str = "",
        before: Mapping[int, Callable[[], None]] | None = None,
    ) -> Played:
        """Lets the host work on a prompt. `before` does something before the turn of a number is answered."""
        with simulated() as provider:
            provider.learn(Script(self.calls(*turns, page=provider.url + PAGE)), *helpers)
            for turn, action in (before or {}).items():
                provider.before(turn, action)
            self.host.driver.furnish(self.room, provider.url)
            ended = self.host.run(self.room, provider.url, prompt, resume=resume)
        played = Played(provider, ended, self.host.driver.session(ended))
        self.log.append(f"the host, prompt {prompt!r}:\n{played}")
        assert ended.code is not None, f"{self.name} did not end by itself"
        return played

    def calls(self, *turns: Sequence[PlannedCall | str], page: str = "") -> tuple[tuple[PlannedCall, ...], ...]:
        """The turns of a script. A text is a command. `{page}` stands for the address of the provider's page and
        `{project}` for the project's folder."""
        return tuple(tuple(self._call(call, page) for call in turn) for turn in turns)

    def _call(self, call: PlannedCall | str, page: str) -> PlannedCall:
        if isinstance(call, str):
            return command(call.replace("{page}", page))
        return PlannedCall(call.tool, placed(call.input, self.room.project))

    def lines(self, name: str) -> int:
        """How often a command of the form `echo … >> NAME` ran."""
        file = self.room.project / name
        return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0

    def ran(self, **times: int) -> None:
        """An AssertionError unless the lines of these files are so many."""
        found = {name: self.lines(name) for name in times}
        assert found == times, f"these ran {found} times, and not {times}"

    def json(self, *words: str) -> Any:
        """What one of our commands says of the store, with `--json`."""
        return json.loads(self.rebuno(*words, "--db", str(self.store), "--json").stdout)

    def questions(self) -> list[dict[str, Any]]:
        """The questions that wait for a person."""
        found = self.json("approval", "ls")
        return list(found["approvals"] if isinstance(found, dict) else found)

    def steps(self, session: str) -> list[dict[str, Any]]:
        """The steps of a session, as `exec trace` tells them."""
        return list(self.json("exec", "trace", session)["steps"])

    def not_offered(self, why: str) -> NoReturn:
        """Ends the scenario, which cannot be played here."""
        raise NotOffered(why)

    def close(self) -> None:
        """Ends what still runs in the room."""
        end_all(self.room.home)
