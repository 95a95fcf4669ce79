"""`rebuno policy test --watch`: it runs again after each change, and ends with what the last run said."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.support import CASES, Ran, payments, rebuno

BUNDLE = 'bundle a\ndefault deny\nrule r { allow tool "t" }\n'


@pytest.fixture
def watching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs the command with these steps in the place of its pauses; then Ctrl-C is pressed."""

    def run(*steps: Callable[[], object], args: tuple[str, ...] = (".",)) -> Ran:
        left = list(steps)

        def pause() -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        monkeypatch.setattr("rebuno_cli.watch.pause", pause)
        return rebuno("policy", "test", *args, "--watch", within=tmp_path)

    return run


def _nothing() -> None:
    pass


def _write(path: Path, text: str) -> Callable[[], object]:
    def write() -> None:
        path.write_text(text)
        told = path.stat()
        os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns + 1_000_000))

    return write


def test_it_waits_while_nothing_changes(tmp_path: Path, watching: Callable[..., Ran]) -> None:
    """One run, and the code of that run on Ctrl-C."""
    payments(tmp_path)
    ran = watching(_nothing, _nothing, _nothing)
    assert (ran.code, ran.out.count("3 cases, 1 failed")) == (1, 1)
    assert ran.err == "watching 2 files; Ctrl-C ends\n"


def test_a_change_is_run_and_the_last_run_counts(tmp_path: Path, watching: Callable[..., Ran]) -> None:
    """Cases and bundles alike, and files that come and go; an error in between ends nothing."""
    bundle = payments(tmp_path)
    cases = tmp_path / "pay.policytest.yaml"
    other = tmp_path / "sub" / "other.rbp"
    other.parent.mkdir()
    ran = watching(
        _write(bundle, "bundle pay\ndefault denny\n"),
        _nothing,  # the pause in which an editor finishes
        _write(bundle, 'bundle pay\ndefault deny\nrule all { allow tool "*" }\n'),
        _nothing,
        _write(cases, CASES.replace(", expect_rule: reads", "")),
        _nothing,
        _write(other, BUNDLE),
        _nothing,
        other.unlink,
        _nothing,
    )
    said = [line for line in ran.out.splitlines() if line.startswith(("0 cases", "3 cases"))]
    assert said == [
        "3 cases, 1 failed",
        "0 cases, 0 failed, 1 error",
        "3 cases, 1 failed",
        "3 cases, 0 failed",
        "3 cases, 0 failed, 1 bundle untested",
        "3 cases, 0 failed",
    ]
    assert ran.code == 0


def test_a_bundle_that_is_gone_is_waited_for(tmp_path: Path, watching: Callable[..., Ran]) -> None:
    """Editors and version control take files away for a moment."""
    bundle = payments(tmp_path, CASES.replace("9000", "9"))
    text = bundle.read_text()
    (tmp_path / "pay.policytest.yaml").unlink()
    ran = watching(bundle.unlink, _nothing, _write(bundle, text), _nothing, args=("pay.rbp",))
    assert "error: `pay.rbp` does not exist" in ran.err
    assert (ran.code, ran.out.count("1 bundle untested")) == (0, 2)


def test_a_mistake_in_the_first_call_ends_it(tmp_path: Path, watching: Callable[..., Ran]) -> None:
    """There is nothing to wait for."""
    ran = watching(_nothing, args=("nowhere",))
    assert (ran.code, ran.out) == (2, "")


def test_each_report_is_a_line_of_json(tmp_path: Path, watching: Callable[..., Ran]) -> None:
    """So that a program can tell them apart."""
    bundle = payments(tmp_path)
    ran = watching(_write(bundle, BUNDLE), _nothing, args=(".", "--json"))
    first, second = map(json.loads, ran.out.splitlines())
    assert (first["bundles"][0]["failed"], second["bundles"][0]["failed"]) == (1, 3)


def test_files_that_a_bundle_names_are_watched(tmp_path: Path, watching: Callable[..., Ran]) -> None:
    """Before they exist too: that is when they are missed."""
    payments(tmp_path)
    (tmp_path / "pay.rbp").write_text('bundle pay\nuse "lib/net.rbp"\nlet hosts = file "hosts.yaml"\ndefault deny\n')
    hosts = tmp_path / "hosts.yaml"
    ran = watching(_write(hosts, "[a]"), _nothing, _write(hosts, "[b, c]"), _nothing)
    assert ran.out.count("pay.rbp\n") >= 3
    assert ran.err.count("watching 4 files") == 3
