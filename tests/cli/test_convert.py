"""`rebuno policy convert`: a YAML bundle in, rules out, and both decide."""

import json
from pathlib import Path

from tests.cli.support import rebuno

YAML = """\
default_action: deny
rules:
  - id: safe shell
    when: {step_kind: tool_call, target: "shell_*", arguments: {command: {regex: "^(ls|cat)$"}}}
    then: {decision: allow, reason: it only reads}
"""

RULES = """\
# From a YAML bundle.
bundle shell
default deny

# Rule "safe shell", line 3.
rule safe-shell {
  allow tool "shell_*"
  when args.command is not list
   and args.command is not object
   and any text of args.command matches r"(?s:.*)(?-s:^(ls|cat)$)(?s:.*)"
  because "it only reads"
}
"""


def test_rules_are_printed_or_written(tmp_path: Path) -> None:
    """Standard output, or the file that is named."""
    (tmp_path / "shell.yaml").write_text(YAML)
    ran = rebuno("policy", "convert", "shell.yaml", within=tmp_path)
    assert (ran.code, ran.out) == (0, RULES)
    ran = rebuno("policy", "convert", "shell.yaml", "-o", "shell.rbp", within=tmp_path)
    assert (ran.code, ran.out) == (0, "")
    assert (tmp_path / "shell.rbp").read_text() == RULES
    ran = rebuno("policy", "convert", "shell.yaml", "--json", within=tmp_path)
    assert json.loads(ran.out) == {"out": None, "text": RULES}
    assert rebuno("policy", "check", "shell.rbp", within=tmp_path).code == 0
    assert rebuno("policy", "fmt", "--check", "shell.rbp", within=tmp_path).code == 0


def test_commands_that_ask_a_policy_take_yaml(tmp_path: Path) -> None:
    """The bundle that is explained is the one that is converted."""
    (tmp_path / "shell.yaml").write_text(YAML)
    (tmp_path / "shell.rbp").write_text(RULES)
    step = ["--target", "shell_exec", "--args", '{"command": "ls"}', "--json"]
    told = [json.loads(rebuno("policy", "explain", f"shell.{s}", *step, within=tmp_path).out) for s in ("yaml", "rbp")]
    assert [(t["decision"], t["rule"]) for t in told] == [("allow", "safe-shell")] * 2


def test_mistakes_are_told_with_their_lines(tmp_path: Path) -> None:
    """Nothing is written."""
    (tmp_path / "bad.yaml").write_text("rules:\n- {id: a, when: {tool: x}, then: {decision: deny}}\n")
    ran = rebuno("policy", "convert", "bad.yaml", "-o", "bad.rbp", within=tmp_path)
    assert ran.code == 2
    assert "bad.yaml:2:18: error[yaml-bundle]: `when` has no key `tool`" in ran.err
    assert not (tmp_path / "bad.rbp").exists()
