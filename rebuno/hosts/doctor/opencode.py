"""What keeps OpenCode from loading our plugin, or lets another one change a call after it."""

from collections.abc import Iterator
from typing import Final

from rebuno.hosts.doctor.finding import Finding, PlantedHook

_OFF: Final = ("1", "true")


def check(planted: PlantedHook) -> Iterator[Finding]:
    """Variables that switch plugins off, and other plugins."""
    environ = planted.here.environ
    stopped = []
    if environ.get("OPENCODE_PURE", "").lower() in _OFF:
        stopped.append(planted.failed("switches", "OPENCODE_PURE is set: no plugin is loaded", "unset OPENCODE_PURE"))
    if planted.scope == "project" and environ.get("OPENCODE_DISABLE_PROJECT_CONFIG", "").lower() in _OFF:
        message = "OPENCODE_DISABLE_PROJECT_CONFIG is set: the project's plugins are not loaded"
        stopped.append(planted.failed("switches", message, "unset it, or install with --scope user"))
    yield from stopped or [planted.ok("switches", "no variable stops plugins; `opencode --pure` would")]
    folders = {planted.host.settings(scope, planted.here).parent for scope in ("user", "project")}
    folders |= {folder.with_name("plugin") for folder in folders}
    files = sorted(file for folder in folders for file in folder.glob("*.[jt]s") if file.name != "rebuno.js")
    if files:
        message = f"other plugins may change a call after ours: {', '.join(map(str, files[:3]))}"
        yield planted.note("other plugins", message, "see that none of them changes `output.args`")
