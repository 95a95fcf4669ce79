"""The proof of `rebuno hook doctor --live`, without a host: which canary is asked for, what a run shows, and what of a
user's settings goes into the room."""

import json
from pathlib import Path
from typing import Any

import pytest

from rebuno.errors import ValidationError
from rebuno.hosts.install import HOSTS, Places, install, settings_file
from rebuno.hosts.live import DRIVERS, InstalledHost, Room
from rebuno.hosts.live.canary import Canary, LiveProof, choose
from rebuno.hosts.live.transplant import transplant
from rebuno.hosts.settings import HookSettings, read_settings
from rebuno.policy import compile_policy, compile_text, read_source
from tests.house.project import ROOT

PROGRAM = Path("/opt/rebuno/bin/rebuno-hook")
REASON = "keys are\nnot for reading"


def test_the_canary_is_the_first_command_that_the_policy_denies() -> None:
    """A bundle that denies all denies the plainest one; one that denies nothing has none."""
    project = Path("/tmp/project")
    plain = choose(compile_text('bundle b\ndefault deny because "closed"'), "codex", project)
    assert plain == Canary("echo ran > canary-ran", "closed")
    assert choose(compile_text('bundle b\ndefault allow because "open"'), "codex", project) is None
    asking = 'bundle b\ndefault allow because "open"\nrule a { require approval for tool "shell" message "?" }'
    assert choose(compile_text(asking), "codex", project) is None


def test_the_starter_bundle_has_a_canary() -> None:
    """Without options the hook judges by it."""
    policy = compile_policy([read_source(ROOT / "policies" / "coding.rbp")])
    assert choose(policy, "claude-code", Path("/tmp/project")) is not None


@pytest.mark.parametrize(
    ("asked", "ran", "told", "holds", "says"),
    [
        (True, False, "hook error: keys are not for\n reading (rule a)", True, "did not run"),
        (True, True, "canary output", False, "RAN"),
        (True, True, "keys are not for reading", False, "RAN"),
        (True, False, "the user said no", False, "something else"),
        (True, False, None, False, "without an answer"),
        (False, False, None, False, "never asked its model"),
    ],
)
def test_only_our_own_denial_is_a_proof(asked: bool, ran: bool, told: str | None, holds: bool, says: str) -> None:
    """A host that never asked its model, or that something else stopped, shows nothing."""
    proof = LiveProof("codex", "1.2.3", Canary("x", REASON), asked, ran, told, (), "")
    assert proof.holds is holds
    assert says in str(proof)


@pytest.fixture
def here(tmp_path: Path) -> Places:
    """A user's home and project."""
    home, project = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    project.mkdir()
    return Places(home, project, {"HOME": str(home)})


def moved(name: str, here: Places, tmp_path: Path, scope: Any = "user") -> tuple[Path, HookSettings]:
    """The host's settings and our own, after the hook of a scope was put into a room."""
    driver = next(one for one in DRIVERS if one.name == name)
    room, host = Room.below(tmp_path / "room"), InstalledHost(driver, "/nowhere")
    driver.furnish(room, "http://127.0.0.1:1")
    transplant(HOSTS[name], scope, here, host, room)
    there = Places(room.home, room.project, host.environment(room, "http://127.0.0.1:1"))
    own = settings_file(HOSTS[name], scope, there)
    return HOSTS[name].settings(scope, there), read_settings(name, there.environ, str(own))


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("name", HOSTS)
def test_the_hook_goes_along_and_the_store_stays(name: str, scope: Any, here: Places, tmp_path: Path) -> None:
    """The room has the same call of the hook and the same policy. Its store is one of its own, so that no canary stands
    in the user's record."""
    wanted = HookSettings(policy=("/etc/a.rbp",), db=str(tmp_path / "journal.db"), observe=True)
    install(HOSTS[name], scope, here, PROGRAM, wanted)
    path, settings = moved(name, here, tmp_path, scope)
    text = path.read_text(encoding="utf-8")
    assert str(PROGRAM) in text
    assert (settings.policy, settings.observe) == (("/etc/a.rbp",), True)
    assert settings.db.startswith(str(tmp_path / "room"))
    if scope == "project":
        assert str(settings_file(HOSTS[name], scope, here)) not in text


def test_hooks_of_others_and_ways_to_a_model_stay_at_home(here: Places, tmp_path: Path) -> None:
    """Nobody else's program runs for a proof, and no setting leads to a real model; a switch goes along."""
    path = here.home / ".claude" / "settings.json"
    path.parent.mkdir()
    other = {"matcher": "*", "hooks": [{"type": "command", "command": "/bin/other"}]}
    mine = {"env": {"ANTHROPIC_BASE_URL": "https://example.test"}, "apiKeyHelper": "/bin/key", "disableAllHooks": True}
    path.write_text(json.dumps({**mine, "hooks": {"PreToolUse": [other], "Stop": [other]}}), encoding="utf-8")
    install(HOSTS["claude-code"], "user", here, PROGRAM, HookSettings())
    found = json.loads(moved("claude-code", here, tmp_path)[0].read_text(encoding="utf-8"))
    assert set(found) == {"hooks", "disableAllHooks"}
    assert "/bin/other" not in json.dumps(found)
    assert [group["matcher"] for group in found["hooks"]["PreToolUse"]] == ["*"]


def test_what_a_user_of_codex_has_reviewed_goes_along(here: Places, tmp_path: Path) -> None:
    """Under the path of the room, and with the number that the hook has; what was reviewed elsewhere does not."""
    path = here.home / ".codex" / "hooks.json"
    path.parent.mkdir()
    other = {"hooks": [{"type": "command", "command": "/bin/other"}]}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [other]}}), encoding="utf-8")
    install(HOSTS["codex"], "user", here, PROGRAM, HookSettings())
    state = f'[hooks.state."{path}:pre_tool_use:1:0"]\ntrusted_hash = "sha256:ab"\nenabled = true\n'
    state += '[hooks.state."/elsewhere/hooks.json:pre_tool_use:0:0"]\ntrusted_hash = "sha256:cd"\n'
    (path.parent / "config.toml").write_text(f"model = 'real'\n{state}", encoding="utf-8")
    there = moved("codex", here, tmp_path)[0]
    config = (there.parent / "config.toml").read_text(encoding="utf-8")
    assert config == (f'[hooks.state."{there}:pre_tool_use:1:0"]\ntrusted_hash = "sha256:ab"\nenabled = true\n')
    (first, second) = json.loads(there.read_text(encoding="utf-8"))["hooks"]["PreToolUse"]
    assert first["hooks"] == [{"type": "command", "command": "true"}]
    assert str(PROGRAM) in second["hooks"][0]["command"]


def test_settings_that_cannot_be_read_are_named(here: Places, tmp_path: Path) -> None:
    """And nothing is proved."""
    install(HOSTS["codex"], "user", here, PROGRAM, HookSettings())
    (here.home / ".codex" / "config.toml").write_text("[broken", encoding="utf-8")
    with pytest.raises(ValidationError, match=r"config\.toml"):
        moved("codex", here, tmp_path)


def test_without_a_hook_the_room_has_none(here: Places, tmp_path: Path) -> None:
    """So the host runs what it likes, and the doctor says so."""
    path, _ = moved("codex", here, tmp_path)
    assert not path.exists()
