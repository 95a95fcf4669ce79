"""Regular expressions for whole texts, by RE2: linear in the text, whatever the expression."""

from functools import lru_cache

import re2

from rebuno.policy.values.globs import Matcher


@lru_cache(maxsize=1024)
def regex(pattern: str, fold: bool = False) -> Matcher:
    """A test whether RE2's `pattern` matches the whole of a text, `.` matching line breaks too.

    `fold` is RE2's own notion of case, letter by letter. The text must be valid Unicode.

    Raises:
        re2.error: the expression cannot be read, or is too large.
    """
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    options.case_sensitive = not fold
    compiled = re2.compile(pattern, options)
    return lambda text: compiled.fullmatch(text) is not None
