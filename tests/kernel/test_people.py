"""Names of people: those of any script are taken as they are, those that could be another's are refused."""

import pytest

from rebuno.errors import ValidationError
from rebuno.kernel.core.names import check_person, folded

# A name · what is said about it.
REFUSED: list[tuple[str, str]] = [
    ("", "needs the name"),
    (" \t", "needs the name"),
    ("ana ", "write `ana`"),  # a blank at the end would make a second person
    (" ana", "write `ana`"),
    ("ana  b", "write `ana b`"),
    ("a\tb", r"U\+0009"),
    ("ana\n", r"U\+000A"),
    ("ana\u00a0b", "write `ana b`"),
    ("ana\u200b", r"U\+200B"),  # nobody sees it
    ("an\u00ada", r"U\+00AD"),
    ("ana\ufe0f", r"U\+FE0F"),
    ("ana\u3164", "unusual characters"),
    ("\u202eana", r"U\+202E"),
    ("\ue000", r"U\+E000"),  # it shows whatever the font likes
    ("\uff41na", "write `ana`"),  # a full-width letter
    ("ane\u0301", "write `an\u00e9`"),  # the accent apart from its letter
    ("\u0430na", "mixes Cyrillic and Latin"),
    ("an\u03b1", "mixes Greek and Latin"),
    ("\ud800", "not valid Unicode"),
    ("a" * 257, "longer than 256 bytes"),
    ("é" * 129, "longer than 256 bytes"),
]


@pytest.mark.parametrize(("name", "said"), REFUSED, ids=[ascii(name)[:20] for name, _ in REFUSED])
def test_names_that_could_be_another_s(name: str, said: str) -> None:
    """The refusal says what to write instead, where there is such a thing."""
    with pytest.raises(ValidationError, match=said):
        check_person(name)


@pytest.mark.parametrize(
    "name",
    [
        "ana",
        "Ana Lovelace",
        "ana@corp.example",
        "Åsa Öberg",
        "Ольга",
        "Γιώργος",
        "山田 太郎",
        "o'neil",
        "a" * 256,
        "अनिता",
    ],
)
def test_names_of_people(name: str) -> None:
    """Single blanks, signs and every script are fine."""
    check_person(name)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("ana", "ANA", True),
        ("Straße", "STRASSE", True),
        ("ana", "anna", False),
        ("josé", "jose", False),
    ],
)
def test_whoever_may_be_the_same_person(one: str, other: str, same: bool) -> None:
    """Capitals make no second person."""
    assert (folded(one) == folded(other)) is same
