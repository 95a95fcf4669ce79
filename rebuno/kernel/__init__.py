"""The kernel: every submission goes through the compiled policy first and only then through the replay journal.

Other packages import these names and no module of this one. A name is loaded when it is first used. `core/README.md`
shows the way of a submission.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rebuno.kernel.core.attempt import Attempt
    from rebuno.kernel.core.background import Background
    from rebuno.kernel.core.grants import GrantScope
    from rebuno.kernel.core.heavy import beside
    from rebuno.kernel.core.inheritance import session_of
    from rebuno.kernel.core.names import check_name, check_person
    from rebuno.kernel.core.origins import in_rows as background_in_rows
    from rebuno.kernel.core.quorum import GRANT_LASTS, Panel
    from rebuno.kernel.core.rate_limited import CountedLimit, RateLimitedStep
    from rebuno.kernel.core.replay import recorded as recorded_result
    from rebuno.kernel.core.sealed import check_ring
    from rebuno.kernel.core.submit import start as start_step
    from rebuno.kernel.history.archive import LONGEST_LINE, Recording
    from rebuno.kernel.history.archive import lines as recording_lines
    from rebuno.kernel.history.archive import opened as opened_recording
    from rebuno.kernel.history.archive import read as read_recording
    from rebuno.kernel.history.divergence import Divergence
    from rebuno.kernel.history.event_payloads import payload as event_payload
    from rebuno.kernel.history.recorded_facts import of_rows as facts_of_rows
    from rebuno.kernel.history.replay_check import ReplayCheck, Replayed, SeenStep
    from rebuno.kernel.history.replay_check import completed as ended_with_output
    from rebuno.kernel.history.replay_check import failed as ended_with_failure
    from rebuno.kernel.history.resource_views import ResourceView
    from rebuno.kernel.history.rule_stats import RuleStats
    from rebuno.kernel.history.timeline import ApprovalView, AttemptView, StepOutcome, StepView, Timeline, TurnView
    from rebuno.kernel.history.timeline import compose as compose_timeline
    from rebuno.kernel.history.timeline import tell as read_timeline
    from rebuno.kernel.history.verify import Verified
    from rebuno.kernel.history.verify import check as verify_execution
    from rebuno.kernel.kernel import Kernel
    from rebuno.kernel.lifecycle.begin_options import BeginOptions, begin_options
    from rebuno.kernel.lifecycle.cancel import DEADLINE_EXCEEDED
    from rebuno.kernel.lifecycle.cancel import cancel as cancel_execution
    from rebuno.kernel.lifecycle.changed_files import ChangedFiles
    from rebuno.kernel.lifecycle.execution import finish as finish_execution
    from rebuno.kernel.lifecycle.execution import may_be_own
    from rebuno.kernel.lifecycle.execution import suspend as suspend_execution
    from rebuno.kernel.lifecycle.standing import StandingTerms, standing_terms
    from rebuno.kernel.lifecycle.sweep import keep_sweeping
    from rebuno.kernel.operator import SHORTEST_PREFIX, Operator
    from rebuno.kernel.served.create import CreateRequest
    from rebuno.kernel.served.dispatcher import Send, Settings
    from rebuno.kernel.served.kernel import Serving
    from rebuno.kernel.served.observer import Observer, Webhook
    from rebuno.kernel.served.replica import Dispatched
    from rebuno.kernel.served.report import ReportAnswer, ReportOutcome
    from rebuno.kernel.sessions.session import HostSession, Judged, open_session
    from rebuno.kernel.views import agent as agent_view
    from rebuno.kernel.views import approval as approval_view
    from rebuno.kernel.views import event as event_view
    from rebuno.kernel.views import execution as execution_view
    from rebuno.kernel.views import key as key_view
    from rebuno.kernel.views import new_key as new_key_view
    from rebuno.kernel.views import pot as pot_view
    from rebuno.kernel.views import raised as raised_view
    from rebuno.kernel.views import standing as standing_view
    from rebuno.kernel.views import step as step_view
    from rebuno.kernel.views import stop as stop_view

# The module of each name, and what it is called there.
_HOMES: Final = {
    "DEADLINE_EXCEEDED": ("lifecycle.cancel", "DEADLINE_EXCEEDED"),
    "GRANT_LASTS": ("core.quorum", "GRANT_LASTS"),
    "LONGEST_LINE": ("history.archive", "LONGEST_LINE"),
    "SHORTEST_PREFIX": ("operator", "SHORTEST_PREFIX"),
    "ApprovalView": ("history.timeline", "ApprovalView"),
    "Attempt": ("core.attempt", "Attempt"),
    "AttemptView": ("history.timeline", "AttemptView"),
    "ChangedFiles": ("lifecycle.changed_files", "ChangedFiles"),
    "CountedLimit": ("core.rate_limited", "CountedLimit"),
    "CreateRequest": ("served.create", "CreateRequest"),
    "Dispatched": ("served.replica", "Dispatched"),
    "Divergence": ("history.divergence", "Divergence"),
    "GrantScope": ("core.grants", "GrantScope"),
    "HostSession": ("sessions.session", "HostSession"),
    "Judged": ("sessions.session", "Judged"),
    "Kernel": ("kernel", "Kernel"),
    "Observer": ("served.observer", "Observer"),
    "Operator": ("operator", "Operator"),
    "Panel": ("core.quorum", "Panel"),
    "RateLimitedStep": ("core.rate_limited", "RateLimitedStep"),
    "Recording": ("history.archive", "Recording"),
    "ReplayCheck": ("history.replay_check", "ReplayCheck"),
    "Replayed": ("history.replay_check", "Replayed"),
    "ReportAnswer": ("served.report", "ReportAnswer"),
    "ReportOutcome": ("served.report", "ReportOutcome"),
    "ResourceView": ("history.resource_views", "ResourceView"),
    "RuleStats": ("history.rule_stats", "RuleStats"),
    "SeenStep": ("history.replay_check", "SeenStep"),
    "Send": ("served.dispatcher", "Send"),
    "Serving": ("served.kernel", "Serving"),
    "Settings": ("served.dispatcher", "Settings"),
    "StepOutcome": ("history.timeline", "StepOutcome"),
    "StepView": ("history.timeline", "StepView"),
    "Timeline": ("history.timeline", "Timeline"),
    "TurnView": ("history.timeline", "TurnView"),
    "Verified": ("history.verify", "Verified"),
    "Webhook": ("served.observer", "Webhook"),
    "agent_view": ("views", "agent"),
    "approval_view": ("views", "approval"),
    "begin_options": ("lifecycle.begin_options", "begin_options"),
    "beside": ("core.heavy", "beside"),
    "cancel_execution": ("lifecycle.cancel", "cancel"),
    "check_name": ("core.names", "check_name"),
    "check_person": ("core.names", "check_person"),
    "check_ring": ("core.sealed", "check_ring"),
    "compose_timeline": ("history.timeline", "compose"),
    "ended_with_failure": ("history.replay_check", "failed"),
    "ended_with_output": ("history.replay_check", "completed"),
    "event_payload": ("history.event_payloads", "payload"),
    "event_view": ("views", "event"),
    "execution_view": ("views", "execution"),
    "facts_of_rows": ("history.recorded_facts", "of_rows"),
    "finish_execution": ("lifecycle.execution", "finish"),
    "keep_sweeping": ("lifecycle.sweep", "keep_sweeping"),
    "key_view": ("views", "key"),
    "may_be_own": ("lifecycle.execution", "may_be_own"),
    "new_key_view": ("views", "new_key"),
    "opened_recording": ("history.archive", "opened"),
    "open_session": ("sessions.session", "open_session"),
    "pot_view": ("views", "pot"),
    "background_in_rows": ("core.origins", "in_rows"),
    "Background": ("core.background", "Background"),
    "BeginOptions": ("lifecycle.begin_options", "BeginOptions"),
    "raised_view": ("views", "raised"),
    "read_recording": ("history.archive", "read"),
    "read_timeline": ("history.timeline", "tell"),
    "recorded_result": ("core.replay", "recorded"),
    "recording_lines": ("history.archive", "lines"),
    "session_of": ("core.inheritance", "session_of"),
    "start_step": ("core.submit", "start"),
    "step_view": ("views", "step"),
    "StandingTerms": ("lifecycle.standing", "StandingTerms"),
    "standing_terms": ("lifecycle.standing", "standing_terms"),
    "standing_view": ("views", "standing"),
    "stop_view": ("views", "stop"),
    "suspend_execution": ("lifecycle.execution", "suspend"),
    "verify_execution": ("history.verify", "check"),
}

__all__ = [
    "DEADLINE_EXCEEDED",
    "GRANT_LASTS",
    "LONGEST_LINE",
    "SHORTEST_PREFIX",
    "ApprovalView",
    "Attempt",
    "AttemptView",
    "Background",
    "BeginOptions",
    "ChangedFiles",
    "CountedLimit",
    "CreateRequest",
    "Dispatched",
    "Divergence",
    "GrantScope",
    "HostSession",
    "Judged",
    "Kernel",
    "Observer",
    "Operator",
    "Panel",
    "RateLimitedStep",
    "Recording",
    "ReplayCheck",
    "Replayed",
    "ReportAnswer",
    "ReportOutcome",
    "ResourceView",
    "RuleStats",
    "SeenStep",
    "Send",
    "Serving",
    "Settings",
    "StandingTerms",
    "StepOutcome",
    "StepView",
    "Timeline",
    "TurnView",
    "Verified",
    "Webhook",
    "agent_view",
    "approval_view",
    "background_in_rows",
    "begin_options",
    "beside",
    "cancel_execution",
    "check_name",
    "check_person",
    "check_ring",
    "compose_timeline",
    "ended_with_failure",
    "ended_with_output",
    "event_payload",
    "event_view",
    "execution_view",
    "facts_of_rows",
    "finish_execution",
    "keep_sweeping",
    "key_view",
    "may_be_own",
    "new_key_view",
    "open_session",
    "opened_recording",
    "pot_view",
    "raised_view",
    "read_recording",
    "read_timeline",
    "recorded_result",
    "recording_lines",
    "session_of",
    "standing_terms",
    "standing_view",
    "start_step",
    "step_view",
    "stop_view",
    "suspend_execution",
    "verify_execution",
]


def __getattr__(name: str) -> Any:
    try:
        module, attribute = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module `rebuno.kernel` has no attribute `{name}`") from None
    value = globals()[name] = getattr(import_module(f"rebuno.kernel.{module}"), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
