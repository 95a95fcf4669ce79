"""The help desk agent behind a server, which sends it executions over HTTP."""

import rebuno
from desk import desk

if __name__ == "__main__":
    rebuno.Agent("desk").run(desk, port=5000)
