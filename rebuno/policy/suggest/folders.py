"""Paths under the folders in which several files were seen, without files of keys and those that guard an agent."""

from collections.abc import Collection, Sequence
from posixpath import dirname, isabs, normpath
from typing import Any, Final

from rebuno.policy.suggest.text import listed
from rebuno.policy.suggest.ways import OPERAND, Strength, Way
from rebuno.policy.suggest.words import words

# Patterns of files that no suggestion opens, and that none writes. docs/suggest.md shows them.
KEYS: Final = (
    *("**/.env", "**/.env?*", "**/*.env", "**/*:.env", "**/*:.env?*", "**/*.pem", "**/*.key", "**/*.p12", "**/*.pfx"),
    *("**/*.keystore", "**/*.jks", "**/*.kdbx", "**/id_rsa*", "**/id_dsa*", "**/id_ecdsa*", "**/id_ed25519*"),
    *("**/*.netrc", "**/*.git-credentials", "**/*.npmrc", "**/*.pypirc", "**/*.pgpass", "**/*.htpasswd"),
    *("**/*credentials*", "**/*secret*", "**/*.tfstate", "**/*.tfvars", "**/*kubeconfig*", "**/auth.json"),
    *("**/*.ssh/**", "**/*.aws/**", "**/*.azure/**", "**/*.gnupg/**", "**/*.kube/**", "**/*.docker/config.json"),
    *("**/*.config/gcloud/**", "**/*.config/gh/**", "**/*.git/**/config*", "**/.*_history"),
    *("/etc/shadow*", "/etc/gshadow*", "/etc/sudoers*", "/proc/**/environ"),
)
GUARDS: Final = (
    *(
        "**/*.git/**",
        "**/HEAD",
        "**/.gitattributes",
        "**/.gitmodules",
        "**/.githooks/**",
        "**/hooks/**",
        "**/.husky/**",
    ),
    *("**/.claude/**", "**/.claude.json", "**/.mcp.json", "**/mcp.json", "**/.cursor/**", "**/.codex/**"),
    *("**/.gemini/**", "**/.opencode/**", "**/opencode.json*", "**/.rebuno/**", "**/*.rbp", "**/CLAUDE*.md"),
    *("**/AGENT*.md", "**/GEMINI.md", "**/.github/**", "**/.gitlab*", "**/.circleci/**", "**/Jenkinsfile*"),
    *("**/.pre-commit*", "**/.vscode/**", "**/.idea/**", "**/.envrc", "**/.bash*", "**/.zsh*", "**/.profile"),
    *("**/.cargo/**", "**/.yarn/**", "**/.mise*", "**/conftest.py", "**/package.json", "/etc/**", "/usr/**"),
)
_FOLDERS: Final = ("dir", "directory", "folder", "cwd")
MOST_FOLDERS: Final = 12


def place(path: str, workdir: str) -> str | None:
    """A path as a rule may name it: relative to the folder of the session where it lies below it. None for one that is
    not plain."""
    if not path or "~" in path or "\\" in path or "\0" in path or ":" in path or ".." in path.split("/"):
        return None
    plain = normpath(path)
    if workdir and isabs(plain):
        base = normpath(workdir)
        if plain == base:
            return "."
        return plain[len(base) + 1 :] if plain.startswith(f"{base}/") else plain
    return plain


def is_folder(key: str) -> bool:
    """Whether an argument of this name holds a folder."""
    said = words(key)
    return bool(said) and said[-1] in _FOLDERS


def folders_of(places: Sequence[str], *, folder: bool, root: bool) -> list[str]:
    """The folders that hold several of these places, the outermost of each line. `folder` says that each place is
    itself a folder, `root` whether the project's own folder may be one."""
    held: dict[str, set[str]] = {}
    for one in places:
        held.setdefault(one if folder else dirname(one) or ".", set()).add(one)
    found = [each for each, inside in held.items() if (folder or len(inside) > 1) and each != "/"]
    if not root:
        found = [each for each in found if each != "."]
    return sorted(outermost(found))[:MOST_FOLDERS]


def outermost(paths: Collection[str]) -> set[str]:
    """The paths that lie in no other of them."""
    return {each for each in paths if not any(other != each and _below(each, other) for other in paths)}


def _below(path: str, folder: str) -> bool:
    return (folder == "." and not isabs(path)) or path.startswith(folder.rstrip("/") + "/")


def harmless(way: Way, *, writes: bool) -> Way:
    """The same way for files of the project, but for those that hold keys, and for writing those that others run: the
    user's words may name them for another reason."""
    test = f'{way.template} and {OPERAND} under "." and path of {OPERAND} not like keys ignoring case'
    if writes:
        test += f" and path of {OPERAND} not like guards ignoring case"
    return Way(way.sort, test, way.strength, compound=True)


def under(key: str, places: Sequence[tuple[Any, str]], *, writes: bool) -> Way | None:
    """A path under the folders in which several files were seen. `places` has the folder of the session beside each
    value; `writes` keeps out what others run, and the project's own folder."""
    plain = [place(value, workdir) for value, workdir in places if isinstance(value, str)]
    found = folders_of(
        [one for one in plain if one is not None], folder=is_folder(key), root=not writes or is_folder(key)
    )
    if not found:
        return None
    test = f"{OPERAND} under {listed(found)} and path of {OPERAND} not like keys ignoring case"
    if writes and not is_folder(key):
        test += f" and path of {OPERAND} not like guards ignoring case"
    return Way("folder", test, Strength.LITERAL, compound=True)
