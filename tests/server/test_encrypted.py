"""A server on an encrypted store: what it answers with its key, and without it."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from rebuno.journal.opening import open_store
from rebuno.kernel import Observer
from rebuno.kernel.lifecycle.cancel import cancel
from rebuno.kernel.lifecycle.erase import erase
from rebuno.kernel.served.follow_up import FollowUp
from rebuno.sealing import files
from tests.server.support import agent, running, until


def test_a_server_without_the_key_says_so_and_another_goes_on(tmp_path: Path) -> None:
    """A delivery waits with the name of the key; a fork is a `409`; the replica that has the key delivers."""
    ring, db = files.create(tmp_path / "ring", now=time.time()), str(tmp_path / "store.db")

    async def whole() -> None:
        async with running(db, key_ring=ring, encrypt=True) as server, agent(server) as one:
            begun = await server.post("/v0/executions", {"agent_id": "agent", "input": {"q": "s3cret"}}, status=201)
            id = await one.take()
            await one.submit(id, "look", {"q": "s3cret"})
            await one.said("POST", f"/v0/executions/{id}/fail", {"error": "no"}, status=204)
        async with running(db) as server:
            for path, body in (("retry", {}), ("fork", {"at_seq": 2})):
                refused = await server.http.post(f"/v0/executions/{id}/{path}", json=body)
                assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
                assert refused.json()["details"] == {"seal_key": ring.current}
            assert (await server.get(f"/v0/executions/{id}"))["input"] == {"sealed": ring.current}
            assert (await server.get(f"/v0/executions/{id}/verify"))["valid"]
        async with running(db, key_ring=ring, encrypt=True) as server:
            again = await server.post(f"/v0/executions/{begun['id']}/retry", {}, status=201)
        async with running(db) as server:

            async def says_why() -> bool:
                told = await server.get(f"/v0/executions/{again['id']}")
                return ring.current in (told.get("delivery") or {}).get("error", "")

            await until(says_why)
        async with running(db, key_ring=ring) as server:
            erased = await server.post(f"/v0/executions/{id}/erase", {})
            assert (erased["erased"], erased["copies"]) == ([id], [again["id"]])
            assert (await server.get(f"/v0/executions/{id}"))["input"] == {"erased": True}
            gone = await server.http.post(f"/v0/executions/{id}/retry", json={})
            assert gone.status_code == 409

    asyncio.run(whole())


@pytest.mark.parametrize("ends", [False, True])
def test_a_subagent_that_was_erased_before_its_parent_was_told_holds_nobody_up(tmp_path: Path, ends: bool) -> None:
    """A parent that runs on gets `indeterminate`, one that has ended nothing, and neither is looked at again."""
    ring, db = files.create(tmp_path / "ring", now=time.time()), str(tmp_path / "store.db")

    async def whole() -> None:
        async with running(db, key_ring=ring, encrypt=True) as server, agent(server) as one, agent(server, "child"):
            await server.post("/v0/executions", {"agent_id": "agent"}, status=201)
            parent = await one.take()
            step = (await one.submit(parent, "ask"))["step_id"]
            spawned = {"agent_id": "child", "spawned_by": {"execution_id": parent, "step_id": step}}
            child = (await server.post("/v0/executions", spawned, status=201))["id"]
        store = await open_store(db, key_ring=ring)
        # As where the process ended in the moment.
        gone = [parent, child] if ends else [child]
        for id in gone:
            await cancel(store, id, reason="cancelled")
        await erase(store, gone, by="ana")
        await FollowUp(store, lambda: None, Observer()).sweep()
        assert await store.children_ended() == []
        if not ends:
            settled = await store.step(step)
            assert (settled.status.value, json.loads(settled.error or "")["reason"]) == ("failed", "indeterminate")
        await store.close()

    asyncio.run(whole())
