"""The reference servers, installed from npm into an environment of their own. They are not ours to ship."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[2] / ".venv-hosts" / "mcp-servers"
PACKAGES: Final = {
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@modelcontextprotocol/server-everything": "2026.8.31",
}
_PATIENCE: Final = 600.0


def program(name: str) -> str:
    """The command of a server."""
    return str(FOLDER / "node_modules" / ".bin" / name)


def install() -> str:
    """Installs the servers, unless they are there; why they could not be had, or an empty text."""
    npm = shutil.which("npm")
    if npm is None:
        return "there is no `npm`"
    manifest = FOLDER / "package.json"
    wanted = {"private": True, "dependencies": PACKAGES}
    if manifest.exists() and json.loads(manifest.read_text(encoding="utf-8")) == wanted:
        return ""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    words = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", "--no-save"]
    try:
        done = subprocess.run(
            [*words, *(f"{name}@{version}" for name, version in PACKAGES.items())],
            cwd=FOLDER,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            env={**os.environ, "npm_config_update_notifier": "false"},
        )
    except subprocess.TimeoutExpired:
        return f"npm did not bring the reference servers within {_PATIENCE:.0f} seconds"
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        return f"npm did not bring the reference servers: {said[0] if said else 'it says nothing'}"
    manifest.write_text(json.dumps(wanted), encoding="utf-8")
    return ""
