"""Search and export routes, which read whole transcripts."""

from typing import TYPE_CHECKING, Any

from chalice.app import Blueprint, Response

from chalicelib import errors, ids, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import filters, records, transcript
from chalicelib.conversations.rendering import render_v3
from chalicelib.http import auth, files, json_text, pages, parameters
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation

if TYPE_CHECKING:
    from chalicelib.extensions.transcripts import entries, export, models, search  # noqa: F401
else:
    entries = LazyModule("chalicelib.extensions.transcripts.entries")
    export = LazyModule("chalicelib.extensions.transcripts.export")
    search = LazyModule("chalicelib.extensions.transcripts.search")

routes = Blueprint(__name__)


@routes.route("/v3/agents/{agent_id}/convos/search", methods=["GET"])
@Operation(
    data="list[models.MatchingConversation]",
    query=("q", "from", "to", "limit", "cursor"),
    requires=("q",),
    bounded=True,
    members=("searchedUntil",),
    raises=(errors.NotFound,),
    tag="conversations",
)
def search_conversations(agent_id: str) -> Response:
    """Search an agent's conversations for messages that contain the text `q`, newest conversation first.

    `messages` contains up to 20 matching messages, newest first. A request searches up to 200 conversations, or 4 MB of
    transcripts, or fewer if reads are slow. All conversations created after `searchedUntil` (Unix seconds) have been
    searched. While `hasMore` is true, pass `nextCursor` as `cursor` to continue.
    """
    limit, cursor, conditions = parameters.limit(), parameters.cursor(), filters.Filters.from_request()
    if not conditions.text:
        raise errors.Invalid.member("q", "is required")
    workspace_id = auth.caller().workspace_id
    agents.read_eventually(workspace_id, agent_id)
    count = search.MAX_EXAMINED + 1  # the extra entry shows that another page follows
    listed = entries.newest_first(workspace_id, agent_id, conditions.since, conditions.until, cursor, count)

    def search_end(position: str | None) -> dict[str, Any]:
        return {"searchedUntil": ids.timestamp_of(position) // 1000 if position else conditions.since or 0}

    examined = search.search(listed, conditions.text)
    return pages.bounded_page("Conversations searched successfully", examined, limit, search_end)


@routes.route("/v3/agents/{agent_id}/convos/export", methods=["GET"])
@Operation(
    data="list[models.ConvoMetaV3]",
    files=(files.MEDIA[files.CSV],),
    query=("format", "limit", "sort", "fromTs", "toTs", "cursor", "convoIds"),
    bounded=True,
    raises=(errors.NotFound,),
    tag="conversations",
)
def export_conversations(agent_id: str) -> Response:
    """Export an agent's conversations with all of their messages, oldest message first.

    With `format=csv`, each row contains a conversation's metadata, and up to 32,000 characters of its transcript. The
    concatenated pages form one file, and the `Link` header contains the next page's URL. `convoIds` returns up to 100
    conversations in the order of the ids, regardless of `sort`. A page may be short or empty. While `hasMore` is true,
    pass `nextCursor` as `cursor` to continue.
    """
    limit, query = parameters.limit(), export.ExportQuery.from_request()
    workspace_id = auth.caller().workspace_id
    agents.read_eventually(workspace_id, agent_id)
    listed = query.entries(workspace_id, agent_id, limit + 1)
    page = export.page(listed[:limit], query, render_v3)
    position = page.position if page.conversations < len(listed) else None
    if query.form == files.JSON:
        has_more = position is not None
        return json_text.list_response("Conversations exported successfully", page.records, position, hasMore=has_more)
    heading = "" if query.cursor else export.heading()
    return files.response(files.CSV, "".join((heading, *page.records)), position)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}/export", methods=["GET"])
@Operation(
    data="models.ConvoMetaV3",
    files=(files.MEDIA[files.CSV],),
    query=("format",),
    raises=(errors.NotFound,),
    tag="conversations",
)
def export_conversation(agent_id: str, convo_id: str) -> Response:
    """Export a conversation with all of its messages, oldest first, or as CSV with `format=csv`."""
    form = files.format_from_request(export.FORMATS, files.JSON)
    text = storage.retry_on_conflict(lambda: _export(agent_id, convo_id, form))
    if form == files.JSON:
        return json_text.success("Conversation exported successfully", text)
    return files.response(form, export.heading() + text, None)


def _export(agent_id: str, convo_id: str, form: str) -> str:
    """Return a conversation as text. Raise NotFound, and ConditionFailed as `transcript.read_state` does."""
    row = errors.require(records.load(agent_id, convo_id).row, "conversation")
    state = transcript.read_state(row)
    return export.write(render_v3(row, state.metadata), row, state, form)
