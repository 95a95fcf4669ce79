"""A page of recorded successes ahead of the handler, that it comes to in their order or in any other."""

from collections.abc import Iterator
from itertools import filterfalse

from rebuno.journal.success_page import Success, Successes
from rebuno.model.answer import CallKey


class PageAhead:
    """The successes of a page that the handler has not come to; `since` is the event after which the page begins,
    `head` the first of them (None: it has come to all)."""

    __slots__ = ("_behind", "_index", "_taken", "head", "page", "since")

    def __init__(self, page: Successes, since: int) -> None:
        self.page = page
        self.since = since
        self._behind: Iterator[Success] = iter(page.rows)
        self.head = next(self._behind, None)
        # Those behind the head that the handler came to before it.
        self._taken: set[str] = set()
        self._index: dict[tuple[CallKey, str], Success] | None = None

    def take_head(self) -> None:
        """The handler has come to the first."""
        self.head = next(self._behind, None)

    def take(self, step_id: str) -> None:
        """The handler has come to this one."""
        if self.head is not None and self.head[0] == step_id:
            self.take_head()
            return
        if not self._taken:
            self._behind = filterfalse(self._is_taken, self._behind)
        self._taken.add(step_id)

    def _is_taken(self, success: Success) -> bool:
        return success[0] in self._taken

    def find(self, call_key: CallKey, number: str) -> Success | None:
        """The success that this was said of, with this number among identical ones."""
        if self._index is None:
            self._index = {(success[1], success[2]): success for success in self.page.rows}
        return self._index.get((call_key, number))

    def holds(self, step_id: str) -> bool:
        """Whether a step is of this page."""
        return any(success[0] == step_id for success in self.page.rows)
