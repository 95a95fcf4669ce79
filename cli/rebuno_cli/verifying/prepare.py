"""Makes the bench: the copy of the store, the bundle, and the steps to try the promises with."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import rebuno
from rebuno.errors import ValidationError
from rebuno.journal.opening import open_store, store_file
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.sqlite.copying import copy_store
from rebuno.policy import Policy, compile_policy, read_source, restore_policy
from rebuno_cli.verifying.bench import Bench
from rebuno_cli.verifying.probes import AGENT, Probe, Probes, of_cases, of_rules

# The newest executions of the store whose steps are tried.
_EXECUTIONS: Final = 200
_STEPS: Final = 2000


@dataclass(frozen=True, slots=True)
class PreparedBench:
    """The bench, and what it was made of: the file of the `store` (None: an empty one was made), and how many
    executions are in it. `database` tells that a database was named, which is not copied."""

    bench: Bench
    store: Path | None
    database: bool
    executions: int

    def to_json(self) -> dict[str, Any]:
        """What was tried, as JSON data."""
        policy, probes = self.bench.policy, self.bench.probes
        return {
            "policy": {
                "name": policy.name,
                "digest": policy.digest,
                "files": [str(path) for path in self.bench.paths],
            },
            "store": {
                "path": None if self.store is None else str(self.store),
                "database": self.database,
                "executions": self.executions,
            },
            "steps": {verdict.value: len(found) for verdict, found in probes.by_verdict.items()},
        }


async def prepare(folder: Path, policy: Sequence[Path], db: str | None) -> PreparedBench:
    """Copies the store into `folder`, or makes an empty one there, and finds steps. Without `policy` the bundle is the
    one of the store's newest execution. A database is left alone.

    Raises:
        BundleError: the bundle has errors.
        ValidationError: neither a bundle nor a store that has one is named.
        StoreError: the store cannot be read.
    """
    # In a folder that can be moved away with all that SQLite keeps beside a store.
    place = folder / "store"
    place.mkdir()
    store = place / "copy.db"
    file = store_file(db) if db else None
    if file is not None:
        await asyncio.to_thread(copy_store, file, store)
    await (await SQLiteStore.open(store)).close()
    if db and file is None and not policy:
        raise ValidationError("name a bundle with `--policy FILE`: a database is not copied, and its bundle not read")
    paths = list(policy) or await _recorded(store, folder)
    compiled = compile_policy([read_source(path) for path in paths])
    probes = Probes(compiled)
    for probe in of_cases(paths):
        probes.add(probe)
    steps, executions = await _of_store(store)
    for probe in steps:
        probes.add(probe)
    for probe in of_rules(compiled.bundles):
        probes.add(probe)
    return PreparedBench(Bench(folder, store, paths, compiled, probes), file, bool(db) and file is None, executions)


async def _of_store(store: Path) -> tuple[list[Probe], int]:
    """The recorded steps as probes, and how many executions there are."""
    found: list[Probe] = []
    async with rebuno.operate(store) as operator:
        # What is stopped in the store would be in the way of what is tried in the copy.
        for stop in await operator.stops():
            await operator.lift(stop.id, by=AGENT)
        executions = await operator.executions(limit=_EXECUTIONS + 1)
        for one in executions[:_EXECUTIONS]:
            for step in await operator.steps(one.id):
                if len(found) < _STEPS and isinstance(step.args, dict):
                    said, folder = f"a step of execution {one.id}", one.workdir or ""
                    found.append(
                        Probe(
                            step.kind,
                            step.target,
                            step.args,
                            said,
                            one.input,
                            one.agent_id,
                            folder,
                            step.decision or "",
                        )
                    )
    return found, len(executions)


async def _recorded(store: Path, folder: Path) -> list[Path]:
    """The bundle of the store's newest execution, as files of their own."""
    opened = await open_store(store)
    try:
        rows = await opened.executions(limit=1)
        sources = await opened.bundle(rows[0].digest) if rows else None
    finally:
        await opened.close()
    if not rows:
        raise ValidationError("name a bundle with `--policy FILE`: there is no store with an execution to take it from")
    if not sources:
        raise ValidationError("name a bundle with `--policy FILE`: the newest execution ran without one")
    return _files(restore_policy(rows[0].digest, sources), sources, folder)


def _files(policy: Policy, sources: Sequence[tuple[str, str]], folder: Path) -> list[Path]:
    paths: list[Path] = []
    rest = list(sources)
    for number, bundle in enumerate(policy.bundles):
        (path, text), *rest = rest
        home = folder / f"bundle-{number}"
        names = [(Path(path).name, text), *((file.name, file.text) for file in bundle.files)]
        del rest[: len(bundle.files)]
        for name, content in names:
            place = home / name
            if home not in place.resolve().parents:
                raise ValidationError(
                    f"name the bundle with `--policy FILE`: it uses `{name}`, which is not below its folder"
                )
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content, "utf-8")
        paths.append(home / names[0][0])
    return paths
