"""What the kernel promises about one execution, as plainly as it can be said: no store, and one thing at a time."""

import json
from dataclasses import replace

from tests.kernel.model_rows import ENDS, Call, Expected, Question, Step, identity
from tests.kernel.model_rules import ANYBODY, BUDGET, GRANT_LASTS, PLACES, TARGETS, WAIT, WINDOW, Rule, Rules, because

NO_RETRY = "prior attempt outcome unknown; retry refused"
NO_WAIT = "a step inside the body of an at_most_once step cannot wait for "
OVERSPENT = "execution_token_budget_exceeded"


class Model:
    """One execution, maybe a fork of another one."""

    def __init__(self, execution_id: str, rules: Rules, *, pinned: bool, forked: bool = False) -> None:
        self.id = execution_id
        self.start = rules
        self.pinned = pinned
        self.forked = forked
        self.rules = rules
        self.now = 0.0
        self.status = "running"
        self.attempt = 1
        self.steps: dict[str, Step] = {}
        self.questions: list[Question] = []
        self.places: dict[str, float] = {}
        # Since when steps have waited for a place.
        self.parked: dict[str, float] = {}
        self._enter()

    def _enter(self) -> None:
        self.blocked = False
        self.bodies: list[str] = []
        self.counts: dict[tuple[str, str, int], int] = {}
        self.unvisited = list(self.steps)

    @property
    def ended(self) -> bool:
        """Whether the execution has ended."""
        return self.status in ("completed", "failed", "cancelled")

    def pending(self) -> list[Question]:
        """The questions that are open."""
        return [question for question in self.questions if question.status == "pending"]

    # ------------------------------------------------------------ attempts

    def begin(self, rules: Rules) -> bool:
        """The next attempt under these rules; whether a handler may run."""
        self.rules = self.start if self.pinned else rules
        if self.ended:
            return False
        self.expire()
        for question in self.pending():
            denies = self._today(question.step)[0] == "deny"
            if question.cause == "policy" and denies:
                question.status = "withdrawn"
                self._deny(question.step, because(self.rules.about(question.step.target), question.step.target))
            elif question.cause == "revoked" and not denies:
                question.status = "withdrawn"
        if self.pending():
            self.status = "blocked"
            return False
        self.status = "running"
        self.attempt += 1
        self._enter()
        return True

    def expire(self) -> None:
        """Nobody has answered in time."""
        for question in self.pending():
            if question.overdue(self.now):
                question.status = "expired"
                self._deny(question.step, "approval_timeout")
        self._wake()

    def _wake(self) -> None:
        if self.status == "blocked" and not self.pending():
            self.status = "running"

    def suspend(self) -> None:
        """A blocked attempt ends."""
        self.status = "blocked" if self.pending() else "running"

    def end(self, status: str) -> None:
        """The execution ends."""
        self.status = status
        for question in self.pending():
            question.status = "withdrawn"
        for step in self.steps.values():
            if step.status == "executing":
                step.status = "cancelled"
            elif step.status not in ENDS:
                self._deny(step, f"execution_{status}")

    def missed(self) -> list[Step]:
        """The recorded steps that the handler could have come to again and has not."""
        steps = [self.steps[step_id] for step_id in self.unvisited]
        return [step for step in steps if not step.parent or step.parent in self.bodies]

    def fork(self, new_id: str, settled: list[str], answered: set[str]) -> "Model":
        """A new execution that stands where this one did when these steps had settled and these questions had an
        answer. Nobody has run it."""
        fork = Model(new_id, self.start, pinned=False, forked=True)
        fork.now, fork.attempt = self.now, 0
        ids = {"": new_id}
        for step in self.steps.values():
            # Of a fork that has not come to the body around a step, the step's id cannot be told.
            if step.parent in ids:
                args = Call(step.target, step.n, step.once).args
                ids[step.id] = identity(ids[step.parent], TARGETS[step.target][0], step.target, args, step.occurrence)
        # What the end did to steps is not the fork's.
        copied = [self.steps[step_id] for step_id in settled if step_id in ids and not self.steps[step_id].closed]
        copies = {step.id: replace(step, id=ids[step.id]) for step in copied}
        for step in copies.values():
            step.parent = ids[step.parent] if step.parent else ""
            fork.steps[step.id] = step
        # Its copies take the places that they took, since they took them.
        fork.places = {ids[step_id]: at for step_id, at in self.places.items() if step_id in copies}
        for question in self.questions:
            if question.id in answered and question.step.id in copies:
                copy = replace(question, id=None, scope="once", step=copies[question.step.id])
                fork.questions.append(copy)
                if copy.cause == "policy":
                    copy.step.question = copy
        return fork

    # ------------------------------------------------------------ people

    def vote(self, question: Question, *, granted: bool, by: str, scope: str) -> str:
        """One person's answer: `ok`, or how it is refused."""
        if self.ended or question.status != "pending":
            return "conflict"
        if question.overdue(self.now):
            self.expire()
            return "conflict"
        if question.terms.approvers and by not in question.terms.approvers:
            return "forbidden"
        if by in question.granters:
            return "conflict"
        if scope != "once" and (question.cause != "policy" or question.rule_id == "__diverged"):
            return "invalid"
        question.decided_at = self.now
        if not granted:
            question.status = "denied"
            if question.cause == "revoked":
                self.end("failed")
            else:
                self._deny(question.step, "approval_denied")
        else:
            widths = ["once", "execution", "rule"]
            question.scope = min(question.scope, scope, key=widths.index) if question.granters else scope
            question.granters.append(by)
            if len(question.granters) >= question.terms.quorum:
                question.status = "granted"
                if question.cause == "policy":
                    question.step.status = "allowed"
        self._wake()
        return "ok"

    # ------------------------------------------------------------ submissions

    def submit(self, call: Call) -> Expected:
        """The answer to a submission, and what becomes of the journal."""
        scope = call.parent or self.id
        occurrence = self.counts.get((scope, call.target, call.n), 0)
        step_id = identity(scope, TARGETS[call.target][0], call.target, call.args, occurrence)
        known = self.steps.get(step_id)
        expected = self._known(known, call.once) if known is not None else self._fresh(step_id, occurrence, call)
        if expected.step is not None:
            self.counts[scope, call.target, call.n] = occurrence + 1
            if step_id in self.unvisited:
                self.unvisited.remove(step_id)
        if expected.kind == "blocked":
            self.blocked = True
        if expected.kind == "proceed":
            self.bodies.append(step_id)
        return expected

    def _today(self, step: Step) -> tuple[str, str, Rule]:
        rule = self.rules.about(step.target)
        terms = rule if rule.verdict == "ask" else ANYBODY
        if step.digest == self.rules.text:
            return step.verdict, step.rule_id, terms
        return rule.verdict, f"r{step.target}", terms

    def _known(self, step: Step, once: bool) -> Expected:
        once = once or step.once
        if step.status == "denied":
            return Expected("denied", step, reason=step.reason)
        verdict, rule_id, terms = self._today(step)
        reason = because(self.rules.about(step.target), step.target)
        if step.status in ("succeeded", "failed"):
            return self._settled(step, verdict, rule_id, reason)
        if step.status == "executing" and (verdict == "deny" or once):
            step.status, step.once = "failed", once
            said = {"reason": "policy_revoked", "message": reason} if verdict == "deny" else {"reason": "indeterminate"}
            step.error = json.dumps(said)
            step.reason = reason
            return Expected("denied" if verdict == "deny" else "replay", step, reason=reason)
        step.once = once
        if verdict == "deny":
            return self._deny(step, reason)
        if step.started and once:
            return self._deny(step, NO_RETRY)
        if verdict == "ask" and not self._held(step, rule_id, terms):
            return self._ask(step, "policy", rule_id, terms)
        return self._start(step)

    def _settled(self, step: Step, verdict: str, rule_id: str, reason: str) -> Expected:
        if step.why == "policy_revoked":
            return Expected("denied", step, reason=step.reason)
        asked = [q for q in self.questions if q.step is step and q.cause == "revoked" and q.digest == self.rules.text]
        if verdict != "deny" or any(question.status == "granted" for question in asked):
            return Expected("replay", step)
        return self._ask(step, "revoked", rule_id, ANYBODY)

    def _fresh(self, step_id: str, occurrence: int, call: Call) -> Expected:
        rule = self.rules.about(call.target)
        own = f"r{call.target}"
        verdict, rule_id, reason = rule.verdict, own, because(rule, call.target)
        askers = {own} if verdict == "ask" else set[str]()
        if verdict != "deny" and call.once and self._unknown(call):
            verdict, reason = "deny", NO_RETRY
        elif verdict != "deny" and call.once and (kernels := self._kernels(call)):
            askers.add(kernels)
            verdict, rule_id = "ask", own if verdict == "ask" else kernels
        if rule.budget and verdict != "deny" and self.tokens >= BUDGET:
            verdict, reason = rule.budget if rule.budget == "deny" else "ask", OVERSPENT
            askers.add(own)
        full = rule.limited and verdict != "deny" and self._full(step_id)
        # Where a person is asked by another rule, a full window counts for nothing; where the kernel asks, it does.
        kept_out = full and (verdict != "ask" or rule_id.startswith("__"))
        due = self._due(step_id) if kept_out and rule.waits else None
        terms = rule if rule.verdict == "ask" else ANYBODY
        covered = verdict == "ask" and askers == {rule_id} and self._covered(call.target, rule_id, terms)
        asks = verdict == "ask" and not covered and not kept_out
        if (asks or due is not None) and self._inside_once(call.parent):
            verdict, reason = "deny", NO_WAIT + ("a person" if asks else "its turn")
            asks = kept_out = False
        if self.blocked and not asks and call.parent not in self.bodies:
            return Expected("execution_blocked")
        if kept_out and due is None:
            self.parked.pop(step_id, None)
            return Expected("rate_limited", reason="rate_limit_exceeded")
        if kept_out:
            self.parked.setdefault(step_id, self.now)
            return Expected("parked", reason="rate_limit_exceeded", due=due)
        if rule.limited and verdict != "deny" and not full:
            self.places.setdefault(step_id, self.now)
        step = Step(
            step_id,
            call.target,
            call.n,
            occurrence,
            call.once,
            call.parent,
            self.rules.text,
            verdict,
            rule_id,
            status="proposed",
        )
        self.steps[step_id] = step
        if verdict == "deny":
            return self._deny(step, reason)
        if asks:
            return self._ask(step, "policy", rule_id, terms)
        step.held = call.target == "x" and not call.once
        return self._start(step)

    def _start(self, step: Step) -> Expected:
        step.status, step.started, step.attempt = "executing", True, self.attempt
        return Expected("proceed", step)

    def _deny(self, step: Step, reason: str) -> Expected:
        step.status, step.reason = "denied", reason
        return Expected("denied", step, reason=reason)

    def _ask(self, step: Step, cause: str, rule_id: str, terms: Rule) -> Expected:
        question = Question(step, cause, rule_id, self.rules.text, terms, self.now)
        self.questions.append(question)
        if cause == "policy":
            step.status, step.question = "awaiting_approval", question
        return Expected("blocked", step, question=question)

    def _held(self, step: Step, rule_id: str, terms: Rule) -> bool:
        lasts = terms.expires if terms.expires is not None else GRANT_LASTS
        own = step.question
        return (own is not None and own.good(terms, lasts, self.now)) or self._covered(step.target, rule_id, terms)

    def _covered(self, target: str, rule_id: str, terms: Rule) -> bool:
        return any(
            question.good(terms, terms.expires, self.now)
            for question in self.questions
            if question.cause == "policy" and question.scope != "once"
            if (question.rule_id, question.digest) == (rule_id, self.rules.text)
            if question.scope == "rule" or question.step.target == target
        )

    def _unknown(self, call: Call) -> bool:
        return any(
            step.status == "cancelled"
            or (step.status == "executing" and step.attempt < self.attempt)
            or step.why in ("indeterminate", "policy_revoked", "cancelled")
            for step in self.steps.values()
            if step.once and (step.target, step.n) == (call.target, call.n)
        )

    def _kernels(self, call: Call) -> str:
        """The rule by which the kernel itself asks a person, if it does."""
        return "__diverged" if self._instead(call) else "__fork_effect" if self.forked else ""

    @property
    def tokens(self) -> int:
        """What model calls have used."""
        return sum(step.tokens for step in self.steps.values())

    def _instead(self, call: Call) -> bool:
        missed = [self.steps[step_id] for step_id in self.unvisited]
        return any(
            step.once and step.status != "denied" and (step.parent, step.target) == (call.parent, call.target)
            for step in missed
        )

    def _full(self, step_id: str) -> bool:
        self.places = {key: at for key, at in self.places.items() if self.now - at < WINDOW}
        return step_id not in self.places and len(self.places) >= PLACES

    def _due(self, step_id: str) -> float | None:
        """When a place comes free for a step that may wait; None where that is too late."""
        due = sorted(self.places.values())[-PLACES] + WINDOW
        until = self.now + WAIT - max(self.now - self.parked.get(step_id, self.now), 0.0)
        return None if due > until or self.now >= until else due

    def _inside_once(self, parent: str) -> bool:
        while parent:
            # No later attempt comes to what is inside a step that has ended.
            if self.steps[parent].once or self.steps[parent].status in ENDS:
                return True
            parent = self.steps[parent].parent
        return False
