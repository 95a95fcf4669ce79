"""`rebuno hook doctor`: each way in which a hook does not do its work is found, with its fix."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rebuno.hosts.doctor import Finding, examine
from rebuno.hosts.failures import note_failure
from rebuno.hosts.install import HOSTS, Places, Scope
from rebuno.hosts.settings import HookSettings
from tests.cli.support import rebuno
from tests.hosts.planted import Machine, machine

POLICY = 'bundle b\ndefault deny because "no"\n'
# Stands for `codex app-server`, with the answers that Codex 0.171.0 gave.
CODEX = f"""#!{sys.executable}
import json, sys
if "--version" in sys.argv:
    sys.exit(print("codex-cli 0.171.0"))
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        print(json.dumps({{"id": asked["id"], "result": {{"userAgent": "x"}}}}))
        print(json.dumps({{"method": "configWarning", "params": {{}}}}))
    if asked.get("method") == "hooks/list":
        hooks = json.load(open(FILE))["hooks"]
        listed = [
            {{"eventName": name[:1].lower() + name[1:], "handlerType": "command", "command": hook["command"],
              "sourcePath": FILE, "enabled": ENABLED, "trustStatus": TRUST}}
            for name, groups in hooks.items() for group in groups for hook in group["hooks"]
        ]
        print(json.dumps({{"id": asked["id"], "result": {{"data": [{{"cwd": "x", "hooks": listed}}]}}}}))
    sys.stdout.flush()
"""


@pytest.fixture
def one(tmp_path: Path) -> Machine:
    """A user's machine with all four hosts, in the versions that the hooks were tried with."""
    made = machine(tmp_path)
    (tmp_path / "b.rbp").write_text(POLICY)
    for host in HOSTS.values():
        version(made, host.name, host.tested)
    return made


def version(one: Machine, host: str, number: str) -> None:
    """Puts a host on the PATH that tells its version."""
    one.command(HOSTS[host].command, f"#!/bin/sh\necho '{number} (a host)'\n")


def planted(one: Machine, host: str, scope: Scope = "user", **settings: Any) -> None:
    """Plants a hook with a small bundle."""
    one.install(host, scope, HookSettings(policy=(str(one.root / "b.rbp"),), **settings))


def codex(one: Machine, trust: str, enabled: bool = True) -> None:
    """Puts a Codex on the PATH that says so of its hooks."""
    script = CODEX.replace("FILE", repr(str(one.settings("codex"))))
    one.command("codex", script.replace("TRUST", repr(trust)).replace("ENABLED", repr(enabled)))


def look(one: Machine, *hosts: str, environ: Mapping[str, str] | None = None) -> list[Finding]:
    """What the doctor finds."""
    here: Places = one.here
    return examine(replace(here, environ={**here.environ, **(environ or {})}), hosts)


def failed(found: list[Finding]) -> dict[str, str]:
    """What failed: the check, and the message with the fix."""
    assert all(finding.fix for finding in found if finding.status != "ok")
    return {finding.check: f"{finding.message}; {finding.fix}" for finding in found if finding.status == "failed"}


def noted(found: list[Finding]) -> dict[str, str]:
    """What is worth a look."""
    return {finding.check: finding.message for finding in found if finding.status == "note"}


def edit(file: Path, change: Any) -> None:
    """Changes the value of a settings file."""
    value = json.loads(file.read_text())
    change(value)
    file.write_text(json.dumps(value))


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_hook_that_works_has_no_finding(one: Machine, host: str, scope: Scope) -> None:
    """Every check is all right, or says what nobody can tell from here."""
    planted(one, host, scope)
    if host == "codex":
        codex(one, "trusted")
        if scope == "project":
            one.command("codex", (one.program.parent / "codex").read_text().replace(".codex", "none"))
            script = CODEX.replace("FILE", repr(str(one.settings("codex", "project"))))
            one.command("codex", script.replace("TRUST", "'trusted'").replace("ENABLED", "True"))
    found = look(one, host)
    assert failed(found) == {}
    assert {finding.check for finding in found if finding.status == "ok"} >= {
        "installed",
        "program",
        "policy",
        "store",
        "switches",
        "version",
    }
    assert set(noted(found)) <= {"trust", "typing"}


@pytest.mark.parametrize("host", HOSTS)
def test_no_hook_is_a_failure(one: Machine, host: str) -> None:
    """Asked for one host, and for all."""
    assert f"rebuno hook install {host}" in failed(look(one, host))["installed"]
    assert "installed" in failed(look(one))


def test_without_a_name_hosts_with_a_hook_are_looked_at(one: Machine) -> None:
    """And no others."""
    planted(one, "claude-code")
    planted(one, "gemini-cli", "project")
    assert {finding.host for finding in look(one)} == {"claude-code", "gemini-cli"}


@pytest.mark.parametrize("host", HOSTS)
def test_a_program_that_does_not_run_is_a_failure(one: Machine, host: str) -> None:
    """Missing, not executable, broken, with a path that leads nowhere."""
    planted(one, host)
    one.program.write_text("#!/bin/sh\necho 'ModuleNotFoundError: no rebuno' >&2\nexit 1\n")
    assert "ends with 1: ModuleNotFoundError: no rebuno" in failed(look(one, host))["program"]
    one.program.write_text("#!/nowhere/python\n")
    assert "cannot be run" in failed(look(one, host))["program"]
    one.program.chmod(0o644)
    assert "is not executable" in failed(look(one, host))["program"]
    one.program.unlink()
    message = failed(look(one, host))["program"]
    assert f"{one.program} is missing" in message
    assert f"rebuno hook uninstall {host}" in message


@pytest.mark.parametrize("host", HOSTS)
def test_a_hook_that_was_taken_out_or_changed_is_a_failure(one: Machine, host: str) -> None:
    """Whatever differs from what was planted."""
    planted(one, host)
    file = one.settings(host)
    text = file.read_text()
    if HOSTS[host].module:
        file.write_text(text.replace("throw error", ""))
    else:
        edit(file, lambda value: value["hooks"][HOSTS[host].asks][0].update(matcher="Bash"))
    assert f"rebuno hook install {host}" in failed(look(one, host))["installed"]
    if not HOSTS[host].module:
        file.write_text(text)
        edit(file, lambda value: value["hooks"].pop(HOSTS[host].asks))
        assert f"the hook of {HOSTS[host].asks}" in failed(look(one, host))["installed"]
        file.write_text(text)
        edit(file, lambda value: value["hooks"].pop("SessionStart"))
        assert "SessionStart" in failed(look(one, host))["installed"]
    file.unlink()
    assert "no hook of ours" in failed(look(one, host))["installed"]


def test_a_hook_that_lets_failures_pass_is_a_failure(one: Machine) -> None:
    """`onFailure` was taken out."""
    planted(one, "claude-code")
    edit(
        one.settings("claude-code"),
        lambda value: value["hooks"]["PreToolUse"][0]["hooks"][0].pop("onFailure"),
    )
    assert "differs from what was planted" in failed(look(one, "claude-code"))["installed"]


def test_a_bundle_with_errors_is_a_failure(one: Machine) -> None:
    """With its first error and the command that shows all."""
    planted(one, "claude-code")
    (one.root / "b.rbp").write_text("bundle b\nrule {\n")
    message = failed(look(one, "claude-code"))["policy"]
    assert "b.rbp:2" in message
    assert f"rebuno policy check {one.root}/b.rbp" in message
    (one.root / "b.rbp").unlink()
    assert "policy" in failed(look(one, "claude-code"))


def test_a_store_that_does_not_open_is_a_failure(one: Machine) -> None:
    """No database, and a folder that is none."""
    db = one.root / "a.db"
    planted(one, "claude-code", db=str(db))
    assert "store" not in failed(look(one, "claude-code"))
    assert not db.exists()
    db.write_bytes(b"no database at all" * 100)
    assert "--db PATH" in failed(look(one, "claude-code"))["store"]
    one.install("claude-code", "user", HookSettings(db="postgresql://u:secret@127.0.0.1:1/x"))
    message = failed(look(one, "claude-code"))["store"]
    assert "secret" not in message


def test_our_settings_that_cannot_be_read_are_a_failure(one: Machine) -> None:
    """Every call would be refused."""
    planted(one, "claude-code")
    (one.home / ".config/rebuno/hooks/claude-code.json").write_text("{")
    assert "rebuno hook install claude-code" in failed(look(one, "claude-code"))["settings"]


def test_host_settings_that_cannot_be_read_are_a_failure(one: Machine) -> None:
    """The host skips the file."""
    planted(one, "gemini-cli")
    file = one.settings("gemini-cli")
    file.write_text(file.read_text() + "}")
    assert f"{file}" in failed(look(one, "gemini-cli"))["installed"]


@pytest.mark.parametrize(
    ("file", "value", "check"),
    [
        ("home/.claude/settings.json", {"disableAllHooks": True}, "switches"),
        ("project/.claude/settings.json", {"disableAllHooks": True}, "switches"),
        ("project/.claude/settings.local.json", {"disableAllHooks": True}, "switches"),
        ("system/etc/claude-code/managed-settings.json", {"allowManagedHooksOnly": True}, "switches"),
        ("system/etc/claude-code/managed-settings.d/a.json", {"disableAllHooks": True}, "switches"),
        ("system/etc/claude-code/managed-settings.json", {"strictPluginOnlyCustomization": ["hooks"]}, "switches"),
    ],
)
@pytest.mark.skipif(sys.platform == "darwin", reason="the administrator's files lie elsewhere")
def test_what_stops_hooks_in_claude_code_is_found(one: Machine, file: str, value: dict[str, Any], check: str) -> None:
    """In every file that Claude Code reads."""
    planted(one, "claude-code")
    path = one.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(text | value))
    assert str(path) in failed(look(one, "claude-code"))[check]


def test_a_comment_makes_claude_code_skip_its_settings(one: Machine) -> None:
    """The line is named."""
    planted(one, "claude-code")
    file = one.settings("claude-code")
    file.write_text("{ // mine\n" + file.read_text()[1:])
    message = failed(look(one, "claude-code"))["settings read"]
    assert "line 1" in message
    assert str(file) in message


def test_other_hooks_are_named_and_escaped(one: Machine) -> None:
    """One of them may change a call after it was judged."""
    planted(one, "claude-code")
    evil = "x\x1b[2Jy" + "z" * 5000
    edit(
        one.settings("claude-code"),
        lambda value: value["hooks"]["PreToolUse"].append({"hooks": [{"type": "command", "command": evil}]}),
    )
    assert "other hooks run before each call" in noted(look(one, "claude-code"))["other hooks"]
    ran = rebuno("hook", "doctor", "claude-code", within=one.project, env=dict(one.here.environ))
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "x\\u001b[2Jy" in ran.out
    assert max(map(len, ran.out.splitlines())) < 2200


@pytest.mark.parametrize(("trust", "words"), [("untrusted", "never reviewed"), ("modified", "were changed since")])
def test_a_hook_that_nobody_reviewed_is_found(one: Machine, trust: str, words: str) -> None:
    """Codex itself says so."""
    planted(one, "codex")
    codex(one, trust)
    message = failed(look(one, "codex"))["trust"]
    assert words in message
    assert "/hooks" in message


def test_a_hook_that_was_switched_off_in_codex_is_found(one: Machine) -> None:
    """By its user."""
    planted(one, "codex")
    codex(one, "trusted", enabled=False)
    assert "switched off" in failed(look(one, "codex"))["trust"]


def test_without_codex_its_settings_tell_of_a_review(one: Machine) -> None:
    """Whether of this very hook nobody can tell."""
    planted(one, "codex")
    (one.program.parent / "codex").unlink()
    assert "no review" in failed(look(one, "codex"))["trust"]
    file = one.settings("codex")
    events = ["pre_tool_use", "post_tool_use", "user_prompt_submit", "session_start", "session_end"]
    events += ["subagent_start", "subagent_stop", "interrupt"]
    states = [f'[hooks.state."{file}:{event}:0:0"]\ntrusted_hash = "sha256:x"\n' for event in events]
    file.with_name("config.toml").write_text("".join(states))
    found = look(one, "codex")
    assert "trust" not in failed(found)
    assert "as they are now" in noted(found)["trust"]
    file.with_name("config.toml").write_text("".join(states[1:]))
    assert "no review" in failed(look(one, "codex"))["trust"]


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("home/.codex/config.toml", "[features]\nhooks = false\n", "features.hooks"),
        ("project/.codex/config.toml", "[features]\ncodex_hooks = false\n", "features.codex_hooks"),
        ("system/etc/codex/requirements.toml", "allow_managed_hooks_only = true\n", "allow_managed_hooks_only"),
    ],
)
def test_what_stops_hooks_in_codex_is_found(one: Machine, file: str, text: str, words: str) -> None:
    """In its TOML files; other hooks there are named."""
    planted(one, "codex")
    codex(one, "trusted")
    path = one.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert words in failed(look(one, "codex"))["switches"]
    path.write_text('[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = "command"\ncommand = "x"\n')
    found = look(one, "codex")
    assert failed(found) == {}
    assert str(path) in noted(found)["other hooks"]
    path.write_text("[")
    assert str(path) in failed(look(one, "codex"))["settings read"]


@pytest.mark.parametrize(
    ("text", "is_noted"),
    [("", True), ("[features]\nunified_exec_tty = true\n", True), ("[features]\nunified_exec_tty = false\n", False)],
)
def test_what_codex_types_into_a_command_is_noted(one: Machine, text: str, is_noted: bool) -> None:
    """No hook sees it, unless commands get no terminal."""
    planted(one, "codex")
    codex(one, "trusted")
    one.settings("codex").with_name("config.toml").write_text(text)
    assert ("typing" in noted(look(one, "codex"))) is is_noted


def test_a_codex_that_does_not_answer_is_not_waited_for(one: Machine) -> None:
    """It ends, or says what is no JSON: its settings are read instead."""
    planted(one, "codex")
    answers = ['"x"', '{"data": [3]}', '{"data": [{"hooks": [{"command": "rebuno-hook"}]}]}', '{"other": []}']
    lines = ["exit 0", "echo nonsense", "echo '[]'", *(f'echo \'{{"id": 2, "result": {one}}}\'' for one in answers)]
    for script in [f"#!/bin/sh\n{line}\n" for line in lines]:
        one.command("codex", script)
        assert "no review" in failed(look(one, "codex"))["trust"]


@pytest.mark.parametrize(
    ("config", "words"),
    [({"enabled": False}, "hooksConfig.enabled"), ({"disabled": ["a", "rebuno"]}, "hooksConfig.disabled")],
)
@pytest.mark.parametrize("file", ["home/.gemini/settings.json", "project/.gemini/settings.json", "system.json"])
def test_what_stops_hooks_in_gemini_cli_is_found(one: Machine, config: dict[str, Any], words: str, file: str) -> None:
    """In every file that Gemini CLI reads."""
    planted(one, "gemini-cli")
    path = one.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    value = json.loads(path.read_text()) if path.exists() else {}
    path.write_text("// c\n" + json.dumps(value | {"hooksConfig": config}))
    found = look(one, "gemini-cli", environ={"GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(one.root / "system.json")})
    assert words in failed(found)["switches"]


def test_a_folder_without_trust_runs_no_hook_of_gemini_cli(one: Machine) -> None:
    """The longest rule holds; with the switch off nobody asks."""
    planted(one, "gemini-cli")
    assert "whether" in noted(look(one, "gemini-cli"))["trust"]
    trust = one.home / ".gemini" / "trustedFolders.json"
    trust.write_text(json.dumps({str(one.root): "TRUST_FOLDER", str(one.project): "DO_NOT_TRUST"}))
    assert "no hook runs there" in failed(look(one, "gemini-cli"))["trust"]
    trust.write_text(json.dumps({str(one.root / "other"): "TRUST_PARENT"}))
    assert "trust" not in noted(look(one, "gemini-cli"))
    trust.unlink()
    edit(one.settings("gemini-cli"), lambda value: value.update(security={"folderTrust": {"enabled": False}}))
    assert "trust" not in noted(look(one, "gemini-cli"))


def test_what_keeps_opencode_from_loading_a_plugin_is_found(one: Machine) -> None:
    """Variables, and other plugins that may change a call."""
    planted(one, "opencode")
    assert "OPENCODE_PURE" in failed(look(one, "opencode", environ={"OPENCODE_PURE": "1"}))["switches"]
    (one.settings("opencode").parent / "z.ts").write_text("")
    assert "z.ts" in noted(look(one, "opencode"))["other plugins"]
    planted(one, "opencode", "project")
    found = look(one, "opencode", environ={"OPENCODE_DISABLE_PROJECT_CONFIG": "true"})
    assert "--scope user" in failed(found)["switches"]


def test_the_version_of_the_host_is_compared(one: Machine) -> None:
    """Too old is a failure, another one a note."""
    planted(one, "claude-code")
    version(one, "claude-code", "2.1.294")
    assert "2.1.295" in failed(look(one, "claude-code"))["version"]
    version(one, "claude-code", "2.1.1000")
    found = look(one, "claude-code")
    assert "version" not in failed(found)
    assert HOSTS["claude-code"].tested in noted(found)["version"]
    one.command("claude", "#!/bin/sh\nexit 1\n")
    assert "does not tell" in noted(look(one, "claude-code"))["version"]


def test_what_was_let_through_while_observing_is_told(one: Machine) -> None:
    """The last failure with its cause; the mode too."""
    planted(one, "claude-code", observe=True)
    note_failure(one.here.environ, "claude-code", "the store is locked", observed=True)
    note_failure(one.here.environ, "codex", "another one", observed=True)
    found = noted(look(one, "claude-code"))
    assert "only observes" in found["mode"]
    assert "without an answer: 1; let through, since the hook only observed: 1" in found["failures"]
    assert "the store is locked" in found["failures"]


def test_the_command_ends_with_1_where_something_failed(one: Machine) -> None:
    """As lines and as JSON."""
    planted(one, "opencode")
    environ = dict(one.here.environ)
    ran = rebuno("hook", "doctor", "--json", within=one.project, env=environ)
    told = json.loads(ran.out)
    assert (ran.code, told["ok"]) == (0, True)
    assert {"host", "check", "status", "message", "fix"} == set(told["findings"][0])
    one.program.unlink()
    ran = rebuno("hook", "doctor", "opencode", within=one.project, env=environ)
    assert ran.code == 1
    assert "failed  opencode program: " in ran.out
    assert "; fix: install rebuno-kernel again" in ran.out
    assert json.loads(rebuno("hook", "doctor", "--json", within=one.project, env=environ).out)["ok"] is False
