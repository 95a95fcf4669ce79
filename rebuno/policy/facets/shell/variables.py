"""Variables of a shell text: which may be of the environment, and which change no program."""

import re
from typing import Final

# Stands for all of the environment.
ENVIRONMENT: Final = "/proc/self/environ"
# Stands before a name that the text exports.
EXPORTED: Final = "export "
# Stands before a name whose value is not plain.
ODD: Final = "odd "
# Variables that change no program, if their value is plain: how it looks, in which language, and that nobody watches.
HARMLESS_VARIABLES: Final = frozenset(
    {
        "CI", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "TERM", "TZ", "LANG",
        "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME",
        "DEBIAN_FRONTEND", "SOURCE_DATE_EPOCH", "DEBUG", "VERBOSE", "LOG_LEVEL", "RUST_LOG", "RUST_BACKTRACE",
        "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED",
    }
)  # fmt: skip
# A path is read (`TZ=/x`), and what `make` finds in its environment it expands.
_PLAIN_VALUE: Final = re.compile(r"(?!.*\.\.)(?!:*/)[\w.,:*@%+=/ -]*", re.ASCII)
# Names that no environment holds, so that they are variables of the text alone. Not those of proxies, of managers of
# packages, and those that are special to zsh.
_OWN_NAME: Final = re.compile(
    r"(?!.*proxy|(?:npm|pnpm|yarn|pip|uv|cargo|git|config)_|(?:cd|f|man|mail|module_)?path$)"
    r"(?!(?:aliases|argv|commands|functions|options|prompt|status|watch)$)(?:[a-z][a-z0-9_]*|[A-Z])"
)
# What the shell knows of itself and of where things are; all other variables may hold a secret.
_PLAIN_NAME: Final = re.compile(
    r"HOME|PWD|OLDPWD|USER|LOGNAME|SHELL|PATH|HOSTNAME|UID|EUID|PPID|SHLVL|RANDOM|SECONDS|LINENO|BASH|BASH_VERSION"
    r"|BASHPID|BASH_SOURCE|FUNCNAME|OSTYPE|MACHTYPE|HOSTTYPE|PIPESTATUS|OPTARG|OPTIND|REPLY|EPOCHSECONDS|EPOCHREALTIME"
    r"|IFS|VIRTUAL_ENV|CONDA_PREFIX|CONDA_DEFAULT_ENV|NODE_ENV|PYTHONPATH|NODE_PATH|JAVA_HOME|GOPATH|GOROOT|GOBIN"
    r"|CARGO_HOME|RUSTUP_HOME|EDITOR|VISUAL|PAGER|DISPLAY|TMPDIR|XDG_\w+_(?:HOME|DIR|DIRS)|NVM_DIR|PYENV_ROOT"
)
_EXPANDED: Final = re.compile(r"\$\{?[#!]?([A-Za-z_][A-Za-z0-9_]*)")


def is_own(name: str) -> bool:
    """Whether a variable that is not exported is none of the environment, by its name."""
    return _OWN_NAME.fullmatch(name) is not None


def given(name: str, value: str | None) -> tuple[str, ...]:
    """The name of a variable that is given a value (None for one that is not known), and if it changes no program but
    by a value that is not plain, as this one, the name behind `odd ` too."""
    odd = name in HARMLESS_VARIABLES and (value is None or not _PLAIN_VALUE.fullmatch(value))
    return (name, f"{ODD}{name}") if odd else (name,)


def may_be_inherited(name: str) -> bool:
    """Whether a variable may be one of the environment that holds a secret."""
    return not (is_own(name) or _PLAIN_NAME.fullmatch(name) or name in HARMLESS_VARIABLES)


def variables_in(text: str) -> list[str]:
    """The names of the variables that a word, as written, may expand."""
    return _EXPANDED.findall(text)
