"""The identity of a step: canonical JSON, the hash of its arguments, and the id built on them.

`canonical` writes Python values, `parse` reads JSON texts; both hold to the same bounds (128 levels, 10 MiB), so that
whatever was written can be read again.
"""

import json
import re
from _json import encode_basestring, make_encoder
from hashlib import sha256
from itertools import accumulate
from math import isfinite
from typing import Any, Final, NoReturn

import orjson

from rebuno.errors import NotJSON, ValidationError
from rebuno.model.bigint import SAFE_DIGITS, from_digits, to_digits
from rebuno.model.bounds import STRING, Bounds, strings_in

MAX_DEPTH: Final = 128
MAX_BYTES: Final = 10 * 1024 * 1024

# ---------------------------------------------------------------- writing

_WHOLE: Final = frozenset({str, int, bool, type(None)})
_SORTED: Final = orjson.OPT_SORT_KEYS
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_ESCAPED: Final = {c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_ESCAPED_BYTES: Final = [(c.encode(), e.encode()) for c, e in _ESCAPED.items() if c.isascii()]
# Bytes, from which on it is faster to look at them than at characters.
_AS_BYTES: Final = 4096
_BACKSLASH: Final = ord("\\")
_SHORT_ESCAPE: Final = re.compile(rb"\\[bf]")
_encoder: Final = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)
# What `_encoder` would make anew for each value.
_made: Final = make_encoder(None, _encoder.default, encode_basestring, None, ":", ",", True, False, False)


# Characters. What takes longer texts in one go holds the interpreter for tens of milliseconds.
LARGE: Final = 262_144
_WINDOW: Final = 65_536


class _TooLongError(Exception):
    """A text that escapes would make too long, by at least how many characters it would have."""


def canonical(value: object, root: str = "$", *, in_steps: bool = False) -> str:
    """`value` as canonical JSON.

    Keys stand in the order of their code points, without spaces; characters outside ASCII are kept, `<` `>` `&` U+2028
    U+2029 are written `\\uXXXX`, `"` `\\` and line feed, carriage return, tab short, other characters below U+0020
    `\\u00xx`; integers are exact, reals as `repr` writes them.

    Taken are dict with string keys, list, tuple (as a list), str, int, float, bool and None. A subclass (an `IntEnum`,
    an `OrderedDict`, a named tuple) is written as the built-in value that it is, whatever methods it overrides.
    `in_steps` takes longer and lets other threads run meanwhile, however large the value is.

    Raises:
        NotJSON: anything else, NaN, an infinity, a lone surrogate, more than 128 levels or 10 MiB. It names the path
            to the value, from `root` on.
    """
    try:
        text = None if in_steps else _at_once(value)
        if text is None:
            text = _write(value, root, MAX_DEPTH)
    except _TooLongError as error:
        size = error.args[0]
        raise NotJSON(
            root, f"takes {size:,} bytes as JSON or more, and at most {MAX_BYTES:,} are taken; pass a reference"
        ) from None
    if len(text) * 4 > MAX_BYTES and (size := len(text.encode())) > MAX_BYTES:
        raise NotJSON(root, f"takes {size:,} bytes as JSON, and at most {MAX_BYTES:,} are taken; pass a reference")
    return text


def _at_once(value: object) -> str | None:
    return _fastest(value) if _whole(value, MAX_DEPTH) else _fast(value) if _plain(value, MAX_DEPTH) else None


def _whole(value: Any, levels: int) -> bool:
    """Whether `value` is made of exact built-in types only, and holds no reals that orjson writes in another way."""
    kind = type(value)
    if kind is dict:
        items = value.values()
    elif kind is list or kind is tuple:
        items = value
    else:
        return kind in _WHOLE or (kind is float and _same_digits(value))
    if levels == 0:
        return False
    return _WHOLE.issuperset(map(type, items)) or all(_whole(item, levels - 1) for item in items)


def _same_digits(value: float) -> bool:
    # Between these, `repr` writes no exponent, and nor does orjson; both write the fewest digits that read as the same.
    return 1e-4 <= abs(value) < 1e15


def _fastest(value: object) -> str | None:
    """The text of whole values, or None where another writer must look: a key that is no text, an integer of more than
    64 bits, a lone surrogate."""
    try:
        data = orjson.dumps(value, option=_SORTED)
    except TypeError:
        return None
    if len(data) > _AS_BYTES:
        # As bytes it is found out faster, and need not hold the interpreter for as long.
        data = _escape_bytes(data)
        text = data.decode()
        separators = not data.isascii() and ("\u2028" in text or "\u2029" in text)
        return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029") if separators else text
    text = data.decode()
    if "\\" in text or "<" in text or ">" in text or "&" in text or not text.isascii():
        return _escape(text)
    return text


def _plain(value: object, levels: int) -> bool:
    """Whether `value` is made of exact built-in types only, so that the encoder in C writes what `_write` would."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if levels == 0:
        return False
    if isinstance(value, dict) and kind is dict:
        for key, item in value.items():
            if type(key) is not str or not (type(item) in _SCALARS or _plain(item, levels - 1)):
                return False
        return True
    if isinstance(value, list | tuple) and (kind is list or kind is tuple):
        return all(type(item) in _SCALARS or _plain(item, levels - 1) for item in value)
    return False


def _fast(value: object) -> str | None:
    """The text of plain values, or None where the slow writer must look: NaN, a long integer, a lone surrogate."""
    try:
        text = "".join(_made(value, 0))
        if not text.isascii():
            text.encode()
    except ValueError:
        return None
    return _escape(text)


def _escape_bytes(data: bytes) -> bytes:
    """`_escape` of what orjson has written, but for the separators of lines."""
    if len(data) * 6 > MAX_BYTES and (size := len(data) + 5 * sum(map(data.count, (b"<", b">", b"&")))) > MAX_BYTES:
        raise _TooLongError(size)
    for character, escaped in _ESCAPED_BYTES:
        if character in data:
            data = data.replace(character, escaped)
    if any(_escapes(data, found.start()) for found in _SHORT_ESCAPE.finditer(data)):
        parts = data.split(b"\\\\")
        data = b"\\\\".join([part.replace(b"\\b", b"\\u0008").replace(b"\\f", b"\\u000c") for part in parts])
    return data


def _escapes(data: bytes, at: int) -> bool:
    """Whether the backslash there is no escaped one."""
    before = at
    while before and data[before - 1] == _BACKSLASH:
        before -= 1
    return (at - before) % 2 == 0


def _escape(text: str) -> str:
    # To escape a text of nothing else takes a fifth of a second.
    if len(text) * 6 > MAX_BYTES and (size := len(text) + 5 * sum(map(text.count, "<>&"))) > MAX_BYTES:
        raise _TooLongError(size)
    if "<" in text or ">" in text or "&" in text or not text.isascii():
        for character, escaped in _ESCAPED.items():
            text = text.replace(character, escaped)
    if "\\" in text and ("\\b" in text or "\\f" in text):
        # INVARIANT: every backslash begins an escape, so two of them are one; between such pairs none is misread.
        parts = text.split("\\\\")
        text = "\\\\".join([part.replace("\\b", "\\u0008").replace("\\f", "\\u000c") for part in parts])
    return text


def _write(value: object, path: str, levels: int) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _write_string(value, path)
    if isinstance(value, int):
        return to_digits(int.__index__(value))
    if isinstance(value, float):
        if not isfinite(value):
            raise NotJSON(path, f"is {float.__repr__(value)}, which JSON cannot hold")
        return float.__repr__(value)
    if not isinstance(value, dict | list | tuple):
        kind = type(value).__name__
        article = "an" if kind[0] in "aeiouAEIOU" else "a"
        raise NotJSON(path, f"is {article} {kind}, which JSON cannot hold; pass text, numbers, lists or objects")
    if levels == 0:
        raise NotJSON(path, f"is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        return _write_object(value, path, levels)
    items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
    return "[" + ",".join(_write(item, f"{path}[{i}]", levels - 1) for i, item in enumerate(items)) + "]"


def _write_object(value: dict[Any, Any], path: str, levels: int) -> str:
    members: dict[str, str] = {}
    for key, item in dict.items(value):
        if not isinstance(key, str):
            raise NotJSON(path, f"has the key {key!r}, and JSON's keys are strings")
        name = str.__str__(key)
        written = _write_string(name, path)
        if name in members:
            raise NotJSON(path, f"has the key {written} twice")
        members[name] = f"{written}:{_write(item, _within(path, name, written), levels - 1)}"
    return "{" + ",".join(members[name] for name in sorted(members)) + "}"


def _within(path: str, name: str, written: str = "") -> str:
    return f"{path}.{name}" if name.isidentifier() else f"{path}[{written or _write_string(name, path)}]"


def _write_string(value: str, path: str) -> str:
    if len(value) <= _WINDOW:
        return _write_short(value, path)
    value, pieces, size = str.__str__(value), ['"'], 2
    for at in range(0, len(value), _WINDOW):
        pieces.append(_write_short(value[at : at + _WINDOW], path)[1:-1])
        size += len(pieces[-1])
        if size > MAX_BYTES:
            raise _TooLongError(size)
    return "".join((*pieces, '"'))


def _write_short(value: str, path: str) -> str:
    text = _escape(_encoder.encode(str.__str__(value)))
    if not text.isascii():
        _check_characters(text, path)
    return text


def _check_characters(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        raise NotJSON(path, f"holds the lone surrogate {code}, which is no character") from None


# ---------------------------------------------------------------- reading

# Bytes that the fast reader takes: of less there is nothing to gain, and more would hold the interpreter for long.
_FAST_FROM: Final = 1024
_FAST_TO: Final = 1024 * 1024
_CONTAINERS: Final = frozenset({dict, list})
_ESCAPED_COLON: Final = re.compile(rb"\\u003[aA]")
# Every integer beyond 64 bits is read as a real beyond this.
_INTEGERS: Final = 9e18
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEP: Final = tuple(1 if byte in b"[{" else -1 if byte in b"]}" else 0 for byte in range(256))


def parse(text: str | bytes, most: int = MAX_BYTES, bounds: Bounds | None = None) -> Any:
    """The value of a JSON text (bytes: UTF-8), as strict as `canonical` is.

    Raises:
        ValidationError: it is no JSON, repeats a key, is over `most` bytes (10 MiB), 128 levels or `bounds` (None: it
            is no stranger's, and may hold what fits), or holds NaN, an infinity, a number that overflows a double, or
            a lone surrogate.
    """
    try:
        data = text if isinstance(text, bytes) else text.encode()
    except UnicodeEncodeError as error:
        raise ValidationError(f"a lone surrogate at offset {error.start}, which is no character") from None
    if len(data) <= most:
        if bounds is not None:
            bounds.check(data)
        if _FAST_FROM <= len(data) <= _FAST_TO and (read := _read_fast(data)) is not None:
            return read[0]
    try:
        text = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise ValidationError(f"not UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start}") from None
    if len(data) > most:
        raise ValidationError(f"{len(data):,} bytes of JSON, and at most {most:,} are taken")
    return _read(text, data)


def _read(text: str, data: bytes) -> Any:
    """The value of a text that is `data` in UTF-8; raises as `parse`. Whatever else reads, reads what this does."""
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and _depth(data) > MAX_DEPTH:
        raise ValidationError(f"JSON nested more than {MAX_DEPTH} levels deep")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        why = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise ValidationError(f"not JSON: {why} at line {error.lineno}, column {error.colno}") from None
    if _has_surrogate(text):
        try:
            _check_texts(value, "$")
        except NotJSON as error:
            raise ValidationError(str(error)) from None
    return value


class _UnsureError(Exception):
    """A value that the fast reader may have read differently."""


def _read_fast(data: bytes) -> tuple[Any] | None:
    """What `_read` gives, several times as fast; None where it must look, as at every text that it would refuse.

    orjson is as strict but for repeated keys, of which it keeps the last, depth, and numbers beyond 64 bits, of which
    it makes reals.
    """
    try:
        value = orjson.loads(data)
        colons = _colons(value, MAX_DEPTH)
    except (ValueError, _UnsureError):
        return None
    # INVARIANT: each member that was read takes a colon, and so does each that was left out. What else has one stands
    # in a text, and is counted there if no escape stands for it.
    return (value,) if data.count(b":") == colons and not _ESCAPED_COLON.search(data) else None


def _colons(value: Any, levels: int) -> int:
    """How many colons a value takes as JSON: one for each member, and those in its texts. Raises `_UnsureError` where
    it is nested deeper than so many levels, or a real may be written as an integer."""
    kind, count = type(value), 0
    if kind is dict:
        count = len(value) + "".join(value).count(":")
        items = value.values()
    else:
        items = value if kind is list else (value,)
    if levels == 0 and kind in _CONTAINERS:
        raise _UnsureError
    for item in items:
        kind = type(item)
        if kind is str:
            count += item.count(":")
        elif kind in _CONTAINERS:
            count += _colons(item, levels - 1)
        elif kind is float and abs(item) >= _INTEGERS:
            raise _UnsureError
    return count


def _check_texts(value: Any, path: str) -> None:
    # The texts of a value that was read; `NotJSON` where one holds half a pair of surrogates.
    if isinstance(value, str):
        _check_characters(value, path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_texts(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_characters(key, path)
            _check_texts(item, _within(path, key))


def _has_surrogate(text: str) -> bool:
    # A window reaches over the longest match.
    return any(_SURROGATE.search(text, at, at + _WINDOW + 4) for at in range(0, len(text), _WINDOW))


def reread(text: str) -> Any:
    """The value of a text that was written here by `canonical`: what `parse` gives, found faster. Of one that was
    damaged since it may make an infinity or a lone surrogate, which `scan` would tell; else it raises as `parse`."""
    try:
        if len(text) <= _SURE:
            return orjson.loads(text)
        if _FAST_FROM <= len(text) <= _FAST_TO:
            value = orjson.loads(text)
            _colons(value, MAX_DEPTH)
            return value
    except _UnsureError:
        pass
    except ValueError:
        return parse(text)
    try:
        # INVARIANT: integers of thousands of digits are taken apart, or many of them hold the interpreter for long.
        value, end = (_PLAIN_DECODER if len(text) <= LARGE // 4 else _SPLITTING_DECODER).raw_decode(text)
    except ValueError:
        # An integer of very many digits, or a text that was damaged since.
        return parse(text)
    return value if end == len(text) else parse(text)


def scan(text: str) -> None:
    """Checks that a text of `canonical` is undamaged, without creating its value.

    Raises:
        ValidationError: as `parse` does, but for repeated keys and for sizes.
    """
    try:
        # Canonical texts have no spaces around, which only the slower way takes.
        if _SCANNER.raw_decode(text)[1] != len(text):
            _SCANNER.decode(text)
    except json.JSONDecodeError as error:
        raise ValidationError(f"not JSON: {error}") from None
    if _has_surrogate(text):
        parse(text)


def _depth(data: bytes) -> int:
    if len(data) <= _WINDOW:
        brackets = STRING.sub(b"", data).translate(None, _NO_BRACKETS)
    else:
        ends = [0]
        for span in strings_in(data):
            ends += span
        ends.append(len(data))
        between = zip(ends[::2], ends[1::2], strict=True)
        brackets = b"".join([data[start:end].translate(None, _NO_BRACKETS) for start, end in between])
    return max(accumulate(_STEP[byte] for byte in brackets), default=0)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                shown = key[:100].encode(errors="backslashreplace").decode()
                raise ValidationError(f"the key `{shown}` is repeated in one JSON object")
            seen.add(key)
    return members


def _real(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValidationError(f"the number `{text[:40]}` is too large for a double")
    return value


def _integer(text: str) -> int:
    return int(text) if len(text) <= SAFE_DIGITS else from_digits(text)


def _constant(text: str) -> NoReturn:
    raise ValidationError(f"`{text}` is not JSON")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_real, parse_int=_integer, parse_constant=_constant
)

_PLAIN_DECODER: Final = json.JSONDecoder(parse_constant=_constant)
_SPLITTING_DECODER: Final = json.JSONDecoder(parse_int=_integer, parse_constant=_constant)
# Makes no integers, since the user of a text parses it.
_SCANNER: Final = json.JSONDecoder(parse_int=str, parse_float=_real, parse_constant=_constant)
# A text of so many characters holds no integer of more than 64 bits, of which orjson makes a real.
_SURE: Final = 18

# ---------------------------------------------------------------- identity


def args_hash(canonical_text: str) -> str:
    """The hex SHA-256 of a canonical JSON text."""
    return sha256(canonical_text.encode()).hexdigest()


def step_id(scope_id: str, kind: str, target: str, args_hash: str, occurrence: int) -> str:
    """The hex SHA-256 that names a step.

    `scope_id` is the execution's id, or the id of the step in whose body this one is submitted; `occurrence` counts the
    identical submissions before it in that scope, from 0. Each field is hashed as its length in bytes, a colon, and
    its bytes, so that no two lists of fields run together.
    """
    return sha256(step_bytes(scope_id, kind, target, args_hash, occurrence)).hexdigest()


def step_bytes(scope_id: str, kind: str, target: str, args_hash: str, occurrence: int) -> bytes:
    """What `step_id` hashes."""
    number = str(occurrence)
    text = (
        f"{len(scope_id)}:{scope_id}{len(kind)}:{kind}{len(target)}:{target}"
        f"{len(args_hash)}:{args_hash}{len(number)}:{number}"
    )
    if text.isascii():
        # As many bytes as characters.
        return text.encode()
    fields = (field.encode() for field in (scope_id, kind, target, args_hash, number))
    return b"".join([b"%d:%b" % (len(data), data) for data in fields])
