"""The work of an erasure, in steps that may be repeated and that a queue continues.

A step reads a page and stores what it has found, with the place of the next page; then it deletes that. An interrupted
erasure first deletes what is stored, so each record is counted once and none is left. Progress has optimistic locking:
of two invocations for one erasure, the slower one stops.

Everything is searched twice. The second search starts 90 seconds after the first one. It finds what was written by
requests that were running, and the events of changes that were still in a stream.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chalicelib import clock, storage
from chalicelib.erasures import kinds, person, receipt, store
from chalicelib.erasures.kinds import Conversations, Target, clear_parts
from chalicelib.erasures.queue import Erase
from chalicelib.storage import Document

_SECOND_SEARCH_SECONDS = 90
_MAX_PAGES = 2_000  # of an invocation
_MAX_DELAY = 900  # of a queue message
_BATCH = 10  # a long conversation takes many requests
_SEARCHES = 2


def resume(message: Erase, seconds: float) -> None:
    """Continue an erasure for up to `seconds`, and send its message again until it is complete.

    Raises Unavailable if the database, KMS or the queue fails.
    """
    row = store.find(*message)
    if row is None or row.is_complete:
        return
    try:
        wait = _Work(row).run(seconds)
    except _Overtaken:
        return
    if wait is not None:
        message.send(min(wait, _MAX_DELAY))


class _Overtaken(Exception):
    """Another invocation for the same erasure is ahead, and continues it."""


@contextmanager
def _raise_overtaken() -> Iterator[None]:
    try:
        yield
    except storage.ConditionFailed:
        raise _Overtaken from None


class _Work:
    """An erasure at work: its stored row, and its progress `{person, search, startsAt, kind, part, after, found}`."""

    def __init__(self, row: store.ErasureRow) -> None:
        self._row, self._kinds = row, kinds.by_name()
        self._document: Document = row.open()
        self._progress: Document = {"search": 0, "startsAt": 0, "found": [], **storage.unseal(row, "search")}
        self._target = Target(row, person.from_members(self._progress["person"]), Conversations(row))

    def run(self, seconds: float) -> int | None:
        """Work for up to `seconds`. Returns the seconds until it continues, None when it is complete."""
        end = clock.monotonic() + seconds
        if not self._delete_found(end):
            self._save()
            return 0
        while self._progress["search"] < _SEARCHES:
            wait: int = max(0, self._progress["startsAt"] - clock.seconds())
            if wait:
                return wait
            for number, page in enumerate(self._pages(), 1):
                if not self._delete(page, end) or number == _MAX_PAGES or clock.monotonic() > end:
                    self._save()
                    return 0
            self._begin_next_search()
        return None if self._complete(end) else 0

    def _pages(self) -> Iterator[list[Any]]:
        """Read one page after the other, from the stored place to the end of the search; yield what each has found."""
        is_first = self._progress["search"] == 0
        names = [name for name in self._kinds if not (is_first and name in kinds.SEARCHED_ONCE)]
        # A stage may have switched off the extension of the kind. Then the search begins again.
        first = self._progress.get("kind")
        for name in names[names.index(first) if first in names else 0 :]:
            if name != self._progress.get("kind"):
                self._progress |= {"kind": name, "part": self._next_part(name, None), "after": None}
            while (part := self._progress["part"]) is not None:
                page = self._kinds[name].find(self._target, part, self._progress["after"])
                self._progress["after"] = page.after
                if page.after is None:
                    self._progress["part"] = self._next_part(name, part)
                yield page.found

    def _next_part(self, kind: str, part: str | None) -> str | None:
        return self._kinds[kind].next_part(self._row.workspace, part)

    def _delete(self, found: list[Any], end: float) -> bool:
        """Store and count what a page has found, then delete it like `_delete_found`. An empty page is not stored."""
        if found:
            kind = self._progress["kind"]
            counts = self._document["counts"]
            counts[kind] = counts.get(kind, 0) + len(found)  # the version before does not know all kinds
            self._progress["found"] = [kind, found]
            self._save()
        return self._delete_found(end)

    def _delete_found(self, end: float) -> bool:
        """Delete what the last page has found; return whether that was done before `end`."""
        kind, found = self._progress["found"] or ("", [])
        while found:
            if kind in self._kinds:
                self._kinds[kind].delete(self._row.workspace, found[:_BATCH])
            found = found[_BATCH:]
            self._progress["found"] = [kind, found] if found else []
            if found and clock.monotonic() > end:
                return False
        return True

    def _begin_next_search(self) -> None:
        search = self._progress["search"] + 1
        self._progress |= {"search": search, "kind": None, "startsAt": clock.seconds() + _SECOND_SEARCH_SECONDS}
        self._save()

    def _complete(self, end: float) -> bool:
        """Forget the person and sign the receipt; return whether that was done before `end`.

        A request that was adding messages to a conversation while that was deleted may have left index items.
        """
        while found := store.batch_found(self._row, _BATCH):
            clear_parts(self._row.workspace, found)
            store.forget(found)
            if clock.monotonic() > end:
                return False
        made = receipt.make(
            self._row.workspace, self._row.erasure_id, self._document["createdAt"], self._document["counts"]
        )
        with _raise_overtaken():
            store.complete(self._row, {**self._document, "receipt": made})
        return True

    def _save(self) -> None:
        with _raise_overtaken():
            store.save(self._row, self._document, self._progress)
