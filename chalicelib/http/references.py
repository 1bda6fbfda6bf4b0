"""Warnings about ids in a body that name no record. Such a body is stored: the record may be created later."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from chalicelib import errors, storage
from chalicelib.ids import IDENTIFIER

# Ids that a request looks up. One request to the database reads 16 MB, which is 40 of the largest records.
MAX_LOOKED_UP = 40
_MAX_WARNINGS = 20


class Named(NamedTuple):
    """The ids in a member of a body, by their paths, and the records that they name.

    `key` returns the key of the record with an id. `exists` tells whether a row is one, and `kind` is its name. `known`
    are the ids that were stored before.
    """

    ids: dict[str, str]
    kind: str
    key: Callable[[str], storage.Key]
    known: Collection[str] = ()
    exists: Callable[[Any], bool] = lambda row: row is not None


def in_list(path: str, ids: Sequence[str] | None) -> dict[str, str]:
    """The ids of a list by their paths."""
    return {f"{path}.{number}": one for number, one in enumerate(ids or ())}


def find_missing(*members: Named) -> list[errors.Issue]:
    """The warnings about ids that name no record, up to 20. One request if there are ids.

    Looks up to 40 ids up, first those that were not stored before. One warning counts the new ids beyond them.
    """
    looked_up = [*zip(members, _find(members), strict=True)]
    warnings = [issue for one, found in looked_up for issue in (*_unchecked(one, found), *_missing(one, found))]
    return warnings[:_MAX_WARNINGS]


def _find(members: Sequence[Named]) -> list[dict[str, Any]]:
    """For each member, the rows by the ids that were looked up; None for those that do not exist."""
    wanted = [(one, id_) for one in members for id_ in dict.fromkeys(one.ids.values()) if IDENTIFIER.fullmatch(id_)]
    new_first = sorted(wanted, key=lambda pair: pair[1] in pair[0].known)[:MAX_LOOKED_UP]
    # Consistent, because the record may have been created a moment ago.
    rows = storage.find_many([one.key(id_)._replace(consistent=True) for one, id_ in new_first])
    found = list(zip(new_first, rows, strict=True))
    return [{id_: row for (of, id_), row in found if of is one} for one in members]


def _unchecked(named: Named, found: dict[str, Any]) -> Iterator[errors.Issue]:
    """The warning about the new ids of a list that were not looked up, at the path of the list."""
    ids = {id_: path for path, id_ in named.ids.items() if IDENTIFIER.fullmatch(id_)}
    if unchecked := ids.keys() - found.keys() - {*named.known}:
        path = ids[unchecked.pop()].rpartition(".")[0]
        message = f"has more new ids than the {MAX_LOOKED_UP} that a request looks up; the others may name nothing"
        yield errors.Issue(path=path, message=message)


def _missing(named: Named, found: dict[str, Any]) -> list[errors.Issue]:
    is_missing = {id_ for id_, row in found.items() if not named.exists(row)}
    message = f"names no {named.kind} of this workspace; it is stored as sent"
    return [
        errors.Issue(path=path, message=message)
        for path, id_ in named.ids.items()
        if id_ in is_missing or not IDENTIFIER.fullmatch(id_)
    ]
