"""Seals and opens the texts of one execution."""

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from rebuno.errors import SealBroken, SealErased, SealKeyMissing, StoreError
from rebuno.journal.data_keys import ALL, DataKeyRow

if TYPE_CHECKING:
    from rebuno.sealing import ExecutionKey

# How a sealed text begins.
SEALED: Final = "s1."
_QUOTED: Final = f'"{SEALED}'
# What the kernel says of its own accord, and no person, agent or tool has put in words. It stands in the clear, so that
# an execution can be ended where its key is missing.
WORDS: Final = frozenset(
    {
        *("", "cancelled", "client_cancelled", "deadline_exceeded", "parent_terminal", "awaiting_steps"),
        *("policy_denied", "approval_denied", "approval_timeout", "indeterminate", "dispatch_exhausted"),
        *("rate_limit_exceeded", "rate_limiter_unavailable", "execution_token_budget_exceeded"),
        *("execution_completed", "execution_failed", "execution_cancelled", "unreachable", "lease_expired"),
    }
)


class StoredText(str):
    """A text of the sealed execution `owner` as it is shown, with what the store holds of it, `stored`: written back
    there it stays what it is. `why` is the error where it cannot be opened, and a placeholder is shown."""

    stored: str
    owner: str
    why: StoreError | None

    def __new__(cls, shown: str, stored: str, owner: str, why: StoreError | None = None) -> "StoredText":
        """The text `shown`."""
        text = super().__new__(cls, shown)
        text.stored, text.owner, text.why = stored, owner, why
        return text


class Seal:
    """The data key of one execution, or why there is none. `row` is None where nothing of it is sealed."""

    __slots__ = ("execution_id", "key", "row", "seen_at", "why")

    def __init__(
        self,
        execution_id: str,
        row: DataKeyRow | None = None,
        key: "ExecutionKey | None" = None,
        why: StoreError | None = None,
        *,
        seen_at: float = 0.0,
    ) -> None:
        self.execution_id = execution_id
        self.row = row
        self.key = key
        self.why = why
        self.seen_at = seen_at

    @property
    def all(self) -> bool:
        """Whether every payload of the execution is sealed."""
        return self.row is not None and self.row.covers == ALL

    def opened_key(self) -> "ExecutionKey":
        """The key. Raises `SealKeyMissing`, `SealErased` or `SealBroken` where there is none."""
        if self.key is None:
            raise self.why or SealErased(self.execution_id)
        return self.key

    # ------------------------------------------------------------ texts

    def text(self, text: str, place: str) -> str:
        """A text as the store holds it. Raises as `opened_key`."""
        if (kept := self._kept(text)) is not None:
            return kept
        return text if text in WORDS else self.opened_key().seal(text, place)

    def json(self, text: str, place: str) -> str:
        """A JSON text as the store holds it: as JSON too. Raises as `opened_key`."""
        if (kept := self._kept(text)) is not None:
            return kept
        return f'"{self.opened_key().seal(text, place)}"'

    def _kept(self, text: str) -> str | None:
        """What the store holds of a text of this execution already."""
        if not isinstance(text, StoredText):
            return None
        if text.owner == self.execution_id:
            return text.stored
        # INVARIANT: a placeholder of one execution is never taken for what another one says.
        check(text)
        return None

    def maybe(self, text: str | None, place: str) -> str | None:
        """As `json`, where there is a text."""
        return None if text is None else self.json(text, place)

    def shown_text(self, stored: str, place: str) -> str:
        """What `text` took; a placeholder where it cannot be opened."""
        if stored in WORDS:
            return stored
        if not stored.startswith(SEALED):
            return StoredText("(broken)", stored, self.execution_id, self._unsealed(place))
        return self._shown(stored, stored, place, as_json=False)

    def shown_json(self, stored: str, place: str) -> str:
        """What `json` took; a placeholder, which is JSON, where it cannot be opened."""
        if not (stored.startswith(_QUOTED) and stored.endswith('"')):
            return StoredText('{"broken":true}', stored, self.execution_id, self._unsealed(place))
        return self._shown(stored, stored[1:-1], place, as_json=True)

    def shown_maybe(self, stored: str | None, place: str) -> str | None:
        """As `shown_json`, where there is a text."""
        return None if stored is None else self.shown_json(stored, place)

    def _shown(self, stored: str, sealed: str, place: str, *, as_json: bool) -> str:
        why = self.why
        if self.key is not None:
            try:
                return self.key.unseal(sealed, place)
            except SealBroken as error:
                why = error
        why = why or SealErased(self.execution_id)
        shown = self._told(why)
        return StoredText(f"{{{shown}}}" if as_json else _in_words(shown), stored, self.execution_id, why)

    def _unsealed(self, place: str) -> SealBroken:
        return SealBroken(
            f"`{place}` of execution `{self.execution_id}` is not sealed, as all of it is; restore a copy",
            execution_id=self.execution_id,
            place=place,
        )

    def _told(self, why: StoreError) -> str:
        # The names of keys need no escapes.
        if isinstance(why, SealKeyMissing) and self.row is not None:
            return f'"sealed":"{self.row.key_id}"'
        return '"erased":true' if isinstance(why, SealErased) else '"broken":true'

    @property
    def json_placeholder(self) -> str:
        """What is shown in the place of a JSON text that cannot be opened."""
        return f"{{{self._told(self.why or SealErased(self.execution_id))}}}"

    @property
    def placeholder(self) -> str:
        """The same for a text."""
        return _in_words(self._told(self.why or SealErased(self.execution_id)))


def _in_words(told: str) -> str:
    name, _, value = told.replace('"', "").partition(":")
    return f"({name} under {value})" if name == "sealed" else f"({name})"


def kept_hash(stored: str) -> str:
    """The hash of what the store holds, which stands in an event."""
    return sha256(stored.encode()).hexdigest()


def check(*texts: str | None) -> None:
    """Raises what keeps one of the texts from being opened."""
    for text in texts:
        if isinstance(text, StoredText) and text.why is not None:
            raise text.why


def is_hidden(text: str | None) -> bool:
    """Whether a text of a row is a placeholder: what was recorded cannot be opened here."""
    return isinstance(text, StoredText) and text.why is not None
