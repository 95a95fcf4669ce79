"""The program that tries to break proved claims runs, and after a few steps none is broken."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("claims.py")


def test_no_proved_claim_is_broken() -> None:
    """The claims of two shipped bundles, and of the bundles that are made of them by taking rules away."""
    command = [sys.executable, str(PROGRAM), "--steps", "1000", "--worse", "20", "--json"]
    command += ["--bundle", "payments", "--bundle", "slack"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    report = json.loads(ran.stdout)
    assert report["broken"] == []
    assert report["proved"] == report["claims"] >= 11
    assert report["refuted"] == report["refutations_replayed"] >= 12
    assert report["steps"] >= 1000
