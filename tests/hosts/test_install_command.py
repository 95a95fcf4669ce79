"""`rebuno hook install` and `uninstall` on the command line."""

import json
import sys
from pathlib import Path

import pytest

from rebuno.hosts.settings import read_settings
from tests.cli.support import Ran, rebuno
from tests.hosts.planted import Machine, machine

POLICY = 'bundle b\ndefault deny because "no"\n'


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine whose `rebuno-hook` lies beside the Python that runs."""
    made = machine(tmp_path)
    monkeypatch.setattr(sys, "executable", str(made.program.with_name("python")))
    return made


def hook(one: Machine, *argv: str) -> Ran:
    """Runs `rebuno hook ARGV` in the project."""
    return rebuno("hook", *argv, within=one.project, env=dict(one.here.environ))


def test_it_says_what_it_changed(one: Machine) -> None:
    """The files, where the copy lies, and the way back."""
    file = one.put("claude-code", b'{"a": 1}\n')
    ran = hook(one, "install", "claude-code")
    assert (ran.code, ran.err) == (0, "")
    assert f"changed {file} (what was there before: {one.home}/.local/state/rebuno/installed/" in ran.out
    assert f"wrote {one.home}/.config/rebuno/hooks/claude-code.json" in ran.out
    assert "PreToolUse" in ran.out
    assert "rebuno hook uninstall claude-code" in ran.out
    assert "nothing was changed" in hook(one, "install", "claude-code").out
    assert f"changed {file}" in hook(one, "uninstall", "claude-code").out
    assert file.read_bytes() == b'{"a": 1}\n'
    assert "nothing was changed" in hook(one, "uninstall", "claude-code").out


def test_a_dry_run_shows_the_difference(one: Machine) -> None:
    """As a unified difference, in which nothing acts on a terminal; nothing is written."""
    one.put("claude-code", '{\n  "a": "\x9b2J\u202e",\n  "b": 2\n}\n'.encode())
    before = one.files()
    ran = hook(one, "install", "claude-code", "--dry-run")
    assert ran.code == 0
    assert '-  "b": 2' in ran.out.splitlines()
    assert '+  "b": 2,' in ran.out.splitlines()
    assert "\x9b" not in ran.out
    assert "\\u202e" in ran.out
    told = json.loads(hook(one, "install", "claude-code", "--dry-run", "--json").out)
    assert told["dry_run"] is True
    assert [change["change"] for change in told["changes"]] == ["wrote", "changed"]
    assert '+  "b": 2,' in told["changes"][1]["diff"]
    assert one.files() == before


def test_options_become_settings_with_absolute_paths(one: Machine) -> None:
    """The host runs the hook in other folders."""
    (one.project / "b.rbp").write_text(POLICY)
    ran = hook(one, "install", "codex", "--policy", "b.rbp", "--db", "x/a.db", "--wait", "5m", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["notes"]
    read = read_settings("codex", one.here.environ)
    assert read.policy == (str(one.project / "b.rbp"),)
    assert read.db == str(one.project / "x/a.db")
    assert (read.wait, read.timeout, read.observe) == (300, 360, False)


def test_what_no_option_names_stays(one: Machine) -> None:
    """Planting anew, as the doctor says, must not fall back to another policy; `--observe` is asked for each time."""
    (one.project / "b.rbp").write_text(POLICY)
    hook(one, "install", "codex", "--policy", "b.rbp", "--wait", "5m", "--observe")
    file = one.home / ".config/rebuno/hooks/codex.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"retention_days": 7, "port": 7788, "token": "t"}))
    assert read_settings("codex", one.here.environ).observe
    hook(one, "install", "codex", "--db", "postgresql://u@h/d")
    read = read_settings("codex", one.here.environ)
    assert read.policy == (str(one.project / "b.rbp"),)
    assert (read.db, read.observe, read.wait) == ("postgresql://u@h/d", False, 300)
    assert (read.retention_days, read.port, read.token) == (7, 7788, "t")
    hook(one, "install", "codex", "--wait", "0s")
    assert read_settings("codex", one.here.environ).wait == 0
    file.write_text('{"version": 9}')
    ran = hook(one, "install", "codex")
    assert ran.code == 2
    assert f"`{file}`" in ran.err
    assert json.loads(file.read_text()) == {"version": 9}


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("install", "vim"), "vim"),
        (("install", "codex", "--wait", "soon"), "`soon`"),
        (("install", "codex", "--wait", "1d"), "23 h"),
        (("install", "codex", "--scope", "machine"), "machine"),
        (("install", "codex", "--policy", "none.rbp"), "none.rbp"),
        (("uninstall",), "HOST"),
    ],
)
def test_wrong_usage_is_told_and_changes_nothing(one: Machine, argv: tuple[str, ...], words: str) -> None:
    """Exit code 2."""
    before = one.files()
    ran = hook(one, *argv)
    assert ran.code == 2
    assert words in ran.err
    assert one.files() == before


def test_a_bundle_with_errors_is_not_planted(one: Machine) -> None:
    """With its place; the agent goes on as before."""
    (one.project / "b.rbp").write_text("bundle b\nrule {\n")
    before = one.files()
    ran = hook(one, "install", "claude-code", "--policy", "b.rbp")
    assert ran.code == 2
    assert "b.rbp" in ran.err
    assert one.files() == before


def test_broken_settings_are_one_sentence(one: Machine) -> None:
    """As JSON where asked for."""
    one.put("gemini-cli", b'{"a": }')
    ran = hook(one, "install", "gemini-cli")
    assert ran.code == 2
    assert "line 1, column 7 is not JSON" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert json.loads(hook(one, "install", "gemini-cli", "--json").err)["error"]["code"] == "validation_error"


def test_without_the_program_nothing_is_planted(one: Machine) -> None:
    """It would refuse every call."""
    one.program.unlink()
    ran = hook(one, "install", "claude-code")
    assert ran.code == 3
    assert "install rebuno-kernel again" in ran.err
    assert not one.settings("claude-code").exists()
