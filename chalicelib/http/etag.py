"""Preconditions: the `ETag` of an answer, and what `If-Match` and `If-None-Match` ask of the record.

RFC 9110, section 13. The tag is the record's version tag (`storage.TaggedRow`), not a hash of an answer: it costs
nothing and is the same in every form of the record. A view checks the headers between reading a record and staging its
conditional write, so no other write can come in between.
"""

import re
from typing import TypeVar

from chalice.app import Response

from chalicelib import errors, storage
from chalicelib.http import messages

IF_MATCH = "If-Match"
IF_NONE_MATCH = "If-None-Match"

Tagged = TypeVar("Tagged", bound=storage.TaggedRow)
OptionalTagged = TypeVar("OptionalTagged", bound=storage.TaggedRow | None)

_ANY = "*"
_TAG = r'(?:W/)?"[!#-~\x80-\xff]*"'
_TAGS = re.compile(rf"[\s,]*{_TAG}(?:\s*,[\s,]*{_TAG})*[\s,]*")
_RULE = "must be * or a list of tags in quotes, as ETag has them"


def tagged(response: Response, row: storage.TaggedRow | None) -> Response:
    """The answer with the tag of the one record in it; 304 without a body where a GET says that it has this one."""
    if row is None:
        return response
    if messages.request().method == "GET" and _names_weakly(_given(IF_NONE_MATCH), row):
        return Response("", {"ETag": _tag(row)}, status_code=304)
    response.headers["ETag"] = _tag(row)
    return response


def require_match(row: Tagged | None, kind: str) -> Tagged:
    """`row`, a record of this `kind` as it was read. Raises PreconditionFailed, Invalid, and NotFound for None."""
    found = check_preconditions(row)
    if found is None:
        raise errors.NotFound.of(kind)
    return found


def check_preconditions(row: OptionalTagged) -> OptionalTagged:
    """`row`, a record as it was read, or None where there is none. Raises PreconditionFailed, and Invalid for a header
    that is no list of tags."""
    wanted = _given(IF_MATCH)
    if wanted is not None and (row is None or not {_ANY, _tag(row)} & set(wanted)):
        raise errors.PreconditionFailed(f"{IF_MATCH} does not name the record as it is now; read it and try again.")
    if row is not None and _names_weakly(_given(IF_NONE_MATCH), row):
        raise errors.PreconditionFailed(f"{IF_NONE_MATCH} rules out the record, which is there.")
    return row


def is_conditional() -> bool:
    """Whether the request has a precondition."""
    return any(name in messages.request().headers for name in (IF_MATCH, IF_NONE_MATCH))


def pin(row: storage.TaggedRow | None) -> None:
    """Answer a request from one version of a record, however often its view runs: for a replacement, which must not
    undo a write that its sender has not seen. Not needed with preconditions that say the same. Raises Stale."""
    if not _pins_a_version():
        tag = None if row is None else row.version_tag
        if messages.request().context.setdefault("pinnedVersion", tag) != tag:
            raise errors.Stale()


def _pins_a_version() -> bool:
    """Whether the headers already name one version, or none. `If-Match: *` is for any record, `If-None-Match` with tags
    for all but those."""
    given = messages.request().headers
    return bool(given.get(IF_MATCH, _ANY).strip() != _ANY or given.get(IF_NONE_MATCH, "").strip() == _ANY)


def _tag(row: storage.TaggedRow) -> str:
    return f'"{row.version_tag}"'


def _names_weakly(tags: list[str] | None, row: storage.TaggedRow) -> bool:
    """Whether the tags have this one, weak or not, or are for any record."""
    return bool({_ANY, _tag(row)} & {tag.removeprefix("W/") for tag in tags or ()})


def _given(name: str) -> list[str] | None:
    """The tags of a header of the request, None without the header."""
    text = messages.request().headers.get(name)
    if text is None or text.strip() == _ANY:
        return text and [_ANY]
    if not _TAGS.fullmatch(text):
        raise errors.Invalid.member(name, _RULE)
    return re.findall(_TAG, text)
