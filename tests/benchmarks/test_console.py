"""The benchmark of the console looks at every page, and no page weighs more than it may."""

import asyncio

from benchmarks import console


def test_every_page_is_measured() -> None:
    """On a small store; the numbers themselves are for a quiet machine."""
    found = asyncio.run(console.measure(runs=220, steps=250, requests=2))
    assert len(found["pages"]) == 13
    assert all(time > 0 for time in found["pages"].values())
    assert found["largest_kb"] < 150
