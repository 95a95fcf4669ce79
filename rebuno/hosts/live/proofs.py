"""`rebuno hook doctor --live`: the proofs as findings, one for each scope in which a hook is planted."""

import os
from collections.abc import Iterator
from typing import Final

from rebuno.errors import BundleError, RebunoError, text_of
from rebuno.hosts.doctor import Finding, planted_scopes
from rebuno.hosts.install.hosts import HostProfile, Places, Scope
from rebuno.hosts.install.install import settings_file
from rebuno.hosts.live.canary import LiveProof, prove
from rebuno.hosts.live.driver import InstalledHost, Room, find
from rebuno.hosts.live.drivers import DRIVERS
from rebuno.hosts.live.transplant import transplant
from rebuno.hosts.run import policy_files
from rebuno.hosts.settings import read_settings
from rebuno.policy import compile_policy, read_source

CHECK: Final = "live"


def proofs(profile: HostProfile, here: Places) -> Iterator[Finding]:
    """Runs the host once for each scope in which its hook is planted; for the user's own where there is none. `failed`
    wherever it is not shown that a denied call does not run."""
    driver = next(one for one in DRIVERS if one.name == profile.name)
    host = find(driver, path=here.environ.get("PATH", os.defpath))
    if host is None:
        message = f"`{profile.command}` is not on your PATH, so nothing can be shown"
        yield Finding(profile.name, CHECK, "failed", message, f"put {profile.title} on the PATH, then ask again")
        return
    for scope in planted_scopes(profile, here) or ["user"]:
        yield _proved(profile, scope, here, host)


def _proved(profile: HostProfile, scope: Scope, here: Places, host: InstalledHost) -> Finding:
    again = f"rebuno hook install {profile.name}{'' if scope == 'user' else ' --scope project'}"
    own = settings_file(profile, scope, here)

    def plant(room: Room) -> None:
        transplant(profile, scope, here, host, room)

    try:
        settings = read_settings(profile.name, here.environ, str(own) if own.exists() else None)
        policy = compile_policy([read_source(path) for path in policy_files(settings)])
        proof = prove(host, policy, plant)
    except BundleError as error:
        first = error.diagnostics[0] if error.diagnostics else error
        return Finding(
            profile.name, CHECK, "failed", f"there is no policy: {first}", "correct the bundle, then ask again"
        )
    except (RebunoError, OSError) as error:
        return Finding(profile.name, CHECK, "failed", f"nothing can be shown: {text_of(error)}", again)
    if proof is None:
        message = "nothing can be shown: the policy denies none of the commands that the proof may try"
        return Finding(profile.name, CHECK, "failed", message, "ask again with a bundle that denies commands")
    return _found(profile, proof, again, observed=settings.observe)


def _found(profile: HostProfile, proof: LiveProof, again: str, *, observed: bool) -> Finding:
    away = f"; it looked for {', '.join(proof.refused)} and was refused" if proof.refused else ""
    if proof.holds:
        return Finding(profile.name, CHECK, "ok", f"{proof}{away}")
    fix = f"to enforce the policy: {again}, without --observe" if observed else f"{again}, then ask again"
    return Finding(profile.name, CHECK, "failed", f"{proof}{away}", fix)
