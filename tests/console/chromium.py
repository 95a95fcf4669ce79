"""A real Chromium that tests steer, and axe-core, which looks for what keeps people from using a page."""

import os
import shutil
import subprocess
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.async_api import Browser as Chromium
from playwright.async_api import BrowserContext, Page, async_playwright, expect

# `required`: a machine without Chromium or npm fails the tests that need them, in the place of skipping them.
VARIABLE: Final = "REBUNO_TEST_CHROMIUM"
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
# Milliseconds: on a busy machine a page takes its time.
PATIENCE: Final = 90_000
AXE: Final = "axe-core@4.14.1"
DESK: Final = {"width": 1180, "height": 860}
PHONE: Final = {"width": 360, "height": 740}


@cache
def program() -> str:
    """The path of Chromium, or an empty text where there is none."""
    return next((found for name in _NAMES if (found := shutil.which(name))), "")


def missing(what: str) -> None:
    """Skips a test, or fails it where nothing may be missing."""
    if os.environ.get(VARIABLE) == "required":
        pytest.fail(f"{what} is missing")
    pytest.skip(f"{what} is missing; on Debian: apt-get install chromium npm")


@asynccontextmanager
async def chromium() -> AsyncIterator[Chromium]:
    """A browser without a window."""
    path = program()
    if not path:
        missing("Chromium")
    async with async_playwright() as playwright:
        expect.set_options(timeout=PATIENCE)
        args = ["--no-sandbox", "--disable-gpu"]
        made = await playwright.chromium.launch(executable_path=path, args=args, timeout=PATIENCE)
        try:
            yield made
        finally:
            await made.close()


class Watched:
    """What a page did that no page of the console may do: an alert, an error, a request to another host; and how many
    bytes each address gave."""

    def __init__(self, page: Page, base: str) -> None:
        self.faults: list[str] = []
        self.bytes: dict[str, int] = {}
        self._base = base
        self._bodies: list[Any] = []
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", self._console)
        page.on("request", self._request)
        page.on("response", self._response)

    async def _dialog(self, dialog: Any) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        await dialog.dismiss()

    def _console(self, message: Any) -> None:
        # A status that a test means to get is told there too.
        if message.type == "error" and "the server responded with a status" not in message.text:
            self.faults.append(f"console: {message.text}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith(self._base):
            self.faults.append(f"request: {request.url}")

    def _response(self, response: Any) -> None:
        self._bodies.append(response)

    async def weigh(self) -> int:
        """The bytes of all that was loaded, uncompressed."""
        total = 0
        for response in self._bodies:
            if "/live/" not in response.url:
                total += len(await response.body())
        return total


@asynccontextmanager
async def opened(browser: Chromium, base: str, **options: Any) -> AsyncIterator[tuple[Page, Watched]]:
    """A page in a context of its own; `options` are those of a context."""
    context: BrowserContext = await browser.new_context(base_url=base, **{"viewport": DESK, **options})
    context.set_default_timeout(PATIENCE)
    page = await context.new_page()
    watched = Watched(page, base)
    try:
        yield page, watched
    finally:
        await context.close()


async def sign_in(page: Page, key: str) -> None:
    """Signs in by the form."""
    await page.goto("/console/sign-in")
    await page.get_by_label("API key").fill(key)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url("**/console/*s")


@cache
def axe() -> str:
    """The text of axe-core, of npm."""
    folder = (
        Path(os.environ.get("VIRTUAL_ENV", "") or Path(shutil.which("python") or "/tmp").parent.parent) / "axe-core"
    )
    place = folder / "package" / "axe.min.js"
    if not place.is_file():
        npm = shutil.which("npm")
        if npm is None:
            missing("npm")
        folder.mkdir(parents=True, exist_ok=True)
        run = subprocess.run([str(npm), "pack", AXE], cwd=folder, capture_output=True, text=True, timeout=120)
        if run.returncode:
            missing(f"{AXE} ({run.stderr.strip()[-200:]})")
        with tarfile.open(folder / run.stdout.split()[-1]) as packed:
            packed.extractall(folder, filter="data")
    return place.read_text(encoding="utf-8")


async def findings(page: Page) -> list[str]:
    """What axe-core finds on a page that is serious or critical, each with its place."""
    await page.evaluate(axe())
    found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['help']}: {node['html'][:160]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
