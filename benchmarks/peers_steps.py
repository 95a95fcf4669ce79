"""Other durable runtimes on the workloads of `steps.py`; `pip install --group peers` brings them.

Run as a program it is one of them for as long as its standard input is open, as `steps_worker.py` says. Each is used as
its documentation says, in the fastest of the forms tried, with its own defaults of durability.
"""

import argparse
import asyncio
import logging
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib import import_module
from typing import Any, Final
from uuid import uuid4

from benchmarks.steps_worker import ARGS, Runtime, serve


@asynccontextmanager
async def dbos(url: str) -> AsyncIterator[Runtime]:
    """Async workflows of async steps. The outcome of a step is committed after its body, and nothing of its intent."""
    library = import_module("dbos")
    engine_events = import_module("sqlalchemy.event")
    library.DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR", "run_admin_server": False})
    gates: dict[str, tuple[asyncio.Event, asyncio.Event]] = {}
    commits, ended = 0, 0.0

    async def body(n: int, args: dict[str, str]) -> int:
        return n

    work = library.DBOS.step()(body)

    async def handler(steps: int, gate: str) -> int:
        nonlocal ended
        for n in range(steps):
            await work(n, ARGS)
        ended = time.perf_counter()
        if gate in gates:
            reached, go_on = gates.pop(gate)
            reached.set()
            await go_on.wait()
            await work(steps, ARGS)
        return steps

    flow = library.DBOS.workflow()(handler)
    library.DBOS.launch()
    engine = library._dbos._get_dbos_instance()._sys_db.engine

    def committed(connection: Any) -> None:
        nonlocal commits
        commits += 1

    engine_events.listen(engine, "commit", committed)

    async def steps(executions: int, each: int, workload: str = "") -> dict[str, float]:
        before, began = commits, time.perf_counter()
        handles = [await library.DBOS.start_workflow_async(flow, each, "") for _ in range(executions)]
        await asyncio.gather(*(handle.get_result() for handle in handles))
        return {"seconds": time.perf_counter() - began, "commits": commits - before}

    async def replay(each: int, times: int) -> dict[str, float]:
        id, (reached, go_on) = str(uuid4()), (asyncio.Event(), asyncio.Event())
        gates[id] = reached, go_on
        with library.SetWorkflowID(id):
            handle = await library.DBOS.start_workflow_async(flow, each, id)
        await reached.wait()
        await library.DBOS.cancel_workflow_async(id)
        go_on.set()
        with suppress(Exception):
            await handle.get_result()
        began = time.perf_counter()
        await (await library.DBOS.resume_workflow_async(id)).get_result()
        # Not to the result: that is asked for once a second.
        return {"seconds": ended - began}

    try:
        yield Runtime(steps, replay)
    finally:
        library.DBOS.destroy()


@asynccontextmanager
async def langgraph(path: str) -> AsyncIterator[Runtime]:
    """A graph of one node that leads back to itself, checkpointed to SQLite synchronously."""
    graphs = import_module("langgraph.graph")
    saver = import_module("langgraph.checkpoint.sqlite.aio").AsyncSqliteSaver

    async def node(state: dict[str, int]) -> dict[str, int]:
        return {"n": state["n"] + 1}

    builder = graphs.StateGraph(_State)
    builder.add_node("work", node)
    builder.add_edge(graphs.START, "work")
    builder.add_conditional_edges("work", lambda state: "work" if state["n"] < state["steps"] else graphs.END)
    async with saver.from_conn_string(path) as checkpointer:
        graph = builder.compile(checkpointer=checkpointer)

        async def one(each: int) -> None:
            config = {"configurable": {"thread_id": str(uuid4())}, "recursion_limit": each + 10}
            await graph.ainvoke({"n": 0, "steps": each, **ARGS}, config, durability="sync")

        async def steps(executions: int, each: int, workload: str = "") -> dict[str, float]:
            began = time.perf_counter()
            await asyncio.gather(*(one(each) for _ in range(executions)))
            return {"seconds": time.perf_counter() - began}

        yield Runtime(steps)


@asynccontextmanager
async def absurd(dsn: str) -> AsyncIterator[Runtime]:
    """Tasks of async steps, a worker with a connection of its own for each that runs at a time. A step's outcome is
    committed after its body, and nothing of its intent."""
    library = import_module("absurd_sdk")
    psycopg = import_module("psycopg")
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(import_module("absurdctl").BUNDLED_SCHEMA_SQL)
    ended = 0.0

    async def work(params: dict[str, int], ctx: Any) -> int:
        nonlocal ended
        for n in range(params["steps"]):

            async def body(n: int = n) -> dict[str, Any]:
                return {"n": n, **ARGS}

            await ctx.step("work", body)
        ended = time.perf_counter()
        if params.get("interrupted"):
            raise InterruptedError("this run ends here")
        return params["steps"]

    async with AsyncExitStack() as stack:
        workers: list[Any] = []

        async def ready(number: int) -> None:
            while len(workers) < number:
                worker = library.AsyncAbsurd(dsn, queue_name="bench")
                stack.push_async_callback(worker.close)
                worker.register_task("work")(work)
                await worker.create_queue("bench")
                workers.append(worker)

        async def steps(executions: int, each: int, workload: str = "") -> dict[str, float]:
            await ready(executions)
            began = time.perf_counter()
            for _ in range(executions):
                await workers[0].spawn("work", {"steps": each})
            await asyncio.gather(*(worker.work_batch() for worker in workers[:executions]))
            return {"seconds": time.perf_counter() - began}

        async def replay(each: int, times: int) -> dict[str, float]:
            await ready(1)
            again = {"kind": "fixed", "base_seconds": 0}
            await workers[0].spawn(
                "work", {"steps": each, "interrupted": 1}, retry_strategy=again, max_attempts=times + 1
            )
            await workers[0].work_batch()
            seconds = []
            for _ in range(times):
                began = time.perf_counter()
                await workers[0].work_batch()
                seconds.append(ended - began)
            return {"seconds": statistics.median(seconds)}

        yield Runtime(steps, replay)


class _State(dict[str, Any]):
    """The state of the graph; LangGraph reads its annotations."""

    n: int
    steps: int
    path: str
    note: str


RUNTIMES: Final = {"dbos": dbos, "langgraph": langgraph, "absurd": absurd}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("runtime", choices=RUNTIMES)
    parser.add_argument("target", help="a path or a database URL")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    asyncio.run(serve(RUNTIMES[options.runtime](options.target)))


if __name__ == "__main__":
    main()
