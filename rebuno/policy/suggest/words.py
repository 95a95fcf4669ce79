"""What the names of tools, arguments and fields tell: looking or changing, dangerous, written by others, free text."""

import re
from functools import lru_cache
from typing import Final

_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_LOOKING: Final = frozenset(
    "get list search find read fetch view show check lookup look query describe count browse calculate compute "
    "compare preview peek inspect summarize summarise translate print retrieve scan grep glob ls "
    "cat stat diff status history".split()
)
_CHANGING: Final = frozenset(
    "send delete create update add remove post pay write edit set put move rename invite share book reserve buy order "
    "transfer schedule reschedule cancel modify change append insert upload publish submit approve reject close open "
    "merge push commit deploy run execute exec start stop restart install uninstall enable disable grant revoke assign "
    "unassign subscribe unsubscribe follow block unblock archive restore exchange return refund charge withdraw deposit "
    "reply forward mark move copy import register login logout sign call invoke trigger apply patch replace drop reset "
    "make do save store comment react upvote star fork clone download email message notify tweet checkout purchase "
    "destroy erase purge wipe kill terminate reboot shutdown delegate".split()
)
_DANGEROUS: Final = frozenset(
    "delete remove destroy erase purge wipe drop truncate trash kill terminate reboot shutdown revoke uninstall "
    "deactivate sudo password passwords passwd passphrase credential credentials secret secrets apikey keychain".split()
)
_AUTHORS: Final = frozenset(
    "sender from author authors writer poster reviewer commenter reporter submitter organizer organiser creator "
    "posted_by created_by sent_by written_by submitted_by reported_by invited_by sender_name from_name".split()
)
_PROSE: Final = frozenset("body text message comment review snippet".split())
_ACCOUNTS: Final = frozenset("user username login by account member nickname".split())
_FREE_FIELDS: Final = frozenset(
    "title subject body content contents text description message messages note notes comment comments review reviews "
    "summary caption bio about status reason url urls uri link links href location snippet headline html markdown "
    "owner reply".split()
)
_FREE_ARGUMENTS: Final = frozenset(
    "body text content contents message subject title description summary note notes comment comments caption reason "
    "details location headline question answer reply prompt query keywords topic thought expression".split()
)
_SMALL: Final = frozenset(
    "id ids uuid name names by in of for to from with on at the all any a an my new old current and or not list".split()
)
_COMMANDS: Final = frozenset("command cmd commandline cmdline".split())
_PATHS: Final = frozenset("path file filename filepath dir directory folder cwd".split())
_SECRETS: Final = frozenset(
    "password passwd passphrase pwd otp pin token secret cvv cvc ssn credential credentials apikey authorization "
    "cookie".split()
)
_URLS: Final = frozenset("url uri href link website webpage endpoint".split())


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case: `getUser_byId2` has `get`, `user`, `by`, `id`, `2`."""
    return tuple(word.lower() for word in _PART.findall(name))


def looks(tool: str) -> bool:
    """Whether the name says that the tool only looks: its first verb does, and no second verb changes anything."""
    said = words(tool)
    if {"and", "or", "then"} & set(said) and _CHANGING & set(said):
        return False
    if ("check", "out") in zip(said, said[1:], strict=False) or ("check", "in") in zip(said, said[1:], strict=False):
        return False
    return next((word in _LOOKING for word in said if word in _LOOKING or word in _CHANGING), False)


def dangerous(tool: str) -> bool:
    """Whether a word of the name says that something is lost, or that keys are handed out."""
    return not _DANGEROUS.isdisjoint(words(tool))


def by_others(item: dict[str, object]) -> bool:
    """Whether the fields of an object say that somebody wrote it: a message, a review, an invitation."""
    fields = {"_".join(words(key)) for key in item}
    return bool(_AUTHORS & fields) or bool(_PROSE & fields and _ACCOUNTS & fields)


def free_field(key: str) -> bool:
    """Whether a field of a result holds what somebody wrote in their own words, or names its writer."""
    said = words(key)
    return bool(said) and (said[-1] in _FREE_FIELDS or "_".join(said) in _AUTHORS)


@lru_cache(maxsize=4096)
def nouns(name: str) -> frozenset[str]:
    """The words of a name that say what it is about, in the singular."""
    said = (word for word in words(name) if word not in _LOOKING | _CHANGING | _SMALL and len(word) > 1)
    return frozenset(word[:-1] if word.endswith("s") and len(word) > 3 else word for word in said)


def is_id(key: str) -> bool:
    """Whether a name is that of an id: `id`, `file_id`, `orderIds`."""
    return bool(words(key)) and words(key)[-1] in ("id", "ids", "uuid")


def names_text(key: str) -> bool:
    """Whether an argument of this name holds prose."""
    return bool(words(key)) and words(key)[-1] in _FREE_ARGUMENTS


def names_command(key: str) -> bool:
    """Whether an argument of this name holds a command line."""
    return bool(words(key)) and words(key)[-1] in _COMMANDS


def names_path(key: str) -> bool:
    """Whether an argument of this name holds a path."""
    return bool(words(key)) and words(key)[-1] in _PATHS


def names_secret(key: str) -> bool:
    """Whether an argument of this name holds something that must not stand in a bundle."""
    said = words(key)
    return not _SECRETS.isdisjoint(said) or ("api", "key") in zip(said, said[1:], strict=False)


def names_url(key: str) -> bool:
    """Whether an argument of this name holds a URL."""
    return bool(words(key)) and words(key)[-1] in _URLS
