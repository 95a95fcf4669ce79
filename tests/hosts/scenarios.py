"""What must hold on every host: each function is played on each of them, in a room of its own."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from rebuno.hosts.live import PlannedCall, Script
from tests.hosts.scene import PATIENCE, Played, Scene

Turns = Sequence[Sequence[PlannedCall | str]]
DENIED: Final = "the forbidden file stays unwritten"
SECRETS: Final = "secrets were read in this session"
ASKED: Final = "Should the asked file be written?"
# How each host calls a helper. The helper's conversation is known by its prompt.
HELPER: Final = "the little helper writes its files"
HELP: Final = {
    "claude-code": PlannedCall("Agent", {"description": "helps", "prompt": HELPER, "subagent_type": "general-purpose"}),
    "codex": PlannedCall("multi_agent_v1.spawn_agent", {"message": HELPER}),
    "gemini-cli": PlannedCall("invoke_agent", {"agent_name": "generalist", "prompt": HELPER}),
    "opencode": PlannedCall("task", {"description": "helps", "prompt": HELPER, "subagent_type": "general"}),
}
# How a host reads a file without its shell.
READS_NO_SECRETS: Final = {
    "codex": "Codex has no tool that reads a text, but its shell",
    "gemini-cli": "Gemini CLI's own tool reads no `.env`",
}
READ: Final = {
    "claude-code": PlannedCall("Read", {"file_path": "{project}/.env"}),
    "opencode": PlannedCall("read", {"filePath": "{project}/.env"}),
}
# The turns of a session that asks, and asks again each time that it goes on.
ASKING: Final[Turns] = (["echo ran >> asked"], [], ["echo ran >> asked"], [], ["echo ran >> asked"], [])


def an_allowed_call_runs_once(scene: Scene) -> None:
    """It runs, its outcome is recorded, and the session is an execution whose input is the prompt."""
    scene.install()
    played = scene.play(["echo ran >> one"], prompt="write the file one")
    scene.ran(one=1)
    (step,) = scene.steps(played.session)
    assert (step["target"], step["decision"], step["outcome"]) == ("shell", "allow", "succeeded"), step
    (execution,) = scene.json("exec", "ls")["executions"]
    assert execution["agent_id"] == scene.name, execution
    assert "write the file one" in str(execution["input"]), execution


def a_denied_call_does_not_run(scene: Scene) -> None:
    """And the model is told the reason."""
    scene.install()
    played = scene.play(["echo ran >> forbidden"], ["echo ran >> one"])
    scene.ran(forbidden=0, one=1)
    assert DENIED in played.told(0), played.told(0)
    first, second = scene.steps(played.session)
    assert (first["decision"], second["decision"]) == ("deny", "allow"), (first, second)


def a_question_is_granted(scene: Scene) -> None:
    """The call waits; after `rebuno approval grant` it runs, once, and the same call later is a new question."""
    scene.install()
    session = _ask(scene)
    _answer(scene, "grant")
    scene.play(*ASKING, prompt="go on", resume=session)
    scene.ran(asked=1)
    scene.play(*ASKING, prompt="go on", resume=session)
    scene.ran(asked=1)
    assert len(scene.questions()) == 1


def a_person_says_no(scene: Scene) -> None:
    """The call never runs, also when the session goes on, and the model is told why."""
    scene.install()
    session = _ask(scene)
    _answer(scene, "deny", "--rationale", "not on a Friday")
    played = scene.play(*ASKING, prompt="go on", resume=session)
    scene.ran(asked=0)
    assert "not on a Friday" in played.shown(), played


def a_person_says_yes_while_the_hook_waits(scene: Scene) -> None:
    """With `--wait` the call runs in the session that asked, once."""
    scene.install("--wait", "60s")
    played = _answered_meanwhile(scene, "grant")
    scene.ran(asked=1, one=1)
    assert "approval" not in played.told(0), played.told(0)


def a_person_says_no_while_the_hook_waits(scene: Scene) -> None:
    """With `--wait` the model is told why, and goes on."""
    scene.install("--wait", "60s")
    played = _answered_meanwhile(scene, "deny", "--rationale", "not on a Friday")
    scene.ran(asked=0, one=1)
    assert "not on a Friday" in played.told(0), played.told(0)


def _answered_meanwhile(scene: Scene, word: str, *more: str) -> Played:
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(scene.play, ["echo ran >> asked"], ["echo ran >> one"])
        end = time.monotonic() + PATIENCE
        while not scene.store.exists() or not scene.questions():
            assert not playing.done(), f"it did not wait\n{playing.result()}"
            assert time.monotonic() < end, "no question came"
            time.sleep(0.2)
        _answer(scene, word, *more)
        return playing.result()


def _ask(scene: Scene) -> str:
    played = scene.play(*ASKING)
    scene.ran(asked=0)
    (question,) = scene.questions()
    assert question["message"] == ASKED, question
    assert question["id"] in played.shown(), "nobody is told which question waits"
    return played.session


def _answer(scene: Scene, word: str, *more: str) -> None:
    (question,) = scene.questions()
    scene.rebuno("approval", word, question["id"], "--db", str(scene.store), "--as", "ana", *more)


def none_of_two_parallel_questions_is_lost(scene: Scene) -> None:
    """Neither call runs before its grant, none twice, and the model hears of both."""
    scene.install()
    turns: Turns = (["echo ran >> asked1", "echo ran >> asked2"], [], [])
    first = scene.play(*turns)
    scene.ran(asked1=0, asked2=0)
    questions = scene.questions()
    for question in questions:
        scene.rebuno("approval", "grant", question["id"], "--db", str(scene.store), "--as", "ana")
    second = scene.play(*turns, prompt="go on", resume=first.session)
    granted = {name for name in ("asked1", "asked2") if any(name in str(one["args"]) for one in questions)}
    for number, name in enumerate(("asked1", "asked2")):
        told = second.told(0, number)
        assert scene.lines(name) <= (name in granted), f"{name} ran {scene.lines(name)} times"
        assert scene.lines(name) == 1 or "approv" in told or "one at a time" in told, told


def a_session_goes_on(scene: Scene) -> None:
    """A resumed session goes on where it stood: its second prompt is a turn, and what it did before is its history."""
    scene.install()
    turns: Turns = (["echo ran >> one"], [], ["echo ran >> two"], [])
    first = scene.play(*turns, prompt="write the file one")
    second = scene.play(*turns, prompt="and now the file two", resume=first.session)
    scene.ran(one=1, two=1)
    assert first.session == second.session
    newest = scene.json("exec", "get", first.session)
    assert "write the file one" in str(newest["input"]), newest
    trace = scene.json("exec", "trace", first.session)
    assert "and now the file two" in str(trace["turns"]), trace["turns"]
    assert [step["outcome"] for step in trace["steps"]] == ["succeeded", "succeeded"], trace["steps"]


def one_of_two_parallel_calls_is_denied(scene: Scene) -> None:
    """The other one runs, whichever comes first."""
    scene.install()
    played = scene.play(["echo ran >> forbidden", "echo ran >> one"], ["echo ran >> two", "echo ran >> forbidden"])
    scene.ran(forbidden=0, one=1, two=1)
    assert DENIED in played.told(0, 0), played.told(0, 0)
    assert DENIED in played.told(1, 1), played.told(1, 1)


def secrets_stay_once_the_shell_has_read_them(scene: Scene) -> None:
    """`curl` is let in before `.env` was read with `cat`, and not after."""
    _secrets(scene, "cat .env")


def secrets_stay_once_a_tool_has_read_them(scene: Scene) -> None:
    """`curl` is let in before `.env` was read with the host's own tool, and not after."""
    if scene.name in READS_NO_SECRETS:
        scene.not_offered(READS_NO_SECRETS[scene.name])
    _secrets(scene, READ[scene.name])


def _secrets(scene: Scene, read: PlannedCall | str) -> None:
    scene.install()
    (scene.room.project / ".env").write_text("TOKEN=secret\n", encoding="utf-8")
    fetch = "curl -s -o page {page}"
    played = scene.play([fetch], [read], [fetch])
    assert played.provider.pages == 1, f"the page was fetched {played.provider.pages} times"
    assert "TOKEN=secret" in played.told(1), played.told(1)
    assert SECRETS in played.told(2), played.told(2)


def secrets_stay_in_a_session_that_goes_on(scene: Scene) -> None:
    """What was read before its end counts after it."""
    scene.install()
    (scene.room.project / ".env").write_text("TOKEN=secret\n", encoding="utf-8")
    turns: Turns = (["cat .env"], [], ["curl -s -o page {page}"], [])
    first = scene.play(*turns)
    second = scene.play(*turns, prompt="go on", resume=first.session)
    assert second.provider.pages == 0
    assert SECRETS in second.told(2), second.told(2)


def a_helper_is_under_the_same_rules(scene: Scene) -> None:
    """Of a helper's calls the allowed one runs and the denied one does not, and the helper is told why."""
    scene.install()
    helper = Script(scene.calls(["echo ran >> two"], ["echo ran >> forbidden"]), name="helper", asked=HELPER)
    # A host that does not wait for its helper ends when its own agent does.
    played = scene.play([HELP[scene.name]], ["sleep 4; echo ran >> one"], helpers=[helper])
    scene.ran(one=1, two=1, forbidden=0)
    assert DENIED in played.told(1, script="helper"), played
    assert "delegate" in {step["target"] for step in scene.steps(played.session)}


def nothing_is_typed_into_a_running_command(scene: Scene) -> None:
    """Codex runs no hook for that: with the setting that the doctor names a command gets no terminal to type into."""
    if scene.name != "codex":
        scene.not_offered(f"{scene.name} types nothing into a command that runs")
    scene.install()
    config = scene.room.home / ".codex" / "config.toml"
    assert "unified_exec_tty" in scene.rebuno("hook", "doctor", "codex", code=None).stdout
    config.write_text(f"{config.read_text(encoding='utf-8')}\n[features]\nunified_exec_tty = false\n", encoding="utf-8")
    assert "unified_exec_tty" not in scene.rebuno("hook", "doctor", "codex", code=None).stdout
    played = scene.play([PlannedCall("exec_command", {"cmd": "sleep 5; echo ran >> one", "tty": True})])
    scene.ran(one=0)
    assert "TTY execution is disabled" in played.told(0), played.told(0)


def observing_stops_nothing(scene: Scene) -> None:
    """Every call runs, and the record says what would have been said."""
    scene.install("--observe")
    played = scene.play(["echo ran >> one"], ["echo ran >> forbidden"], ["echo ran >> asked"])
    scene.ran(one=1, forbidden=1, asked=1)
    steps = scene.steps(played.session)
    assert len(steps) == 3, steps
    assert DENIED in str(steps[1]), steps[1]
    assert scene.questions() == []


def uninstalling_leaves_the_settings_as_they_were(scene: Scene) -> None:
    """Byte for byte, and the host runs what was denied before."""
    before = _files(scene)
    scene.install()
    assert _files(scene) != before
    scene.rebuno("hook", "uninstall", scene.name, "--scope", "user")
    assert _files(scene) == before
    scene.play(["echo ran >> forbidden"])
    scene.ran(forbidden=1)


def _files(scene: Scene) -> dict[str, bytes]:
    # All files of the home but our own, and what Codex writes where its hooks are reviewed.
    found = sorted(path for path in scene.room.home.rglob("*") if path.is_file())
    named = {str(path.relative_to(scene.room.home)): path.read_bytes() for path in found}
    return {
        name: text
        for name, text in named.items()
        if "rebuno" not in name.removesuffix("plugins/rebuno.js") and not _is_of_review(name)
    }


def _is_of_review(name: str) -> bool:
    return name.startswith(".codex/") and name != ".codex/hooks.json"


SCENARIOS: Final[tuple[Callable[[Scene], None], ...]] = (
    an_allowed_call_runs_once,
    a_denied_call_does_not_run,
    a_question_is_granted,
    a_person_says_no,
    a_person_says_yes_while_the_hook_waits,
    a_person_says_no_while_the_hook_waits,
    none_of_two_parallel_questions_is_lost,
    a_session_goes_on,
    one_of_two_parallel_calls_is_denied,
    secrets_stay_once_the_shell_has_read_them,
    secrets_stay_once_a_tool_has_read_them,
    secrets_stay_in_a_session_that_goes_on,
    a_helper_is_under_the_same_rules,
    nothing_is_typed_into_a_running_command,
    observing_stops_nothing,
    uninstalling_leaves_the_settings_as_they_were,
)
