"""Commands take layers, and close a bundle into one text."""

import json
from pathlib import Path

import pytest

from tests.cli.support import rebuno

ORG = 'bundle org\ndefault allow\nrule no { deny tool "shell" because "not here" }\n'
AGENT = 'bundle agent\nlet names = file "names.txt"\ndefault deny\nrule all { allow tool names limit 5 per 1h }\n'
CASES = "cases:\n  - {target: shell, expect: deny, expect_rule: 'no'}\n  - {target: mail, expect: allow}\n"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"org.rbp": ORG, "agent.rbp": AGENT, "names.txt": "shell\nmail\n", "agent.policytest.yaml": CASES}
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")


def test_cases_are_asked_under_the_layers() -> None:
    """The bundle alone fails its case, and under the layer it passes."""
    assert rebuno("policy", "test", "agent.rbp").code == 1
    done = rebuno("policy", "test", "agent.rbp", "--layer", "org.rbp", "--json")
    assert done.code == 0
    [bundle] = json.loads(done.out)["bundles"]
    assert (bundle["failed"], bundle["unexercised_rules"]) == (0, [])


@pytest.mark.parametrize(
    ("layer", "says"),
    [
        ("agent.rbp", "duplicate-bundle"),  # the same bundle twice
        ("none.rbp", "unreadable-file"),
        ("names.txt", "syntax"),  # no bundle
    ],
)
def test_layers_that_cannot_be_used(layer: str, says: str) -> None:
    """A layer with errors ends every command with 2."""
    for command in (["test", "agent.rbp"], ["explain", "agent.rbp", "--target", "mail"]):
        done = rebuno("policy", *command, "--layer", layer)
        assert done.code == 2
        assert says in done.out + done.err


def test_an_explanation_shows_every_layer() -> None:
    """The verdict is the strictest, and each layer's own stands below it with what it asks for."""
    done = rebuno("policy", "explain", "agent.rbp", "--layer", "org.rbp", "--target", "shell", "--expect", "deny")
    assert done.code == 0
    assert done.out.count("deny  by rule no of bundle org") == 2
    assert "allow  by rule all of bundle agent" in done.out
    assert "asks for" not in done.out
    done = rebuno("policy", "explain", "agent.rbp", "--layer", "org.rbp", "--target", "mail")
    asked = "a limit of 5 in 1h for each execution, else rate_limited (rule all of bundle agent)"
    assert f"asks for {asked}" in done.out.replace("\n", " ")


def test_a_closed_text() -> None:
    """What is printed is the bundle with its data, and decides alike; errors end with 2."""
    done = rebuno("policy", "inline", "agent.rbp")
    assert (done.code, done.out) == (0, AGENT.replace('file "names.txt"', '["shell", "mail"]'))
    assert json.loads(rebuno("policy", "inline", "agent.rbp", "--json").out) == {"text": done.out}
    Path("y.yaml").write_text("default_action: deny\nrules: []\n", encoding="utf-8")
    assert "default deny" in rebuno("policy", "inline", "y.yaml").out
    Path("names.txt").unlink()
    assert rebuno("policy", "inline", "agent.rbp").code == 2


def test_findings_show_the_line_of_the_file_that_they_are_in() -> None:
    """The source line under a finding comes from the library, not from the bundle that uses it."""
    Path("agent.rbp").write_text('use "lib.rbp"\ndefault deny\nrule r { allow tool names }', encoding="utf-8")
    Path("lib.rbp").write_text('let names = ["a"]\ncondition c = args.x < "5"', encoding="utf-8")
    done = rebuno("policy", "check", "agent.rbp")
    assert done.code == 2
    assert "lib.rbp:2:24: error[wrong-type]" in done.out
    assert 'condition c = args.x < "5"' in done.out
