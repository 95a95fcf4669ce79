"""The parser of the language, with the tables that Lark computes of the grammar read from a file.

Computing them takes most of the time in which a command starts. The file `grammar/rbp.tables.jsonl` is made by `make
tables`: a line that says of which grammar and which Lark it is, and a line for each parser. It is data without code, as
trusted as the grammar that it lies beside. Where it is not of this grammar and this Lark, the tables are computed.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import lark
from lark import Lark

from rebuno.packaged import grammar, grammar_tables

# What a text can be read as: a whole file, and after an error its pieces.
WHOLE: Final = ("start",)
PIECES: Final = ("statement", "rule_open", "rule_part", "rule_end")
_SHIFT, _REDUCE = 0, 1  # as Lark numbers its actions


@cache
def parser(starts: tuple[str, ...]) -> Lark:
    """The parser of texts that begin as one of `starts` says."""
    text = grammar()
    if (saved := _saved(text, starts)) is not None:
        return Lark.load(saved)
    return _computed(text, starts)


_ENDLESS: Final = 2**32 - 1


def written() -> str:
    """The file of tables for the grammar as it is."""
    text = grammar()
    lines = [_head(text), *(_packed(_computed(text, starts)) for starts in (WHOLE, PIECES))]
    return "".join(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n" for line in lines)


def _computed(text: str, starts: tuple[str, ...]) -> Lark:
    return Lark(text, parser="lalr", lexer="contextual", start=list(starts), propagate_positions=True)


def _head(text: str) -> dict[str, str]:
    return {"grammar": sha256(text.encode("utf-8")).hexdigest(), "lark": lark.__version__}


def _saved(text: str, starts: Sequence[str]) -> dict[str, Any] | None:
    head, *lines = grammar_tables().splitlines() or ["{}"]
    if json.loads(head) != _head(text):
        return None
    return _unpacked(json.loads(lines[(WHOLE, PIECES).index(tuple(starts))]))


def _packed(built: Lark) -> dict[str, Any]:
    """What Lark saves of a parser, numbered by content: Lark's own numbers differ from run to run. A state is a list of
    token, action, token, action …; an action is the next state, or as a negative number a rule to reduce by."""
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    data, memo = built.memo_serialize([TerminalDef, Rule])
    for entry in memo.values():
        if entry.get("pattern", {}).get("_width"):
            # Without an end the longest match is a number of the Python version.
            entry["pattern"]["_width"] = [min(width, _ENDLESS) for width in entry["pattern"]["_width"]]
    kept = sorted(memo.values(), key=lambda entry: json.dumps(entry, sort_keys=True))
    new = {old: kept.index(entry) for old, entry in memo.items()}
    table = data["parser"].pop("parser")
    names = sorted(table["tokens"].values())
    moves = {
        state: sorted((names.index(table["tokens"][token]), action) for token, action in row.items())
        for state, row in table["states"].items()
    }
    order = list(_reached(moves, [table["start_states"][start] for start in sorted(table["start_states"])]))
    place = {state: number for number, state in enumerate(order)}

    def number(action: tuple[int, Any]) -> int:
        return place[action[1]] if action[0] == _SHIFT else -1 - new[action[1]["@"]]

    states = [[part for token, action in moves[state] for part in (token, number(action))] for state in order]
    ends = {
        name: {start: place[state] for start, state in table[name].items()} for name in ("start_states", "end_states")
    }
    return {"data": _renumbered(data, new), "memo": kept, "tokens": names, "states": states, **ends}


def _reached(moves: dict[int, list[tuple[int, Any]]], starts: list[int]) -> Iterator[int]:
    """The states in the order in which they are come to from `starts`."""
    seen = dict.fromkeys(starts)
    waiting = list(seen)
    for state in waiting:
        yield state
        for _, (kind, target) in moves[state]:
            if kind == _SHIFT and target not in seen:
                seen[target] = None
                waiting.append(target)


def _renumbered(data: Any, new: dict[int, int]) -> Any:
    if isinstance(data, dict):
        return {"@": new[data["@"]]} if "@" in data else {key: _renumbered(value, new) for key, value in data.items()}
    if isinstance(data, list | tuple):
        # The order of terminals and rules has no meaning to Lark; in each list only one of the two is found.
        parts = [_renumbered(part, new) for part in data]
        refs = bool(parts) and isinstance(parts[0], dict) and "@" in parts[0]
        return sorted(parts, key=lambda part: part["@"]) if refs else parts
    return data


def _unpacked(packed: dict[str, Any]) -> dict[str, Any]:
    """What `Lark.load` reads, of what `_packed` made."""
    data = packed["data"]
    data["parser"]["parser"] = {
        "tokens": dict(enumerate(packed["tokens"])),
        "states": {number: dict(_row(row)) for number, row in enumerate(packed["states"])},
        "start_states": packed["start_states"],
        "end_states": packed["end_states"],
    }
    return {"data": data, "memo": dict(enumerate(packed["memo"]))}


def _row(row: list[int]) -> Iterator[tuple[int, tuple[int, Any]]]:
    for token, action in zip(row[::2], row[1::2], strict=True):
        yield token, (_SHIFT, action) if action >= 0 else (_REDUCE, {"@": -1 - action})


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(written(), encoding="utf-8")
