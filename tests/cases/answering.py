"""People in a process of their own, for the tests: `python answering.py STORE`.

It reads lines of JSON, `{"approval", "answers": {NAME: granted}}`, opens the store once for each person in a thread of
its own, says `ready`, waits for a line, lets all of them answer at once, and prints what each was told.
"""

import asyncio
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import rebuno


def main(store: str) -> None:
    """Answers questions until there are no more."""
    for line in sys.stdin:
        asked = json.loads(line)
        people: dict[str, bool] = asked["answers"]
        ready, go = threading.Barrier(len(people) + 1), threading.Event()

        async def answer(
            name: str, granted: bool, approval: str, opened: threading.Barrier, at: threading.Event
        ) -> str:
            async with rebuno.operate(store) as operator:
                opened.wait()
                at.wait()
                give = operator.grant if granted else operator.deny
                try:
                    answered = await give(approval, decided_by=name)
                except rebuno.ConflictError as error:
                    return str(error)
                return answered.status

        with ThreadPoolExecutor(len(people)) as threads:
            told = {
                name: threads.submit(asyncio.run, answer(name, granted, asked["approval"], ready, go))
                for name, granted in people.items()
            }
            ready.wait()
            say("ready")
            sys.stdin.readline()
            go.set()
        say(json.dumps({name: future.result() for name, future in told.items()}))


def say(line: str) -> None:
    """Tells the listener."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
