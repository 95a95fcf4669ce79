"""Changes the code in small ways, one at a time, and looks whether a test notices. `make mutate` runs all of it.

    python -m tests.mutation.run --area shell --sample 100 --seed 1

Prints each mutant that survived, and JSON at the end: how many there were, how many of those that can be noticed
died, and by area. Ends with 1 where fewer died than must, or one survived that `survivors.json` does not list. The
list may only get shorter: `--renew` takes out what dies now and what is no mutant any more, and adds nothing.

In the list `equivalent` holds mutants that change nothing that a caller could see, each with the reason; they are not
counted. `alive` holds those that a test should notice and none does yet.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.mutation.areas import AREAS, ROOT, Area
from tests.mutation.mutants import Mutant, mutants
from tests.postgres.server import Server

LIST: Final = Path(__file__).with_name("survivors.json")
# The share of the mutants that can be noticed which has to be noticed.
FLOOR: Final = 0.97
DEAD: Final = ("killed", "timed out")


def drawn(names: Sequence[str], sample: int | None, seed: int) -> dict[str, list[Mutant]]:
    """The mutants of the areas of these names: all, or as many as asked for, drawn by the seed."""
    every = [
        (name, mutant)
        for name in names
        for path in AREAS[name].files()
        for mutant in mutants(path, (ROOT / path).read_text(encoding="utf-8"))
    ]
    chosen = every if sample is None else random.Random(seed).sample(every, min(sample, len(every)))
    return {name: [mutant for area, mutant in chosen if area == name] for name in names}


def tried(area: Area, chosen: list[Mutant], jobs: int) -> dict[str, str]:
    """What came of each mutant of an area, by its key.

    Raises:
        RuntimeError: the tests of the area fail without a mutant.
    """
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder, _server(area) as server:
        env = {**os.environ, "TMPDIR": folder, **server}
        said = _job(area, chosen, jobs, env, alone=False)
        if not said.get("baseline"):
            raise RuntimeError(f"without a mutant a test fails: {said.get('failed', 'see pytest')}: {area.arguments()}")
        found: dict[str, str] = {key: outcome["what"] for key, outcome in said["outcomes"].items()}
        for mutant in chosen:
            if found[mutant.key] not in DEAD:
                again = _job(area, [mutant], 1, env, alone=True, limit=60 + 20 * said["baseline"])
                found[mutant.key] = "killed" if again["code"] else "survived"
    return found


def _job(
    area: Area, chosen: list[Mutant], jobs: int, env: dict[str, str], *, alone: bool, limit: float | None = None
) -> dict[str, Any]:
    out = Path(env["TMPDIR"]) / "out.json"
    out.unlink(missing_ok=True)
    job = {
        "tests": area.arguments(),
        "mutants": [[mutant.path, mutant.index] for mutant in chosen],
        "jobs": jobs,
        "alone": alone,
        "out": str(out),
    }
    command = [sys.executable, "-m", "tests.mutation.worker"]
    shown = subprocess.DEVNULL
    try:
        subprocess.run(
            command, cwd=ROOT, env=env, input=json.dumps(job), text=True, stdout=shown, stderr=shown, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return {"code": 1}
    if not out.exists():
        # The mutant, or a test under it, has ended the process.
        return {"code": 1}
    said: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return said


@contextmanager
def _server(area: Area) -> Iterator[dict[str, str]]:
    """One PostgreSQL for all mutants: starting it costs more than most of them."""
    if not area.postgres or os.environ.get("REBUNO_TEST_POSTGRES"):
        yield {}
        return
    with Server(fsync=False) as server:
        yield {"REBUNO_TEST_POSTGRES": server.url()}


def report(results: dict[str, dict[str, str]], listed: dict[str, Any], seed: int, sample: int | None) -> dict[str, Any]:
    """The numbers: of all, and by area. `new` are survivors that are not listed, `gone` are listed ones that died."""
    equivalent: dict[str, str] = listed["equivalent"]
    alive = set(listed["alive"])
    areas = {}
    new, gone = [], []
    for name, found in results.items():
        counted = {key: what for key, what in found.items() if key not in equivalent}
        died = sum(what in DEAD for what in counted.values())
        areas[name] = {"mutants": len(found), "can be noticed": len(counted), "died": died}
        new += [key for key, what in counted.items() if what not in DEAD and key not in alive]
        gone += [key for key, what in found.items() if what in DEAD and (key in alive or key in equivalent)]
    counted_in_all = sum(row["can be noticed"] for row in areas.values())
    died_in_all = sum(row["died"] for row in areas.values())
    share = died_in_all / counted_in_all if counted_in_all else 1.0
    return {
        "mutants": sum(row["mutants"] for row in areas.values()),
        "can be noticed": counted_in_all,
        "died": died_in_all,
        "share": round(share, 4),
        "sample": sample,
        "seed": seed,
        "areas": areas,
        "new": sorted(new),
        "gone": sorted(gone),
    }


def renewed(listed: dict[str, Any], gone: Sequence[str], every: set[str]) -> dict[str, Any]:
    """The list without what died and what is no mutant of any file now; it never grows."""
    return {
        "alive": sorted(key for key in listed["alive"] if key in every and key not in gone),
        "equivalent": {
            key: why for key, why in sorted(listed["equivalent"].items()) if key in every and key not in gone
        },
    }


def main() -> int:
    """Runs what the command line asks for; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--area", action="append", choices=sorted(AREAS), help="only this one; may be said again")
    parser.add_argument("--sample", type=int, help="as many mutants, drawn by chance")
    parser.add_argument("--seed", type=int, default=0, help="what chance begins with")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many run side by side")
    parser.add_argument("--renew", action="store_true", help="take out of the list what dies now")
    asked = parser.parse_args()
    listed = json.loads(LIST.read_text(encoding="utf-8"))
    results = {}
    for name, chosen in drawn(asked.area or list(AREAS), asked.sample, asked.seed).items():
        if chosen:
            sys.stderr.write(f"{name}: {len(chosen)} mutants\n")
            results[name] = tried(AREAS[name], chosen, asked.jobs)
    said = report(results, listed, asked.seed, asked.sample)
    if asked.renew:
        every = {mutant.key for some in drawn(list(AREAS), None, 0).values() for mutant in some}
        text = json.dumps(renewed(listed, said["gone"], every), indent=2, ensure_ascii=False)
        LIST.write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(said, indent=2, ensure_ascii=False) + "\n")
    return int(said["share"] < FLOOR or bool(said["new"]))


if __name__ == "__main__":
    sys.exit(main())
