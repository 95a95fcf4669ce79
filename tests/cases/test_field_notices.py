"""F24 of `field.yaml`: who is asked hears of it, and answers from there."""

import asyncio
from pathlib import Path

import yaml

from rebuno.notices import read_notices, telling
from tests.notices.receiver import SECRET, receiving
from tests.server.support import Running, agent, play

BUNDLE = """\
bundle b
default deny
rule pay {
  require approval for tool "pay"
  expires 2h
  message "May it be paid?"
  because "money"
}
"""


def test_who_is_told_answers_with_a_key(tmp_path: Path) -> None:
    """A signed notice has all that a bridge needs to answer for a person, and the answer counts."""

    async def scenario(server: Running) -> None:
        with receiving() as receiver:
            file = tmp_path / "n.yaml"
            target = {"name": "bridge", "webhook": receiver.url, "secret": SECRET}
            file.write_text(yaml.safe_dump({"targets": [target]}))
            scopes = ["approvals:write", "approvals:speak"]
            key = await server.post("/v0/api-keys", {"name": "bridge", "scopes": scopes}, status=201)
            async with (
                telling(server.server.store, read_notices(file, server.url)),
                agent(server, bundle=BUNDLE) as one,
            ):
                begun = await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
                await one.take()
                asked = await one.submit(begun["id"], "pay")
                await asyncio.to_thread(receiver.wait, lambda it: len(it.taken) == 1)
                (told,) = receiver.bodies
                assert (told["event"], told["question"]["id"]) == ("question.asked", asked["approval_id"])
                assert told["url"] == f"{server.url}/console/questions/{asked['approval_id']}"
                path = f"/v0/approvals/{told['question']['id']}/grant"
                headers = {"Authorization": f"Bearer {key['token']}"}
                answer = await server.plain.post(path, headers=headers, json={"decided_by": "maria"})
                assert answer.status_code == 204
                await asyncio.to_thread(receiver.wait, lambda it: len(it.taken) == 2)
            question = receiver.bodies[-1]["question"]
            assert (question["status"], question["decided_by"]) == ("granted", "maria")
            assert receiver.forged == 0

    play(scenario)
