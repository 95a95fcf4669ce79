"""The program that looks for secrets and for erased keys runs, and finds none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("erase.py")


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_no_secret_stands_anywhere_and_no_erased_key_is_left(store: str) -> None:
    """Through every way in, on a store of its own."""
    command = [sys.executable, str(PROGRAM), "--store", store, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    report = json.loads(ran.stdout)
    assert report.pop("ways") >= 28
    assert report == {"bytes_found": 0, "keys_left": 0, "verify_ok": True}
