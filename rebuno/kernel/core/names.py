"""Names: of sessions, keys and agents, as the protocol allows them; and of the people who answer, each written in one
way, so that nobody counts twice and nobody passes for another."""

import unicodedata
from typing import Final

from rebuno.errors import ValidationError

# In bytes; what the protocol allows every name.
LONGEST_NAME: Final = 256
# Of the path of a folder, in bytes; no system opens a longer one.
LONGEST_FOLDER: Final = 4096

# Letters and marks that show nothing of their own, though Unicode counts them as neither control nor format.
_BLANK: Final = frozenset([0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, *range(0x180B, 0x1810)]) | frozenset(
    [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
)
# Scripts that share the shapes of many letters, so that a name which mixes them is made to look like another.
_ALIKE: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"})


def check_person(name: str) -> None:
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


def check_name(what: str, text: str) -> None:
    """Refuses a name that the protocol does not allow; an empty one is none."""
    if not text:
        return
    if not text.strip():
        raise ValidationError(f"the {what} is blank; leave it out, or name it")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ValidationError(f"the {what} is not valid Unicode") from None
    if size > LONGEST_NAME or "\0" in text:
        raise ValidationError(f"the {what} must be at most {LONGEST_NAME} bytes without NUL")


def check_workdir(folder: object) -> None:
    """Refuses what is no folder for a session to work in; an empty text is none. A policy decides which folders count
    as absent.

    Raises:
        ValidationError: it is no absolute path, longer than 4,096 bytes, or holds a control character.
    """
    if folder == "":
        return
    if not isinstance(folder, str) or not folder.startswith("/"):
        raise ValidationError(f"the workdir {folder!r} is no absolute path; begin it with `/`")
    try:
        size = len(folder.encode())
    except UnicodeEncodeError:
        raise ValidationError("the workdir is not valid Unicode") from None
    if size > LONGEST_FOLDER or any(unicodedata.category(char) == "Cc" for char in folder):
        raise ValidationError(f"the workdir must be at most {LONGEST_FOLDER:,} bytes without control characters")


def folded(name: str) -> str:
    """What two spellings of one name have in common, case aside: two who may be the same person count once."""
    return unicodedata.normalize("NFKC", " ".join(name.split()).casefold())


def _hidden(char: str) -> bool:
    category = unicodedata.category(char)
    return category.startswith("C") or category in ("Zl", "Zp") or ord(char) in _BLANK
