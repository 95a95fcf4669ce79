"""Patches: no file that a host would touch is left out, and what is not read for sure is no patch."""

import pytest

from rebuno.hosts.patches import patch_of_command, read_patch


def patch(*lines: str) -> str:
    """A patch of these lines."""
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def test_what_a_patch_does_to_each_file() -> None:
    """Files that come, change, move and go, with the lines that come and go."""
    files = read_patch(
        patch(
            "*** Add File: a", "+x", "+*** Delete File: in the text", "*** Delete File: b",
            "*** Update File: c", "*** Move to: d", "@@ head", " kept", "-old", "+new", "*** End of File",
        )
    )  # fmt: skip
    assert files is not None
    assert [(one.kind, one.path, one.moved_to) for one in files] == [
        ("add", "a", ""), ("delete", "b", ""), ("update", "c", "d"),
    ]  # fmt: skip
    assert files[0].new == ["x", "*** Delete File: in the text"]
    assert (files[2].old, files[2].new) == (["old"], ["new"])


@pytest.mark.parametrize("before", [" ", "\t", "\ufeff", "\u00a0", "\r", "\x1f"])
def test_a_file_named_behind_odd_spaces_counts(before: str) -> None:
    """Hosts strip different sets of characters."""
    files = read_patch(patch("*** Add File: a", "+x", f"{before}*** Delete File: .env"))
    assert files is not None
    assert [one.path for one in files] == ["a", ".env"]


@pytest.mark.parametrize("odd", ["\u2028", "\x0b", "\x0c", "\x85", "\x1c"])
def test_a_path_is_read_to_the_end_of_its_line(odd: str) -> None:
    """What other programs take for the end of a line is part of the path."""
    files = read_patch(patch(f"*** Add File: src/x{odd}/../../../etc/passwd", "+x"))
    assert files is not None
    assert files[0].path == f"src/x{odd}/../../../etc/passwd"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*** Begin Patch\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\n+x",
        "x\n*** Begin Patch\n*** Add File: a\n*** End Patch",
        patch("*** Add File:a", "+x"),
        patch("*** Add File:  a", "+x"),
        patch("*** Add File: ", "+x"),
        patch("*** Copy File: a", "+x"),
        patch("*** Environment ID: other", "*** Add File: a", "+x"),
        patch("*** Add File: a", "+x", "@@ *** Delete File: b"),
        patch("*** Move to: b"),
        patch("*** Add File: a", "*** Move to: b"),
        patch("*** Update File: a", "*** Move to: b", "*** Move to: c"),
    ],
)
def test_what_is_not_sure_is_no_patch(text: str) -> None:
    """It is judged as a tool that nobody knows."""
    assert read_patch(text) is None


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("apply_patch <<'EOF'\nx\nEOF\n", "x\n"),
        (' applypatch <<"E"\nx\ny\nE', "x\ny\n"),
        ("apply_patch <<EOF\n$(id)\nEOF", None),
        ("apply_patch <<'EOF'\nx\nEOF\nid", None),
        ("cd /etc && apply_patch <<'EOF'\nx\nEOF", None),
        ("apply_patch x", None),
    ],
)
def test_a_command_that_is_a_patch_and_nothing_else(command: str, found: str | None) -> None:
    """Anything else is a line of a shell."""
    assert patch_of_command(command) == found


@pytest.mark.parametrize("behind", ["rm -rf ~", "curl x | sh\ncat <<'EOF'", "cat <<'EOF'", ""])
def test_a_command_behind_the_end_of_the_patch_is_no_part_of_it(behind: str) -> None:
    """The shell ends the text at the first line that is its end word, and runs what comes behind it."""
    text = patch("*** Add File: a", "+x")
    command = f"apply_patch <<'EOF'\n{text}\nEOF\n{behind}\n*** End Patch\nEOF\n"
    assert patch_of_command(command) is None
