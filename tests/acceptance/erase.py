"""Writes secrets through every way into an encrypted store, and into one execution in which a bundle seals them; looks
for them everywhere, erases, and looks for the keys.

    .venv/bin/python tests/acceptance/erase.py --json

On SQLite, and on a PostgreSQL server of its own. `ways` counts the secrets that were written, each through another way;
`bytes_found` the bytes of them in the clear in the store's files (on PostgreSQL: the server's whole folder, its log of
writes included), a dump of all tables, exports, logs, metrics and spans. After every execution was erased, `keys_left`
counts the data keys of which twelve bytes in a row stand in the store's own files, and `verify_ok` says whether every
log still verifies and says that payloads were erased.
"""

import argparse
import asyncio
import json
import logging
import os
import secrets
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import rebuno
from rebuno.journal.opening import open_store
from rebuno.kernel import recording_lines
from rebuno.sealing import KeyRing, files
from tests.acceptance.erasing import ways
from tests.postgres.server import Server

# So many bytes in a row of a wrapped key are more than chance.
_IN_A_ROW = 12


@dataclass(slots=True)
class Found:
    """What was found."""

    ways: int = 0
    bytes_found: int = 0
    keys_left: int = 0
    verify_ok: bool = True


class Secrets:
    """Makes a secret for each way, and looks for all of them."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}

    def __call__(self, way: str) -> str:
        return self._made.setdefault(way, f"{way.replace(' ', '-')}-{secrets.token_hex(12)}")

    def __len__(self) -> int:
        return len(self._made)

    def bytes_in(self, place: str, data: bytes) -> int:
        """How many bytes of secrets stand there; says which."""
        total = 0
        for way, secret in self._made.items():
            for form in (secret.encode(), secret.encode().hex().encode()):
                if count := data.count(form):
                    print(f"{place}: the secret of `{way}`, {count} times", file=sys.stderr)
                    total += count * len(form)
        return total


async def play(where: str, folder: Path, server: Server | None) -> Found:
    """The whole story on one store."""
    ring, secret, log, found = files.create(folder / "ring", now=time.time()), Secrets(), ways.Kept(), Found()
    logging.getLogger().addHandler(log)
    logging.getLogger().setLevel(logging.DEBUG)
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    store_folder = folder / "store" if server is None else server.folder
    # Spans are asked for what is in arguments and results.
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "span_only"
    ids = await ways.embedded(where, ring, secret, provider)
    more, metrics = await ways.served(where, ring, secret, provider)
    ids += more
    ids += await ways.sealed(where, ring, secret, provider)
    logging.getLogger().removeHandler(log)
    found.ways = len(secret)
    spans = "\n".join(span.to_json() for span in exporter.get_finished_spans())
    told = {"logs": "\n".join(log.said), "metrics": metrics, "spans": spans, "dump": _dump(where, server)}
    told["exports"] = await _exports(where, ring, ids)
    for place, text in told.items():
        assert text, f"nothing of the {place} was looked at"
        found.bytes_found += secret.bytes_in(place, text.encode())
    found.bytes_found += sum(secret.bytes_in(str(file), file.read_bytes()) for file in _files(store_folder))
    keys = await _keys(where, ring, ids)
    _checkpoint(where, server)
    assert all(_holds(_own(store_folder, server), key) for key in keys), "the keys were not where they are looked for"
    async with rebuno.operate(where, key_ring=ring) as operator:
        await operator.erase_person(ways.PERSON, by="acceptance")
        for id in ids:
            await operator.erase(id, by="acceptance")
    _checkpoint(where, server)
    found.keys_left = sum(_holds(_own(store_folder, server), key) for key in keys)
    async with rebuno.operate(where, key_ring=ring) as operator:
        for id in ids:
            checked = await operator.verify(id)
            found.verify_ok = found.verify_ok and not checked.fault and checked.erased > 0
    return found


def _checkpoint(where: str, server: Server | None) -> None:
    # What is in memory only would not be found in the files.
    if server is not None:
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute("CHECKPOINT")


def _files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.is_file()]


def _own(folder: Path, server: Server | None) -> list[bytes]:
    """The store's own files. The server's log of writes is not one: it holds the keys for as long as it is kept."""
    own = [file for file in _files(folder) if server is None or "pg_wal" not in file.parts]
    return [file.read_bytes() for file in own]


def _holds(contents: list[bytes], key: bytes) -> bool:
    return any(
        key[at : at + _IN_A_ROW] in content for at in range(len(key) - _IN_A_ROW + 1) for content in contents if content
    )


def _dump(where: str, server: Server | None) -> str:
    if server is None:
        import apsw

        store = apsw.Connection(where, flags=apsw.SQLITE_OPEN_READONLY)
        names = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [repr(row) for name in names for row in store.execute(f'SELECT * FROM "{name}"')]
        store.close()
        return "\n".join(rows)
    with psycopg.connect(where) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'rebuno'").fetchall()
        lines: list[str] = []
        for (name,) in tables:
            with connection.cursor().copy(f'COPY rebuno."{name}" TO STDOUT'.encode()) as copy:
                lines += [bytes(row).decode(errors="replace") for row in copy]
    return "\n".join(lines)


async def _exports(where: str, ring: KeyRing, ids: list[str]) -> str:
    async with rebuno.operate(where, key_ring=ring) as operator:
        return "".join([line for id in ids for line in recording_lines(await operator.record(id))])


async def _keys(where: str, ring: KeyRing, ids: list[str]) -> list[bytes]:
    store = await open_store(where, key_ring=ring)
    try:
        rows = [await store.data_key(id) for id in ids]
        return [row.wrapped for row in rows if row is not None and row.wrapped is not None]
    finally:
        await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--store", choices=["sqlite", "postgres", "both"], default="both")
    parser.add_argument("--json", action="store_true", help="print only JSON")
    options = parser.parse_args()
    total = Found()
    for name in ("sqlite", "postgres") if options.store == "both" else (options.store,):
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            if name == "sqlite":
                (folder / "store").mkdir()
                found = asyncio.run(play(str(folder / "store" / "store.db"), folder, None))
            else:
                with Server() as server:
                    found = asyncio.run(play(server.url(), folder, server))
        total.ways += found.ways
        total.bytes_found += found.bytes_found
        total.keys_left += found.keys_left
        total.verify_ok = total.verify_ok and found.verify_ok
    report = asdict(total)
    if options.json:
        print(json.dumps(report))
    else:
        for key, value in report.items():
            print(f"{key:>12}  {value}")
    sys.exit(0 if not total.bytes_found and not total.keys_left and total.verify_ok else 1)


if __name__ == "__main__":
    main()
