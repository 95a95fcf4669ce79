"""One row of the vocabulary after another: what a host's tool is called in bundles, seen in the record of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rebuno.hosts.live import PlannedCall
from tests.hosts.scene import Scene, placed

OPEN: Final = 'bundle open\ndefault allow because "every row is seen"\n'
NOTEBOOK: Final = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n'
PATCH: Final = "*** Begin Patch\n*** Add File: {name}\n+x\n*** End Patch"


@dataclass(frozen=True, slots=True)
class Row:
    """A call of a host, and the steps that it is in the record: targets with some of their arguments."""

    call: PlannedCall
    steps: Sequence[tuple[str, dict[str, Any]]]
    why_not: str = ""

    @property
    def name(self) -> str:
        """How it is named in a report."""
        targets = ", ".join(target for target, _ in self.steps)
        return f"row {self.call.tool or 'shell'} -> {targets}"


def _row(tool: str, input: dict[str, Any] | str, target: str, **args: Any) -> Row:
    return Row(PlannedCall(tool, input), [(target, args)])


_FILE: Final = "{project}/a.txt"
_NEW: Final = "{project}/new.txt"
ROWS: Final[dict[str, Sequence[Row]]] = {
    "claude-code": (
        _row("", {"command": "echo x >> made"}, "shell", command="echo x >> made", cwd="{project}"),
        _row("Read", {"file_path": _FILE}, "read_file", path=_FILE),
        _row("Write", {"file_path": _NEW, "content": "x"}, "write_file", path=_NEW, content="x"),
        _row(
            "Edit",
            {"file_path": _FILE, "old_string": "beta", "new_string": "gamma"},
            "edit_file",
            path=_FILE,
            old="beta",
            new="gamma",
        ),
        _row("Glob", {"pattern": "*.txt"}, "list_files", pattern="*.txt"),
        _row("Grep", {"pattern": "alpha", "path": "{project}"}, "search_files", pattern="alpha", path="{project}"),
        _row("Read", {"file_path": "{project}/n.ipynb"}, "read_file", path="{project}/n.ipynb"),
        _row("ToolSearch", {"query": "select:WebFetch,WebSearch,NotebookEdit"}, "claude-code.ToolSearch"),
        _row(
            "NotebookEdit",
            {"notebook_path": "{project}/n.ipynb", "new_source": "2", "cell_type": "code", "edit_mode": "insert"},
            "edit_file",
            path="{project}/n.ipynb",
            new="2",
        ),
        _row("WebFetch", {"url": "https://example.test/x", "prompt": "p"}, "fetch", url="https://example.test/x"),
        _row("WebSearch", {"query": "a term"}, "search_web", query="a term"),
        _row(
            "Agent",
            {"description": "d", "prompt": "help a little", "subagent_type": "general-purpose"},
            "delegate",
            prompt="help a little",
            agent="general-purpose",
        ),
    ),
    "codex": (
        _row("", {"command": "echo x >> made"}, "shell", command="echo x >> made", cwd="{project}"),
        Row(
            PlannedCall("apply_patch", PATCH.format(name="new.txt") + "\n"),
            [("write_file", {"path": _NEW, "content": "x"})],
        ),
        Row(
            PlannedCall(
                "apply_patch",
                "*** Begin Patch\n*** Update File: a.txt\n@@\n alpha\n-beta\n+gamma\n*** End Patch\n",
            ),
            [("edit_file", {"path": _FILE})],
        ),
        Row(
            PlannedCall("", {"command": f"apply_patch <<'EOF'\n{PATCH.format(name='by-shell.txt')}\nEOF\n"}),
            [("write_file", {"path": "{project}/by-shell.txt", "content": "x"})],
        ),
        _row("view_image", {"path": "{project}/dot.png"}, "read_file", path="{project}/dot.png"),
        _row("multi_agent_v1.spawn_agent", {"message": "help a little"}, "delegate", prompt="help a little"),
        _row("get_goal", {}, "codex.get_goal"),
    ),
    "gemini-cli": (
        _row("", {"command": "echo x >> made"}, "shell", command="echo x >> made", cwd="{project}"),
        _row("read_file", {"file_path": "a.txt"}, "read_file", path=_FILE),
        _row("write_file", {"file_path": _NEW, "content": "x"}, "write_file", path=_NEW, content="x"),
        _row(
            "replace",
            {"file_path": _FILE, "old_string": "beta", "new_string": "gamma", "instruction": "change it"},
            "edit_file",
            path=_FILE,
            old="beta",
            new="gamma",
        ),
        _row("glob", {"pattern": "*.txt"}, "list_files", pattern="*.txt"),
        _row("grep_search", {"pattern": "alpha"}, "search_files", pattern="alpha"),
        _row("list_directory", {"dir_path": "."}, "list_files"),
        _row("web_fetch", {"prompt": "read https://example.test/x"}, "fetch", url="https://example.test/x"),
        _row("google_web_search", {"query": "a term"}, "search_web", query="a term"),
        _row(
            "invoke_agent",
            {"agent_name": "generalist", "prompt": "help a little"},
            "delegate",
            prompt="help a little",
            agent="generalist",
        ),
    ),
    "opencode": (
        _row("", {"command": "echo x >> made"}, "shell", command="echo x >> made", cwd="{project}"),
        _row("read", {"filePath": _FILE}, "read_file", path=_FILE),
        _row("write", {"filePath": _NEW, "content": "x"}, "write_file", path=_NEW, content="x"),
        _row(
            "edit",
            {"filePath": _FILE, "oldString": "beta", "newString": "gamma"},
            "edit_file",
            path=_FILE,
            old="beta",
            new="gamma",
        ),
        _row("glob", {"pattern": "*.txt"}, "list_files", pattern="*.txt"),
        _row("grep", {"pattern": "alpha"}, "search_files", pattern="alpha"),
        _row("webfetch", {"url": "https://example.test/x", "format": "text"}, "fetch", url="https://example.test/x"),
        _row("todowrite", {"todos": []}, "opencode.todowrite"),
        _row(
            "task",
            {"description": "d", "prompt": "help a little", "subagent_type": "general"},
            "delegate",
            prompt="help a little",
            agent="general",
        ),
    ),
}
# A picture of one point.
_DOT: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060000000040001f61738"
    "550000000049454e44ae426082"
)


def see(scene: Scene) -> dict[str, str]:
    """Plays all rows of a host in one session; of each row's name what is wrong with it, or an empty text."""
    rows = ROWS[scene.name]
    scene.bundle.write_text(OPEN, encoding="utf-8")
    (scene.room.project / "a.txt").write_text("alpha\nbeta\n", encoding="utf-8")
    (scene.room.project / "n.ipynb").write_text(NOTEBOOK, encoding="utf-8")
    (scene.room.project / "dot.png").write_bytes(_DOT)
    scene.install()
    played = scene.play(*([row.call] for row in rows))
    steps = scene.steps(played.session)
    return {row.name: _wrong(row, steps, scene, played.provider.told(turn)) for turn, row in enumerate(rows)}


def _wrong(row: Row, steps: list[dict[str, Any]], scene: Scene, told: str | None) -> str:
    for target, args in row.steps:
        wanted = placed(args, scene.room.project)
        alike = [step["args"] for step in steps if step["target"] == target]
        if not any(found | wanted == found for found in alike):
            return f"no step `{target}` with {wanted}; there are {alike}. The model was told: {told}"
    return ""
