"""A server on an event loop of one's choice; the command itself runs one on uvloop."""

import os
import sys

from rebuno.server.config import Config
from rebuno.server.run import run
from tests.acceptance.faulting.loops import run_on


def main() -> None:
    """Arguments: the loop and the port; the store and the token are in the environment, as for the command."""
    config = Config(
        db=os.environ["REBUNO_DB_URL"], port=int(sys.argv[2]), bearer_token=os.environ["REBUNO_BEARER_TOKEN"]
    )
    run_on(sys.argv[1], run(config, lambda url: None))


if __name__ == "__main__":
    main()
