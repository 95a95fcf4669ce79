"""The answers to operators that are no public model."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from rebuno.server.wire.answers import Out


class CaseOut(BaseModel):
    """A case with what the policy says to it; the case's own fields stand beside these."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    name: str
    decision: Literal["allow", "deny", "require_approval"]
    rule_id: str
    reason: str
    failure: str | None = None


class TestedOut(Out):
    """A policy against cases and recorded steps."""

    __test__ = False

    results: list[CaseOut]
    failed: int
    unexercised_rules: list[str]


class HealthOut(Out):
    """That the server answers."""

    status: Literal["ok"]


class ReadyOut(Out):
    """Whether the server can do its work now."""

    status: Literal["ready", "unavailable"]


class AllowingRuleOut(Out):
    """The narrowest rule that would have allowed a call, the case for the bundle's tests, and the change of the bundle
    at `path`."""

    rule: str
    case: str
    path: str
    diff: str
