"""What the names of tools, arguments and fields tell: looking or changing, dangerous, written by others, free text."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def _of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOOKING: Final = _of(
    """
    get list search find read fetch view show check lookup look query describe count browse calculate compute
    compare preview peek inspect summarize summarise translate print retrieve scan grep glob ls cat stat diff status
    history
    """
)
_CHANGING: Final = _of(
    """
    send delete create update add remove post pay write edit set put move rename invite share book reserve buy order
    transfer schedule reschedule cancel modify change append insert upload publish submit approve reject close open
    merge push commit deploy run execute exec start stop restart install uninstall enable disable grant revoke
    assign unassign subscribe unsubscribe follow block unblock archive restore exchange return refund charge
    withdraw deposit reply forward mark move copy import register login logout sign call invoke trigger apply patch
    replace drop reset make do save store comment react upvote star fork clone download email message notify tweet
    checkout purchase destroy erase purge wipe kill terminate reboot shutdown delegate
    """
)
_ALWAYS_CHANGING: Final = _of("replace delete remove create write send execute modify insert edit drop")
_RUNNING: Final = _of("run runs execute exec eval invoke interpreter interpret trigger")
_SERVER: Final = re.compile(r"[./:]|__")
_CODE: Final = _of(
    """
    code script source program js javascript python expression expr formula macro template lambda payload
    """
)
_DANGEROUS: Final = _of(
    """
    delete remove destroy erase purge wipe drop truncate trash kill terminate reboot shutdown revoke uninstall
    deactivate sudo password passwords passwd passphrase credential credentials secret secrets apikey keychain
    """
)
_AUTHORS: Final = _of(
    """
    sender from author authors writer poster reviewer commenter reporter submitter organizer organiser creator
    posted_by created_by sent_by written_by submitted_by reported_by invited_by sender_name from_name
    """
)
_PROSE: Final = _of("body text message comment review snippet")
_ACCOUNTS: Final = _of("user username login by account member nickname")
_FREE_FIELDS: Final = _of(
    """
    title subject body content contents text description message messages note notes comment comments review reviews
    summary caption bio about status reason url urls uri link links href location snippet headline html markdown
    owner reply
    """
)
_FREE_ARGUMENTS: Final = _of(
    """
    body text content contents message subject title description summary note notes comment comments caption reason
    details location headline question answer reply prompt query keywords topic thought old new
    """
)
_SMALL: Final = _of(
    """
    id ids uuid name names by in of for to from with on at the all any a an my new old current and or not list
    """
)
_COMMANDS: Final = _of("command cmd commandline cmdline")
_PATHS: Final = _of("path file filename filepath dir directory folder cwd")
_SECRETS: Final = _of(
    """
    password passwd passphrase pwd otp pin token secret cvv cvc ssn credential credentials apikey authorization
    cookie
    """
)
_URLS: Final = _of("url uri href link website webpage endpoint site host hostname domain")


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case: `getUser_byId2` has `get`, `user`, `by`, `id`, `2`."""
    return tuple(word.lower() for word in _PART.findall(name))


def looks(tool: str) -> bool:
    """Whether the name says that the tool only looks: its first verb does, and no second verb changes anything. What
    stands before a dot or `__` is the name of a server."""
    said = words(_SERVER.split(tool)[-1])
    pairs = set(pairwise(said))
    if ({"and", "or", "then"} & set(said) and _CHANGING & set(said)) or pairs & {("check", "out"), ("check", "in")}:
        return False
    verbs = [word for word in said if word in _LOOKING or word in _CHANGING]
    return bool(verbs) and verbs[0] in _LOOKING and _ALWAYS_CHANGING.isdisjoint(said)


def runs(tool: str) -> bool:
    """Whether the name says that the tool runs what it is given."""
    return not _RUNNING.isdisjoint(words(tool))


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
    """Whether a name is that of an id: `id`, `note_id`, `orderIds`."""
    return bool(words(key)) and words(key)[-1] in ("id", "ids", "uuid")


def names_text(key: str) -> bool:
    """Whether an argument of this name holds prose, or text to be put into a file."""
    said = words(key)
    if not said:
        return False
    return said[-1] in _FREE_ARGUMENTS or (said[0] in ("old", "new") and said[-1] in ("string", "str"))


def names_code(key: str) -> bool:
    """Whether an argument of this name holds code."""
    return bool(words(key)) and words(key)[-1] in _CODE


def names_sql(key: str) -> bool:
    """Whether an argument of this name holds SQL."""
    return bool(words(key)) and words(key)[-1] == "sql"


def names_command(key: str) -> bool:
    """Whether an argument of this name holds a command line."""
    return bool(words(key)) and words(key)[-1] in _COMMANDS


def names_path(key: str) -> bool:
    """Whether an argument of this name holds a path."""
    return bool(words(key)) and words(key)[-1] in _PATHS


def names_secret(key: str) -> bool:
    """Whether an argument of this name holds something that must not stand in a bundle."""
    said = words(key)
    return not _SECRETS.isdisjoint(said) or ("api", "key") in pairwise(said)


def names_url(key: str) -> bool:
    """Whether an argument of this name holds a URL."""
    return bool(words(key)) and words(key)[-1] in _URLS
