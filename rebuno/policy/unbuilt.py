"""What the language has and this version does not decide yet; delete a row when its feature is built."""

from typing import Final

from rebuno.policy.diagnostics import Code, Report
from rebuno.policy.syntax import Span

NOT_BUILT: Final = frozenset(
    {
        "after",
        "count",
        "during",
    }
)  # fmt: skip


def refuse_unbuilt(feature: str, span: Span, report: Report) -> None:
    """Reports the use of a feature that is in the table; says nothing about any other."""
    if feature in NOT_BUILT:
        report.error(Code.NOT_BUILT_YET, f"not built yet: `{feature}`", span, "this version of rebuno cannot decide it")
