"""Whether kept texts are those of a policy is told to the last byte, and for any text and any path."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rebuno.embedded import compiled
from rebuno.policy.restore import texts_make_policy

BUNDLE = """\
bundle places
default deny because "not a place of ours"

let HOSTS = file "hosts.txt"

rule fetch {
  allow tool "fetch" when args.host in HOSTS
}
"""

Kept = list[tuple[str, str]]


@pytest.fixture
def kept(tmp_path: Path) -> tuple[str, Kept]:
    """The digest of a policy of one bundle and one file, and what is kept of it."""
    (tmp_path / "places.rbp").write_text(BUNDLE, encoding="utf-8")
    (tmp_path / "hosts.txt").write_text("docs.example\n", encoding="utf-8")
    policy = compiled(tmp_path / "places.rbp")
    return policy.digest, [(source.path, source.text) for source in policy.sources]


def test_what_was_kept_is_told(kept: tuple[str, Kept]) -> None:
    """As it is."""
    digest, sources = kept
    assert len(sources) == 2
    assert texts_make_policy(digest, sources) is True


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + " ",
        lambda text: text + "\n",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text[:-1],
        lambda text: "",
        lambda text: "\0" + text,
        lambda text: text.replace("docs", "evil").replace("deny", "allow"),
    ],
)
def test_every_change_of_a_text_is_found(kept: tuple[str, Kept], at: int, change: Callable[[str], str]) -> None:
    """Of a bundle, and of a file that it uses; a mark of the byte order too, which changes no meaning."""
    digest, sources = kept
    path, text = sources[at]
    sources[at] = path, change(text)
    assert texts_make_policy(digest, sources) is False


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("path", ["", "\0", "/" * 5000, "..", "\ud800", "a\nb"])
def test_no_path_ends_the_look(kept: tuple[str, Kept], at: int, path: str) -> None:
    """Whatever is kept in its place, it is an answer. The name of a bundle's file is not hashed."""
    digest, sources = kept
    sources[at] = path, sources[at][1]
    assert texts_make_policy(digest, sources) in (True, False)
    sources[at] = path, sources[at][1] + " "
    assert texts_make_policy(digest, sources) is False
