"""`rebuno hook doctor HOST --live` on the real host."""

from collections.abc import Callable
from typing import Final

from tests.hosts.scene import Scene


def the_doctor_proves_it(scene: Scene) -> None:
    """It ends with 0 where the hook is installed, and with 1 where it was taken out."""
    scene.install()
    done = scene.rebuno("hook", "doctor", scene.name, "--live")
    assert "did not run" in done.stdout, done.stdout
    scene.rebuno("hook", "uninstall", scene.name, "--scope", "user")
    done = scene.rebuno("hook", "doctor", scene.name, "--live", code=1)
    assert "RAN" in done.stdout, done.stdout


def the_doctor_sees_that_observing_stops_nothing(scene: Scene) -> None:
    """It ends with 1 where the hook only observes."""
    scene.install("--observe")
    done = scene.rebuno("hook", "doctor", scene.name, "--live", code=1)
    assert "RAN" in done.stdout, done.stdout


LIVE: Final[tuple[Callable[[Scene], None], ...]] = (the_doctor_proves_it, the_doctor_sees_that_observing_stops_nothing)
