"""The conversation pages: the list with the API's filters, the transcript, and a person's actions."""

from itertools import islice
from typing import Any

from chalice.app import Response

from chalicelib import errors, ids, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import listing, transcript
from chalicelib.conversations import store as conversations
from chalicelib.conversations.rendering import render_v3
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.console import bubbles, calls, guard, overview, pages
from chalicelib.extensions.console import conversation_actions as actions
from chalicelib.extensions.console.calls import query_string
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.extensions.console.template_filters import display_name, truncate
from chalicelib.http import current_request
from chalicelib.storage import Document

_AGENT = "/v3/agents/{agent_id}"
_FILTERS = ("state", "tag", "origin", "assignedTo", "q")
STATES = ("requested_chat", "human-chatting", "ai-chatting", "ended_chat")
MAX_MESSAGES = 100
_MAX_TAGS = 100  # the maximum number of tags in a form
_MAX_COLLEAGUE = 60  # the maximum length of a name in the list of up to 500 people
# The maximum number of variables beside a transcript, and of characters in each.
_MAX_VARIABLES, _MAX_VARIABLE = 20, 300
# The maximum number of requests per inbox page. A page may need several, because the person may not see all agents.
_MAX_INBOX_REQUESTS = 5
# The maximum number of client pages. A page contains up to 100 clients, or examines 500 clients from all organisations.
_MAX_COLLEAGUES_REQUESTS = 5


@signed_in("/convos")
def list_conversations(session: Session) -> Response:
    """List an agent's conversations that match the filters or, with `inbox`, those that are waiting for a person."""
    query = {name: current_request.query_value(name) for name in ("agent", "inbox", "cursor", *_FILTERS)}
    titles, has_more = overview.visible_agents(session)
    query["agent"] = query["agent"] if query["agent"] in titles else next(iter(titles), None)
    page = _list(session, query) if titles else {"data": []}
    following = query_string({**query, "cursor": page["nextCursor"]}) if page.get("nextCursor") else None
    return guard.page(
        session,
        "conversations.html",
        "/convos",
        conversations=page["data"],
        following=following,
        query=query,
        titles=titles,
        has_more_agents=has_more,
        states=STATES,
    )


@signed_in("/convos")
def read_conversation(session: Session, agent_id: str, convo_id: str) -> Response:
    """Show a conversation: its newest messages, information about the visitor, and the forms."""
    return _page(session, agent_id, convo_id, {})


@signed_in("/convos")
def submit_action(session: Session, agent_id: str, convo_id: str) -> Response:
    """Perform an action (reply, take over, assign, pass back, end or tag), then show the conversation."""
    fields = guard.form()
    action = actions.ACTIONS.get(fields.get("action", ""))
    if action is None:
        raise errors.Invalid("The form has an unknown action.")
    try:
        calls.commit_now(lambda: action(session, {"agent_id": agent_id, "convo_id": convo_id}, fields))
    except (errors.Invalid, errors.TooLarge, errors.PreconditionFailed) as error:
        return _page(session, agent_id, convo_id, fields, error)
    if fields["action"] != "reply" and fields.get("text"):  # keep a draft, which a redirect would lose
        return _page(session, agent_id, convo_id, fields)
    return pages.redirect(f"/{session.workspace_id}/convos/{agent_id}/{convo_id}?done={fields['action']}")


def _page(
    session: Session, agent_id: str, convo_id: str, submitted: dict[str, str], error: errors.ApiError | None = None
) -> Response:
    """Return the page, with a form's error and its submitted values."""
    values = read_transcript(session, agent_id, convo_id)
    colleagues, has_more = _colleagues(session)
    done = None if error else submitted.get("action") or current_request.query_value("done")
    return guard.page(
        session,
        "conversation.html",
        "/convos",
        error.STATUS_CODE if error else 200,
        submitted=submitted,
        message=guard.explain(session, error) if error else None,
        colleagues=colleagues,
        has_more_colleagues=has_more,
        mid=ids.new_id(),
        done=done if done in actions.ACTIONS else None,
        variables=_variables(values["meta"]),
        **values,
    )


def find(session: Session, agent_id: str, convo_id: str) -> tuple[Document, ConversationRow]:
    """Return the agent and the conversation row. This costs one request. Raise NotFound."""
    keys = [agents.key(session.workspace_id, agent_id), conversations.key(session.workspace_id, agent_id, convo_id)]
    agent, stored = storage.find_many(keys)
    row = conversations.unless_expired(stored)
    if row is None:
        raise errors.NotFound.of("conversation")
    return agents.reread_if_missing(agent, session.workspace_id, agent_id).open(), row


def metadata_of(row: ConversationRow) -> Document:
    """Return a conversation's metadata as the API shows it."""
    return render_v3(row, conversations.read_metadata(row))


def _variables(metadata: Document) -> list[tuple[str, str]]:
    """Return the first labels and captured variables that contain a text or number, such as the visitor's country."""
    merged = {**(metadata.get("labels") or {}), **(metadata.get("capturedVariables") or {})}
    texts = ((name, str(value)) for name, value in merged.items() if isinstance(value, str | int | float) and value)
    return [
        (truncate(name, _MAX_COLLEAGUE), truncate(text, _MAX_VARIABLE)) for name, text in islice(texts, _MAX_VARIABLES)
    ]


def _fits(tags: list[str]) -> bool:
    """Return whether the tags fit in a form. The form shows all tags or none, because saving would drop hidden tags."""
    return len(tags) <= _MAX_TAGS and sum(map(len, tags)) <= actions.MAX_TAGS_LENGTH


def read_transcript(session: Session, agent_id: str, convo_id: str) -> Document:
    """Return the template variables for a transcript: metadata, the newest messages in order, and the page before them.

    This costs one request, plus one for each further chunk. Raise NotFound.
    """
    agent, row = find(session, agent_id, convo_id)
    before = _before()
    newest = bubbles.bubbles_that_fit(islice(transcript.newest_messages(row), before, before + MAX_MESSAGES))
    metadata, until = metadata_of(row), before + len(newest)
    return {
        **panel_values(metadata),
        "messages": newest[::-1],
        "earlier": until if newest and metadata.get("messagesNum", 0) > until else None,
        "agent": display_name(agent, "title") or agent_id,
        # The position and version from which the page's script continues. An earlier page is not updated.
        "after": None if before else transcript.end_position(row),
        "version": listing.version_of(row),
        "is_reset": True,
    }


def panel_values(metadata: Document) -> Document:
    """Return the template variables for the parts of a page that follow the metadata: state, actions and tags."""
    tags = metadata.get("tags") or []
    return {"meta": metadata, "tags": tags[:_MAX_TAGS], "tags_digest": actions.tags_digest(tags), "fits": _fits(tags)}


def _before() -> int:
    """Return the number of newest messages that the page skips. Raise Invalid."""
    value = current_request.query_value("before") or "0"
    if not value.isascii() or not value.isdecimal() or len(value) > 5:
        raise errors.Invalid.member("before", "must be a number of messages")
    return int(value)


def _list(session: Session, query: dict[str, Any]) -> Any:
    """Return a page of one agent's conversations, or of all visible agents' waiting conversations."""
    filters = {name: query[name] for name in (*_FILTERS, "inbox", "cursor")}
    if not query["inbox"]:
        return calls.get(f"{_AGENT}/convos", filters, agent_id=query["agent"])
    return _waiting(session, filters)


def _waiting(session: Session, filters: dict[str, Any]) -> Any:
    """Return a page of the visible agents' waiting conversations. Skip inbox pages that contain only other agents."""
    page = {"nextCursor": filters["cursor"]}
    for _ in range(_MAX_INBOX_REQUESTS):
        page = calls.get("/v3/convos", {**filters, "state": STATES[0], "cursor": page["nextCursor"]})
        own = [
            conversation
            for conversation in page["data"]
            if session.agent_ids is None or conversation["agentId"] in session.agent_ids
        ]
        if own or not page.get("nextCursor"):
            break
    return {**page, "data": own}


def _colleagues(session: Session) -> tuple[list[tuple[str, str]], bool]:
    """Return the id and name of each possible assignee, sorted by name, and whether there are more."""
    query = {"limit": 100, **({} if session.client_id is None else {"orgId": session.client.get("orgId")})}
    colleagues: list[Any] = []
    following = None
    for _ in range(_MAX_COLLEAGUES_REQUESTS):
        page = calls.get("/v3/clients", {**query, "cursor": following})
        colleagues += page["data"]
        following = page.get("nextCursor")
        if not following:
            break
    named = [
        (colleague["ID"], truncate(display_name(colleague, "name", "email", "ID"), _MAX_COLLEAGUE))
        for colleague in colleagues
    ]
    return sorted(named, key=lambda pair: pair[1].casefold()), bool(following)
