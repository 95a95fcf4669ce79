"""What `rebuno hook` changed and found, as text and as JSON."""

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from rebuno_cli.render.escape import escape

if TYPE_CHECKING:
    from rebuno.hosts.doctor import Finding
    from rebuno.hosts.install import FileChange, Installation

# A path may be long, and a line of a settings file too.
_LIMIT: Final = 1000
_BY: Final = {"user": "for you", "project": "in this project"}


def installed(done: "Installation", dry_run: bool) -> Iterator[str]:
    """The lines that tell of an installation."""
    if dry_run:
        yield from _differences(done)
    elif not done.changes:
        yield f"the hook of {done.host} was there already {_BY[done.scope]}; nothing was changed"
    else:
        mode = "only observes" if done.settings.observe else "asks before every call"
        yield f"{done.host} {mode} {_BY[done.scope]}: {', '.join(done.events)}"
        yield from _files(done)
        yield f"policy: {', '.join(escape(path, _LIMIT) for path in done.settings.policy) or 'the starter coding.rbp'}"
        yield "sessions that run already go on without it: begin them anew"
        yield f"take it out: rebuno hook uninstall {done.host}{_option(done)}"
    for note in done.notes:
        yield f"note: {escape(note, _LIMIT)}"


def uninstalled(done: "Installation", dry_run: bool) -> Iterator[str]:
    """The lines that tell that a hook was taken out."""
    if dry_run:
        yield from _differences(done)
    elif not done.changes:
        yield f"{done.host} has no hook of ours {_BY[done.scope]}; nothing was changed"
    else:
        yield f"{done.host} does not ask any more {_BY[done.scope]}"
        yield from _files(done)


def installed_json(done: "Installation", dry_run: bool) -> dict[str, Any]:
    """The same as data; `changes` have the difference where nothing was changed."""
    changes = [
        {
            "path": str(change.path),
            "change": _kind(change),
            "backup": str(change.backup) if change.backup else None,
            "diff": "\n".join(difference(change)) if dry_run else None,
        }
        for change in done.changes
    ]
    return {"host": done.host, "scope": done.scope, "dry_run": dry_run, "changes": changes, "notes": done.notes}


def findings(found: "Sequence[Finding]") -> Iterator[str]:
    """A line for each finding, with its fix."""
    for one in found:
        name = f"{one.host} {one.check}".strip()
        fix = f"; fix: {escape(one.fix, _LIMIT)}" if one.fix else ""
        yield f"{one.status:<6}  {name}: {escape(one.message, _LIMIT)}{fix}"


def findings_json(found: "Sequence[Finding]") -> dict[str, Any]:
    """The same as data: `ok` is false where one failed."""
    listed = [
        {"host": one.host, "check": one.check, "status": one.status, "message": one.message, "fix": one.fix or None}
        for one in found
    ]
    return {"ok": all(one.status != "failed" for one in found), "findings": listed}


def difference(change: "FileChange") -> Iterator[str]:
    """The unified difference of a file, without line ends."""
    before, after = ((text or b"").decode("utf-8", "replace").splitlines() for text in (change.before, change.after))
    old, new = ("/dev/null" if text is None else str(change.path) for text in (change.before, change.after))
    yield from difflib.unified_diff(before, after, old, new, lineterm="")


def _differences(done: "Installation") -> Iterator[str]:
    if not done.changes:
        yield "nothing would change"
    for change in done.changes:
        for line in difference(change):
            yield escape(line, _LIMIT)


def _files(done: "Installation") -> Iterator[str]:
    for change in done.changes:
        kept = f" (what was there before: {escape(str(change.backup), _LIMIT)})" if change.backup else ""
        yield f"{_kind(change)} {escape(str(change.path), _LIMIT)}{kept}"


def _kind(change: "FileChange") -> str:
    if change.after is None:
        return "removed"
    return "wrote" if change.before is None else "changed"


def _option(done: "Installation") -> str:
    return "" if done.scope == "user" else f" --scope {done.scope}"
