"""The route that reads a pull endpoint's events."""

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from chalice.app import Blueprint, Response

from chalicelib import errors, storage
from chalicelib.http import auth, current_request, json_text, parameters
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation
from chalicelib.webhooks import endpoints

if TYPE_CHECKING:
    from chalicelib.extensions.feeds import feed
else:
    feed = LazyModule("chalicelib.extensions.feeds.feed")

routes = Blueprint(__name__)


class PushEndpoint(errors.Conflict):
    """The endpoint has a URL that receives its events."""

    code = "PUSH_ENDPOINT"
    sentence = "Only endpoints of the kind pull have a feed; this endpoint's events are sent to its URL."


@routes.route("/v3/webhooks/{webhook_id}/events", methods=["GET"])
@Operation(
    data="list[models.FeedEvent]",
    query=("after", "limit"),
    bounded=True,
    members=("after", "eventsExpired"),
    raises=(errors.NotFound, PushEndpoint),
    tag="webhooks",
)
def list_events(webhook_id: str) -> Response:
    """Read a pull endpoint's events after a position, each once and in the order in which they were stored.

    Store the response's `after` together with the effects of its events, and pass it in the next request. Without
    `after`, the list begins with the oldest stored event. Events are stored for 30 days. If events after the position
    have expired, `eventsExpired` is true, and the list continues with the oldest stored event. A page may be short or
    empty. While `hasMore` is true, continue immediately.
    """
    after, limit = _position(), parameters.limit()
    workspace_id = auth.caller().workspace_id
    _require_pull(workspace_id, webhook_id)
    page = feed.read(workspace_id, webhook_id, after, limit)
    shown = [entry for entry in page.entries if entry.is_stored]
    texts = [*json_text.take_fitting(map(_render, shown))]
    is_cut = len(texts) < len(shown)
    read = shown[: len(texts)] if is_cut else page.entries
    return json_text.list_response(
        "Events retrieved successfully",
        texts,
        None,
        after=str(read[-1].position if read else after or ""),
        hasMore=page.has_more or is_cut,
        eventsExpired=page.is_expired,
    )


def _position() -> "feed.Position | None":
    value = current_request.query_value("after")
    if value and not feed.POSITION.fullmatch(value):
        raise errors.Invalid.member("after", "must be empty, or the value in an earlier response")
    return feed.Position.parse(value) if value else None


def _require_pull(workspace_id: str, webhook_id: str) -> None:
    """Raise NotFound or PushEndpoint unless this is a pull endpoint. This costs one request."""
    # A pull endpoint stays one, so an earlier version of its row is sufficient.
    (row,) = storage.find_written([endpoints.key(workspace_id, webhook_id)._replace(consistent=False)])
    if not endpoints.is_pull(errors.require(row, "webhook").open()):
        raise PushEndpoint()


def _render(entry: "feed.FeedEntry") -> dict[str, Any]:
    return {"id": entry.position.event_id, **_content(entry.event), "after": str(entry.position)}


def _content(event: storage.Document | None) -> dict[str, Any]:
    if event is None:
        return {"unreadable": True}
    # A header of a webhook contains the message id percent-encoded.
    mid = {"mid": unquote(event["messageId"])} if "messageId" in event else {}
    return {"type": event["type"], "payload": event["payload"], **mid}
