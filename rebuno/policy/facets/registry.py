"""The facets that there are: our own, and those that installed packages add.

A package adds one through an entry point of the group `rebuno.facets` whose name is the facet's:
`iban = "bank_facets:IBAN"`, where `IBAN` is a `Facet`. See `docs/facets/README.md`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from rebuno.packaged import install
from rebuno.policy.facets.reading import Facet
from rebuno.policy.syntax.keywords import FACETS

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "rebuno.facets"

# The facets of the language itself; those that installed packages add are not in it.
OWN: Final = FACETS
# Modules that give nothing without a package, and the extra that has it.
_EXTRAS: Final = {"sql.facets": ("sql", "sqlglot")}


@dataclass(frozen=True, slots=True)
class Packaged:
    """A facet of an installed package; `package` is the distribution's name and version."""

    package: str
    entry: "EntryPoint"


class FacetError(Exception):
    """A facet that a bundle names and that cannot be used. `missing` tells one that is not installed from a faulty one;
    `help` says what to do."""

    def __init__(self, message: str, help: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.help = help
        self.missing = missing


@cache
def packaged() -> tuple[Packaged, ...]:
    """What installed packages add, in the order of names and packages. It is looked up once for each process."""
    from importlib.metadata import entry_points

    found = [
        Packaged(f"{entry.dist.name} {entry.dist.version}" if entry.dist else "unknown", entry)
        for entry in entry_points(group=GROUP)
    ]
    return tuple(sorted(found, key=lambda one: (one.entry.name, one.package)))


def names() -> tuple[str, ...]:
    """The names of all facets: our own first."""
    return (*OWN, *dict.fromkeys(one.entry.name for one in packaged() if one.entry.name not in OWN))


@cache
def facet(name: str) -> Facet | None:
    """The facet of that name; None where nobody has one.

    Raises:
        FacetError: it needs an extra that is not installed, two packages claim the name, a package claims one of our
            own, or the package does not give a facet.
    """
    claims = [one for one in packaged() if one.entry.name == name]
    if len(claims) > 1 or (claims and name in OWN):
        givers = [*(["rebuno itself"] if name in OWN else []), *(f"`{one.package}`" for one in claims)]
        raise FacetError(f"`{name} of` is claimed by {' and by '.join(givers)}", "uninstall all but one of them")
    if name in OWN:
        return _own(name)
    return _load(claims[0]) if claims else None


def _own(name: str) -> Facet:
    module = OWN[name]
    facets: tuple[Facet, ...] = import_module(f"rebuno.policy.facets.{module}").FACETS
    for found in facets:
        if found.name == name:
            return found
    extra, package = _EXTRAS[module]
    help = f"install it (the extra `{extra}`): `{install(extra)}`"
    raise FacetError(f"`{name} of` needs the package `{package}`", help, missing=True)


def _load(one: Packaged) -> Facet:
    name = one.entry.name
    try:
        found = one.entry.load()
    except (ImportError, AttributeError) as error:
        message = f"the facet `{name}` of `{one.package}` cannot be loaded: {error}"
        raise FacetError(message, "reinstall the package") from None
    if not isinstance(found, Facet) or found.name != name:
        message = f"`{one.package}` promises a facet `{name}`, and `{one.entry.value}` is none of that name"
        raise FacetError(message, "tell the package's author")
    return found


def packages(used: Iterable[str]) -> tuple[str, ...]:
    """The packages that the facets of these names come from, each as its name and version, sorted."""
    wanted = set(used)
    if wanted <= OWN.keys():
        return ()  # without looking through all that is installed
    return tuple(sorted({one.package for one in packaged() if one.entry.name in wanted}))
