"""Writes the figures of `docs/scale.md` from the recorded results: `python -m benchmarks.scale_page`.

The page has a comment before each figure and one after it; what stands between them is written anew.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parents[1]
PAGE: Final = _ROOT / "docs" / "scale.md"
RESULTS: Final = _ROOT / "benchmarks" / "results" / "scale.json"
_BLOCK: Final = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def figures(report: dict[str, Any]) -> dict[str, str]:
    """The tables by their names, in Markdown."""
    measured = [
        (
            f"{'1 replica' if count == '1' else f'{count} replicas'}",
            *(one[name] for name in ("executions_per_s", "steps_per_s", "p50_ms", "p99_ms", "connections")),
            one["most_per_s"],
            f"{one['share']:.0%}",
        )
        for count, one in report["replicas"].items()
    ]
    one = report["replicas"]["1"]
    whole = one["step"]["table_bytes"]
    return {
        "rates": _table(
            (
                "",
                "executions/s",
                "steps/s",
                "p50 of a step, ms",
                "p99, ms",
                "connections",
                "steps/s at most",
                "reached",
            ),
            measured,
        ),
        "step": _table(
            ("a step costs", *(f"{count} replica{'s' if count != '1' else ''}" for count in report["replicas"])),
            [
                (text, *(each["step"][name] for each in report["replicas"].values()))
                for text, name in (
                    ("processor of the replica, ms", "replica_ms"),
                    ("processor of PostgreSQL, ms", "database_ms"),
                    ("tables and indexes, bytes", "table_bytes"),
                    ("write-ahead log, bytes", "wal_bytes"),
                    ("syncs of the log", "wal_syncs"),
                )
            ],
        ),
        "tables": _table(
            ("table with its indexes", "bytes a step", "share"),
            [
                (f"`{name}`", size, f"{size / whole:.0%}")
                for name, size in sorted(one["by_table"].items(), key=lambda each: -each[1])
            ],
        ),
        "model": _table(
            (
                "replicas",
                "cores of PostgreSQL",
                "steps/s at most",
                "bound by",
                "log, MB/s",
                "syncs/s",
                "growth, GB a day",
                "connections",
            ),
            [
                tuple(
                    row[name]
                    for name in (
                        "replicas",
                        "database_cores",
                        "steps_per_s",
                        "bound_by",
                        "wal_mb_per_s",
                        "syncs_per_s",
                        "table_gb_per_day",
                        "connections",
                    )
                )
                for row in report["model"]
            ],
        ),
        "million": _table(
            ("a million steps", "", ""),
            [
                ("`R`", "core seconds of replicas", f"{report['million']['replica_core_s']:,}"),
                ("`D`", "core seconds of PostgreSQL", f"{report['million']['database_core_s']:,}"),
                ("`T`", "GB of tables and indexes", report["million"]["table_gb"]),
                ("`W`", "GB of write-ahead log", report["million"]["wal_gb"]),
                ("`S`", "syncs of the log", f"{report['million']['wal_syncs']:,}"),
            ],
        ),
    }


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def written(page: str, report: dict[str, Any]) -> str:
    """The page with the figures of a report. Raises `KeyError` for a name that has none."""
    found = figures(report)
    return _BLOCK.sub(lambda block: f"{block[1]}\n{found[block[2]]}\n{block[3]}", page)


def main() -> None:
    report = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), report), encoding="utf-8")


if __name__ == "__main__":
    main()
