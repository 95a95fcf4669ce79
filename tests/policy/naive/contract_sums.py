"""The verdict tables of the contract's sections on sums, failures, turns and definitions."""

from typing import Any, Final

from tests.policy.naive.tables import (
    CANCELLED,
    FAILED,
    HOUR,
    MAYBE,
    NO,
    NOW,
    RAN,
    RUNNING,
    YES,
    VerdictTable,
    call,
    step,
)

# ---------------------------------------------------------------- how a step ended, and sums

ERROR: Final = {"type": "NotFound", "message": "nobody"}
CUT: Final = {"reason": "indeterminate", "message": "cut off"}
AUTHENTICATE: Final = VerdictTable(
    "error",
    ["error"],
    """
rule authenticate {
  allow tool "find_user"
  when count(tool "find_user" where (error missing)) < 1
  because "one user; a look-up that found nobody may be tried again"
}
""",
    [
        ("the first", call("find_user"), "authenticate", YES, "authenticate"),
        ("found before", call("find_user", {}, step("find_user", {}, "u1")), "authenticate", NO, "default"),
        (
            "failed",
            call("find_user", {}, step("find_user", {}, None, FAILED, error=ERROR)),
            "authenticate",
            YES,
            "authenticate",
        ),
        (
            "cut off",
            call("find_user", {}, step("find_user", {}, None, FAILED, error=CUT)),
            "authenticate",
            MAYBE,
            "default",
        ),
        ("cancelled", call("find_user", {}, step("find_user", {}, None, CANCELLED)), "authenticate", MAYBE, "default"),
        ("running", call("find_user", {}, step("find_user", {}, None, RUNNING)), "authenticate", MAYBE, "default"),
        (
            "failed for a reason",
            call("find_user", {}, step("find_user", {}, None, FAILED)),
            "authenticate",
            MAYBE,
            "default",
        ),
    ],
)


def _pay(amount: Any, status: Any = RAN, **more: Any) -> Any:
    return step("pay", {"amount": amount}, None, status, **more)


def _failed(**more: Any) -> Any:
    return step("refund", {"charge": 1, "amount": 50}, None, FAILED, error=ERROR, **more)


def _refund(charge: int, amount: Any, *steps: Any, **more: Any) -> Any:
    return call("refund", {"charge": charge, "amount": amount}, *steps, **more)


REFUND: Final = VerdictTable(
    "sum",
    ["sum", "within", "error"],
    """
rule refund {
  allow tool "refund"
  when count(tool "refund" where (args.charge == this.args.charge
                                  and (error missing or error.nothing_done != true))) < 1
   and sum(tool "refund", "pay" at args.amount within 24h) + args.amount <= 500
}
""",
    [
        ("the first", _refund(1, 50), "refund", YES, "refund"),
        ("nothing was done", _refund(1, 50, _failed(nothing_done=True)), "refund", YES, "refund"),
        ("something may be done", _refund(1, 50, _failed(nothing_done=False)), "refund", MAYBE, "default"),
        ("nobody knows", _refund(1, 50, _failed()), "refund", MAYBE, "default"),
        ("done before", _refund(1, 50, step("refund", {"charge": 1, "amount": 50})), "refund", NO, "default"),
        ("360 to 510", _refund(2, 60, _pay(300), _pay(150, RUNNING)), "refund", MAYBE, "default"),
        ("350 to 500", _refund(2, 50, _pay(300), _pay(150, RUNNING)), "refund", YES, "refund"),
        ("too much for sure", _refund(2, 60, _pay(300), _pay(150)), "refund", NO, "default"),
        ("a day and more ago", _refund(2, 60, _pay(300), _pay(450, at=NOW - 25 * HOUR)), "refund", YES, "refund"),
        ("no number", _refund(2, 60, _pay("300")), "refund", MAYBE, "default"),
        ("a negative number", _refund(2, 60, _pay(-300)), "refund", MAYBE, "default"),
        ("without an amount", _refund(2, 60, step("pay", {})), "refund", MAYBE, "default"),
        ("an amount that is a text", _refund(2, "60"), "refund", MAYBE, "default"),
        ("left out", call("refund", {"charge": 2}), "refund", MAYBE, "default"),
    ],
)
DECIMALS: Final = VerdictTable(
    "sums are exact",
    ["sum"],
    'rule r { allow tool "t" when sum(tool "pay" at args.amount) == 0.3 }',
    [
        ("a tenth and two", call("t", {}, _pay(0.1), _pay(0.2)), "r", YES, "r"),
        ("equal amounts", call("t", {}, _pay(0.15), _pay(0.15)), "r", YES, "r"),
        ("nothing", call("t"), "r", NO, "default"),
    ],
)

# ---------------------------------------------------------------- turns, and the tool itself

TURNS: Final = VerdictTable(
    "turns",
    ["turns"],
    """
known asked = input.request or turns
rule stop { deny tool "pay" when any turns[] contains "cancel" }
rule pay { allow tool "pay" when args.to in asked }
""",
    [
        ("of the request", call("pay", {"to": "DE75"}, input={"request": "Pay DE75"}), "pay", YES, "pay"),
        (
            "of a turn",
            call("pay", {"to": "FR20"}, input={"request": "Pay DE75"}, turns=["no, FR20"]),
            "pay",
            YES,
            "pay",
        ),
        ("named to be left out", call("pay", {"to": "DE75"}, turns=["do not pay DE75"]), "pay", YES, "pay"),
        ("called off", call("pay", {"to": "DE75"}, turns=["pay DE75", "cancel that"]), "stop", YES, "stop"),
        ("none yet", call("pay", {"to": "DE75"}), "stop", NO, "default"),
    ],
)
REVIEWED: Final = {"server": "bank", "name": "pay", "digest": "d1"}
DEFINITION: Final = VerdictTable(
    "definition",
    ["definition"],
    """
default allow
let reviewed = ["d1", "d2"]
known payees = result of tool "*.list_payees" at [].account where (definition.server == "bank")
rule changed {
  deny tool "bank.*", "mail.*"
  when definition.digest not in reviewed
  because "nobody has looked at this tool as it is now"
}
rule known { allow tool "pay" when args.to in payees }
""",
    [
        ("reviewed", call("bank.pay", definition=REVIEWED), "changed", NO, "default"),
        ("changed", call("bank.pay", definition={**REVIEWED, "digest": "d3"}), "changed", YES, "changed"),
        ("no definition", call("bank.pay"), "changed", MAYBE, "changed"),
        ("no digest", call("bank.pay", definition={"server": "bank", "name": "pay"}), "changed", MAYBE, "changed"),
        (
            "a payee of the bank",
            call("pay", {"to": "DE75"}, step("x.list_payees", {}, [{"account": "DE75"}], definition=REVIEWED)),
            "known",
            YES,
            "known",
        ),
        (
            "of another server",
            call(
                "pay", {"to": "DE75"}, step("x.list_payees", {}, [{"account": "DE75"}], definition={"server": "other"})
            ),
            "known",
            NO,
            "default",
        ),
    ],
)
NOT_THERE: Final = VerdictTable(
    "absent, and no null",
    ["parent", "turns", "definition"],
    """
rule parent { allow tool "a" when not (parent is string) }
rule turns { allow tool "b" when not (turns is list) }
rule definition { allow tool "c" when not (definition is object) }
rule before { allow tool "d" when after tool "a" where (definition is not object) }
rule null { allow tool "e" when parent is null or turns is null or definition is null }
""",
    [
        ("no parent", call("a"), "parent", MAYBE, "default"),
        ("a parent", call("a", parent="boss"), "parent", NO, "default"),
        ("no turns", call("b"), "turns", MAYBE, "default"),
        ("turns", call("b", turns=["go on"]), "turns", NO, "default"),
        ("no definition", call("c"), "definition", MAYBE, "default"),
        ("a definition", call("c", definition=REVIEWED), "definition", NO, "default"),
        ("none of an earlier step", call("d", {}, step("a")), "before", MAYBE, "default"),
        ("one of an earlier step", call("d", {}, step("a", definition=REVIEWED)), "before", NO, "default"),
        ("none of them", call("e"), "null", NO, "default"),
    ],
)

TABLES: Final = [AUTHENTICATE, REFUND, DECIMALS, TURNS, DEFINITION, NOT_THERE]
