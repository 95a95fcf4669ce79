"""The verdict tables of the contract's sections on history: joins, who let a step in, and `since`."""

from typing import Any, Final

from rebuno.policy.matcher.facts import Evidence, Facts, History
from tests.policy.naive.tables import (
    FAILED,
    HOUR,
    MAYBE,
    NO,
    NOW,
    RAN,
    RUNNING,
    TOOL,
    YES,
    VerdictTable,
    call,
    step,
)

# ---------------------------------------------------------------- joins

BOOKING = step("get_booking", {"id": "B1"}, {"origin": "A", "destination": "B"})


def _search(destination: str, status: Any = RAN) -> Any:
    return step("search_flights", {"origin": "A", "destination": destination}, {"flights": [{"number": "F7"}]}, status)


def _rebook(*steps: Any) -> Any:
    return call("change_flights", {"id": "B1", "flight": "F7"}, *steps)


JOINS: Final = VerdictTable(
    "joins",
    ["join"],
    """
rule rebook {
  allow tool "change_flights"
  when after tool "get_booking" where (args.id == this.args.id
       and after tool "search_flights" where (args.origin == outer.result.origin
                                              and args.destination == outer.result.destination
                                              and this.args.flight in result.flights[].number))
  because "the same route"
}
""",
    [
        ("the same route", _rebook(BOOKING, _search("B")), "rebook", YES, "rebook"),
        ("the search first", _rebook(_search("B"), BOOKING), "rebook", YES, "rebook"),
        ("another route", _rebook(BOOKING, _search("C")), "rebook", NO, "default"),
        ("still searching", _rebook(BOOKING, _search("B", RUNNING)), "rebook", MAYBE, "default"),
        (
            "still reading",
            _rebook(step("get_booking", {"id": "B1"}, None, RUNNING), _search("B")),
            "rebook",
            MAYBE,
            "default",
        ),
        ("no search", _rebook(BOOKING), "rebook", NO, "default"),
        (
            "another flight",
            call("change_flights", {"id": "B1", "flight": "F8"}, BOOKING, _search("B")),
            "rebook",
            NO,
            "default",
        ),
    ],
)

# ---------------------------------------------------------------- rule or person


def _found(let_in: str) -> Any:
    return step("search", {"query": "q"}, [{"id": "I1"}], let_in=let_in)


def _basket(status: Any = RAN, **more: Any) -> Any:
    return step("show_basket", {}, None, status, **{"let_in": "approved", **more})


def _buy(*steps: Any, **more: Any) -> Any:
    return call("buy", {"id": "I1"}, *steps, **more)


WHO: Final = VerdictTable(
    "rule or person",
    ["who", "who in known", "within"],
    """
known asked = input
known found = result of allowed tool "search" at [].id

rule search {
  allow tool "search"
  when args.query in asked
}

rule buy {
  allow tool "buy"
  when args.id in found and after approved tool "show_basket" within 1h
}

rule ask {
  require approval for tool "search", "buy", "show_basket"
}
""",
    [
        ("a rule let it in", _buy(_found("allowed"), _basket()), "buy", YES, "buy"),
        ("a person let the search in", _buy(_found("approved"), _basket()), "buy", NO, "ask"),
        ("nobody saw the basket", _buy(_found("allowed"), _basket(let_in="allowed")), "buy", NO, "ask"),
        ("the basket is being shown", _buy(_found("allowed"), _basket(RUNNING)), "buy", MAYBE, "ask"),
        ("just an hour ago", _buy(_found("allowed"), _basket(at=NOW - HOUR)), "buy", YES, "buy"),
        ("more than an hour ago", _buy(_found("allowed"), _basket(at=NOW - HOUR - 1)), "buy", NO, "ask"),
        ("at an unknown time", _buy(_found("allowed"), _basket(at=None)), "buy", MAYBE, "ask"),
        ("later than now", _buy(_found("allowed"), _basket(at=NOW + 1)), "buy", MAYBE, "ask"),
        ("without a clock", _buy(_found("allowed"), _basket(), now=None), "buy", MAYBE, "ask"),
        ("nobody let the basket in", _buy(_found("allowed"), _basket(let_in="")), "buy", MAYBE, "ask"),
    ],
)


def _known_from(let_in: str | None) -> Any:
    return call("t", {"v": "I1"}, step("search", {}, [{"id": "I1"}], let_in=let_in))


def _sources(who: str, *answers: Any) -> VerdictTable:
    ways = ("allowed", "approved", "granted", "", None)
    return VerdictTable(
        f"result of {who or 'any'} step",
        ["who in known"],
        f'known k = result of {who} tool "search" at [].id\nrule r {{ allow tool "t" when args.v in k }}',
        [
            (f"let in: {way}", _known_from(way), "r", answer, "r" if answer else "default")
            for way, answer in zip(ways, answers, strict=True)
        ],
    )


# What ran though nothing let it in is evidence, but not of a rule or of a person.
RESULTS_OF: Final = [
    _sources("", YES, YES, YES, YES, YES),
    _sources("allowed", YES, NO, NO, MAYBE, MAYBE),
    _sources("approved", NO, YES, NO, MAYBE, MAYBE),
]

# ---------------------------------------------------------------- since


def _read(path: str) -> Any:
    return step("read_file", {"path": path}, "text")


def _again(*steps: Any) -> Any:
    return call("read_file", {"path": "a"}, *steps)


AGAIN: Final = VerdictTable(
    "since",
    ["since"],
    """
default allow
rule again {
  deny tool "read_file"
  when count(tool "read_file" where (args == this.args)
             since tool "*" where (target != "read_file" or args != this.args)) >= 2
  because "the third time in a row"
}
""",
    [
        ("twice before", _again(_read("a"), _read("a")), "again", YES, "again"),
        ("once before", _again(_read("a")), "again", NO, "default"),
        (
            "another tool between",
            _again(_read("a"), step("write_file", {"path": "a"}), _read("a")),
            "again",
            NO,
            "default",
        ),
        ("another file between", _again(_read("a"), _read("b"), _read("a")), "again", NO, "default"),
        ("twice since", _again(_read("b"), _read("a"), _read("a")), "again", YES, "again"),
        (
            "a failure between",
            _again(_read("a"), step("write_file", {}, None, FAILED), _read("a")),
            "again",
            MAYBE,
            "again",
        ),
    ],
)


def _send(*steps: Any, **given: Any) -> Any:
    return call("send", given, *steps)


_SHOWN, _SENT = step("show", {}), step("send", {"to": "bob"})
LEFT_OUT: Final = VerdictTable(
    # No allow rule matches because an argument was left out.
    "since, asked of what is left out",
    ["since"],
    'rule r { allow tool "send" when after tool "show" since tool "send" where (args.to == this.args.to) }',
    [
        ("shown since", _send(_SENT, _SHOWN, to="bob"), "r", YES, "r"),
        ("sent to another", _send(_SHOWN, _SENT, to="ann"), "r", YES, "r"),
        ("sent since", _send(_SHOWN, _SENT, to="bob"), "r", NO, "default"),
        ("left out", _send(_SHOWN, _SENT), "r", MAYBE, "default"),
    ],
)


def _piece(seq: int, target: str, name: str, status: Any, submitted: int) -> Evidence:
    return Evidence(seq, TOOL, target, {}, status=status, step=name, submitted=submitted, let_in="allowed")


def _orders(*pieces: tuple[int, str, str, Any, int]) -> Facts:
    return Facts(TOOL, "t", {}, history=History([_piece(*piece) for piece in pieces]))


OVERLAPS: Final = VerdictTable(
    "steps beside each other",
    ["since"],
    'rule r { allow tool "t" when after tool "a" since tool "s" }',
    [
        ("no such step", _orders((1, "a", "a", RUNNING, 1), (2, "a", "a", RAN, 1)), "r", YES, "r"),
        (
            "submitted after the outcome",
            _orders((1, "s", "s", RUNNING, 1), (2, "s", "s", RAN, 1), (3, "a", "a", RUNNING, 3), (4, "a", "a", RAN, 3)),
            "r",
            YES,
            "r",
        ),
        (
            "over before it started",
            _orders((1, "a", "a", RUNNING, 1), (2, "a", "a", RAN, 1), (3, "s", "s", RUNNING, 3), (4, "s", "s", RAN, 3)),
            "r",
            NO,
            "default",
        ),
        (
            "one ran while the other did",
            _orders((1, "s", "s", RUNNING, 1), (2, "a", "a", RUNNING, 2), (3, "s", "s", RAN, 1), (4, "a", "a", RAN, 2)),
            "r",
            MAYBE,
            "default",
        ),
        (
            "one waited while the other ran",
            _orders((2, "s", "s", RUNNING, 2), (3, "s", "s", RAN, 2), (4, "a", "a", RUNNING, 1), (5, "a", "a", RAN, 1)),
            "r",
            MAYBE,
            "default",
        ),
        (
            "it is still running",
            _orders((1, "s", "s", RUNNING, 1), (2, "a", "a", RUNNING, 2), (3, "a", "a", RAN, 2)),
            "r",
            MAYBE,
            "default",
        ),
        (
            "a failure may be none",
            _orders(
                (1, "a", "a", RUNNING, 1), (2, "a", "a", RAN, 1), (3, "s", "s", RUNNING, 3), (4, "s", "s", FAILED, 3)
            ),
            "r",
            MAYBE,
            "default",
        ),
    ],
)

TABLES: Final = [JOINS, WHO, *RESULTS_OF, AGAIN, LEFT_OUT, OVERLAPS]
