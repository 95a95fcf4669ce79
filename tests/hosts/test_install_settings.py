"""`rebuno hook install` and `uninstall`: real settings files, kept byte for byte around what is planted."""

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rebuno.errors import ValidationError
from rebuno.hosts import HOSTS as NAMES
from rebuno.hosts.doctor import examine
from rebuno.hosts.install import HOSTS, SCOPES, Scope, install
from rebuno.hosts.install.entries import found, others
from rebuno.hosts.install.json_text import parse
from rebuno.hosts.settings import HookSettings, read_settings
from tests.hosts.planted import Machine, machine

WITH_HOOKS = [name for name, host in HOSTS.items() if not host.module]
# What a person may have there: comments, tabs, another hook before each call, keys that mean nothing to us.
CLAUDE = b"""{
\t"$schema": "https://json.schemastore.org/claude-code-settings.json",
\t"env": {"KEY": "\\u00e9 \xc3\xa9"},
\t"hooks": {
\t\t"PreToolUse": [
\t\t\t{"matcher": "Bash", "hooks": [{"type": "command", "command": "~/bin/log.sh"}]}
\t\t],
\t\t"Stop": []
\t},
\t"permissions": {"allow": ["Bash(ls:*)"],   "deny": []}
}
"""
GEMINI = b"""// my settings
{
    "theme": "x", // the dark one
    /* hooks of the team */
    "hooks": {
        "BeforeTool": [ { "matcher": "write_file", "hooks": [ { "type": "command", "command": "lint" } ] } ], // lint
        // nothing else
    "AfterTool": []
    }
}"""
CODEX = b'{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"audit"}]}]}}'
OWN = {"claude-code": CLAUDE, "gemini-cli": GEMINI, "codex": CODEX}


@pytest.fixture
def one(tmp_path: Path) -> Machine:
    """A user's machine."""
    return machine(tmp_path)


def value(file: Path) -> dict[str, Any]:
    """The settings that a file holds."""
    found: dict[str, Any] = parse(file.read_text(encoding="utf-8-sig"), str(file)).root.value
    return found


def test_every_host_that_is_judged_can_be_installed() -> None:
    """And in the same order everywhere."""
    assert tuple(HOSTS) == NAMES


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("host", HOSTS)
def test_uninstall_leaves_nothing_where_nothing_was(one: Machine, host: str, scope: Scope) -> None:
    """No file, and no folder that was made for it."""
    before = one.files()
    one.install(host, scope)
    assert one.settings(host, scope).is_file()
    one.uninstall(host, scope)
    assert one.files() == before
    assert not one.settings(host, scope).parent.exists()
    assert not list((one.home / ".config").rglob("*project*"))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("host", WITH_HOOKS)
def test_uninstall_leaves_the_settings_byte_for_byte(one: Machine, host: str, scope: Scope) -> None:
    """Also after three installations with other options."""
    file = one.put(host, OWN[host], scope)
    for wanted in (HookSettings(), HookSettings(observe=True), HookSettings(wait=300)):
        one.install(host, scope, wanted)
        assert file.read_bytes() != OWN[host]
    one.uninstall(host, scope)
    assert file.read_bytes() == OWN[host]
    assert one.uninstall(host, scope).changes == []


@pytest.mark.parametrize("host", HOSTS)
def test_a_second_installation_changes_nothing(one: Machine, host: str) -> None:
    """Neither the host's settings nor ours."""
    one.install(host)
    before = one.files()
    assert one.install(host).changes == []
    assert one.files() == before


@pytest.mark.parametrize("host", WITH_HOOKS)
def test_other_hooks_comments_and_settings_are_kept(one: Machine, host: str) -> None:
    """Without our groups the value is what it was; every comment is there; the others keep their places."""
    file = one.put(host, OWN[host])
    before = parse(OWN[host].decode(), "x")
    one.install(host)
    after = parse(file.read_text(encoding="utf-8"), "x")
    assert [after.text[a:b] for a, b in after.comments] == [before.text[a:b] for a, b in before.comments]
    asks = HOSTS[host].asks
    hooks = after.root.value["hooks"]
    assert hooks[asks][: len(before.root.value["hooks"][asks])] == before.root.value["hooks"][asks]
    assert others(after.root.value, asks) == others(before.root.value, asks)
    assert {place.event for place in found(after.root.value)} == set(HOSTS[host].events)
    assert {key: part for key, part in after.root.value.items() if key != "hooks"} == {
        key: part for key, part in before.root.value.items() if key != "hooks"
    }


@pytest.mark.parametrize("host", WITH_HOOKS)
def test_uninstall_after_a_change_of_somebody_else_takes_only_ours(one: Machine, host: str) -> None:
    """What was added meanwhile stays, and so does what was empty before."""
    file = one.put(host, OWN[host])
    one.install(host)
    changed = file.read_bytes().replace(b"{", b'{"added": [1, 2],', 1)
    if host == "gemini-cli":
        changed = changed.replace(b"// nothing else", b"// something else")
    file.write_bytes(changed)
    one.uninstall(host)
    expected = parse(OWN[host].decode(), "x").root.value | {"added": [1, 2]}
    assert value(file) == expected
    if host == "gemini-cli":
        assert b"// something else" in file.read_bytes()


def test_what_is_planted_into_claude_code(one: Machine) -> None:
    """Exec form with the absolute path, a timeout, and `block` for what fails."""
    one.install("claude-code")
    hooks = value(one.settings("claude-code"))["hooks"]
    assert set(hooks) == {
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PreSkillShellCommand",
        "UserPromptSubmit",
        "SessionStart",
        "SessionEnd",
        "SubagentStart",
        "SubagentStop",
    }
    assert hooks["PreToolUse"][0]["matcher"] == "*"
    hook = hooks["PreToolUse"][0]["hooks"][0]
    assert hook["command"] == "/usr/bin/env"
    assert hook["args"][:4] == ["-u", "PYTHONPATH", "-u", "PYTHONHOME"]
    assert hook["args"][4:7] == [str(one.program), "claude-code", "--note"]
    assert "rebuno hook uninstall claude-code" in hook["args"][7]
    assert hook["onFailure"] == "block"
    assert hook["timeout"] == 60


def test_observe_plants_nothing_that_stops(one: Machine) -> None:
    """Where the hook is missing or fails, the call runs."""
    wanted = HookSettings(observe=True)
    for host in HOSTS:
        one.install(host, "user", wanted)
        assert read_settings(host, one.here.environ).observe
    assert "onFailure" not in one.settings("claude-code").read_text()
    assert "exit 2" not in one.settings("codex").read_text()
    assert "exit 2" not in one.settings("gemini-cli").read_text()
    assert '"observe": true' in one.settings("opencode").read_text()


def test_a_question_that_is_held_open_gets_its_time(one: Machine) -> None:
    """The host waits longer than the hook, and the hook knows how long."""
    for host in HOSTS:
        one.install(host, "user", HookSettings(wait=300))
        read = read_settings(host, one.here.environ)
        assert read.wait == 300
        assert read.timeout == 360
    hook = value(one.settings("claude-code"))["hooks"]["PreToolUse"][0]["hooks"][0]
    assert hook["timeout"] == 360
    assert hook["args"][6:8] == ["--timeout", "360"]
    assert value(one.settings("gemini-cli"))["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"] == 360_000


def test_a_project_has_settings_of_its_own_outside_of_it(one: Machine) -> None:
    """The agent writes in the project: what judges it must not lie there."""
    one.install("claude-code", "project", HookSettings(policy=("/x/a.rbp",)))
    hook = value(one.settings("claude-code", "project"))["hooks"]["PreToolUse"][0]["hooks"][0]
    file = hook["args"][hook["args"].index("--settings") + 1]
    assert Path(file).is_relative_to(one.home)
    assert read_settings("claude-code", one.here.environ, file).policy == ("/x/a.rbp",)
    assert read_settings("claude-code", one.here.environ).policy == ()


@pytest.mark.parametrize("host", WITH_HOOKS)
def test_the_home_folder_is_no_project(one: Machine, host: str) -> None:
    """Its settings are those of the user: two scopes would share one file."""
    here = replace(one.here, project=one.home)
    with pytest.raises(ValidationError, match="--scope user"):
        install(HOSTS[host], "project", here, one.program, HookSettings())
    assert one.files() == machine_files(one)
    one.install(host)
    assert [finding.check for finding in examine(here, [host])].count("program") == 1


def machine_files(one: Machine) -> dict[str, bytes]:
    """The program alone."""
    return {"bin/rebuno-hook": one.program.read_bytes()}


@pytest.mark.parametrize("host", ["codex", "gemini-cli"])
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_the_shell_line_refuses_whatever_happens_to_the_hook(one: Machine, host: str, shell: str) -> None:
    """Missing, killed, or ended in another way: exit code 2 and the way out. A refusal of ours says only its own."""
    one.install(host)
    line = value(one.settings(host))["hooks"][HOSTS[host].asks][0]["hooks"][0]["command"]

    def run() -> tuple[int, str, str]:
        done = subprocess.run([shell, "-c", line], input="{}", capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert run() == (2, "", "refused\n")
    one.program.write_text("#!/bin/sh\necho yes\n")
    assert run() == (0, "yes\n", "")
    for script in ("kill -9 $$", "exit 1", "exit 127", "kill -TERM $$"):
        one.program.write_text(f"#!/bin/sh\n{script}\n")
        code, out, said = run()
        assert (code, out) == (2, "")
        assert f"rebuno hook uninstall {host}" in said
        assert str(one.settings(host)) in said
    one.program.unlink()
    code, _, said = run()
    assert code == 2
    assert f"delete the entries that name rebuno-hook from {one.settings(host)}" in said


def test_a_path_with_blanks_and_quotes_is_called(tmp_path: Path) -> None:
    """No word of it is read by a shell."""
    root = tmp_path / "a 'b' \"c\" $(touch x) %s"
    root.mkdir()
    one = machine(root)
    one.install("codex")
    line = value(one.settings("codex"))["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    done = subprocess.run(["/bin/sh", "-c", line], input="", capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "refused\n")
    one.program.unlink()
    done = subprocess.run(["/bin/sh", "-c", line], input="", capture_output=True, text=True, check=False, cwd=tmp_path)
    assert str(one.settings("codex")) in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [root.name]


@pytest.mark.parametrize("data", [b"{", b'{"hooks": [}', b"[]", b'{"a": 1,}', b"\xff\xfe{}", b'{"a": "\n"}'])
@pytest.mark.parametrize("host", WITH_HOOKS)
def test_broken_settings_are_a_typed_error_and_stay(one: Machine, host: str, data: bytes) -> None:
    """Nothing is written, ours neither."""
    file = one.put(host, data)
    before = one.files()
    with pytest.raises(ValidationError, match=f"`{file}`"):
        one.install(host)
    if data != b"[]":
        with pytest.raises(ValidationError, match=f"`{file}`"):
            one.uninstall(host)
    assert one.files() == before


@pytest.mark.parametrize("hooks", ["[]", '{"PreToolUse": {}}', "3", '{"PreToolUse": "x"}'])
def test_hooks_of_another_form_are_a_typed_error(one: Machine, hooks: str) -> None:
    """The host would not read them either."""
    file = one.put("claude-code", f'{{"hooks": {hooks}}}'.encode())
    before = one.files()
    with pytest.raises(ValidationError, match="line 1"):
        one.install("claude-code")
    assert one.files() == before
    assert file.read_bytes() == f'{{"hooks": {hooks}}}'.encode()


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf{}", b"{}", b"{ }\r\n"])
def test_an_empty_file_is_taken_for_no_settings(one: Machine, data: bytes) -> None:
    """And is empty again afterwards."""
    file = one.put("claude-code", data)
    one.install("claude-code")
    assert "PreToolUse" in value(file)["hooks"]
    assert file.read_bytes().startswith(b"\xef\xbb\xbf") == data.startswith(b"\xef\xbb\xbf")
    one.uninstall("claude-code")
    assert file.read_bytes() == data


def test_line_ends_of_another_system_are_kept(one: Machine) -> None:
    """No line ends in another way than the file's."""
    data = CLAUDE.replace(b"\n", b"\r\n")
    file = one.put("claude-code", data)
    one.install("claude-code")
    assert b"\n" not in file.read_bytes().replace(b"\r\n", b"")
    one.uninstall("claude-code")
    assert file.read_bytes() == data


def test_a_symbolic_link_is_followed_and_stays(one: Machine) -> None:
    """As people keep their settings in a repository."""
    real = one.root / "dotfiles.json"
    real.write_bytes(CLAUDE)
    file = one.settings("claude-code")
    file.parent.mkdir()
    file.symlink_to(real)
    one.install("claude-code")
    assert file.is_symlink()
    assert b"rebuno-hook" in real.read_bytes()
    one.uninstall("claude-code")
    assert file.is_symlink()
    assert real.read_bytes() == CLAUDE


def test_the_mode_is_kept_and_new_files_are_private(one: Machine) -> None:
    """Settings hold keys."""
    file = one.put("claude-code", CLAUDE)
    file.chmod(0o640)
    one.install("claude-code")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    one.install("codex")
    private = [one.settings("codex"), one.home / ".config/rebuno/hooks/codex.json"]
    private += [path for path in (one.home / ".local/state/rebuno/installed").iterdir() if path.suffix != ".lock"]
    assert len(private) == 5
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}
    one.uninstall("claude-code")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root writes files of others")
def test_a_file_of_somebody_else_stays_theirs(one: Machine) -> None:
    """An administrator installs for a user."""
    file = one.put("claude-code", CLAUDE)
    os.chown(file, 65534, 65534)
    one.install("claude-code")
    assert (file.stat().st_uid, file.stat().st_gid) == (65534, 65534)


def test_settings_in_a_project_are_told_to_be_of_this_machine(one: Machine) -> None:
    """They name a path that others do not have."""
    assert any("version control" in note for note in one.install("gemini-cli", "project").notes)
    assert one.install("gemini-cli").notes == []


def test_the_copy_of_what_was_there_is_exact(one: Machine) -> None:
    """And where it lies is said."""
    one.put("claude-code", CLAUDE)
    backups = [change.backup for change in one.install("claude-code").changes if change.backup]
    assert [backup.read_bytes() for backup in backups] == [CLAUDE]


def test_a_dry_run_writes_nothing(one: Machine) -> None:
    """It tells what would change."""
    one.put("claude-code", CLAUDE)
    before = {path: path.stat().st_mtime_ns for path in one.root.rglob("*")}
    done = one.install("claude-code", dry_run=True)
    assert [change.path.name for change in done.changes] == ["claude-code.json", "settings.json"]
    assert {path: path.stat().st_mtime_ns for path in one.root.rglob("*")} == before


# Of root's processes nobody forbids a write: the installation runs as a user without rights there.
READ_ONLY = """
import os, sys
from pathlib import Path
from tests.hosts.planted import Machine
one = Machine(Path(sys.argv[1]))
import rebuno.errors, rebuno.hosts.settings
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
try:
    one.install("claude-code")
except OSError as error:
    print(type(error).__name__)
"""


def test_a_folder_that_cannot_be_written_is_an_error_and_nothing_changes(one: Machine) -> None:
    """The host's settings and ours are as they were."""
    file = one.put("claude-code", CLAUDE)
    state, config = one.home / ".local/state/rebuno", one.home / ".config/rebuno"
    for folder in (state, config):
        folder.mkdir(parents=True)
        folder.chmod(0o777)
    for folder in [one.root, *one.root.parents][:3]:
        folder.chmod(0o755)
    file.parent.chmod(0o555)
    try:
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(one.root)], capture_output=True, text=True, check=False
        )
    finally:
        file.parent.chmod(0o755)
    assert (done.stdout, done.returncode) == ("PermissionError\n", 0), done.stderr
    assert file.read_bytes() == CLAUDE
    assert [path.name for path in file.parent.iterdir()] == ["settings.json"]
    assert not list(config.rglob("*.json"))


def test_installations_at_the_same_time_leave_one_hook(one: Machine) -> None:
    """Eight of them, in two scopes of four hosts."""
    file = one.put("claude-code", CLAUDE)
    with ThreadPoolExecutor(8) as threads:
        jobs = [threads.submit(one.install, "claude-code") for _ in range(8)]
        jobs += [threads.submit(one.install, host, "project") for host in HOSTS for _ in range(2)]
        for job in jobs:
            job.result()
    events = [place.event for place in found(value(file))]
    assert sorted(events) == sorted(HOSTS["claude-code"].events)
    one.uninstall("claude-code")
    assert file.read_bytes() == CLAUDE


def test_a_host_that_writes_meanwhile_loses_nothing(one: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that was read is not the file that is there: a typed error, and theirs stays."""
    from rebuno.hosts.install import entries

    file = one.put("claude-code", CLAUDE)
    put = entries.put

    def slow(text: str, named: str, wanted: dict[str, Any]) -> str:
        file.write_bytes(b'{"theirs": 1}')
        return put(text, named, wanted)

    monkeypatch.setattr(entries, "put", slow)
    with pytest.raises(ValidationError, match="changed by another program"):
        one.install("claude-code")
    assert file.read_bytes() == b'{"theirs": 1}'


def test_a_hook_that_was_narrowed_or_doubled_is_set_right(one: Machine) -> None:
    """One group for every tool; a hook of somebody else in our group stays where it is."""
    one.install("claude-code")
    file = one.settings("claude-code")
    settings = value(file)
    ours = settings["hooks"]["PreToolUse"][0]
    theirs = {"type": "command", "command": "audit"}
    settings["hooks"]["PreToolUse"] = [
        ours | {"matcher": "Bash"},
        {"matcher": "Edit", "hooks": [theirs, *ours["hooks"]]},
        ours,
    ]
    file.write_text(json.dumps(settings))
    one.install("claude-code")
    assert value(file)["hooks"]["PreToolUse"] == [ours, {"matcher": "Edit", "hooks": [theirs]}]


def test_a_new_place_of_the_program_takes_the_place_of_the_old(one: Machine) -> None:
    """Of an upgrade into another environment: the same position, since Codex trusts hooks by it."""
    one.put("codex", CODEX)
    one.install("codex")
    file = one.settings("codex")
    settings = value(file)
    settings["hooks"]["PreToolUse"].append({"hooks": [{"type": "command", "command": "later"}]})
    file.write_text(json.dumps(settings).replace(str(one.program), "/old/bin/rebuno-hook"))
    one.install("codex")
    commands = [group["hooks"][0]["command"] for group in value(file)["hooks"]["PreToolUse"]]
    assert (commands[0], commands[2]) == ("audit", "later")
    assert str(one.program) in commands[1]


def test_a_plugin_of_somebody_else_is_not_overwritten(one: Machine) -> None:
    """A typed error; uninstall leaves it alone."""
    file = one.put("opencode", b"export const Mine = 1\n")
    with pytest.raises(ValidationError, match="is not ours"):
        one.install("opencode")
    assert one.uninstall("opencode").changes == []
    assert file.read_bytes() == b"export const Mine = 1\n"


def test_comments_that_make_a_host_skip_its_settings_are_told(one: Machine) -> None:
    """Claude Code reads JSON only: a comment switches the hook off with all of the file."""
    one.put("claude-code", b'{\n  // mine\n  "a": 1\n}\n')
    notes = one.install("claude-code").notes
    assert any("line 2" in note and "comment" in note for note in notes)
    one.put("gemini-cli", GEMINI)
    assert one.install("gemini-cli").notes == []


def test_codex_says_that_the_hook_must_be_reviewed(one: Machine) -> None:
    """It would be skipped silently."""
    assert any("/hooks" in note for note in one.install("codex").notes)


@pytest.mark.parametrize(
    ("host", "variable", "file"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
        ("gemini-cli", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/plugins/rebuno.js"),
    ],
)
def test_the_folder_that_the_host_is_told_is_used(tmp_path: Path, host: str, variable: str, file: str) -> None:
    """By the variables that the hosts read."""
    one = machine(tmp_path)
    here = type(one.here)(one.home, one.project, {"HOME": str(one.home), variable: str(tmp_path / "else")})
    assert HOSTS[host].settings("user", here) == tmp_path / "else" / file
    assert os.path.isabs(HOSTS[host].settings("project", here))
