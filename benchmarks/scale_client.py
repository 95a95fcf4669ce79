"""The load of `scale.py`: executions from their creation to their end, spread over replicas."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from benchmarks.server_client import AGENT, Agent, Bench, Connection

# Steps of an execution, each a submission and the report of its result.
STEPS: Final = 10


@dataclass(slots=True)
class Work:
    """What was done: executions, and how long each step took, in seconds."""

    executions: int = 0
    took: list[float] = field(default_factory=list)
    seconds: float = 0.0


async def work(bench: Bench, urls: list[str], width: int, seconds: float) -> Work:
    """So many executions at once for so long, each on a connection of its own to one of the replicas in turn."""
    done = Work()
    began = time.perf_counter()
    await asyncio.gather(*(_one_after_another(bench, urls[n % len(urls)], began + seconds, done) for n in range(width)))
    done.seconds = time.perf_counter() - began
    return done


async def _one_after_another(bench: Bench, url: str, until: float, done: Work) -> None:
    where = urlsplit(url)
    loop = asyncio.get_running_loop()
    transport, connection = await loop.create_connection(Connection, str(where.hostname), int(where.port or 80))
    operator = f"authorization: Bearer {bench.token}\r\n"
    while time.perf_counter() < until:
        body = b'{"agent_id":"%b","input":null}' % AGENT.encode()
        await connection.ask("POST", "/v0/executions", body, operator)
        # Whichever is delivered: there are as many as there are connections.
        said = await bench.told.get()
        agent = Agent(connection, said["execution_id"], said["dispatch_id"], str(said["dispatch_attempt"]))
        for number in range(STEPS):
            before = time.perf_counter()
            await _step(agent, number)
            done.took.append(time.perf_counter() - before)
        await agent.send("/complete", b'{"output":null}')
        done.executions += 1
    transport.close()


async def _step(agent: Agent, number: int) -> None:
    body = b'{"kind":"tool_call","target":"bench-safe","args":{"n":%d,"path":"/srv/data/in.txt"},' % number
    body += b'"idempotency":"safe_to_retry","resources":[],"submission":%d}' % (number + 1)
    answer = json.loads(await agent.send("/steps", body))
    if answer["decision"] != "proceed":
        raise RuntimeError(f"the submission was answered {answer}")
    await agent.send(f"/steps/{answer['step_id']}/complete", b'{"result":{"read":"a line of text","n":%d}}' % number)
