"""What goes wrong around a hook: the call does not run, each time, and the person sees why."""

import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from tests.hosts.processes import is_hook, is_judge, send, sent_to_each
from tests.hosts.scenarios import DENIED
from tests.hosts.scene import Scene

# In seconds: how long the hook of these scenarios takes its host to wait.
TIMEOUT: Final = 20
# How the call of the hook ends in each host's settings, and how it does with an option more.
_CALLS: Final = {
    "claude-code": ('"claude-code",', f'"claude-code", "--timeout", "{TIMEOUT}",'),
    "codex": ('rebuno-hook codex"', f'rebuno-hook codex --timeout {TIMEOUT}"'),
    "gemini-cli": ('rebuno-hook gemini-cli"', f'rebuno-hook gemini-cli --timeout {TIMEOUT}"'),
    "opencode": ('"opencode"\n', f'"opencode", "--timeout", "{TIMEOUT}"\n'),
}


def the_bundle_is_broken(scene: Scene) -> None:
    """A bundle that was good a moment ago."""
    _stopped(scene, lambda: _broken(scene), "hosts.rbp")


def the_bundle_is_gone(scene: Scene) -> None:
    """No rule lets the call in, and none is made up."""
    _stopped(scene, scene.bundle.unlink, "hosts.rbp")


def the_store_is_locked(scene: Scene) -> None:
    """Another program writes into it and does not end."""
    with ExitStack() as stack:
        _stopped(scene, lambda: stack.enter_context(_locked(scene)), "is locked by another process")


def the_store_is_gone(scene: Scene) -> None:
    """Where its folder was there is a file."""

    def take() -> None:
        shutil.move(scene.store.parent, scene.store.parent.with_name("moved"))
        scene.store.parent.write_text("no folder\n", encoding="utf-8")

    _stopped(scene, take, "journal.db")


def the_judge_is_killed(scene: Scene) -> None:
    """It, and each one that is started in its place: the hook judges by itself, and what is denied does not run."""
    scene.install()
    killed: list[set[int]] = []
    with ExitStack() as stack:

        def kill() -> None:
            killed.append(stack.enter_context(sent_to_each(scene.room.home, is_judge, signal.SIGKILL)))

        played = scene.play(["echo ran >> one"], ["echo ran >> forbidden"], before={1: kill})
    scene.ran(one=1, forbidden=0)
    assert len(killed[0]) > 1, "no second judge was started that could be killed"
    assert DENIED in played.told(1), played.told(1)


def the_judge_was_killed(scene: Scene) -> None:
    """It is started again and judges as before."""
    scene.install()

    def kill() -> None:
        assert send(scene.room.home, is_judge, signal.SIGKILL) == 1

    played = scene.play(["echo ran >> one"], ["echo ran >> forbidden"], ["echo ran >> two"], before={1: kill})
    scene.ran(one=1, forbidden=0, two=1)
    assert DENIED in played.told(1), played.told(1)


def the_hook_is_killed(scene: Scene) -> None:
    """With a signal that it cannot answer."""
    with ExitStack() as stack:
        killed: list[set[int]] = []

        def kill() -> None:
            stack.enter_context(_held(scene))
            killed.append(stack.enter_context(sent_to_each(scene.room.home, is_hook, signal.SIGKILL)))

        _stopped(scene, kill, "killed", "SIGKILL", "exit code 137", "hook uninstall")
    assert killed[0], "no hook was there that could be killed"


def the_answer_is_late(scene: Scene) -> None:
    """The judge is there and says nothing for longer than the host waits."""
    with ExitStack() as stack:
        _stopped(scene, lambda: stack.enter_context(_held(scene)), "in time", "seconds")


def nothing_begins_under_a_broken_bundle(scene: Scene) -> None:
    """From the first event on no call runs. Of a prompt that is stopped Codex says nothing: there the doctor does."""
    scene.install()
    _broken(scene)
    played = scene.play(["echo ran >> one"])
    scene.ran(one=0)
    shown = played.shown() + scene.rebuno("hook", "doctor", scene.name, code=1).stdout
    assert "hosts.rbp" in (shown if scene.name == "codex" else played.shown()), shown


def _stopped(scene: Scene, harm: Callable[[], object], word: str, *more: str) -> None:
    """A call runs, then harm is done, and the next call does not run; the person sees one of these words."""
    scene.install()
    _hasten(scene)
    played = scene.play(["echo ran >> one"], ["echo ran >> two"], before={1: lambda: _do(harm)})
    scene.ran(one=1, two=0)
    shown = played.shown()
    assert any(one in shown for one in (word, *more)), f"none of {(word, *more)} is shown to the person:\n{played}"


def _do(harm: Callable[[], object]) -> None:
    harm()


def _broken(scene: Scene) -> None:
    scene.bundle.write_text("bundle hosts\nrule broken {\n  allow tol\n", encoding="utf-8")


def _hasten(scene: Scene) -> None:
    # The hook answers sooner than it is installed to.
    path = scene.settings()
    before, after = _CALLS[scene.name]
    text = path.read_text(encoding="utf-8")
    assert before in text, f"{path} holds no {before}"
    path.write_text(text.replace(before, after), encoding="utf-8")
    scene.reviewed()


@contextmanager
def _locked(scene: Scene) -> Iterator[None]:
    # Begun in the thread of the provider, ended in that of the scenario.
    connection = sqlite3.connect(scene.store, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        connection.close()


@contextmanager
def _held(scene: Scene) -> Iterator[None]:
    assert send(scene.room.home, is_judge, signal.SIGSTOP) == 1
    try:
        yield
    finally:
        send(scene.room.home, is_judge, signal.SIGCONT)


FAILURES: Final[tuple[Callable[[Scene], None], ...]] = (
    the_bundle_is_broken,
    the_bundle_is_gone,
    the_store_is_locked,
    the_store_is_gone,
    the_judge_is_killed,
    the_judge_was_killed,
    the_hook_is_killed,
    the_answer_is_late,
    nothing_begins_under_a_broken_bundle,
)
