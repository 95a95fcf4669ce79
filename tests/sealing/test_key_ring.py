"""Key rings: what is taken for one, and what a data key opens."""

import json
import os
import stat
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from rebuno.errors import KeyRingError, RebunoError, SealBroken, SealKeyMissing
from rebuno.sealing import KeyRing, files
from rebuno.sealing.given import ring_of

KEY = b64encode(bytes(range(32))).decode()


def ring(**changed: Any) -> bytes:
    """The text of a ring."""
    key = {"id": "k1", "created_at": "2026-01-01T00:00:00Z", "key": KEY}
    return json.dumps({"rebuno_key_ring": 1, "current": "k1", "marks": KEY, "keys": [key], **changed}).encode()


def test_a_new_ring_is_its_owners_alone_whatever_the_mask_says(tmp_path: Path) -> None:
    """Mode 0600, and what is read is what was made."""
    before = os.umask(0)
    try:
        made = files.create(tmp_path / "ring", now=0.0)
        rotated = files.rotate(tmp_path / "ring", now=1.0)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "ring").stat().st_mode) == 0o600
    assert KeyRing.read(tmp_path / "ring") == rotated
    assert rotated.ids[:1] == made.ids
    assert rotated.current != made.current
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ring"]


def test_a_ring_is_never_written_over(tmp_path: Path) -> None:
    """Its keys would be lost, and with them all that is encrypted under them."""
    made = files.create(tmp_path / "ring", now=0.0)
    with pytest.raises(KeyRingError, match="exists"):
        files.create(tmp_path / "ring", now=0.0)
    assert KeyRing.read(tmp_path / "ring") == made


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    """Nothing in it is used."""
    files.create(tmp_path / "ring", now=0.0)
    (tmp_path / "ring").chmod(mode)
    with pytest.raises(KeyRingError, match=r"others may read.*chmod 600"):
        KeyRing.read(tmp_path / "ring")
    with pytest.raises(KeyRingError, match="others may read"):
        files.rotate(tmp_path / "ring", now=0.0)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "is no JSON"),
        (b"\xff", "is no JSON"),
        (b"[]", "it holds"),
        (ring(more=1), "it holds"),
        (ring(rebuno_key_ring=2), "its version"),
        (ring(rebuno_key_ring=True), "its version"),
        (ring(current="k2"), "its current key"),
        (ring(current=["k1"]), "its current key"),
        (ring(keys=[]), "a list of 1"),
        (ring(keys={}), "a list of 1"),
        (ring(keys=[1]), "a key has"),
        (ring(marks="AAAA"), "base64 of 32 bytes"),
        (ring(marks=None), "base64 of 32 bytes"),
        (ring(keys=[{"id": "k1", "created_at": "x", "key": KEY}] * 2), "two of its keys"),
        (ring(keys=[{"id": 'k"', "created_at": "x", "key": KEY}]), "a key has"),
        (ring(keys=[{"id": "k1", "created_at": "x", "key": KEY[:-8]}]), "base64 of 32 bytes"),
    ],
)
def test_what_is_no_ring_is_refused_and_nothing_of_it_is_repeated(text: bytes, why: str) -> None:
    """The error says what is wrong in words."""
    with pytest.raises(KeyRingError, match=why) as refused:
        KeyRing.parse(text)
    assert KEY[:12] not in str(refused.value)


def test_a_command_prints_a_ring(tmp_path: Path) -> None:
    """It is run without a shell."""
    made = files.create(tmp_path / "ring", now=0.0)
    assert KeyRing.from_command(f"cat {tmp_path / 'ring'}") == made
    with pytest.raises(KeyRingError, match="no JSON"):
        KeyRing.from_command(f"echo $(cat {tmp_path / 'ring'})")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("", "is empty"),
        ("'", "cannot be read"),
        ("no-such-program-of-ours", "cannot be run"),
        ([sys.executable, "-c", "import sys; print('SECRET'); sys.exit(3)"], "ended with 3"),
        ([sys.executable, "-c", "print('SECRET')"], "is no JSON"),
        ([sys.executable, "-c", "while True: print('SECRET' * 9999)"], "prints more than"),
    ],
)
def test_a_command_that_prints_none_is_refused(command: Any, why: str) -> None:
    """What it prints is not repeated."""
    with pytest.raises(KeyRingError, match=why) as refused:
        KeyRing.from_command(command)
    assert "SECRET" not in str(refused.value).replace(str(command), "")


def test_a_command_that_does_not_end_is_given_up() -> None:
    """After its time."""
    with pytest.raises(KeyRingError, match="took longer"):
        KeyRing.from_command([sys.executable, "-c", "import time; time.sleep(60)"], patience=0.2)


def test_a_ring_is_named_once(tmp_path: Path) -> None:
    """A file and a command at once are a mistake; neither is none."""
    with pytest.raises(KeyRingError, match="one of the two"):
        ring_of(tmp_path, "cat ring")
    assert ring_of("", "") is None


def test_what_is_sealed_opens_at_its_place_only() -> None:
    """Another place, another execution, another key or a changed byte: `SealBroken`."""
    found = KeyRing.parse(ring())
    key = found.new_key("e1")
    sealed = key.seal("tomorrow", "input")
    assert key.unseal(sealed, "input") == "tomorrow"
    assert key.seal("tomorrow", "input") == sealed
    others = (key.seal("tomorrow", "output"), found.new_key("e1").seal("tomorrow", "input"), key.seal("today", "input"))
    assert len({sealed[:19], *(other[:19] for other in others)}) == 4, "each has a nonce of its own"
    again = found.open_key("e1", "k1", key.wrapped)
    assert again.unseal(sealed, "input") == "tomorrow"
    for other, place in ((key, "output"), (found.new_key("e1"), "input"), (found.new_key("e2"), "input")):
        with pytest.raises(SealBroken):
            other.unseal(sealed, place)
    for wrong in (
        sealed[:-2],
        "s1.",
        f"{sealed}é",
        "s1.%%",
        "plain",
        sealed[:8] + ("A" if sealed[8] != "A" else "B") + sealed[9:],
    ):
        with pytest.raises(SealBroken):
            key.unseal(wrong, "input")


def test_a_data_key_belongs_to_its_execution_and_its_key_of_the_ring() -> None:
    """It does not open for another; a key that is not there is named."""
    found = KeyRing.parse(ring())
    key = found.new_key("e1")
    with pytest.raises(SealBroken, match="e2"):
        found.open_key("e2", "k1", key.wrapped)
    with pytest.raises(SealBroken):
        found.open_key("e1", "k1", key.wrapped[:20])
    with pytest.raises(SealKeyMissing, match="`k9`") as missing:
        found.open_key("e1", "k9", key.wrapped)
    assert (missing.value.key_id, missing.value.execution_id) == ("k9", "e1")
    other = KeyRing.parse(ring(keys=[{"id": "k1", "created_at": "x", "key": b64encode(bytes(32)).decode()}]))
    with pytest.raises(SealBroken, match="another key of this name"):
        other.open_key("e1", "k1", key.wrapped)


def test_digests_rest_on_the_key_and_marks_on_the_ring(tmp_path: Path) -> None:
    """A rotation changes no mark; a digest of one purpose says nothing of another."""
    before = files.create(tmp_path / "ring", now=0.0)
    after = files.rotate(tmp_path / "ring", now=0.0)
    assert before.mark(b"x") == after.mark(b"x") != after.mark(b"y")
    assert len(after.mark(b"x")) == 8
    old, new = after.key(before.current), after.key()
    assert old.digest("identity", b"x") == before.key().digest("identity", b"x")
    assert len({old.digest("identity", b"x"), old.digest("limit", b"x"), new.digest("identity", b"x")}) == 3


def test_nothing_of_a_key_is_shown(tmp_path: Path) -> None:
    """Not by `repr`, which tracebacks and logs use."""
    found = KeyRing.parse(ring())
    shown = f"{found!r} {found.key()!r} {found.new_key('e1')!r}"
    assert KEY not in shown
    assert repr(bytes(range(32)))[2:20] not in shown


def test_a_ring_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also to open a key, which another process made."""
    found = KeyRing.parse(ring())
    wrapped = found.new_key("e1").wrapped
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(RebunoError, match="encrypt"):
        found.open_key("e1", "k1", wrapped)
