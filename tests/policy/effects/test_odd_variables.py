"""Variables that change no program count as such only with a plain value: `make` expands what it finds in them."""

import pytest

from rebuno.policy.facets.shell.effects.told import effects_of_command


def _unread(line: str) -> list[str]:
    return [one.part for one in effects_of_command(line, workdir="/proj", home="/h").unread]


@pytest.mark.parametrize(
    "line",
    [
        "DEBUG='$(shell rm -rf x)' make",
        "env DEBUG='$(shell x)' make",
        "env DE''BUG='$(shell x)' make",
        "export DEBUG='$(shell x)'; make",
        "DEBUG='$(shell x)'; export DEBUG; make",
        "declare -x DEBUG='$(x)'; make",
        "for DEBUG in '$(x)'; do make; done",
        "read DEBUG; make",
        "DEBUG=a; DEBUG+='$(x)'; make",
        "DEBUG=$OTHER make",
        "bash -c 'DEBUG=\"\\$(x)\" make'",
    ],
)
def test_a_value_that_is_not_plain_is_unread(line: str) -> None:
    """However it is given."""
    assert "DEBUG=" in _unread(line)


@pytest.mark.parametrize("zone", [":/etc/shadow", "/etc/shadow", "../../etc/shadow", "::/etc/shadow"])
def test_a_time_zone_may_be_a_file(zone: str) -> None:
    """All programs that tell times read it."""
    assert _unread(f"TZ={zone} date") == ["TZ="]


def test_a_value_for_a_tool_that_make_may_run() -> None:
    """A table that lists the variable does not change that."""
    assert "VERBOSE=" in _unread("VERBOSE='$(shell x)' cmake --build build")


@pytest.mark.parametrize(
    "line",
    [
        "DEBUG=1 make",
        "CI=true make test",
        "export CI=true; make test",
        "TZ=America/New_York date",
        "LC_ALL=C.UTF-8 sort x",
        "RUST_LOG=info,hyper=warn cargo test",
        "DEBUG='app:*' npm test",
        "DEBUG= make",
        "DEBUG='$(x)' echo a",
    ],
)
def test_a_plain_value_changes_nothing(line: str) -> None:
    """These are usual."""
    assert _unread(line) == []
