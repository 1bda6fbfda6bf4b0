"""Search and export routes, which read whole transcripts."""

from typing import TYPE_CHECKING, Any

from chalice.app import Blueprint, Response

from chalicelib import errors, ids
from chalicelib.agents import store as agents
from chalicelib.conversations import export, filtered_lists, filters, search
from chalicelib.http import auth, files, pages, parameters
from chalicelib.http.operation import Operation

if TYPE_CHECKING:
    from chalicelib.conversations import models  # noqa: F401

routes = Blueprint(__name__)


@routes.route("/v3/agents/{agent_id}/convos/search", methods=["GET"])
@Operation(
    data="list[models.ConversationMessages]",
    query=("q", "from", "to", "limit", "cursor"),
    requires=("q",),
    bounded=True,
    members=("searchedUntil",),
    raises=(errors.NotFound,),
)
def search_conversations(agent_id: str) -> Response:
    """Search an agent's conversations for messages that contain the text `q`, newest conversation first.

    `messages` contains up to 20 matching messages, newest first. A request searches up to 200 conversations, or 4 MB of
    transcripts. All conversations created after `searchedUntil` (Unix seconds) have been searched. While `hasMore` is
    true, pass `nextCursor` as `cursor` to continue.
    """
    limit, cursor, conditions = parameters.limit(), parameters.cursor(), filters.Filters.from_request()
    if not conditions.text:
        raise errors.Invalid.member("q", "is required")
    workspace_id = auth.caller().workspace_id
    agents.read_eventually(workspace_id, agent_id)
    count = search.MAX_EXAMINED + 1  # the extra entry shows that another page follows
    entries = filtered_lists.entries_of_agent(workspace_id, agent_id, conditions.since, conditions.until, cursor, count)

    def search_end(position: str | None) -> dict[str, Any]:
        return {"searchedUntil": ids.timestamp_of(position) // 1000 if position else conditions.since or 0}

    examined = search.search(entries, conditions.text)
    return pages.bounded_page("Conversations searched successfully", examined, limit, search_end)


@routes.route("/v3/agents/{agent_id}/convos/export", methods=["GET"])
@Operation(
    files=tuple(files.MEDIA.values()),
    query=("format", "from", "to", "limit", "cursor"),
    requires=("format",),
    bounded=True,
    raises=(errors.NotFound,),
)
def export_conversations(agent_id: str) -> Response:
    """Export an agent's conversations as text, newest first. The concatenated pages form one file.

    With `ndjson`, each line is an object with the `conversation` and all of its `messages`, oldest first. With `csv`,
    each row contains a conversation's metadata, and up to 32,000 characters of its transcript. The `Link` header
    contains the next page's URL.
    """
    limit, cursor, conditions, form = (
        parameters.limit(),
        parameters.cursor(),
        filters.Filters.from_request(),
        files.format_from_request(),
    )
    workspace_id = auth.caller().workspace_id
    agents.read_eventually(workspace_id, agent_id)
    entries = filtered_lists.entries_of_agent(
        workspace_id, agent_id, conditions.since, conditions.until, cursor, limit + 1
    )
    page = export.page(entries[:limit], form)
    text = page.text if cursor else export.heading(form) + page.text
    return files.response(form, text, page.position if page.conversations < len(entries) else None)
