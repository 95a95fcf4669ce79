"""Which tests look after which modules: those that a mutant there has to get past.

A mutant that survives here may die in another folder. It is counted as alive: a test of an area stands with the area.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_MATCHER: Final = "rebuno/policy/matcher"
_PROVENANCE: Final = (f"{_MATCHER}/provenance.py", f"{_MATCHER}/mentions.py")
_HISTORY: Final = (f"{_MATCHER}/history.py", f"{_MATCHER}/past_step.py")
_EMBEDDED: Final = ("-m", "not postgres")


@dataclass(frozen=True, slots=True)
class Area:
    """Modules, and pytest's arguments for their tests; both are paths and patterns below the project."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    options: tuple[str, ...] = _EMBEDDED
    but: tuple[str, ...] = ()
    postgres: bool = False

    def files(self) -> list[str]:
        """The modules' paths."""
        return sorted(set(_found(self.modules)) - set(_found(self.but)))

    def arguments(self) -> list[str]:
        """What pytest is called with."""
        return [*_found(self.tests), *self.options]


def _found(patterns: tuple[str, ...]) -> list[str]:
    """The paths that patterns stand for, in the order of the patterns.

    Raises:
        FileNotFoundError: a pattern stands for nothing, since a file was moved.
    """
    found = []
    for pattern in patterns:
        here = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))
        if not here:
            raise FileNotFoundError(f"tests/mutation/areas.py names `{pattern}`, and nothing has that name")
        found += here
    return found


_POLICY: Final = "tests/policy/test_"
AREAS: Final = {
    "matcher": Area(
        (f"{_MATCHER}/*.py",),
        tuple(
            f"{_POLICY}{name}.py"
            for name in (
                *(
                    "decide",
                    "subjects",
                    "guards",
                    "edges",
                    "paths",
                    "operands",
                    "predicates",
                    "values",
                    "laws",
                    "known",
                ),
                *(
                    "during",
                    "date_windows",
                    "obligations",
                    "delegated",
                    "layers",
                    "explain",
                    "history",
                    "first_edition",
                ),
                *("restore", "doubt_table", "properties", "mentions"),
            )
        ),
        but=(*_PROVENANCE, *_HISTORY),
    ),
    "provenance": Area(
        _PROVENANCE,
        tuple(
            f"{_POLICY}{name}.py"
            for name in ("known", "mentions", "delegated", "laws", "first_edition", "doubt_table", "properties")
        ),
    ),
    "history": Area(
        _HISTORY,
        tuple(f"{_POLICY}{name}.py" for name in ("history", "doubt_table", "first_edition", "properties")),
    ),
    "core": Area(("rebuno/kernel/core/*.py",), ("tests/kernel", "tests/embedded/test_limits.py")),
    "shell": Area(("rebuno/policy/facets/shell/*.py",), ("tests/policy/facets/test_shell*.py",)),
    "url": Area(
        ("rebuno/policy/facets/url/*.py",),
        ("tests/policy/facets/test_url*.py", "tests/policy/facets/test_links.py", "tests/policy/facets/test_email.py"),
    ),
    "path": Area(
        ("rebuno/policy/facets/path/*.py",), ("tests/policy/facets/test_path.py", "tests/policy/test_doubt_table.py")
    ),
    "sqlite": Area(("rebuno/journal/*.py", "rebuno/journal/sqlite/*.py"), ("tests/journal",), ("-m", "not postgres")),
    "postgres": Area(("rebuno/journal/postgres/*.py",), ("tests/journal",), ("-m", "postgres"), postgres=True),
    "auth": Area(
        ("rebuno/server/auth.py", "rebuno/server/clients.py"),
        ("tests/server/test_auth*.py", "tests/server/test_access.py", "tests/server/test_operators.py"),
    ),
    "signing": Area(
        ("rebuno/sdk/signing.py", "rebuno/sdk/webhook.py", "rebuno/server/webhooks.py"),
        ("tests/sdk/test_signing.py", "tests/server/test_webhooks.py", "tests/sdk/test_agent.py"),
    ),
}
