"""The folder of an execution over HTTP: a client names it, its subagents and forks have it, an agent names none."""

from typing import Any

import pytest

from rebuno.errors import ConflictError, ValidationError
from rebuno.sdk.client import Client
from rebuno.types import SpawnedBy
from tests.server.support import TOKEN, Running, agent, fits, play
from tests.server.test_said import with_key

EXECUTION = "/v0/executions"
WRITER = """bundle writer
workdir session
default deny
rule write { allow tool "write" when args.path under "." }
rule ask { allow tool "ask" }
"""
FOLDER = "/work/app"


async def begun(server: Running, **more: Any) -> Any:
    """An execution that a client began."""
    return await server.post(EXECUTION, {"agent_id": "writer", **more}, status=201)


@pytest.mark.parametrize(
    ("workdir", "path", "decision"),
    [(FOLDER, "/work/app/a", "proceed"), (FOLDER, "a", "proceed"), (FOLDER, "/etc/a", "denied"),
     ("/", "a", "denied"), (None, "/work/app/a", "denied"), ("", "/work/app/a", "denied")],
)  # fmt: skip
def test_an_execution_in_its_folder(workdir: str | None, path: str, decision: str) -> None:
    """The answer, `GET` and the first event tell it; a list does not."""

    async def scenario(server: Running) -> None:
        async with agent(server, "writer", WRITER) as one, Client(server.url, TOKEN) as client:
            made = await begun(server, workdir=workdir)
            await one.take()
            assert (await one.submit(made["id"], "write", {"path": path}))["decision"] == decision
            shown = await server.get(f"{EXECUTION}/{made['id']}")
            for execution in (made, shown):
                fits("Execution", execution)
                assert execution.get("workdir") == (workdir or None)
                assert ("workdir" in execution) is bool(workdir)
            assert (await client.get(made["id"])).workdir == (workdir or None)
            [created, *_] = await server.get(f"{EXECUTION}/{made['id']}/events")
            assert created["payload"].get("workdir") == (workdir or None)
            assert "workdir" not in (await server.get(EXECUTION))["executions"][0]

    play(scenario)


def test_the_same_key_is_the_same_folder() -> None:
    """A second time names the same folder or none."""

    async def scenario(server: Running) -> None:
        async with agent(server, "writer", WRITER), Client(server.url, TOKEN) as client:
            first = await client.create("writer", idempotency_key="k", workdir=FOLDER)
            assert first.workdir == FOLDER
            for workdir in (FOLDER, ""):
                assert (await client.create("writer", idempotency_key="k", workdir=workdir)).id == first.id
            with pytest.raises(ConflictError, match="another workdir"):
                await client.create("writer", idempotency_key="k", workdir="/work/other")
            for workdir in ("work", "C:\\work", "/a\nb", "/" + "a" * 5000):
                with pytest.raises(ValidationError, match="workdir"):
                    await client.create("writer", workdir=workdir)

    play(scenario)


def test_subagents_and_forks() -> None:
    """They work where the execution works that they are of, and nobody names another folder for them."""

    async def scenario(server: Running) -> None:
        async with (
            agent(server, "writer", WRITER) as one,
            agent(server, "helper", WRITER.replace("writer", "helper")) as helper,
            Client(server.url, TOKEN) as client,
        ):
            parent = (await begun(server, workdir=FOLDER))["id"]
            await one.take()
            step = await one.submit(parent, "ask", {})
            by = SpawnedBy(execution_id=parent, step_id=step["step_id"])
            with pytest.raises(ValidationError, match="an agent names no `workdir`"):
                await client.create("helper", spawned_by=by, workdir="/work")
            child = await client.create("helper", spawned_by=by, workdir=FOLDER)
            assert child.workdir == FOLDER
            assert await helper.take() == child.id
            assert (await helper.submit(child.id, "write", {"path": "/work/app/a"}))["decision"] == "proceed"
            assert (await helper.submit(child.id, "write", {"path": "/work/b"}))["decision"] == "denied"
            made = await client.fork(parent, at_seq=2)
            assert (await client.get(made.id)).workdir == FOLDER

    play(scenario)


def test_a_key_of_an_agent_names_no_folder() -> None:
    """Or an agent could leave the folder that its rules are about."""

    async def scenario(server: Running) -> None:
        async with agent(server, "writer", WRITER), await with_key(server, "writer") as own:
            body = {"agent_id": "writer", "workdir": FOLDER}
            refused = await own.post(EXECUTION, json=body)
            assert refused.status_code == 400
            assert "names no `workdir`" in refused.text
            assert (await own.post(EXECUTION, json={"agent_id": "writer"})).status_code == 201

    play(scenario)
