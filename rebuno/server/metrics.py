"""Numbers for Prometheus: what this replica did, and what the store holds. The published kernel's names stand beside
ours, so that its dashboards find their series."""

import asyncio
import time
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rebuno.errors import StoreError
from rebuno.journal.records import ApprovalRow, ExecutionRow, StepRow
from rebuno.journal.served_records import Counts
from rebuno.kernel import Observer, Serving, Webhook
from rebuno.model.answer import Answer, AnswerKind
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Kind, StepStatus

_LATENCIES: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1.0)
# For how long counts are told again, in seconds.
_FRESH: Final = 1.0
# How long the store may take to count, in seconds; who asks waits for ten.
COUNT_SECONDS: Final = 5.0
_REQUESTS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# Where in a scope the route that served a request is kept.
ROUTE: Final = "rebuno.route"
_LIMITED: Final = {"rate_limit_exceeded": "limited", "rate_limiter_unavailable": "error_denied"}
_WAITS: Final = (1, 5, 15, 60, 300, 900, 3600, 14400, 86400)


class Metrics(Observer):
    """One replica's numbers; `scrape` writes them out."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._counted_until = 0.0
        self._up = Gauge("rebuno_store_up", "Whether the store answers.", registry=registry)
        self._executions = Gauge("rebuno_executions", "Executions by status.", ["status"], registry=registry)
        self._queue = Gauge("rebuno_dispatch_queue_depth", "Dispatches that wait for delivery.", registry=registry)
        self._claimed = Gauge("rebuno_dispatches_delivered", "Dispatches that an agent has.", registry=registry)
        self._decisions = Counter(
            "rebuno_decisions_total", "Answers to submissions by rule.", ["decision", "rule_id"], registry=registry
        )
        self._replays = Counter("rebuno_replay_hits_total", "Submissions answered from the record.", registry=registry)
        self._policy = Histogram(
            "rebuno_policy_latency_seconds",
            "Time to identify, decide and settle a submission, without the store's.",
            buckets=_LATENCIES,
            registry=registry,
        )
        self._attempts = Counter(
            "rebuno_dispatch_attempts_total", "Webhooks by what they were answered.", ["status"], registry=registry
        )
        self._waits = Histogram(
            "rebuno_approval_wait_seconds", "From a question to its answer.", buckets=_WAITS, registry=registry
        )
        self._usage = Counter(
            "rebuno_missing_usage_total", "Recorded model calls that do not say what they used.", registry=registry
        )

        self._publish(registry)

    def _publish(self, registry: CollectorRegistry) -> None:
        """The published kernel's series. Those with a closed set of labels begin at 0, so that a rate over them is
        known from the first scrape on."""
        ProcessCollector(registry=registry)
        self._depth = Gauge("rebuno_queue_depth", "Dispatches that wait for delivery.", registry=registry)
        self._created = Counter("rebuno_executions_created_total", "Executions that were created.", registry=registry)
        self._reclaimed = Counter(
            "rebuno_dispatches_reclaimed_total", "Deliveries taken over from a lease that ran out.", registry=registry
        )
        self._no_usage = Counter(
            "rebuno_llm_usage_missing_total", "Recorded model calls that do not say what they used.", registry=registry
        )
        self._completed = _counter(
            registry,
            "rebuno_executions_completed_total",
            "Executions by how they ended.",
            "status",
            ("completed", "failed", "cancelled"),
        )
        self._submitted = _counter(
            registry, "rebuno_steps_submitted_total", "Submissions by kind.", "kind", ("tool_call", "llm_call", "local")
        )
        self._replay = _counter(
            registry, "rebuno_replay_total", "Submissions by whether the record answered.", "hit", ("true", "false")
        )
        self._outcomes = _counter(
            registry,
            "rebuno_dispatch_outcomes_total",
            "Deliveries by what became of them.",
            "outcome",
            ("success", "rejected", "exhausted"),
        )
        self._answers = _counter(
            registry,
            "rebuno_approval_outcomes_total",
            "Questions by how they ended.",
            "outcome",
            ("granted", "denied", "expired"),
        )
        self._limits = _counter(
            registry,
            "rebuno_rate_limit_decisions_total",
            "Submissions that a limit refused or parked.",
            "outcome",
            ("limited", "error_denied"),
        )
        self._post = Histogram(
            "rebuno_dispatch_latency_seconds", "Time of a webhook.", buckets=_REQUESTS, registry=registry
        )
        self._http = Counter(
            "rebuno_http_requests_total", "Requests.", ["method", "route", "status"], registry=registry
        )
        self._http_time = Histogram(
            "rebuno_http_request_duration_seconds",
            "Time of a request.",
            ["method", "route"],
            buckets=_REQUESTS,
            registry=registry,
        )

    def answered(self, kind: str, answer: Answer) -> None:
        """Counts the answer to a submission of this kind."""
        self._decisions.labels(answer.kind.value, answer.rule_id).inc()
        self._submitted[kind].inc()
        hit = answer.kind is AnswerKind.REPLAY
        self._replay["true" if hit else "false"].inc()
        if hit:
            self._replays.inc()
        if answer.kind in (AnswerKind.RATE_LIMITED, AnswerKind.PARKED) and answer.reason in _LIMITED:
            self._limits[_LIMITED[answer.reason]].inc()

    def requested(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts an answered request; `route` is its template, empty without a route."""
        self._http.labels(method, route, str(status)).inc()
        self._http_time.labels(method, route).observe(seconds)

    def created(self, execution: ExecutionRow) -> None:
        self._created.inc()

    def ended(self, execution: ExecutionRow) -> None:
        self._completed[execution.status.value].inc()

    def overdue(self, count: int) -> None:
        self._completed["cancelled"].inc(count)

    def judged(self, seconds: float) -> None:
        self._policy.observe(seconds)

    def settled(self, step: StepRow, execution: ExecutionRow) -> None:
        if step.kind is Kind.LLM and step.status is StepStatus.SUCCEEDED and step.input_tokens is None:
            self._usage.inc()
            self._no_usage.inc()

    def delivered(self, webhook: Webhook, status: int, seconds: float) -> None:
        self._attempts.labels(str(status or "none")).inc()
        self._outcomes["success" if status == 200 else "rejected"].inc()
        self._post.observe(seconds)

    def exhausted(self) -> None:
        self._outcomes["exhausted"].inc()

    def reclaimed(self) -> None:
        self._reclaimed.inc()

    def resolved(self, approval: ApprovalRow) -> None:
        if approval.decided_at:
            self._waits.observe(max(0.0, approval.decided_at - approval.created_at))
        if approval.status in self._answers:
            self._answers[approval.status].inc()

    def expired(self, count: int) -> None:
        self._answers["expired"].inc(count)

    async def scrape(self, serving: Serving) -> bytes:
        """All of it in Prometheus' text format. What the store holds is as it was a second ago at most: anybody may
        ask, and a store of many executions is long in counting them. While the store is away it is as it was last."""
        if time.monotonic() >= self._counted_until:
            try:
                async with asyncio.timeout(COUNT_SECONDS):
                    self._hold(await serving.counts())
                self._up.set(1)
            except (StoreError, TimeoutError):
                self._up.set(0)
            self._counted_until = time.monotonic() + _FRESH
        return generate_latest(self._registry)

    def _hold(self, counts: Counts) -> None:
        found = dict(counts.executions)
        for status in ExecutionStatus:
            self._executions.labels(status.value).set(found.get(status.value, 0))
        self._queue.set(counts.queued)
        self._depth.set(counts.queued)
        self._claimed.set(counts.claimed)


class CountedApp:
    """An application that counts and times each request. A stream is timed to its end."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # What ends without an answer is an error of the server.
        status = 500
        began = time.perf_counter()

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            # A caller may send any method; only those that a route serves become a series.
            route = scope.get(ROUTE, "")
            method = scope["method"] if route else ""
            self._metrics.requested(method, route, status, time.perf_counter() - began)


def _counter(
    registry: CollectorRegistry, name: str, help: str, label: str, values: tuple[str, ...]
) -> dict[str, Counter]:
    made = Counter(name, help, [label], registry=registry)
    return {value: made.labels(value) for value in values}
