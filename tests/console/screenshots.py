"""Takes the pictures of the console for the documentation: on a desk and on a phone, in light and in dark.

make screenshots
"""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.console.chromium import chromium, opened, sign_in
from tests.console.example import fill
from tests.console.support import served
from tests.server.support import TOKEN

IMAGES: Final = Path(__file__).resolve().parents[2] / "docs" / "images"
LARGEST: Final = 100_000
SIZES: Final[dict[str, dict[str, Any]]] = {
    "desk": {"viewport": {"width": 1080, "height": 700}},
    "phone": {"viewport": {"width": 375, "height": 760}},
}
SCHEMES: Final = ("light", "dark")
PAGES: Final = ("question", "run")


def names() -> list[str]:
    """The names of the files."""
    return [f"console-{page}-{size}-{scheme}.png" for page in PAGES for size in SIZES for scheme in SCHEMES]


async def take() -> None:
    """Writes the pictures."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "desk.db"
        run = await fill(path)
        async with chromium() as browser, served(db=str(path)) as server:
            places = {"question": "/console/questions", "run": f"/console/runs/{run}"}
            for size, options in SIZES.items():
                for scheme in SCHEMES:
                    async with opened(browser, server.url, color_scheme=scheme, **options) as (page, _):
                        await sign_in(page, TOKEN)
                        for name, place in places.items():
                            await page.goto(place)
                            file = IMAGES / f"console-{name}-{size}-{scheme}.png"
                            await page.screenshot(path=file)
                            sys.stdout.write(f"{file.name}: {file.stat().st_size / 1024:.1f} KiB\n")


if __name__ == "__main__":
    asyncio.run(take())
