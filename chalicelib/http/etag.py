"""Optimistic locking over HTTP: response ETags, and the preconditions `If-Match` and `If-None-Match`.

See RFC 9110, section 13. The ETag is the record's version tag (`storage.TaggedRow`) instead of a hash of the response.
It costs nothing to compute, and is the same for every form of the record. A view reads the record, checks the headers
and stages a conditional write, so no other write can take effect in between.

A response may include other records, such as an agent's tools. In that case, its ETag ends with a dot and a digest of
their version tags. A `GET` with `If-None-Match` compares the whole tag. `If-Match` compares only the part before the
dot, so a changed tool does not block a change to the agent.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import TypeVar

from chalice.app import Response

from chalicelib import errors, storage
from chalicelib.http import current_request

IF_MATCH = "If-Match"
IF_NONE_MATCH = "If-None-Match"

Tagged = TypeVar("Tagged", bound=storage.TaggedRow)
OptionalTagged = TypeVar("OptionalTagged", bound=storage.TaggedRow | None)

_ANY = "*"
_TAG = r'(?:W/)?"[!#-~\x80-\xff]*"'
_TAGS = re.compile(rf"[\s,]*{_TAG}(?:\s*,[\s,]*{_TAG})*[\s,]*")
# One of the service's own tags without its quotes, which shells remove.
BARE = re.compile(r"[0-9a-hjkmnp-tv-z]{26}(?:\.[0-9a-f]{16})?")
# The digest in a tag.
_DIGEST = re.compile(r'\.[0-9a-f]*(?="$)')
_RULE = "must be * or a list of quoted tags, as in the ETag header"


def tagged(response: Response, row: storage.TaggedRow | None, others: Sequence[storage.TaggedRow] = ()) -> Response:
    """Return `response` with an ETag for its record and for the `others` that it contains.

    If a GET request's `If-None-Match` contains this tag, return 304 without a body.
    """
    if row is None:
        return response
    tag = _tag(row, others)
    if current_request.request().method == "GET" and _matches_weakly(_header_tags(IF_NONE_MATCH), tag):
        return Response("", {"ETag": tag}, status_code=304)
    response.headers["ETag"] = tag
    return response


def require_match(row: Tagged | None, kind: str) -> Tagged:
    """Return `row` if it exists and satisfies the preconditions. Raise NotFound, PreconditionFailed or Invalid."""
    return errors.require(check_preconditions(row), kind)


def check_preconditions(row: OptionalTagged) -> OptionalTagged:
    """Return `row`. Raise PreconditionFailed if a precondition fails, and Invalid if a header is malformed."""
    # Parse both headers before comparing either.
    expected, excluded = _record_tags(IF_MATCH), _record_tags(IF_NONE_MATCH)
    if expected is not None and (row is None or not {_ANY, _tag(row)} & set(expected)):
        raise errors.PreconditionFailed(f"{IF_MATCH} does not match the record's current ETag; read it and try again.")
    if row is not None and _matches_weakly(excluded, _tag(row)):
        raise errors.PreconditionFailed(f"{IF_NONE_MATCH} matches the existing record; read it and try again.")
    return row


def is_conditional() -> bool:
    """Return whether the request has an `If-Match` or `If-None-Match` header."""
    return any(name in current_request.request().headers for name in (IF_MATCH, IF_NONE_MATCH))


def is_creation() -> bool:
    """Return whether the request requires that the record does not exist (`If-None-Match: *`)."""
    return bool(current_request.request().headers.get(IF_NONE_MATCH, "").strip() == _ANY)


def pin(row: storage.TaggedRow | None) -> None:
    """Require the same record version in every run of the view. Raise Stale for another version.

    Otherwise, a replacement that runs again would overwrite a change that the caller has not seen. Do nothing if the
    request's preconditions already require one version.
    """
    if not _pins_a_version():
        tag = None if row is None else row.version_tag
        if current_request.request().context.setdefault("pinnedVersion", tag) != tag:
            raise errors.Stale()


def _pins_a_version() -> bool:
    """Return whether the request requires specific versions (`If-Match`), or no record (`If-None-Match: *`)."""
    return bool(current_request.request().headers.get(IF_MATCH, _ANY).strip() != _ANY) or is_creation()


def _tag(row: storage.TaggedRow, others: Sequence[storage.TaggedRow] = ()) -> str:
    if not others:
        return f'"{row.version_tag}"'
    digest = hashlib.blake2b("".join(one.version_tag for one in others).encode(), digest_size=8).hexdigest()
    return f'"{row.version_tag}.{digest}"'


def _matches_weakly(tags: list[str] | None, tag: str) -> bool:
    """Return whether the tags contain `*` or this tag, by weak comparison (RFC 9110, section 8.8.3.2)."""
    return bool({_ANY, tag} & {one.removeprefix("W/") for one in tags or ()})


def _record_tags(name: str) -> list[str] | None:
    """Return the tags in a header, without the digests of included records."""
    tags = _header_tags(name)
    return tags and [_DIGEST.sub("", tag) for tag in tags]


def _header_tags(name: str) -> list[str] | None:
    """Return the tags in a request header, or None if it is absent. Raise Invalid if it is malformed."""
    text = current_request.request().headers.get(name)
    if text is None or text.strip() == _ANY:
        return text and [_ANY]
    if BARE.fullmatch(text.strip()):
        return [f'"{text.strip()}"']
    if not _TAGS.fullmatch(text):
        raise errors.Invalid.member(name, _RULE)
    return re.findall(_TAG, text)
