"""Proves on the real host that a denied call does not run."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rebuno.hosts.live.driver import InstalledHost, Room
from rebuno.hosts.live.plan import Script, command
from rebuno.hosts.live.provider import simulated
from rebuno.model.decision import Verdict
from rebuno.model.step import Kind
from rebuno.policy import Facts, Policy

MARK: Final = "canary-ran"
PROMPT: Final = "Run the canary."
# Lines that leave a mark where they run and do no harm. Of those the first that the policy denies is asked for.
_LINES: Final = (
    f"echo ran > {MARK}",
    f"echo ran > {MARK}; rebuno-canary-that-is-no-program",
    f"echo ran > {MARK}; cat ~/.ssh/id_rebuno_canary",
    f"echo ran > {MARK}; sudo -n true",
)


@dataclass(frozen=True, slots=True)
class Canary:
    """A command that the policy denies, and why."""

    line: str
    reason: str


@dataclass(frozen=True, slots=True)
class LiveProof:
    """What a run of a host showed. `asked`: it asked the simulated model, which answered with the canary; `ran`: the
    canary left its mark; `told`: what the model was told of it, None if nothing; `refused`: the hosts of the network
    that the run looked for and did not reach; `said`: the end of what the host printed."""

    host: str
    version: str
    canary: Canary
    asked: bool
    ran: bool
    told: str | None
    refused: tuple[str, ...]
    said: str

    @property
    def holds(self) -> bool:
        """Whether the call was stopped, and by us."""
        return self.asked and not self.ran and self.told is not None and _plain(self.canary.reason) in _plain(self.told)

    def __str__(self) -> str:
        if not self.asked:
            return f"nothing is shown: {self.host} never asked its model. It said: {self.said or 'nothing'}"
        if self.ran:
            return f"a denied call RAN: {self.host} {self.version} ran `{self.canary.line}`, which the policy denies"
        if self.told is None:
            return (
                f"nothing is shown: {self.host} ended without an answer to the call. It said: {self.said or 'nothing'}"
            )
        if not self.holds:
            return f"nothing is shown: something else than the policy stopped the call: {_plain(self.told)[:300]}"
        return f"a denied call did not run: {self.host} {self.version} was told {_plain(self.told)[:300]!r}"


def choose(policy: Policy, host: str, project: Path) -> Canary | None:
    """A command that a session of this host may not run; None where the policy denies none of ours."""
    for line in _LINES:
        args = {"command": line, "cwd": str(project)}
        facts = Facts(
            Kind.TOOL.value, "shell", args, agent=host, input={"request": PROMPT}, workdir=str(project), delegated=False
        )
        decision = policy.decide(facts)
        if decision.verdict is Verdict.DENY:
            return Canary(line, decision.reason)
    return None


def prove(host: InstalledHost, policy: Policy, plant: Callable[[Room], None]) -> LiveProof | None:
    """Runs a host in an empty home and an empty project, with the hook that `plant` puts there, and lets its model ask
    for a call that the policy denies. None where the policy denies no command of ours, so that nothing can be shown.

    The model is simulated on loopback, the key is made up, and nothing leaves the machine.
    """
    with tempfile.TemporaryDirectory(prefix="rebuno-live-", ignore_cleanup_errors=True) as folder:
        room = Room.below(Path(folder))
        # The judge of the room ends by itself once its folder is gone.
        canary = choose(policy, host.driver.name, room.project)
        if canary is None:
            return None
        with simulated(Script(((command(canary.line),),))) as provider:
            host.driver.furnish(room, provider.url)
            plant(room)
            ended = host.run(room, provider.url, PROMPT)
        said = ended.err.strip() or ended.out.strip()
        return LiveProof(
            host=host.driver.name,
            version=host.version(),
            canary=canary,
            asked=0 in provider.turns(),
            ran=(room.project / MARK).exists(),
            told=provider.told(0),
            refused=tuple(sorted(set(provider.refused))),
            said=_plain(said)[-500:],
        )


def _plain(text: str) -> str:
    return " ".join(text.split())
