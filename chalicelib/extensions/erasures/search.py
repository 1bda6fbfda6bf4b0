"""Finds and deletes a person's records, in repeatable steps that a queue continues.

A step reads a page, and stores the keys of the person's records with the next page's position (an intent log). Then it
deletes these records. An interrupted erasure first deletes the records whose keys are stored, so each record is counted
once and none is missed. Optimistic locking protects the progress: if two invocations process the same erasure, the
slower one stops.

All records are searched twice. The second search starts 90 seconds after the first one ends. It finds records that
requests were still writing during the first search, and events for changes that were still in a stream.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chalicelib import clock, storage
from chalicelib.extensions.erasures import identity, kinds, receipt, store
from chalicelib.extensions.erasures.kinds import MatchedConversations, Target, clear_leftovers
from chalicelib.extensions.erasures.queue import Erase
from chalicelib.storage import Document

_SECOND_SEARCH_SECONDS = 90
_MAX_PAGES = 2_000  # pages per invocation
_MAX_DELAY = 900  # a queue message's longest possible delay, in seconds
_BATCH = 10  # records between clock checks, because deleting a long conversation takes many requests
_SEARCHES = 2


def resume(message: Erase, seconds: float) -> None:
    """Continue an erasure for up to `seconds`, and send its message again until it is complete.

    Raise Unavailable if the database, KMS or the queue fails.
    """
    row = store.find(*message)
    if row is None or row.is_complete:
        return
    try:
        wait = _RunningErasure(row).run(seconds)
    except _Overtaken:
        return
    if wait is not None:
        message.send(min(wait, _MAX_DELAY))


class _Overtaken(Exception):
    """Another invocation has saved this erasure's progress, and continues the erasure."""


@contextmanager
def _raise_overtaken() -> Iterator[None]:
    try:
        yield
    except storage.ConditionFailed:
        raise _Overtaken from None


class _RunningErasure:
    """A running erasure: its stored row, and its progress `{person, search, startsAt, kind, part, after, found}`.

    `found` contains a kind, and the keys of that kind's records to delete.
    """

    def __init__(self, row: store.ErasureRow) -> None:
        self._row, self._kinds = row, kinds.by_name()
        self._document: Document = row.open()
        self._document["counts"] = dict.fromkeys(self._kinds, 0) | self._document["counts"]
        self._progress: Document = {"search": 0, "startsAt": 0, "found": [], **storage.unseal(row, "search")}
        self._target = Target(row, identity.from_members(self._progress["person"]), MatchedConversations(row))

    def run(self, seconds: float) -> int | None:
        """Run for up to `seconds`. Return the seconds until the next invocation, or None if the erasure is complete."""
        end = clock.monotonic() + seconds
        if not self._delete_stored(end):
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
        """Read all pages from the stored position to the end of the search, and yield each page's keys."""
        is_first = self._progress["search"] == 0
        names = [name for name in self._kinds if not (is_first and name in kinds.SEARCHED_ONCE)]
        # If the stored kind's extension has been disabled, restart the search.
        first = self._progress.get("kind")
        for name in names[names.index(first) if first in names else 0 :]:
            if name != self._progress.get("kind"):
                self._progress |= {"kind": name, "part": self._next_part(name, None), "after": None}
            while (part := self._progress["part"]) is not None:
                page = self._kinds[name].find(self._target, part, self._progress["after"])
                self._progress["after"] = page.after
                if page.after is None:
                    self._progress["part"] = self._next_part(name, part)
                yield page.keys

    def _next_part(self, kind: str, part: str | None) -> str | None:
        return self._kinds[kind].next_part(self._row.workspace, part)

    def _delete(self, keys: list[Any], end: float) -> bool:
        """Store and count a page's keys, if it has any. Then delete the records, as `_delete_stored` does."""
        if keys:
            kind = self._progress["kind"]
            self._document["counts"][kind] += len(keys)
            self._progress["found"] = [kind, keys]
            self._save()
        return self._delete_stored(end)

    def _delete_stored(self, end: float) -> bool:
        """Delete the records whose keys are stored. Return whether all were deleted before `end`."""
        kind, keys = self._progress["found"] or ("", [])
        while keys:
            if kind in self._kinds:  # false if the kind's extension has been disabled
                self._kinds[kind].delete(self._row.workspace, keys[:_BATCH])
            keys = keys[_BATCH:]
            self._progress["found"] = [kind, keys] if keys else []
            if keys and clock.monotonic() > end:
                return False
        return True

    def _begin_next_search(self) -> None:
        search = self._progress["search"] + 1
        self._progress |= {"search": search, "kind": None, "startsAt": clock.seconds() + _SECOND_SEARCH_SECONDS}
        self._save()

    def _complete(self, end: float) -> bool:
        """Delete the person's identity and sign the receipt. Return whether this was done before `end`.

        A request that added messages to a conversation during its deletion may have left index items, so clear them
        first.
        """
        while matches := store.list_matches(self._row, _BATCH):
            clear_leftovers(self._row.workspace, matches)
            store.forget(matches)
            if clock.monotonic() > end:
                return False
        document = self._document
        signed = receipt.sign(self._row.workspace, self._row.erasure_id, document["createdAt"], document["counts"])
        with _raise_overtaken():
            store.complete(self._row, {**document, "receipt": signed})
        return True

    def _save(self) -> None:
        with _raise_overtaken():
            store.save(self._row, self._document, self._progress)
