"""References between records by id, such as an organisation's references to agents.

Each resource declares how its records are read, so that resources that refer to each other do not import each other. A
body that refers to a missing record is stored with a warning, because the record may be created later.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from chalicelib import errors, storage
from chalicelib.ids import IDENTIFIER

# Maximum number of ids that a request looks up. A database request reads at most 16 MB, which is 40 records of maximum
# size.
MAX_LOOKED_UP = 40
_MAX_WARNINGS = 20


class _Kind(NamedTuple):
    """One kind of record: the key by workspace and id, and a check whether a row is such a record."""

    key: Callable[[str, str], storage.Key]
    exists: Callable[[Any], bool]


_kinds: dict[str, _Kind] = {}


def declare(
    kind: str, key: Callable[[str, str], storage.Key], exists: Callable[[Any], bool] = lambda row: row is not None
) -> None:
    """Let other resources refer to records of this kind, such as `agent`."""
    _kinds[kind] = _Kind(key, exists)


def require(kind: str, workspace_id: str, record_id: str) -> None:
    """Raise NotFound if the record does not exist. This costs one strongly consistent read."""
    _require(kind, workspace_id, record_id, consistent=True)


def require_eventually_consistent(kind: str, workspace_id: str, record_id: str) -> None:
    """Raise NotFound as `require` does, at half the cost. A record that was deleted a second ago may still be found."""
    try:
        _require(kind, workspace_id, record_id, consistent=False)
    except errors.NotFound:  # eventually consistent reads may miss a new record
        require(kind, workspace_id, record_id)


def _require(kind: str, workspace_id: str, record_id: str, *, consistent: bool) -> None:
    key, exists = _kinds[kind].key(workspace_id, record_id), _kinds[kind].exists
    if not exists(storage.find(*key._replace(consistent=consistent))):
        raise errors.NotFound.of(kind)


class References(NamedTuple):
    """The ids in a body member that refers to records of one kind, by path. `known` ids are already stored."""

    ids: dict[str, str]
    kind: str
    known: Collection[str] = ()


def ids_by_path(path: str, ids: Sequence[str] | None) -> dict[str, str]:
    """Return the ids in a list by path."""
    return {f"{path}.{number}": id_ for number, id_ in enumerate(ids or ())}


def warn_of_missing(workspace_id: str, *members: References) -> list[errors.MemberIssue]:
    """Return up to 20 warnings about ids that refer to missing records. This costs one request if there are ids.

    Check at most 40 ids, new ids first. One warning covers all new ids that are not checked.
    """
    rows = _look_up(workspace_id, members)
    warnings = [issue for member in members for issue in (*_unchecked(member, rows), *_missing(member, rows))]
    return warnings[:_MAX_WARNINGS]


def _look_up(workspace_id: str, members: Sequence[References]) -> dict[tuple[str, str], Any]:
    """Return the rows by kind and id, or None for a missing record."""
    pairs = [(member, id_) for member in members for id_ in member.ids.values() if IDENTIFIER.fullmatch(id_)]
    new_first = sorted(pairs, key=lambda pair: pair[1] in pair[0].known)
    ids = [*dict.fromkeys((member.kind, id_) for member, id_ in new_first)][:MAX_LOOKED_UP]
    # The read is strongly consistent, because the record may just have been created.
    keys = [_kinds[kind].key(workspace_id, id_)._replace(consistent=True) for kind, id_ in ids]
    return dict(zip(ids, storage.find_many(keys), strict=True))


def _unchecked(member: References, rows: dict[tuple[str, str], Any]) -> Iterator[errors.MemberIssue]:
    """Yield one warning, at the list's path, about a list's new ids that were not looked up."""
    for path, id_ in member.ids.items():
        if IDENTIFIER.fullmatch(id_) and (member.kind, id_) not in rows and id_ not in member.known:
            message = f"has more new ids than the {MAX_LOOKED_UP} that a request looks up; the others were not checked"
            yield errors.MemberIssue(path=path.rpartition(".")[0], message=message)
            return


def _missing(member: References, rows: dict[tuple[str, str], Any]) -> Iterator[errors.MemberIssue]:
    for path, id_ in member.ids.items():
        is_missing = (member.kind, id_) in rows and not _kinds[member.kind].exists(rows[member.kind, id_])
        if is_missing or not IDENTIFIER.fullmatch(id_):
            message = f"refers to no {member.kind} in this workspace; the value is stored as sent"
            yield errors.MemberIssue(path=path, message=message)
