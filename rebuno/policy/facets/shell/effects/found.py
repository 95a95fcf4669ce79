"""One effect of a command, and all that has been found of a command so far."""

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.path.placed import Places
from rebuno.policy.facets.shell.effects.arguments import Argument


class EffectKind(StrEnum):
    """What an effect is done to."""

    READ = "read_path"
    WRITTEN = "written_path"
    REMOVED = "removed_path"
    CONTACTED = "contacted_host"
    EXECUTED = "executed"


# The facets that look effects up in tables.
EFFECT_FACETS: Final = frozenset({*(kind.value for kind in EffectKind), "unread"})


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect. `text` is a path as written (`HOME` begins one in the home directory), a host, a URL or the name of a
    program, and `places` the directories from which a path is read.

    With `below` it stands for all that lies below the folder too; then only for names that fit one of the globs `only`
    if there are any, and if it is `visible` for no name that begins with a dot. With `outside` it counts only if it is
    not in `workdir`; with `glob` it is names in the folder and not the folder itself, with `direct` none further down.
    With `project` the path is read from the folder of the project in which the command stands, which may be any below
    `workdir`, with `root` from `workdir` itself. `why` names the table and the word or option that gave it.
    """

    kind: EffectKind
    text: str
    places: Places
    why: str
    below: bool = False
    only: tuple[str, ...] = ()
    visible: bool = False
    outside: bool = False
    project: bool = False
    url: bool = False
    name: bool = False
    glob: bool = False
    root: bool = False
    direct: bool = False


@dataclass(slots=True)
class Found:
    """What has been found of a command so far. `more` are the readers of kinds of words beside the common ones."""

    home: bool
    more: Mapping[str, "Reader"]
    effects: list[Effect] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    table: str = ""
    read_only: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    suffix: str = ""

    def begin(self, table: str, read_only: tuple[str, ...], only: tuple[str, ...], suffix: str) -> None:
        """What follows is said by this table. Folders are read for names that fit one of `read_only`, or else read and
        written for names that fit one of `only`. Beside each written operand one with the `suffix` is written too."""
        self.table, self.read_only, self.only, self.suffix = table, read_only, only, suffix

    def add(
        self,
        kind: EffectKind,
        text: str,
        places: Places,
        why: str,
        *,
        below: bool = False,
        visible: bool = False,
        outside: bool = False,
        project: bool = False,
        url: bool = False,
        name: bool = False,
        names: str = "",
        only: tuple[str, ...] = (),
        below_names: str = "",
        root: bool = False,
        glob: bool = False,
    ) -> None:
        """Adds an effect. `names` is a glob for names directly in the folder, `only` are globs for those below it, and
        `below_names` is one for names at any depth."""
        if not below:
            only = ()
        elif not only and kind in (EffectKind.READ, EffectKind.WRITTEN):
            only = (self.read_only if kind is EffectKind.READ else ()) or self.only
        if names:
            # The shell leaves names out that begin with a dot, unless the glob does.
            only, visible = () if names == "*" else (names,), names[:1] != "."
        if below_names:
            only = (below_names,)
        told = glob or bool(names)
        effect = Effect(
            kind, text, places, why, below, only, visible, outside, project, url, name, told, root, bool(names)
        )
        self.effects.append(effect)

    def why(self, option: str, raw: str) -> str:
        """How a word came to have its effect."""
        return f"{self.table}: {option or raw}"


Reader = Callable[[str, Argument, Found], None]
