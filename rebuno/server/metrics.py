"""Numbers for Prometheus: what this replica did, and what the store holds."""

import asyncio
import time
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from rebuno.errors import StoreError
from rebuno.journal.records import Approval, Counts, Step
from rebuno.kernel.serving import Observer, Serving, Webhook
from rebuno.model.answer import Answer, Say
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Kind, StepStatus

_LATENCIES: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1.0)
# For how long counts are told again, in seconds.
_FRESH: Final = 1.0
# How long the store may take to count, in seconds; who asks waits for ten.
COUNT_SECONDS: Final = 5.0
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

    def answered(self, answer: Answer) -> None:
        """A submission has its answer."""
        self._decisions.labels(answer.say.value, answer.rule_id).inc()
        if answer.say is Say.REPLAY:
            self._replays.inc()

    def judged(self, seconds: float) -> None:
        self._policy.observe(seconds)

    def settled(self, step: Step) -> None:
        if step.kind is Kind.LLM and step.status is StepStatus.SUCCEEDED and step.input_tokens is None:
            self._usage.inc()

    def delivered(self, webhook: Webhook, status: int) -> None:
        self._attempts.labels(str(status or "none")).inc()

    def resolved(self, approval: Approval) -> None:
        if approval.decided_at:
            self._waits.observe(max(0.0, approval.decided_at - approval.created_at))

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
        self._claimed.set(counts.claimed)
