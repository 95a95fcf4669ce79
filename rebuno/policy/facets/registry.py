"""The registry of facets: the built-in ones, and those of installed packages.

A package adds one through an entry point of the group `rebuno.facets` whose name is the facet's:
`iban = "bank_facets:IBAN"`, where `IBAN` is a `Facet`. See `docs/facets/README.md`.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from rebuno.packaged import install
from rebuno.policy.facets.reading import Facet
from rebuno.policy.syntax.keywords import FACET_MODULES

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "rebuno.facets"

# The facets of the language itself, without those of installed packages.
BUILT_IN_FACETS: Final = FACET_MODULES
# Modules that need a package, each with the extra that installs it and the name of the package.
_EXTRAS: Final = {"sql.facets": ("sql", "sqlglot")}


@dataclass(frozen=True, slots=True)
class PackagedFacet:
    """A facet of an installed package; `package` is the distribution's name and version."""

    package: str
    entry: "EntryPoint"


class FacetError(Exception):
    """A bundle names a facet that cannot be used. `missing` is true if it is not installed, false if it is faulty.
    `help` says how to fix it."""

    def __init__(self, message: str, help: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.help = help
        self.missing = missing


@cache
def packaged_facets() -> tuple[PackagedFacet, ...]:
    """What installed packages add, in the order of names and packages. It is looked up once for each process."""
    from importlib.metadata import entry_points

    found = [
        PackagedFacet(f"{entry.dist.name} {entry.dist.version}" if entry.dist else "unknown", entry)
        for entry in entry_points(group=GROUP)
    ]
    return tuple(sorted(found, key=lambda one: (one.entry.name, one.package)))


def facet_names() -> tuple[str, ...]:
    """The names of all facets, the built-in ones first."""
    return (
        *BUILT_IN_FACETS,
        *dict.fromkeys(one.entry.name for one in packaged_facets() if one.entry.name not in BUILT_IN_FACETS),
    )


# Texts after facets are a bundle's own, so they are not kept for good.
@lru_cache(maxsize=1024)
def find_facet(name: str) -> Facet | None:
    """The facet of that name; None for an unknown name. A facet with a text is named as in `FacetWithText.text`.

    Raises:
        FacetError: the facet needs an extra that is not installed, two packages claim the name, a package claims a
            built-in name, or the package does not give a facet; or the facet takes no text, or not this one.
    """
    if " " in name:
        return _with_text(*name.split(" ", 1))
    claims = [one for one in packaged_facets() if one.entry.name == name]
    if len(claims) > 1 or (claims and name in BUILT_IN_FACETS):
        givers = [*(["rebuno itself"] if name in BUILT_IN_FACETS else []), *(f"`{one.package}`" for one in claims)]
        raise FacetError(f"`{name} of` is claimed by {' and by '.join(givers)}", "uninstall all but one of them")
    if name in BUILT_IN_FACETS:
        return _own(name)
    return _load(claims[0]) if claims else None


def _with_text(name: str, text: str) -> Facet | None:
    facet = find_facet(name)
    if facet is None:
        return None
    if facet.with_text is None:
        raise FacetError(f"`{name} of` takes no text", f"write `{name} of …`")
    try:
        return facet.with_text(json.loads(text))
    except ValueError as error:
        raise FacetError(str(error), f"change the text after `{name}`") from None


def _own(name: str) -> Facet:
    module = BUILT_IN_FACETS[name]
    facets: tuple[Facet, ...] = import_module(f"rebuno.policy.facets.{module}").FACETS
    for found in facets:
        if found.name == name:
            return found
    extra, package = _EXTRAS[module]
    help = f"install it (the extra `{extra}`): `{install(extra)}`"
    raise FacetError(f"`{name} of` needs the package `{package}`", help, missing=True)


def _load(one: PackagedFacet) -> Facet:
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


def facet_packages(used: Iterable[str]) -> tuple[str, ...]:
    """The packages that define the facets of these names, each as its name and version, sorted."""
    wanted = {name.split(" ", 1)[0] for name in used}
    if wanted <= BUILT_IN_FACETS.keys():
        return ()  # without looking through all that is installed
    return tuple(sorted({one.package for one in packaged_facets() if one.entry.name in wanted}))
