"""One vocabulary: the tools of every host under the names that bundles are written for."""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rebuno.hosts import HOSTS
from rebuno.hosts.events import HostTool
from rebuno.hosts.patches import PatchedFile, patch_of_command, read_patch

# As `rebuno.mcp` has it: the name of a tool tells its server.
_SERVER: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_(?!_)){0,63}", re.ASCII)
_WILD: Final = re.compile(r"[*?\[{]")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_MOST_GLOBS: Final = 256
_LONGEST_GLOB: Final = 4096
_OURS: Final = frozenset({"cwd", "path", "command", "url", "content", "old", "new", "query", "prompt", "agent"})


@dataclass(frozen=True, slots=True)
class JudgedTool:
    """A call as bundles see it. `safe` tells that it only reads, `server` and `server_tool` which MCP server's tool it
    is. A `quiet` tool is a question of the host's to its user: where it is allowed, the host is told nothing, since its
    user would not be asked."""

    tool: str
    args: dict[str, Any]
    safe: bool = False
    server: str = ""
    server_tool: str = ""
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class ToolRow:
    """How a tool of a host is read: as `tool`, its inputs under the names in `renames`, without those in `drops`, which
    tell the user something and change nothing. `place` is the argument that is the current folder where the host is
    given none. `own` reads what is more than a new name."""

    tool: str
    renames: Mapping[str, str] = field(default_factory=dict)
    drops: tuple[str, ...] = ()
    safe: bool = False
    place: str = ""
    quiet: bool = False
    own: "Callable[[ToolRow, dict[str, Any], str], list[JudgedTool] | None] | None" = None
    also: str = ""


def judged_tools(host: str, tool: HostTool, cwd: str, table: Mapping[str, ToolRow]) -> list[JudgedTool]:
    """What a call of a host is for bundles: one tool, or one for each file or page that it touches. Every one of them
    must be let in for the call to run."""
    if tool.server:
        return [_of_server(tool)]
    row = table.get(tool.name)
    given = tool.input
    if row is None or not isinstance(given, dict) or _twice(row, given):
        args = given if isinstance(given, dict) else {} if given is None else {"input": given}
        return [JudgedTool(f"{host}.{tool.name}", args)]
    if row.own is not None:
        return row.own(row, given, cwd) or [JudgedTool(f"{host}.{tool.name}", given)]
    return [renamed(row, given, cwd)]


def _twice(row: ToolRow, given: Mapping[str, Any]) -> bool:
    # Two inputs for one argument: only the host knows which one counts.
    meant = [row.renames[name] for name in given if name in row.renames]
    return len(meant) != len(set(meant))


def _of_server(tool: HostTool) -> JudgedTool:
    args = tool.input if isinstance(tool.input, dict) else {} if tool.input is None else {"input": tool.input}
    # A server that calls itself as a host does must not pass for the host's own tools.
    server = f"mcp.{tool.server}" if tool.server in HOSTS else tool.server
    return JudgedTool(f"{server}.{tool.server_tool}", args, server=tool.server, server_tool=tool.server_tool)


def server_of(name: str, told: str = "") -> tuple[str, str]:
    """The server and the tool of a name such as `mcp__SERVER__TOOL`; both empty for any other name. `told` is the
    server's name where the host gives it."""
    if not name.startswith("mcp__"):
        return "", ""
    rest = name.removeprefix("mcp__")
    wire = re.sub(r"[^A-Za-z0-9_-]", "_", told)
    if told and rest.startswith(f"{wire}__") and len(rest) > len(wire) + 2:
        return (told if _SERVER.fullmatch(told) else wire), rest[len(wire) + 2 :]
    server, _, tool = rest.partition("__")
    return (server, tool) if server and tool else ("", "")


def renamed(row: ToolRow, given: Mapping[str, Any], cwd: str) -> JudgedTool:
    """The one tool that a row makes of an input. An input that the row does not know keeps its name, so that a bundle
    can ask that there be none."""
    args: dict[str, Any] = {}
    for name, value in given.items():
        if name not in row.drops and value is not None and value is not False:
            _put(args, row.renames.get(name, name), name, value, known=name in row.renames)
    if row.place and not args.get(row.place):
        args[row.place] = cwd or "."
    if row.tool == "shell":
        # A directory that is not known is none that a bundle can read paths from.
        args["cwd"] = at(args.get("cwd"), cwd) or cwd or None
    elif "path" in args:
        args["path"] = at(args["path"], cwd)
    return JudgedTool(row.tool, args, safe=row.safe, quiet=row.quiet)


def _put(args: dict[str, Any], name: str, own: str, value: Any, *, known: bool) -> None:
    # What a host does not know must not stand in the place of what it does.
    args[name if known or name not in _OURS else f"input_{own}"] = value


def at(path: Any, cwd: str) -> Any:
    """A relative path below the folder in which the host reads it; anything else as it is."""
    if not isinstance(path, str) or not cwd or path.startswith(("/", "~")):
        return path
    return posixpath.join(cwd, path)


def _globbed(row: ToolRow, given: dict[str, Any], cwd: str) -> list[JudgedTool]:
    # A pattern may lead out of the folder in which it is looked for.
    found = renamed(row, given, cwd)
    pattern, path = found.args.get("pattern"), found.args.get("path")
    if isinstance(pattern, str) and isinstance(path, str):
        found.args["path"] = _reach(pattern, path)
    return [found]


def _reach(pattern: str, path: str) -> str:
    """The folder below which all lies that a glob may find: `path`, or what is above it."""
    reached = {_plain_reach(one, path) for one in _spelled_out(pattern)}
    return reached.pop() if len(reached) == 1 else "/"


def _spelled_out(pattern: str) -> list[str]:
    """A glob and what its braces stand for; `/` where that is too much to be told."""
    if "{" in pattern and len(pattern) > _LONGEST_GLOB:
        return ["/"]
    left, found = [pattern], [pattern]
    while left:
        one = left.pop()
        if (braces := _BRACES.search(one)) is None:
            continue
        if ".." in braces[1] or len(found) + braces[1].count(",") > _MOST_GLOBS:
            return ["/"]
        made = [one[: braces.start()] + part + one[braces.end() :] for part in braces[1].split(",")]
        left += made
        found += made
    return found


def _plain_reach(pattern: str, path: str) -> str:
    if pattern.startswith(("/", "~")):
        fixed = _WILD.split(pattern, maxsplit=1)[0]
        return fixed.rpartition("/")[0] or "/" if fixed != pattern else pattern
    if "{" in pattern and re.search(r"[{,]\s*[/~]", pattern):
        return "/"
    return path + "/.." * pattern.count("..")


def _edits(row: ToolRow, given: dict[str, Any], cwd: str) -> list[JudgedTool]:
    # Several edits of one file: each text that goes and each that comes, in lines.
    found = renamed(row, {name: value for name, value in given.items() if name != "edits"}, cwd)
    edits = given.get("edits")
    if not isinstance(edits, list) or not all(isinstance(one, dict) for one in edits):
        found.args["edits"] = edits
        return [found]
    for ours, theirs in (("old", "old_string"), ("new", "new_string")):
        found.args[ours] = "\n".join(one[theirs] for one in edits if isinstance(one.get(theirs), str))
    return [found]


def _patched(row: ToolRow, given: dict[str, Any], cwd: str) -> list[JudgedTool] | None:
    text = given.get(row.also)
    files = read_patch(text) if isinstance(text, str) and given.keys() == {row.also} else None
    return [one for file in files for one in _changes(file, cwd)] if files else None


def _changes(file: PatchedFile, cwd: str) -> Iterable[JudgedTool]:
    path, old, new = at(file.path, cwd), "\n".join(file.old), "\n".join(file.new)
    if file.kind == "add":
        yield JudgedTool("write_file", {"path": path, "content": new})
    elif file.kind == "delete":
        yield JudgedTool("delete_file", {"path": path})
    else:
        yield JudgedTool("edit_file", {"path": path, "old": old, "new": new})
        if file.moved_to:
            yield JudgedTool("edit_file", {"path": at(file.moved_to, cwd), "old": old, "new": new})
            yield JudgedTool("delete_file", {"path": path})


def _shell_or_patch(row: ToolRow, given: dict[str, Any], cwd: str) -> list[JudgedTool] | None:
    command = given.get("command")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        import shlex

        given = {**given, "command": shlex.join(command)}
    elif isinstance(command, str) and (patch := patch_of_command(command)) is not None and given.keys() == {"command"}:
        files = read_patch(patch)
        return [one for file in files for one in _changes(file, cwd)] if files else [renamed(row, given, cwd)]
    return [renamed(row, given, cwd)]


def _watched(row: ToolRow, given: dict[str, Any], cwd: str) -> list[JudgedTool] | None:
    # A monitor runs a command, or listens to an address.
    found = []
    if "command" in given:
        found.append(renamed(row, {name: value for name, value in given.items() if name != "ws"}, cwd))
    socket = given.get("ws")
    if isinstance(socket, dict) and "url" in socket:
        found.append(JudgedTool("fetch", dict(socket)))
    elif socket is not None:
        return None
    return found or None


def _pages(row: ToolRow, given: dict[str, Any], cwd: str) -> list[JudgedTool] | None:
    # The addresses stand in the prompt; the host takes for one what its words have with `://`.
    prompt, url = given.get("prompt"), given.get("url")
    found = [url] if isinstance(url, str) else []
    found += [word for word in prompt.split() if "://" in word] if isinstance(prompt, str) else []
    if given.keys() - {"prompt", "url"}:
        return None
    return [JudgedTool("fetch", {"url": one}, safe=row.safe) for one in dict.fromkeys(found)]


def _many_files(row: ToolRow, given: dict[str, Any], cwd: str) -> list[JudgedTool] | None:
    wanted: list[Any] = []
    # Earlier versions read `paths` and `include` together.
    for name in ("include", "paths"):
        named = given.get(name, [])
        if not isinstance(named, list):
            return None
        wanted += named
    if not wanted or not all(isinstance(one, str) for one in wanted):
        return None
    found = []
    for one in wanted:
        if _WILD.search(one):
            found.append(JudgedTool("search_files", {"path": _reach(one, cwd or "."), "include": one}, safe=row.safe))
        else:
            found.append(JudgedTool("read_file", {"path": at(one, cwd)}, safe=row.safe))
    return found


_FILE: Final = {"file_path": "path", "absolute_path": "path"}
_EDIT: Final = {"old_string": "old", "new_string": "new"}

CLAUDE_CODE: Final[dict[str, ToolRow]] = {
    "Bash": ToolRow("shell", {"command": "command"}, ("description",)),
    "Monitor": ToolRow("shell", {"command": "command"}, ("description",), own=_watched),
    "Read": ToolRow("read_file", _FILE, safe=True),
    "NotebookRead": ToolRow("read_file", {"notebook_path": "path"}, safe=True),
    "Write": ToolRow("write_file", {**_FILE, "content": "content"}),
    "Edit": ToolRow("edit_file", {**_FILE, **_EDIT}),
    "MultiEdit": ToolRow("edit_file", _FILE, own=_edits),
    "NotebookEdit": ToolRow("edit_file", {"notebook_path": "path", "new_source": "new"}),
    "LS": ToolRow("list_files", {"path": "path"}, safe=True, place="path"),
    "Glob": ToolRow("list_files", {"path": "path"}, safe=True, place="path", own=_globbed),
    "Grep": ToolRow("search_files", {"path": "path"}, safe=True, place="path"),
    "WebFetch": ToolRow("fetch", {"url": "url"}, ("prompt",)),
    "WebSearch": ToolRow("search_web", {"query": "query"}),
    "Task": ToolRow("delegate", {"prompt": "prompt", "subagent_type": "agent"}, ("description",)),
    "Agent": ToolRow("delegate", {"prompt": "prompt", "subagent_type": "agent"}, ("description",)),
    "AskUserQuestion": ToolRow("claude-code.AskUserQuestion", quiet=True),
    "EnterPlanMode": ToolRow("claude-code.EnterPlanMode", quiet=True),
    "ExitPlanMode": ToolRow("claude-code.ExitPlanMode", quiet=True),
}

CODEX: Final[dict[str, ToolRow]] = {
    "Bash": ToolRow("shell", {"command": "command"}, own=_shell_or_patch),
    "apply_patch": ToolRow("edit_file", own=_patched, also="command"),
    "view_image": ToolRow("read_file", {"path": "path"}, ("detail",), safe=True),
    "spawn_agent": ToolRow("delegate", {"message": "prompt", "agent_type": "agent"}),
}

GEMINI_CLI: Final[dict[str, ToolRow]] = {
    "run_shell_command": ToolRow(
        "shell",
        {"command": "command", "dir_path": "cwd", "directory": "cwd", "is_background": "run_in_background"},
        ("description",),
    ),
    "read_file": ToolRow("read_file", _FILE, safe=True),
    "read_many_files": ToolRow("read_file", safe=True, own=_many_files),
    "write_file": ToolRow("write_file", {**_FILE, "content": "content"}),
    "replace": ToolRow("edit_file", {**_FILE, **_EDIT}, ("instruction",)),
    "list_directory": ToolRow("list_files", {"dir_path": "path", "path": "path"}, safe=True, place="path"),
    "glob": ToolRow("list_files", {"dir_path": "path", "path": "path"}, safe=True, place="path", own=_globbed),
    "grep_search": ToolRow(
        "search_files",
        {"dir_path": "path", "path": "path", "include_pattern": "include"},
        safe=True,
        place="path",
    ),
    "search_file_content": ToolRow("search_files", {"dir_path": "path", "path": "path"}, safe=True, place="path"),
    "web_fetch": ToolRow("fetch", own=_pages),
    "google_web_search": ToolRow("search_web", {"query": "query"}),
    "invoke_agent": ToolRow("delegate", {"prompt": "prompt", "agent_name": "agent"}),
    "ask_user": ToolRow("gemini-cli.ask_user", quiet=True),
    "exit_plan_mode": ToolRow("gemini-cli.exit_plan_mode", quiet=True),
}

_OPENCODE_FILE: Final = {"filePath": "path"}
OPENCODE: Final[dict[str, ToolRow]] = {
    "bash": ToolRow("shell", {"command": "command", "workdir": "cwd"}, ("description",)),
    "read": ToolRow("read_file", _OPENCODE_FILE, safe=True),
    "write": ToolRow("write_file", {**_OPENCODE_FILE, "content": "content"}),
    "edit": ToolRow("edit_file", {**_OPENCODE_FILE, "oldString": "old", "newString": "new"}),
    "apply_patch": ToolRow("edit_file", own=_patched, also="patchText"),
    "list": ToolRow("list_files", {"path": "path"}, safe=True, place="path"),
    "glob": ToolRow("list_files", {"path": "path"}, safe=True, place="path", own=_globbed),
    "grep": ToolRow("search_files", {"path": "path"}, safe=True, place="path"),
    "webfetch": ToolRow("fetch", {"url": "url"}, ("format",)),
    "websearch": ToolRow("search_web", {"query": "query"}),
    "task": ToolRow("delegate", {"prompt": "prompt", "subagent_type": "agent"}, ("description",)),
}

TABLES: Final[dict[str, dict[str, ToolRow]]] = {
    "claude-code": CLAUDE_CODE,
    "codex": CODEX,
    "gemini-cli": GEMINI_CLI,
    "opencode": OPENCODE,
}
