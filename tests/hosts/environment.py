"""The environment of the coding agents that are driven: each is installed from npm into a folder of its own.

    python tests/hosts/environment.py

They are not ours to ship. Which could not be had is said by name, and the others are installed all the same.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

# Beside the packages of the tests this one is a program.
sys.path.insert(0, str(Path(__file__).parents[2]))

from rebuno.hosts.install import HOSTS
from rebuno.hosts.live import DRIVERS, Driver, InstalledHost, find

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / ".venv-hosts"
# Those that the hooks are said to be tried with. A newer one is tried before it is taken.
VERSIONS: Final = {name: profile.tested for name, profile in HOSTS.items()}
PATIENCE: Final = 600.0


def programs(name: str) -> Path:
    """The folder of the commands of one host."""
    return FOLDER / name / "node_modules" / ".bin"


def installed(driver: Driver) -> InstalledHost | None:
    """A host of this environment, and no other one of the machine."""
    return find(driver, path=str(programs(driver.name)))


def install(driver: Driver) -> str:
    """Installs a host, unless it is there; why it could not be had, or an empty text."""
    version = VERSIONS[driver.name]
    npm = shutil.which("npm")
    if npm is None:
        return "there is no `npm`"
    folder = FOLDER / driver.name
    manifest = folder / "package.json"
    wanted = {"private": True, "dependencies": {driver.package: version}}
    if installed(driver) and manifest.exists() and json.loads(manifest.read_text(encoding="utf-8")) == wanted:
        return ""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", "--no-save"]
    try:
        done = subprocess.run(
            [*words, f"{driver.package}@{version}"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env={**os.environ, "npm_config_update_notifier": "false"},
        )
    except subprocess.TimeoutExpired:
        return f"npm did not bring {driver.package}@{version} within {PATIENCE:.0f} seconds"
    host = installed(driver)
    if done.returncode or host is None:
        said = (done.stderr or done.stdout).strip().splitlines()
        return f"npm did not bring {driver.package}@{version}: {said[0] if said else 'it says nothing'}"
    if host.version() != version:
        return f"{driver.package}@{version} does not start here: `{driver.program} --version` says {host.version()!r}"
    manifest.write_text(json.dumps(wanted), encoding="utf-8")
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--host", choices=sorted(VERSIONS), action="append", help="only this one; may be given again")
    options = parser.parse_args()
    missing = []
    for driver in DRIVERS:
        if options.host and driver.name not in options.host:
            continue
        print(f"{driver.name} {VERSIONS[driver.name]}: ", end="", flush=True)
        why = install(driver)
        print(why or "there")
        if why:
            missing.append(driver.name)
    if missing:
        print(f"not to be had: {', '.join(missing)}")


if __name__ == "__main__":
    main()
