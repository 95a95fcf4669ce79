"""The narrowest rule that would have allowed a call about which a person was asked, as a change of the bundle to
review. Nothing is changed here."""

from difflib import unified_diff
from typing import Any

from rebuno.errors import BundleError, ConflictError, NotFoundError, ValidationError
from rebuno.journal.records import ApprovalRow, StepRow
from rebuno.journal.store import Store
from rebuno.kernel.core import facts
from rebuno.kernel.core.edited import is_sealed
from rebuno.kernel.core.heavy import read
from rebuno.kernel.core.loading import load
from rebuno.kernel.core.origins import background
from rebuno.model import identity
from rebuno.model.decision import Verdict
from rebuno.policy import ALL_STEP_FACTS, allowing_rule, compile_text, restore_policy, rule_places


async def as_rule(store: Store, question: ApprovalRow) -> dict[str, Any]:
    """`rule` and `case` as texts, and `diff`, the change of the bundle at `path`, as JSON data. The rule stands in
    front of the one that asked, and allows a call with just these arguments.

    Raises:
        ValidationError: no rule can say it: a list or an object among the arguments, a sealed value, a question that
            no rule of a bundle asked.
        ConflictError: even so the call would not be allowed: another layer asks, too.
        NotFoundError: its step is gone.
        BundleError: the texts that asked make no policy here.
        StoreError
    """
    execution = await store.execution(question.execution_id)
    steps, approvals = await load(store, execution.id, ALL_STEP_FACTS)
    step = steps.get(question.step_id)
    if step is None:
        raise NotFoundError(f"there is no step `{question.step_id}`")
    if question.cause != "policy" or question.rule_id.startswith("__"):
        raise ValidationError(f"no rule of a bundle asked `{question.id}`, so none can answer it")
    args = _args(step)
    policy = restore_policy(question.digest, await store.bundle(question.digest) or ())
    found = rule_places(policy, question.bundle, question.rule_id)
    if found is None:
        raise NotFoundError(f"the bundle `{question.bundle}` has no rule `{question.rule_id}`")
    path, text, place = found
    name = f"granted-{question.id.replace('-', '')[-8:]}"
    rule = allowing_rule(name, step.kind.value, step.target, args, f"as `{question.rule_id}` was granted")
    changed = f"{text[:place]}{rule}\n\n{text[place:]}"
    past, known = facts.history(steps.values(), approvals.values()), await background(store, execution)
    looked_at = facts.of_known(
        step, agent=execution.agent_id, input=await read(execution.input), past=past, background=known
    )
    try:
        decided = compile_text(changed).decide(looked_at)
    except BundleError as error:
        raise ConflictError(f"the bundle does not take the rule: {error.diagnostics[0].message}") from None
    others = [one.decide(looked_at) for one in policy.layers if one.name != question.bundle]
    if decided.verdict is not Verdict.ALLOW or any(one.verdict is not Verdict.ALLOW for one in others):
        raise ConflictError("a rule of this bundle alone would not allow the call: others ask about it, too")
    lines = unified_diff(text.splitlines(True), changed.splitlines(True), path, path)
    return {"rule": rule, "case": _case(name, step, args), "path": path, "diff": "".join(lines)}


def _args(step: StepRow) -> dict[str, Any]:
    args = identity.parse(step.call_args)
    if not isinstance(args, dict):
        raise ValidationError("the arguments of this call are no object; write the rule by hand")
    if is_sealed(args):
        raise ValidationError("the call has sealed values, which no rule may name")
    for name, value in args.items():
        if isinstance(value, dict | list):
            raise ValidationError(f"the argument `{name[:100]}` is no single value; write the rule by hand")
    return args


def _case(name: str, step: StepRow, args: dict[str, Any]) -> str:
    kind = {"tool_call": "", "llm_call": "    kind: llm\n", "local": "    kind: local\n"}[step.kind.value]
    return (
        f"  - name: {name}\n{kind}    target: {identity.canonical(step.target)}\n"
        f"    args: {identity.canonical(args)}\n    expect: allow\n    expect_rule: {name}\n"
    )
