"""What the agent of the executions is called and may do, and what each of them must end with. It registers no tool, so
that who watches the agent may have tools of the same names."""

from typing import Any, Final

NAME: Final = "worker"
LEDGER: Final = "REPLICAS_LEDGER"
BUNDLE: Final = """
bundle replicas
default deny because "not a tool of this agent"

rule pay {
  require approval for tool "pay"
}

rule work {
  allow tool "look", "book" or local "note"
}
"""


def output(n: int) -> dict[str, Any]:
    """What an execution must end with."""
    return {"seen": [n, n + 1], "booked": [n, 2 * n], "paid": n - 3, "noted": 4}
