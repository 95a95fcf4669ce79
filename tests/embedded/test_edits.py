"""F19: a person corrects a call and lets it go; the record shows what was proposed and what ran."""

from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.policy import compile_text
from tests.cli.support import rebuno as command
from tests.embedded.support import in_loop, journal

POLICY = """bundle house
default deny
rule ceiling {
  deny tool "pay"
  when args.amount > 10_000
  because "the ceiling"
}
rule pay {
  require approval for tool "pay", "order", "count"
  edits args.to, args.amount, args.n
  because "nobody knows the payee"
}
rule notes {
  require approval for local "note"
  edits args.text
  because "it is kept"
}
"""


@rebuno.tool(idempotency="at_most_once")
async def pay(to: str, amount: int) -> str:
    return f"paid {amount} to {to}, {[one.ran_args['amount'] for one in rebuno.execution().edited]}"


@rebuno.tool
def count(*numbers: int, n: int = 1, **more: int) -> list[int]:
    return [*numbers, n, *more.values()]


order = rebuno.wrap_tool("order", lambda args: f"ordered {args['n']}")


async def handler() -> dict[str, Any]:
    said = await pay(to="DE75", amount=100)
    return {"said": said, "edited": [(one.target, one.args, one.ran_args) for one in rebuno.execution().edited]}


async def run(path: Path, made: Any = handler) -> rebuno.Execution:
    async with rebuno.open(path, policy=compile_text(POLICY)) as kernel:
        return await kernel.run(made, id="run", agent="agent")


@in_loop
async def test_a_person_corrects_a_call_and_lets_it_go(tmp_path: Path) -> None:
    """The handler gets the result of what ran, and sees what was changed; a replay gives the same."""
    path = tmp_path / "store.db"
    [asked] = (await run(path)).approvals
    assert asked.edits == ["args.to", "args.amount", "args.n"]
    async with rebuno.operate(path) as operator:
        granted = await operator.grant(asked.id, decided_by="ana", edit={"to": "DE89", "amount": 90})
        assert (granted.status, granted.edited_by, granted.edited_args) == (
            "granted",
            "ana",
            {"to": "DE89", "amount": 90},
        )
    ended = await run(path)
    assert ended.output == {
        "said": "paid 90 to DE89, [90]",
        "edited": [["pay", {"to": "DE75", "amount": 100}, {"to": "DE89", "amount": 90}]],
    }
    steps, _ = await journal(path)
    assert (steps[0].args, steps[0].ran_args) == ({"to": "DE75", "amount": 100}, {"to": "DE89", "amount": 90})
    async with rebuno.operate(path) as operator:
        assert (await operator.verify("run")).fault == ""
        recording = await operator.record("run")
        fork = await operator.fork("run", at_seq=recording.execution.head_seq - 1, key="again")
        assert (await operator.verify(fork.id)).fault == ""
    async with rebuno.open(tmp_path / "other.db", policy=compile_text(POLICY)) as kernel:
        await kernel.operator.restore(recording)
        assert (await kernel.operator.verify("run")).fault == ""
        [copied] = await kernel.operator.steps(recording.execution.id)
        assert copied.ran_args == {"to": "DE89", "amount": 90}
    async with rebuno.open(path, policy=compile_text(POLICY)) as kernel:
        assert (await kernel.run(handler, id="again", agent="agent")).output == ended.output


@pytest.mark.parametrize(
    ("call", "edit", "output"),
    [
        (lambda: count(1, 2, n=3, z=4), {"n": 5}, [1, 2, 5, 4]),
        (lambda: order(n=1), {"n": 2}, "ordered 2"),
        (lambda: rebuno.step("note", lambda text: text.upper(), {"text": "a"}), {"text": "b"}, "B"),
    ],
    ids=["odd parameters", "wrapped", "step"],
)
@in_loop
async def test_every_body_can_run_changed_arguments(
    tmp_path: Path, call: Any, edit: dict[str, Any], output: Any
) -> None:
    """However a tool takes its arguments, and steps too."""

    async def calls() -> Any:
        return await call()

    path = tmp_path / "store.db"
    [asked] = (await run(path, calls)).approvals
    async with rebuno.operate(path) as operator:
        await operator.grant(asked.id, decided_by="ana", edit=edit)
    assert (await run(path, calls)).output == output


@in_loop
async def test_what_does_not_fit_the_body_is_its_failure(tmp_path: Path) -> None:
    """An argument that the function does not take: recorded, and told to the handler."""

    async def calls() -> str:
        try:
            return str(await pay(to="DE75", amount=1))
        except rebuno.ToolError as error:
            return str(error.error["type"])

    path = tmp_path / "store.db"
    [asked] = (await run(path, calls)).approvals
    async with rebuno.operate(path) as operator:
        await operator.grant(asked.id, decided_by="ana", edit={"n": 1})
    for _ in range(2):
        assert (await run(path, calls)).output == "TypeError"


def test_the_command_edits(tmp_path: Path) -> None:
    """It says what may be edited, refuses what a rule refuses, and shows what ran."""
    path = tmp_path / "store.db"
    (tmp_path / "house.rbp").write_text(POLICY)
    made = rebuno.run_sync(handler, path=path, policy=tmp_path / "house.rbp", id="run")
    [asked] = made.approvals
    db = ("--db", str(path))
    assert "args.to, args.amount" in command("approval", "get", asked.id, *db).out
    for edit, code, words in (
        ('{"amount": 20000}', 1, "denied by the rule `ceiling`"),
        ('{"what": 1}', 1, "may not be changed"),
        ('{"amount": 100}', 2, "changes nothing"),
        ("[]", 2, "no JSON object"),
        ("{amount: 1}", 2, ""),
        ('{"amount": 1, "amount": 2}', 2, ""),
    ):
        ran = command("approval", "grant", asked.id, "--edit", edit, "--as", "ana", *db)
        assert (ran.code, words in ran.err) == (code, True), ran
    wide = command("approval", "grant", asked.id, "--edit", '{"amount": 1}', "--scope", "rule", *db)
    assert (wide.code, "leave the scope" in wide.err) == (2, True)
    ran = command("approval", "grant", asked.id, "--edit", '{"amount": 90}', "--as", "ana", *db)
    assert (ran.code, "with the arguments that ana wrote" in ran.out) == (0, True), ran
    ended = rebuno.run_sync(handler, path=path, policy=tmp_path / "house.rbp", id="run")
    assert ended.output["said"].startswith("paid 90 to DE75")
    shown = command("approval", "get", asked.id, *db).out
    assert "edited    " in shown
    assert "by ana" in shown.partition("edited    ")[2].partition("rule")[0]
    assert '"ran_args"' in command("exec", "trace", "run", "--json", *db).out
    told = " ".join(command("exec", "trace", "run", *db).out.split())
    assert 'ran with {"amount": 90, "to": "DE75"}, as an approver wrote' in told, told
