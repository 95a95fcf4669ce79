"""What a limit measures of a submission: the amount that it takes, and the value that its pot is for."""

import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from hashlib import sha256
from typing import Any, Final

from rebuno.model.bigint import to_digits
from rebuno.model.dataclass import dataclass
from rebuno.model.obligation import Limit, PathSign, ValuePath
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.paths import spread
from rebuno.policy.values.json_values import MISSING, absent, is_number
from rebuno.policy.values.readings import plain_text

# An amount of more digits is over every limit.
MAX_DIGITS: Final = 40
# An integer of more bits has more digits.
_MOST_BITS: Final = 133
# A sum of elements needs a few digits more than each of them.
_EXACT: Final = Context(prec=200, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:e[+-]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Measured:
    """What a step would take from a pot: a decimal number of at most 40 digits, empty where there is none, which is
    over every limit; and the digest of the value that the pot is for, empty for a pot that is for none."""

    amount: str
    key: str = ""


def measured(limit: Limit, facts: Facts) -> Measured:
    """What the limit measures of a submission."""
    amount = _sum(limit.measure, facts) if limit.measure else "1"
    return Measured(amount, _key(limit.key, facts) if limit.key is not None else "")


def _sum(paths: tuple[ValuePath, ...], facts: Facts) -> str:
    total: Decimal | None = None
    for path in paths:
        values = _values(path, facts)
        if values is None:
            continue
        total = total or Decimal(0)
        for value in values:
            amount = decimal_of(value)
            if amount is None or amount < 0:
                return ""
            total = _EXACT.add(total, amount)
    return "" if total is None else decimal_text(total) or ""


def decimal_of(value: Any) -> Decimal | None:
    """A JSON number as an exact decimal; None for what is no number, or has more than 40 digits."""
    if not is_number(value) or (type(value) is int and value.bit_length() > _MOST_BITS):
        return None
    number = Decimal(value) if type(value) is int else Decimal(repr(value))
    return number if decimal_text(number) is not None else None


def decimal_text(number: Decimal) -> str | None:
    """A decimal without exponent and without zeros at its end; None where it has more than 40 digits."""
    if not number:
        return "0"
    if number.adjusted() >= MAX_DIGITS or number.adjusted() < -MAX_DIGITS:
        return None
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text if sum(sign.isdigit() for sign in text) <= MAX_DIGITS else None


def _key(path: ValuePath, facts: Facts) -> str:
    values = _values(path, facts)
    text = scalar_text(values[0]) if values else None
    # All that has no such text shares one pot.
    return sha256(f"={text}".encode("utf-8", "surrogatepass") if text else b"").hexdigest()


def scalar_text(value: Any) -> str | None:
    """A text that is the same for all scalars that may mean the same; empty or None where the value is none of them.

    Numbers are compared by value, texts without differences of compatibility forms, of case, of white space and of what
    cannot be seen; a number equals the text that writes it.
    """
    if type(value) is bool:
        return "true" if value else "false"
    if is_number(value):
        text = to_digits(value) if type(value) is int else repr(value)
    elif type(value) is str:
        text = plain_text(value) or ""
    else:
        return None
    return _exactly(Decimal(text)) if _NUMBER.fullmatch(text) else text


def _exactly(number: Decimal) -> str:
    if not number:
        return "0"
    sign, digits, exponent = number.as_tuple()
    written = "".join(map(str, digits)).lstrip("0")
    kept = written.rstrip("0")
    return f"{'-' if sign else ''}{kept}e{int(exponent) + len(written) - len(kept)}"


def _values(path: ValuePath, facts: Facts) -> list[Any] | None:
    """The values at the end of a path; None where it is not given: absent up to its first sign for several values."""
    found: list[Any] = [getattr(facts, path.root)]
    several = False
    for part in path.parts:
        if isinstance(part, PathSign):
            if not several and absent(found[0]):
                return None
            several = True
            found = [element for value in found for element in _elements(value, part)]
        else:
            found = [_at(value, part) for value in found]
    return None if not several and absent(found[0]) else found


def _at(value: Any, part: str | int) -> Any:
    if isinstance(part, str):
        return value.get(part, MISSING) if type(value) is dict else MISSING
    return value[part] if type(value) is list and part < len(value) else MISSING


def _elements(value: Any, sign: PathSign) -> list[Any]:
    if sign is PathSign.VALUES:
        return list(value.values()) or [MISSING] if type(value) is dict else [MISSING]
    return spread(value)
