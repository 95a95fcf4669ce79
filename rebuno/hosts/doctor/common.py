"""What is looked at for every host."""

import asyncio
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rebuno.errors import BundleError, StoreError, text_of
from rebuno.hosts.doctor import programs
from rebuno.hosts.doctor.finding import Finding, PlantedHook
from rebuno.hosts.failures import failures_path, read_failures
from rebuno.hosts.install import entries, hosts
from rebuno.hosts.install.files import Content
from rebuno.hosts.install.hosts import HostProfile, Places
from rebuno.hosts.install.install import planting
from rebuno.hosts.settings import HookSettings

_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")
_SETTINGS: Final = re.compile(r"const settings = (\{.*?\n\})", re.DOTALL)
# How many of the failures are shown.
_SHOWN: Final = 3


def installed(planted: PlantedHook, content: Content) -> Iterator[Finding]:
    """Whether every event is hooked as it was planted, and the program that is called is there and runs."""
    calls = _programs(planted, content)
    if not calls:
        yield planted.failed("installed", f"{content.path} has no hook of ours", planted.again)
        return
    wanted, there = _wanted(planted, calls[0]), _there(planted, content)
    asks = planted.host.asks
    if wanted is None:
        pass
    elif there.get(asks) != wanted.get(asks):
        what = "differs from what was planted" if asks in there else "is missing"
        yield planted.failed("installed", f"the hook of {asks} in {content.path} {what}", planted.again)
    elif there != wanted:
        events = ", ".join(event for event in wanted if there.get(event) != wanted[event])
        message = f"the hooks of {events} in {content.path} are not as they were planted"
        yield planted.failed("installed", message, planted.again)
    else:
        yield planted.ok("installed", f"{content.path} calls us for {', '.join(there)}")
    for call in dict.fromkeys(calls):
        yield _runs(planted, call)


def policy(planted: PlantedHook, settings: HookSettings) -> Iterator[Finding]:
    """Whether the bundles compile."""
    from rebuno.hosts.run import policy_files
    from rebuno.policy import compile_policy, read_source

    named = policy_files(settings)
    shown = ", ".join(named)
    try:
        compile_policy([read_source(path) for path in named])
    except BundleError as error:
        first = error.diagnostics[0] if error.diagnostics else error
        fix = f"correct it: rebuno policy check {shlex.join(named)}"
        yield planted.failed("policy", f"{shown} gives no policy, so no call runs: {first}", fix)
    else:
        yield planted.ok("policy", f"{shown} compiles")


def store(planted: PlantedHook, settings: HookSettings) -> Iterator[Finding]:
    """Whether the store opens; where there is none yet, whether one can be made."""
    from rebuno.journal.opening import open_store

    file = None if "://" in settings.db else Path(settings.db.removeprefix("sqlite:"))
    if file is not None and not file.exists():
        folder = next(parent for parent in file.absolute().parents if parent.exists())
        if os.access(folder, os.W_OK | os.X_OK):
            yield planted.ok("store", f"{file} is made by the first call")
        else:
            fix = f"make {folder} writable, or give another --db: {planted.again} --db PATH"
            yield planted.failed("store", f"{file} cannot be made: {folder} is not writable", fix)
        return

    async def look() -> None:
        await (await open_store(settings.db, create=False)).close()

    try:
        asyncio.run(look())
    except StoreError as error:
        fix = f"put it right, or give another --db: {planted.again} --db PATH"
        yield planted.failed("store", f"the store cannot be used, so no call runs: {text_of(error)}", fix)
    else:
        yield planted.ok("store", f"{file or 'the database'} opens")


def others(planted: PlantedHook) -> Iterator[Finding]:
    """Hooks of others that run beside ours."""
    found = entries.others(dict(planted.root), planted.host.asks)
    if found:
        commands = ", ".join(str(hook.get("command") or hook.get("type")) for hook in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        message = f"other hooks run before each call, and one may change it afterwards: {commands}{more}"
        yield planted.note("other hooks", message, "see that none of them changes a call (`updatedInput` and the like)")


def version(host: HostProfile, here: Places) -> Iterator[Finding]:
    """The version of the host against the one that the hooks were tried with."""
    place = programs.find(host.command, here.environ)
    if place is None:
        message = f"`{host.command}` is not on your PATH, so its version is not known"
        yield Finding(host.name, "version", "note", message, f"put {host.title} on the PATH, then ask again")
        return
    try:
        code, said = programs.output([place, "--version"], here.environ, here.project)
    except OSError as error:
        yield Finding(host.name, "version", "note", f"{place} --version: {text_of(error)}", f"reinstall {host.title}")
        return
    found = _VERSION.search(said)
    if code or found is None:
        yield Finding(host.name, "version", "note", f"{place} does not tell its version", f"reinstall {host.title}")
    elif host.oldest and _numbers(found[0]) < _numbers(host.oldest):
        message = f"{host.title} {found[0]} lets a call run where a hook fails; {host.oldest} and later do not"
        yield Finding(host.name, "version", "failed", message, f"update {host.title}")
    elif found[0] != host.tested:
        message = f"{host.title} {found[0]} is here; the hook was tried with {host.tested}"
        yield Finding(host.name, "version", "note", message, f"prove it: rebuno hook doctor {host.name} --live")
    else:
        yield Finding(host.name, "version", "ok", f"{host.title} {found[0]}, as the hook was tried with")


def failures(host: HostProfile, here: Places) -> Iterator[Finding]:
    """What went wrong in hooks: under `--observe` the host was not told."""
    found = [one for one in read_failures(here.environ) if one.get("host") == host.name]
    if not found:
        return
    passed = sum(one.get("observed") is True for one in found)
    message = f"events without an answer: {len(found)}; let through, since the hook only observed: {passed}"
    last = f"the last one: {found[-1]['message']}"
    fix = f"put the cause right, then remove {failures_path(here.environ)}"
    yield Finding(host.name, "failures", "note", f"{message}; {last}", fix)


def _runs(planted: PlantedHook, program: str) -> Finding:
    fix = f"install rebuno-kernel again, then {planted.again}; or rebuno hook uninstall {planted.host.name}"
    if not os.path.exists(program):
        return planted.failed("program", f"{program} is missing, so no call runs", fix)
    if not os.access(program, os.X_OK):
        return planted.failed("program", f"{program} is not executable, so no call runs", fix)
    try:
        # That much needs no judge, and leaves no trace.
        code, said = programs.output([program, "--version"], planted.here.environ, planted.here.project)
    except OSError as error:
        return planted.failed("program", f"{program} cannot be run: {text_of(error)}", fix)
    if code not in (0, 2) or "Traceback" in said:
        last = next((line for line in reversed(said.splitlines()) if line.strip()), "it said nothing")
        return planted.failed("program", f"{program} ends with {code}: {last}", fix)
    return planted.ok("program", f"{program} runs")


def _programs(planted: PlantedHook, content: Content) -> list[str]:
    """The programs of our hooks, the one before a call first."""
    if planted.host.module:
        value = _plugin(content)
        return [str(value["program"])] if value and "program" in value else []
    places = entries.found(dict(planted.root))
    places.sort(key=lambda place: place.event != planted.host.asks)
    hooks = [planted.root["hooks"][place.event][place.group]["hooks"][place.hook] for place in places]
    return [word for hook in hooks if (word := entries.program(hook))]


def _wanted(planted: PlantedHook, program: str) -> dict[str, object] | None:
    if planted.settings is None:
        return None
    now = planting(planted.host, planted.scope, planted.here, Path(program), planted.settings)
    if planted.host.module:
        return {planted.host.asks: hosts.plugin(now)}
    return {event: group["hooks"] for event, group in planted.host.groups(now).items()}


def _there(planted: PlantedHook, content: Content) -> dict[str, object]:
    if planted.host.module:
        return {planted.host.asks: content.text()}
    return {
        place.event: [planted.root["hooks"][place.event][place.group]["hooks"][place.hook]]
        for place in entries.found(dict(planted.root))
        if entries.takes_all(planted.root["hooks"][place.event][place.group])
    }


def _plugin(content: Content) -> dict[str, object] | None:
    import json

    found = _SETTINGS.search(content.text())
    try:
        value = json.loads(found[1]) if found else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
