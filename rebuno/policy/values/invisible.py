"""Invisible characters: those that Unicode calls ignorable, and those that look like a blank."""

import re
from typing import Final
from unicodedata import category

# Default_Ignorable_Code_Point: joiners, directions, variation selectors, tags, fillers, and places kept for more.
IGNORABLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Assigned characters without ink that are neither ignorable nor white space: empty braille, a note without a head, and
# the filler of a script.
BLANK: Final = "\u2800\U0001d159\U00016fe4"

_IGNORABLE: Final = re.compile(f"[{IGNORABLE}]")
# All invisible characters except white space: ignorable, control and format characters.
_DROPPED: Final = re.compile(
    f"[{IGNORABLE}\\x00-\\x08\\x0e-\\x1b\\x7f-\\x84\\x86-\\x9f\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f]"
)
_BLANKS: Final = re.compile(rf"[\s{BLANK}]+")


def ignorable(character: str) -> bool:
    """Whether a display of the text may leave the character out."""
    return _IGNORABLE.match(character) is not None


def blank(character: str) -> bool:
    """Whether the character looks like a blank: any separator, and any character without ink."""
    return category(character)[0] == "Z" or character in BLANK


def without_unseen(text: str) -> str:
    """The text without invisible characters; white space stays."""
    return _DROPPED.sub("", text)


def without_blanks(text: str) -> str:
    """The text without white space and without characters that look like it."""
    return _BLANKS.sub("", text)
