"""The small parts of a hook: its settings, what it shortens, what it notes, and what it takes for a project."""

import json
from pathlib import Path
from typing import Any

import pytest

from rebuno.errors import ValidationError
from rebuno.hosts.events import project_folder
from rebuno.hosts.failures import LARGEST, failures_path, note_failure, read_failures
from rebuno.hosts.settings import HookSettings, read_settings, settings_json, settings_of, settings_path, state_folder
from rebuno.hosts.shorten import LONGEST, shortened, shortened_text


@pytest.mark.parametrize(
    ("environ", "settings", "state"),
    [
        ({"HOME": "/h"}, "/h/.config/rebuno/hooks/codex.json", "/h/.local/state/rebuno"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}, "/c/rebuno/hooks/codex.json", "/s/rebuno"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": ""}, "/h/.config/rebuno/hooks/codex.json",
         "/h/.local/state/rebuno"),
    ],
)  # fmt: skip
def test_where_settings_and_the_store_lie(environ: dict[str, str], settings: str, state: str) -> None:
    """In the user's folders; one that is no absolute path counts for nothing."""
    assert settings_path("codex", environ) == settings
    assert state_folder(environ) == state
    assert read_settings("codex", environ) == HookSettings(db=f"{state}/hooks.db")


@pytest.mark.parametrize(
    "settings",
    [
        HookSettings(),
        HookSettings(("a.rbp", "b.rbp"), "x.db", True, 30.0, 90.0, None, 8123, "secret"),
    ],
)
def test_settings_are_read_as_they_were_written(settings: HookSettings) -> None:
    """The installer writes what the hook reads."""
    assert settings_of(json.loads(json.dumps(settings_json(settings)))) == settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("policy", {}), ("policy", [""]), ("db", 7), ("observe", 1), ("wait", -1), ("wait", True), ("wait", "5m"),
        ("timeout", 0.5), ("timeout", float("inf")), ("retention_days", "for ever"), ("port", 70_000), ("port", True),
        ("token", None), ("other", 1), ("path", "x"),
    ],
)  # fmt: skip
def test_a_setting_of_the_wrong_kind_is_named(name: str, value: Any) -> None:
    """And none is taken for another one."""
    with pytest.raises(ValidationError, match=f"`{name}`"):
        settings_of({"version": 1, name: value})


@pytest.mark.parametrize(("timeout", "deadline"), [(60.0, 57.0), (4.0, 2.0), (1.0, 0.5)])
def test_a_hook_gives_up_before_its_host(timeout: float, deadline: float) -> None:
    """Also where the host gives it little time."""
    assert HookSettings(timeout=timeout).deadline == deadline


@pytest.mark.parametrize(
    ("folder", "project"),
    [
        ("/home/ann/app", "/home/ann/app"), ("/home/ann/app/", "/home/ann/app"), ("/work", "/work"),
        ("/home/ann", ""), ("/home/ann/", ""), ("/home", ""), ("/", ""), ("", ""), ("app", ""),
        ("/home/annex", "/home/annex"),
    ],
)  # fmt: skip
def test_the_home_is_no_project(folder: str, project: str) -> None:
    """Everything lies in it, the keys too."""
    assert project_folder(folder, {"HOME": "/home/ann"}) == project


def test_a_text_is_cut_at_a_whole_letter() -> None:
    """And says how long it was."""
    cut = shortened_text("ä" * 1000, 101)
    assert cut.encode()[:2] == "ä".encode()
    assert len(cut.encode()) <= 101
    assert cut.endswith("… [shortened: 2000 bytes]")
    assert shortened_text("ä" * 50, 100) == "ä" * 50


@pytest.mark.parametrize(
    "value",
    [
        "x" * 300_000,
        ["x" * 1000] * 500,
        {"stdout": "x" * 200_000, "stderr": "why", "code": 2},
        {str(n): {"name": "x" * 300, "n": n} for n in range(2000)},
        {"x" * 100_000: 1},
        [[["y" * 90_000]]],
        list(range(100_000)),
    ],
)
def test_a_value_is_shortened(value: Any) -> None:
    """It is JSON of about 64 KiB, and says what was cut."""
    cut = json.dumps(shortened(value), ensure_ascii=False)
    assert len(cut.encode()) <= LONGEST * 1.1
    assert "shortened" in cut


def test_what_is_short_stays_as_it_is() -> None:
    """The same object, and the short fields beside a long one."""
    value = {"a": [1, None, True, "x" * 60_000]}
    assert shortened(value) is value
    assert shortened({"out": "x" * 200_000, "code": 2})["code"] == 2


def test_a_deep_value_is_cut_at_a_depth() -> None:
    """It would be too deep for who reads it."""
    value: Any = "x" * 100_000
    for _ in range(500):
        value = [value]
    assert len(json.dumps(shortened(value))) < LONGEST


def test_failures_are_noted_and_bounded(tmp_path: Path) -> None:
    """The newest ones stay; a line that is none is left out."""
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    assert read_failures(environ) == []
    for number in range(2 * LARGEST // 1000):
        note_failure(environ, "codex", f"{number} " + "x" * 2000, observed=False)
    file = Path(failures_path(environ))
    assert file.stat().st_size <= LARGEST + 1100
    assert file.stat().st_mode & 0o777 == 0o600
    found = read_failures(environ)
    assert found[-1]["message"].startswith(f"{2 * LARGEST // 1000 - 1} ")
    assert found[0]["host"] == "codex"
    file.write_bytes(b'{"at": 1}\n[]\n{oops\n' + json.dumps(found[-1]).encode())
    assert read_failures(environ) == found[-1:]


def test_a_list_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    """The answer matters more."""
    (tmp_path / "rebuno").write_text("a file")
    note_failure({"XDG_STATE_HOME": str(tmp_path)}, "codex", "x", observed=False)
    assert read_failures({"XDG_STATE_HOME": str(tmp_path)}) == []
