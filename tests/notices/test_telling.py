"""Targets are told of questions at least once, whatever happens to them and to the kernel."""

import asyncio
import json
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import rebuno
from rebuno.policy import compile_text
from rebuno.sealing import files
from tests.embedded.support import in_loop
from tests.notices.asking import POLICY, letter
from tests.notices.receiver import SECRET, Receiver, receiving

ROOT = Path(__file__).parents[2]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Who is told."""
    with receiving() as made:
        yield made


def _file(folder: Path, *targets: dict[str, object]) -> Path:
    path = folder / "notices.yaml"
    path.write_text(yaml.safe_dump({"targets": [*targets]}))
    return path


def _hook(receiver: Receiver, **more: object) -> dict[str, object]:
    return {"name": "ops", "webhook": receiver.url, "secret": SECRET, "pause": 0.01, **more}


async def _until(receiver: Receiver, number: int) -> None:
    await asyncio.to_thread(receiver.wait, lambda it: len(it.taken) >= number)


@pytest.mark.parametrize("where", ["sqlite", "postgres"])
@in_loop
async def test_a_question_and_its_answer_are_told(
    where: str, request: pytest.FixtureRequest, tmp_path: Path, receiver: Receiver
) -> None:
    """Three tries fail, each with the same id; the answer comes after the question, and each is signed."""
    path = tmp_path / "a.db" if where == "sqlite" else request.getfixturevalue("postgres")
    receiver.answer = lambda number: 500 if number <= 3 else 204
    file = _file(tmp_path, _hook(receiver))
    async with rebuno.open(path, policy=compile_text(POLICY), notify=file, public_url="https://r.example/") as kernel:
        ran = await kernel.run(letter, {"to": "<bob>\u202e"}, id="one", agent="clerk")
        await _until(receiver, 1)
        (question,) = ran.approvals
        await kernel.operator.deny(question.id, decided_by="ann", rationale="not today")
        await _until(receiver, 2)
    events = [told["event"] for told in receiver.bodies]
    assert events == [*["question.asked"] * 4, "question.answered"]
    assert len({told["id"] for told in receiver.bodies[:4]}) == 1
    assert len(set(receiver.taken)) == 2
    assert receiver.forged == 0
    asked, answered = receiver.bodies[0], receiver.bodies[-1]
    assert asked["url"] == f"https://r.example/console/questions/{question.id}"
    assert asked["text"] == "clerk asks to call send: May it be sent?"
    assert asked["question"]["args"] == '{"to": "<bob>\\u202e"}'
    assert "status" not in asked["question"]
    assert [answered["question"][name] for name in ("status", "decided_by", "rationale")] == [
        "denied",
        "ann",
        "not today",
    ]


def test_a_killed_kernel_loses_no_notice(tmp_path: Path, receiver: Receiver) -> None:
    """F24: killed at the moment of an answer, it repeats that one at most, with the same id."""
    store, file, kills = tmp_path / "a.db", _file(tmp_path, _hook(receiver)), (2, 4, 6)
    running: list[subprocess.Popen[bytes]] = []

    def answer(number: int) -> int:
        # The answer is written only after the kill: the process cannot have noted it.
        if number in kills:
            running[-1].kill()
            running[-1].wait()
        return 204

    receiver.answer = answer
    program = [sys.executable, "-m", "tests.notices.asking", str(store), str(file), "5"]
    for _ in range(len(kills) + 1):
        running.append(subprocess.Popen(program, cwd=ROOT))
        if len(running) <= len(kills):
            running[-1].wait(timeout=60)
    receiver.wait(lambda it: len(set(it.taken)) >= 5)
    running[-1].kill()
    running[-1].wait()
    times = Counter(told["id"] for told in receiver.bodies)
    assert set(times) == set(receiver.taken)
    assert len(times) == 5
    assert len({told["question"]["execution_id"] for told in receiver.bodies}) == 5
    assert sum(times.values()) - len(times) <= len(kills)
    assert receiver.forged == 0


@in_loop
async def test_questions_from_before_are_told(tmp_path: Path, receiver: Receiver) -> None:
    """Nobody was told of them when they were asked; open ones are told as soon as there is a target."""
    store = tmp_path / "a.db"
    async with rebuno.open(store, policy=compile_text(POLICY)) as kernel:
        await kernel.run(letter, {"to": "bob"}, id="one", agent="clerk")
    async with rebuno.open(store, policy=compile_text(POLICY), notify=_file(tmp_path, _hook(receiver))):
        await _until(receiver, 1)
    async with rebuno.operate(store) as operator:
        (question,) = await operator.approvals(status="pending")
        await operator.grant(question.id, decided_by="ann")
    async with rebuno.open(store, policy=compile_text(POLICY), notify=_file(tmp_path, _hook(receiver))):
        await _until(receiver, 2)
    assert [told["event"] for told in receiver.bodies] == ["question.asked", "question.answered"]


@in_loop
async def test_a_target_that_hangs_holds_up_nobody(tmp_path: Path, receiver: Receiver) -> None:
    """Runs go on, the other target is told, and the kernel closes while the first never answers."""
    # Connections are taken by the system, and nobody ever answers.
    with socket.create_server(("127.0.0.1", 0)) as blocked:
        port = blocked.getsockname()[1]
        hung = {"name": "hung", "webhook": f"http://127.0.0.1:{port}/", "secret": SECRET, "timeout": 60}
        file = _file(tmp_path, hung, _hook(receiver))
        async with rebuno.open(tmp_path / "a.db", policy=compile_text(POLICY), notify=file) as kernel:
            for each in range(3):
                await kernel.run(letter, {"to": "bob"}, id=f"r{each}", agent="clerk")
            await _until(receiver, 3)


@in_loop
async def test_a_command_is_told_on_its_input(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets the JSON, the id, and no secret of the server; one that fails is started again."""
    monkeypatch.setenv("REBUNO_BEARER_TOKEN", "a token of the server")
    script = (
        "import json, os, pathlib, sys, urllib.request\n"
        f"tried = pathlib.Path({str(tmp_path / 'tried')!r})\n"
        "if not tried.exists():\n    tried.write_text('')\n    sys.exit(3)\n"
        "told = json.load(sys.stdin)\n"
        "told['seen'] = [os.environ['REBUNO_NOTICE'], os.environ.get('REBUNO_BEARER_TOKEN')]\n"
        f"urllib.request.urlopen({receiver.url!r}, json.dumps(told).encode())\n"
    )
    file = _file(tmp_path, {"name": "run", "command": [sys.executable, "-c", script], "pause": 0.01, "timeout": 30})
    async with rebuno.open(tmp_path / "a.db", policy=compile_text(POLICY), notify=file) as kernel:
        await kernel.run(letter, {"to": "bob"}, id="one", agent="clerk")
        await _until(receiver, 1)
    (told,) = receiver.bodies
    assert (told["event"], told["seen"]) == ("question.asked", [told["id"], None])


@in_loop
async def test_slack_gets_blocks_in_plain_text(tmp_path: Path, receiver: Receiver) -> None:
    """What an agent writes is no link, no name and no mark there; the button leads to the page."""
    file = _file(tmp_path, {"name": "chat", "slack": receiver.url, "text": "{agent}: {args} {url}"})
    policy = compile_text(POLICY)
    async with rebuno.open(tmp_path / "a.db", policy=policy, notify=file, public_url="https://r.example") as kernel:
        await kernel.run(letter, {"to": "<!channel> & " + "x" * 9_000}, id="one", agent="clerk")
        await _until_bodies(receiver, 1)
    (told,) = receiver.bodies
    assert "&lt;!channel&gt; &amp; " in told["text"]
    assert not {"<", ">"} & set(told["text"])
    header, section, actions = told["blocks"]
    assert [header["text"]["type"], section["text"]["type"]] == ["plain_text", "plain_text"]
    assert len(section["text"]["text"]) <= 3_000
    assert actions["elements"][0]["url"].startswith("https://r.example/console/questions/")


@in_loop
async def test_arguments_can_be_left_out_and_events_chosen(tmp_path: Path, receiver: Receiver) -> None:
    """A target that wants answers only hears of nothing else."""
    file = _file(tmp_path, _hook(receiver, events=["answered"], args=False))
    async with rebuno.open(tmp_path / "a.db", policy=compile_text(POLICY), notify=file) as kernel:
        ran = await kernel.run(letter, {"to": "bob"}, id="one", agent="clerk")
        await kernel.operator.grant(ran.approvals[0].id, decided_by="ann")
        await _until(receiver, 1)
    (told,) = receiver.bodies
    assert (told["event"], told["question"]["status"]) == ("question.answered", "granted")
    assert "bob" not in json.dumps(told)


@in_loop
async def test_notices_of_what_is_encrypted_hold_none_of_it(tmp_path: Path, receiver: Receiver) -> None:
    """No argument, no message, no rationale: who is told looks at the question itself."""
    file = _file(tmp_path, _hook(receiver))
    ring = files.create(tmp_path / "ring", now=0.0)
    policy = compile_text(POLICY)
    async with rebuno.open(tmp_path / "a.db", policy=policy, notify=file, encrypt=True, key_ring=ring) as kernel:
        ran = await kernel.run(letter, {"to": "hunter2"}, id="one", agent="clerk")
        await kernel.operator.grant(ran.approvals[0].id, decided_by="ann", rationale="hunter2 is fine")
        await _until_bodies(receiver, 2)
    assert {told["event"] for told in receiver.bodies} == {"question.asked", "question.answered"}
    assert "hunter2" not in json.dumps(receiver.bodies)


async def _until_bodies(receiver: Receiver, number: int) -> None:
    await asyncio.to_thread(receiver.wait, lambda it: len(it.bodies) >= number)
