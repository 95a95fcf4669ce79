"""Serves agents: `python -m tests.conformance.published.agents NAME=PORT…`, each on a port of its own."""

import asyncio
import sys

import uvicorn

import rebuno
from tests.conformance.published.handlers import HANDLERS


async def serve(name: str, port: int) -> None:
    handler = HANDLERS[name]
    agent = rebuno.Agent(name, description=handler.__doc__)
    agent.bind(handler)
    options = uvicorn.Config(agent.app, host="127.0.0.1", port=port, log_level="warning", access_log=False)
    await uvicorn.Server(options).serve()


async def main() -> None:
    wanted = [word.partition("=") for word in sys.argv[1:]]
    await asyncio.gather(*(serve(name, int(port)) for name, _, port in wanted))


if __name__ == "__main__":
    asyncio.run(main())
