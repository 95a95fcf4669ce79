"""A file of targets that does not fit is told, without its secrets, and nothing starts."""

from pathlib import Path
from typing import Any

import pytest

from rebuno.errors import RebunoError
from rebuno.notices import read_notices

SECRET = "0123456789abcdef"


def _read(folder: Path, text: str, **more: Any) -> Any:
    file = folder / "n.yaml"
    file.write_text(text)
    return read_notices(file, **more)


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("{name: a}", "exactly one of"),
        ("{name: a, slack: 'https://h/x', command: [x]}", "exactly one of"),
        ("{name: a, webhook: 'https://h/x'}", "a `secret` of 16 characters"),
        ("{name: a, webhook: 'https://h/x', secret: short-one}", "a `secret` of 16 characters"),
        ("{name: a, slack: 'https://h/x', secret: 0123456789abcdef}", "only a web hook"),
        ("{name: a, webhook: 'ftp://h/x', secret: 0123456789abcdef}", "no http or https URL"),
        ("{name: a, webhook: 'https://u:p4ss@h/x', secret: 0123456789abcdef}", "holds credentials"),
        ("{name: a, command: 'rm -rf /'}", "targets.0.command"),
        ("{name: a, command: []}", "targets.0.command"),
        ("{name: a, command: ['']}", "no program"),
        ("{name: a, command: [x], events: [later]}", "targets.0.events.0"),
        ("{name: a, command: [x], text: 'hi {secret}'}", "no `{secret}`"),
        ("{name: a, command: [x], timeout: 0}", "targets.0.timeout"),
        ("{name: a, command: [x], timeout: .inf}", ""),
        ("{name: 'a b', command: [x]}", "targets.0.name"),
        ("{name: a, command: [x], extra: 1}", "targets.0.extra"),
        ("{name: a, mail: {host: h, from: 'a@b', to: []}}", "targets.0.mail.to"),
        ("{name: a, mail: {host: h, from: 'nobody', to: ['a@b']}}", "no mail address"),
        ("{name: a, mail: {host: h, security: none, password: p4ss, from: 'a@b', to: ['a@b']}}", "a password is sent"),
    ],
)
def test_what_does_not_fit_is_told(tmp_path: Path, target: str, told: str) -> None:
    """With its place, and without any secret."""
    with pytest.raises(RebunoError) as raised:
        _read(tmp_path, f"targets:\n- {target}\n")
    assert told in str(raised.value)
    assert "p4ss" not in str(raised.value)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("text", ["", "targets: []\n", "- a\n", "targets: 1\n", "a: [\n", "targets:\n- 1\n"])
def test_other_files_are_no_targets(tmp_path: Path, text: str) -> None:
    """Each is told in one line, without a traceback."""
    with pytest.raises(RebunoError):
        _read(tmp_path, text)


def test_two_targets_of_one_name_are_told(tmp_path: Path) -> None:
    """What was taken is kept by name."""
    with pytest.raises(RebunoError, match="several targets `a`"):
        _read(tmp_path, "targets:\n- {name: a, command: [x]}\n- {name: a, command: [y]}\n")


def test_secrets_come_from_the_environment(tmp_path: Path) -> None:
    """And are not shown with the target."""
    text = "targets:\n- {name: a, webhook: 'https://h/x', secret: '${HOOK_SECRET}'}\n"
    made = _read(tmp_path, text, environment={"HOOK_SECRET": SECRET})
    assert made.targets[0].secret == SECRET
    assert SECRET not in repr(made)
    with pytest.raises(RebunoError, match="`HOOK_SECRET`, which is not set"):
        _read(tmp_path, text, environment={})


def test_the_public_url_of_the_caller_goes_before(tmp_path: Path) -> None:
    """Without the slash at its end; one that is no URL is told."""
    text = "public_url: https://file.example/\ntargets:\n- {name: a, command: [x]}\n"
    assert _read(tmp_path, text).public_url == "https://file.example"
    assert _read(tmp_path, text, public_url="https://r.example/x/").public_url == "https://r.example/x"
    with pytest.raises(RebunoError, match="--public-url"):
        _read(tmp_path, text, public_url="javascript:alert(1)")
