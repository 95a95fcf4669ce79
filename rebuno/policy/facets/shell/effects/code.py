"""Reads the small languages that stand in the words of commands: `sed`, `awk` and `jq`.

Each reader is strict: a text that is not of a form in which all that programs of that name agree on what it does is not
read at all.
"""

from collections.abc import Callable
from typing import Final

from rebuno.policy.facets.shell.effects.awk import read_awk
from rebuno.policy.facets.shell.effects.code_effects import CodeEffects
from rebuno.policy.facets.shell.effects.jq import read_jq, read_yq
from rebuno.policy.facets.shell.effects.sed import read_sed

READERS: Final[dict[str, Callable[[str], CodeEffects | None]]] = {
    "sed": read_sed,
    "awk": read_awk,
    "jq": read_jq,
    "yq": read_yq,
}
