"""Draws the pictures of the documentation: plots of recorded benchmark results, and the output of two commands.

    make diagrams

The numbers come from the JSON files in `benchmarks/results/`, which the benchmarks have written, and the trace from a
recorded execution there. Nothing is measured here, so the same files give the same pictures.
"""

import io
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch
from xml.sax.saxutils import escape

from rich.console import Console
from rich.text import Text

from rebuno_cli.main import main as rebuno

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "benchmarks" / "results"
IMAGES: Final = ROOT / "docs" / "images"
FONT: Final = "font-family='sans-serif' font-size='13'"
COLOURS: Final = ("#2f6f9f", "#c8553d", "#6b8e5a")
COLUMNS: Final = 110
# A bundle with two mistakes, which `policy check` shows.
MISTAKEN: Final = """bundle desk
default deny because "not a task of the help desk"

known customers = result of tool "get_mail" at from

rule answer {
  allow tool "send_mail"
  when args.to in costumers
}

rule refund {
  allow tool "refund"
  when args.amount <= "50"
}
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart: its label, its length in the chart's unit, and the text at its end."""

    label: str
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Groups of horizontal bars from 0 to `most`. `series` names the bars of each group, in order."""

    title: str
    series: tuple[str, ...]
    groups: tuple[tuple[str, tuple[Bar, ...]], ...]
    most: float


def drawn(chart: Chart) -> str:
    """The chart as SVG."""
    left, wide, high = 210, 380, 20
    rows = [(name, bars) for name, bars in chart.groups]
    y = 74
    body = []
    for name, bars in rows:
        body.append(f"<text x='12' y='{y + high * len(bars) / 2 + 4:g}' {FONT}>{escape(name)}</text>")
        for colour, bar in zip(COLOURS, bars, strict=False):
            long = max(1.0, wide * bar.value / chart.most)
            body.append(f"<rect x='{left}' y='{y}' width='{long:.1f}' height='{high - 4}' fill='{colour}'/>")
            shown = escape(f"{bar.label} {bar.text}".strip())
            body.append(f"<text x='{left + long + 6:.1f}' y='{y + high - 8}' {FONT} fill='#444'>{shown}</text>")
            y += high
        y += 10
    legend = []
    x = 12.0
    for colour, name in zip(COLOURS, chart.series, strict=False):
        legend.append(f"<rect x='{x:g}' y='40' width='12' height='12' fill='{colour}'/>")
        legend.append(f"<text x='{x + 18:g}' y='51' {FONT}>{escape(name)}</text>")
        x += 40 + 7.2 * len(name)
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 760 {y + 6}' role='img'>"
    title = f"<title>{escape(chart.title)}</title><rect width='100%' height='100%' fill='white'/>"
    caption = f"<text x='12' y='24' {FONT} font-weight='bold'>{escape(chart.title)}</text>"
    return "\n".join([head, title, caption, *legend, *body, "</svg>", ""])


def agentdojo(found: Mapping[str, Any]) -> Chart:
    """How many tasks ran without a question, and how many attacks were stopped, in each suite."""
    groups = []
    for name, suite in found["suites"].items():
        groups.append(
            (
                name,
                (
                    _share("", suite["automatic"], suite["user_tasks"]),
                    _share("", suite["stopped"], suite["attack_pairs"]),
                ),
            )
        )
    title = "AgentDojo, recorded tasks, under the bundles in policies/agentdojo"
    return Chart(title, ("user tasks without a question", "attacks stopped"), tuple(groups), 100)


def _share(label: str, part: int, whole: int) -> Bar:
    return Bar(label, 100 * part / whole, f"{part} of {whole}")


def decide(found: Mapping[str, Any]) -> Chart:
    """The time of a decision by the number of rules: the median, and the 99th percentile."""
    groups = []
    for count, figures in found["n"].items():
        times = (figures["rebuno_ns"] / 1000, figures["p99_ns"] / 1000)
        groups.append((f"{int(count):,} rules", tuple(Bar("", us, f"{us:.2f} µs") for us in times)))
    most = max(bar.value for _, bars in groups for bar in bars)
    return Chart("Time of a decision (benchmarks/decide.py)", ("median", "99th percentile"), tuple(groups), most)


def steps(found: Mapping[str, Any]) -> Chart:
    """Synced commits a step on SQLite, by the number of executions side by side: a count and not a time."""
    kinds = {"tool, safe_to_retry": found["sqlite"], "tool, at_most_once": found["sqlite"]["tool_at_most_once"]}
    widths = [width for width in found["sqlite"] if width.isdigit()]
    groups = []
    for width in widths:
        counts = [rows[width]["syncs_per_step"] for rows in kinds.values()]
        bars = tuple(Bar("", count, f"{count:g}") for count in counts)
        groups.append((f"{width} execution{'' if width == '1' else 's'} at once", bars))
    most = max(bar.value for _, bars in groups for bar in bars)
    return Chart("Disk syncs a step on SQLite (benchmarks/steps.py)", tuple(kinds), tuple(groups), most)


class _Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def _terminal(folder: Path) -> Iterator[_Terminal]:
    names = {name: value for name, value in os.environ.items() if not name.startswith("REBUNO") and name != "NO_COLOR"}
    env = names | {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "COLORTERM": "truecolor", "TZ": "UTC"}
    said = _Terminal()
    with patch.dict(os.environ, env, clear=True), chdir(folder), redirect_stdout(said):
        time.tzset()
        yield said
    time.tzset()


def command(args: Sequence[str], folder: Path) -> str:
    """What a command prints on a terminal, with its colours as escapes."""
    with _terminal(folder) as said:
        rebuno(list(args))
    return said.getvalue()


def pictured(text: str, title: str) -> str:
    """The output of a command as SVG, in a window with a title."""
    console = Console(record=True, file=io.StringIO(), width=COLUMNS, force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(text.rstrip("\n")))
    svg = console.export_svg(title=title, unique_id="terminal")
    # Pictures load nothing from elsewhere: the fonts are those of the reader's machine.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    lines = svg.replace("Fira Code", "monospace").splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip()) + "\n"


def trace() -> str:
    """`rebuno exec trace` of the recorded execution."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command(["exec", "import", str(RESULTS / "hello.jsonl"), "--db", "hello.db"], folder)
        return pictured(command(["exec", "trace", "march", "--db", "hello.db"], folder), "rebuno exec trace march")


def diagnostic() -> str:
    """`rebuno policy check` of a bundle with two mistakes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "desk.rbp").write_text(MISTAKEN, encoding="utf-8")
        return pictured(command(["policy", "check", "desk.rbp"], folder), "rebuno policy check desk.rbp")


def images() -> dict[str, str]:
    """Every picture by the name of its file."""
    plots = {"agentdojo": agentdojo, "decide": decide, "steps": steps}
    found = {
        f"{name}.svg": drawn(plot(json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))))
        for name, plot in plots.items()
    }
    return found | {"trace.svg": trace(), "diagnostic.svg": diagnostic()}


def main() -> None:
    """Writes the pictures."""
    IMAGES.mkdir(exist_ok=True)
    for name, svg in images().items():
        (IMAGES / name).write_text(svg, encoding="utf-8")
        sys.stdout.write(f"{IMAGES.relative_to(ROOT) / name}: {len(svg) / 1024:.1f} KiB\n")


if __name__ == "__main__":
    main()
