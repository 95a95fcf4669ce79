"""Goes through the hooks that are planted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.hosts.doctor import claude_code, codex, common, gemini_cli, opencode
from rebuno.hosts.doctor.finding import Finding, PlantedHook
from rebuno.hosts.install import entries, files, json_text
from rebuno.hosts.install.hosts import HOSTS, SCOPES, HostProfile, Places, Scope
from rebuno.hosts.install.install import MARK, settings_file
from rebuno.hosts.settings import HookSettings, read_settings

# What is looked at for one host alone.
_OWN: Final[Mapping[str, Callable[[PlantedHook], Iterator[Finding]]]] = {
    "claude-code": claude_code.check,
    "codex": codex.check,
    "gemini-cli": gemini_cli.check,
    "opencode": opencode.check,
}


def examine(here: Places, names: Sequence[str] = ()) -> list[Finding]:
    """What is found of the hosts of these names; without names of those for which a hook is planted."""
    found: list[Finding] = []
    for host in HOSTS.values():
        if names and host.name not in names:
            continue
        scopes = planted_scopes(host, here)
        for scope in scopes:
            found += _of(host, scope, here)
        if not scopes and names:
            fix = f"rebuno hook install {host.name}"
            found.append(Finding(host.name, "installed", "failed", f"no hook is planted in {host.title}", fix))
        if scopes:
            found += common.version(host, here)
            found += common.failures(host, here)
    if not found:
        message = f"no hook is planted in {', '.join(host.title for host in HOSTS.values())}"
        found.append(Finding("", "installed", "failed", message, "rebuno hook install HOST"))
    return found


def planted_scopes(host: HostProfile, here: Places) -> list[Scope]:
    """The scopes in which a hook of ours is planted, or was to be."""
    return [scope for scope in SCOPES if _planted(host, scope, here)]


def _planted(host: HostProfile, scope: Scope, here: Places) -> bool:
    """Whether there is a hook of ours, or was to be one."""
    if scope == "project" and host.at_home(here):
        return False
    if settings_file(host, scope, here).exists():
        return True
    try:
        text = files.read(host.settings(scope, here)).text()
    except (OSError, ValidationError):
        return False
    # The settings may be broken: then it is said below what is wrong with them.
    return text.startswith(MARK) if host.module else entries.PROGRAM in text


def _of(host: HostProfile, scope: Scope, here: Places) -> Iterator[Finding]:
    own = settings_file(host, scope, here)
    settings: HookSettings | None = None
    unread: list[Finding] = []
    planted = PlantedHook(host, scope, here, {}, None)
    try:
        settings = read_settings(host.name, here.environ, str(own) if scope == "project" else None)
    except ValidationError as error:
        unread.append(planted.failed("settings", error.message, f"remove {own}, then {planted.again}"))
    root: Mapping[str, Any] = {}
    try:
        content = files.read(host.settings(scope, here))
        if not host.module and content.text().strip():
            root = json_text.parse(content.text(), str(content.path)).root.value
    except ValidationError as error:
        yield planted.failed("installed", error.message, f"correct the file, then {planted.again}")
        return
    except OSError as error:
        yield planted.failed("installed", f"`{error.filename}`: {error.strerror}", "make the file readable for you")
        return
    planted = PlantedHook(host, scope, here, root, settings)
    yield from unread
    yield from common.installed(planted, content)
    if settings is not None:
        yield from common.policy(planted, settings)
        yield from common.store(planted, settings)
        if settings.observe:
            fix = f"to enforce the policy: rebuno hook install {host.name}{planted.option}"
            yield planted.note("mode", "the hook only observes: no call is stopped", fix)
    yield from _OWN[host.name](planted)
