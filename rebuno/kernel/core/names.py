"""The names of people who answer: written in one way, so that nobody counts twice and nobody passes for another."""

import unicodedata
from typing import Final

from rebuno.errors import ValidationError

# In bytes; what the protocol allows every name.
LONGEST_NAME: Final = 256

# Letters and marks that show nothing of their own, though Unicode counts them as neither control nor format.
_BLANK: Final = frozenset([0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, *range(0x180B, 0x1810)]) | frozenset(
    [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
)
# Scripts that share the shapes of many letters, so that a name which mixes them is made to look like another.
_ALIKE: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"})


def check_name(name: str) -> None:
    """Refuses a name that could be taken for another one.

    Raises:
        ValidationError: it is blank, longer than 256 bytes, has blanks at an end or side by side, invisible characters,
            letters of scripts that look alike, or is not in Unicode's normal form (NFKC).
    """
    if not name.strip():
        raise ValidationError("an approval needs the name of the person who decides")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise ValidationError("the name of the person who decides is not valid Unicode") from None
    if size > LONGEST_NAME:
        raise ValidationError(f"the name of the person who decides is longer than {LONGEST_NAME} bytes")
    hidden = next((char for char in name if _hidden(char)), None)
    if hidden is not None:
        raise ValidationError(f"the name {name!r} holds U+{ord(hidden):04X}, which cannot be seen; leave it out")
    if name != " ".join(name.split()):
        raise ValidationError(f"the name `{name}` has blanks too many; write `{' '.join(name.split())}`")
    if (normal := unicodedata.normalize("NFKC", name)) != name:
        raise ValidationError(f"the name {name!r} is spelled with unusual characters; write `{normal}`")
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in name if char.isalpha()} & _ALIKE
    if len(scripts) > 1:
        mixed = " and ".join(sorted(script.title() for script in scripts))
        raise ValidationError(f"the name {name!r} mixes {mixed} letters, which look alike; write it in one script")


def folded(name: str) -> str:
    """What two spellings of one name have in common, case aside: two names that may be one person count once."""
    return unicodedata.normalize("NFKC", " ".join(name.split()).casefold())


def _hidden(char: str) -> bool:
    category = unicodedata.category(char)
    return category.startswith("C") or category in ("Zl", "Zp") or ord(char) in _BLANK
