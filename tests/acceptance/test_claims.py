"""The program that tries to break proved claims runs, and after a few steps none is broken."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("claims.py")
POLICIES = Path(__file__).parent.parent.parent / "policies"
BUNDLES = (POLICIES / "payments.rbp", POLICIES / "agentdojo" / "slack.rbp")


def test_no_proved_claim_is_broken() -> None:
    """The claims of two shipped bundles, and of the bundles that are made of them by taking rules away."""
    command = [sys.executable, str(PROGRAM), "--steps", "1000", "--worse", "20", "--json"]
    command += [word for path in BUNDLES for word in ("--bundle", path.stem)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    report = json.loads(ran.stdout)
    assert report["broken"] == []
    assert report["proved"] == report["claims"] == sum(map(_claims, BUNDLES))
    assert report["refuted"] == report["refutations_replayed"] >= 12
    assert report["steps"] >= 1000


def _claims(path: Path) -> int:
    return sum(line.startswith("never ") for line in path.read_text(encoding="utf-8").splitlines())
