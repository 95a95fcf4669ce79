"""Puts our hook into a host's settings, and takes it out."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rebuno.errors import RebunoError, ValidationError
from rebuno.hosts import settings as hook_settings
from rebuno.hosts.install import entries, files, hosts, json_text
from rebuno.hosts.install.files import Content
from rebuno.hosts.install.hosts import HostProfile, Places, Planting, Scope
from rebuno.hosts.install.record import Record, Records
from rebuno.hosts.settings import HookSettings

MARK: Final = "// Rebuno:"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file before and after; None stands for no file. `backup` is where the bytes from before were copied to."""

    path: Path
    before: bytes | None
    after: bytes | None
    backup: Path | None = None


@dataclass(slots=True)
class Installation:
    """What was changed, and what the user still has to do or know."""

    host: str
    scope: Scope
    changes: list[FileChange] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    settings: HookSettings = field(default_factory=HookSettings)
    notes: list[str] = field(default_factory=list)


def places(environ: Mapping[str, str] | None = None, project: Path | None = None) -> Places:
    """The home folder, the working folder and the environment of this process."""
    environ = dict(os.environ) if environ is None else environ
    return Places(Path(environ.get("HOME") or os.path.expanduser("~")), Path(os.path.abspath(project or ".")), environ)


def program() -> Path:
    """The program that hosts call: the one that was installed with the Python that runs.

    Raises:
        RebunoError: it is not there.
    """
    found = Path(os.path.abspath(sys.executable)).parent / entries.PROGRAM
    if not os.access(found, os.X_OK):
        raise RebunoError(f"`{found}` is missing; install rebuno-kernel again with the Python that runs this command")
    return found


def install(
    host: HostProfile, scope: Scope, here: Places, program: Path, wanted: HookSettings, *, dry_run: bool = False
) -> Installation:
    """Plants a call of `program` into the settings of a host, and writes our own settings for it, `wanted`. Doing it
    again changes nothing.

    Raises:
        ValidationError: the host's settings are broken, or something else stands where our plugin belongs; nothing was
            changed.
        OSError: a file cannot be written.
    """
    own_file = settings_file(host, scope, here)
    planted = planting(host, scope, here, program, wanted)
    if scope == "project" and host.at_home(here):
        raise ValidationError(f"the settings of this folder's project are your own, {planted.file}: use `--scope user`")
    wanted = replace(wanted, timeout=float(planted.timeout))
    done = Installation(host.name, scope, events=[*host.events] or [host.asks], settings=wanted)
    with _alone(here, dry_run):
        content = files.read(planted.file)
        after = _planted(host, planted, content)
        done.notes += _warnings(host, scope, content, after)
        own = files.read(own_file)
        own_text = json.dumps(hook_settings.settings_json(wanted), indent=2, ensure_ascii=False) + "\n"
        # Ours first: a hook without its settings would refuse every call, or judge by others.
        if own.data != own_text.encode():
            _written(done, own, own_text.encode(), dry_run)
        try:
            if content.data != after:
                _recorded(done, Records(records_folder(here)), content, after, dry_run)
        except BaseException:
            if not dry_run:
                files.write(files.read(own.path), own.data)
            raise
    return done


def uninstall(host: HostProfile, scope: Scope, here: Places, *, dry_run: bool = False) -> Installation:
    """Takes the hook of a host out: the settings are as they were before, byte for byte, where nobody changed them
    since; elsewhere only our entries go. Doing it again changes nothing.

    Raises:
        ValidationError: the host's settings are broken; nothing was changed.
        OSError: a file cannot be written.
    """
    done = Installation(host.name, scope, events=[*host.events] or [host.asks])
    with _alone(here, dry_run):
        records = Records(records_folder(here))
        content = files.read(host.settings(scope, here))
        record = records.find(content.target)
        after = _restored(host, content, record, records.before(content.target))
        if content.data != after:
            done.changes.append(FileChange(content.path, content.data, after))
            if not dry_run:
                files.write(content, after)
        own = files.read(settings_file(host, scope, here))
        if own.data is not None:
            done.changes.append(FileChange(own.path, own.data, None))
            if not dry_run:
                files.write(own, None)
                files.remove_empty([own.path.parent])
        if record and not dry_run:
            if after is None:
                files.remove_empty([Path(folder) for folder in record.folders])
            records.drop(content.target, copy=content.digest == record.after)
    return done


def planned(host: HostProfile, scope: Scope, here: Places) -> HookSettings:
    """Our own settings for a host as they are now; the defaults where there are none.

    Raises:
        ValidationError: they cannot be read.
    """
    content = files.read(settings_file(host, scope, here))
    if content.data is None:
        return HookSettings()
    try:
        return hook_settings.settings_of(json.loads(content.text()))
    except (ValueError, RecursionError):
        raise ValidationError(f"`{content.path}` is no JSON; remove it, then install again") from None
    except ValidationError as error:
        raise ValidationError(f"`{content.path}`: {error.message}; remove it, then install again") from None


def planting(host: HostProfile, scope: Scope, here: Places, program: Path, wanted: HookSettings) -> Planting:
    """What is planted for these settings."""
    found = Planting(host.settings(scope, here), program, (host.name,), scope, wanted.observe, wanted.wait)
    extra = [] if scope == "user" else ["--settings", str(settings_file(host, scope, here))]
    # The program looks into no settings before it has a judge, and must be done before the host gives it up.
    extra += ["--observe"] if wanted.observe else []
    extra += [] if found.timeout == hook_settings.TIMEOUT else ["--timeout", str(found.timeout)]
    return replace(found, arguments=(host.name, *extra))


def settings_file(host: HostProfile, scope: Scope, here: Places) -> Path:
    """Where our own settings for a host lie. Those of a project lie in the user's folder, not in the project: the agent
    writes there."""
    usual = Path(hook_settings.settings_path(host.name, here.environ))
    if scope == "user":
        return usual
    project = os.path.realpath(here.project)
    return usual.parent / f"{Path(project).name or 'root'}-{files.digest(os.fsencode(project))[:12]}" / usual.name


def records_folder(here: Places) -> Path:
    """Where it is written what was there before."""
    return Path(hook_settings.state_folder(here.environ)) / "installed"


def _alone(here: Places, dry_run: bool) -> AbstractContextManager[None]:
    return nullcontext() if dry_run else files.locked(records_folder(here))


def _planted(host: HostProfile, planted: Planting, content: Content) -> bytes:
    if host.module:
        if content.data is not None and not content.text().startswith(MARK):
            raise ValidationError(f"`{content.path}` is there and is not ours; move it away, nothing was changed")
        return hosts.plugin(planted).encode()
    text = content.text()
    groups = host.groups(planted)
    if not text.strip():
        return content.encoded(entries.put("{}\n", str(content.path), groups))
    return content.encoded(entries.put(text, str(content.path), groups))


def _restored(host: HostProfile, content: Content, record: Record | None, before: bytes | None) -> bytes | None:
    if content.data is None:
        return None
    if record and content.digest == record.after and (before is not None or not record.existed):
        return before if record.existed else None
    if host.module:
        return None if content.text().startswith(MARK) else content.data
    text = content.text()
    if not text.strip():
        return content.data
    return content.encoded(entries.take(text, str(content.path), was=_value(before)))


def _value(data: bytes | None) -> Any:
    try:
        return json_text.parse((data or b"").decode("utf-8-sig"), "").root.value
    except (ValidationError, UnicodeDecodeError):
        return None


def _recorded(done: Installation, records: Records, content: Content, after: bytes, dry_run: bool) -> None:
    record = records.find(content.target)
    if dry_run:
        done.changes.append(FileChange(content.path, content.data, after))
        return
    # What we planted ourselves is not what was there before.
    again = record is not None and content.digest == record.after
    backup = records.backup(content.target) if again else records.keep(content) if content.data is not None else None
    made = files.write(content, after)
    done.changes.append(FileChange(content.path, content.data, after, backup))
    existed = record.existed if again and record else content.data is not None
    folders = record.folders if again and record else tuple(str(folder) for folder in made)
    records.put(content.target, Record(str(content.path), existed, files.digest(after), folders))


def _written(done: Installation, content: Content, after: bytes, dry_run: bool) -> None:
    done.changes.append(FileChange(content.path, content.data, after))
    if not dry_run:
        files.write(content, after)


def _warnings(host: HostProfile, scope: Scope, content: Content, after: bytes) -> Iterator[str]:
    if scope == "project":
        yield f"{content.path} names a program of this machine: keep it out of version control"
    if not host.module and not host.comments:
        document = json_text.parse(Content(content.path, content.target, after).text(), str(content.path))
        if document.comments:
            yield (
                f"{host.title} skips a settings file with comments as a whole, and our hook with it: take the comment "
                f"in line {document.line(document.comments[0][0])} of {content.path} out"
            )
    if host.name == "codex":
        yield (
            "Codex runs a hook only after you have reviewed it, and skips it silently until then: open `codex`, enter "
            "/hooks, trust the hooks that name rebuno-hook; then `rebuno hook doctor codex`"
        )
