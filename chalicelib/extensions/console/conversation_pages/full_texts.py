"""Complete records as plain-text downloads, for pages that show records only in part."""

from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.conversations import transcript
from chalicelib.extensions.console.access import calls, rights
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.conversation_pages import bubbles, conversations
from chalicelib.extensions.console.presentation import pages, template_filters
from chalicelib.http import current_request

_MEDIA = "text/plain; charset=utf-8"
_AGENT, _LEAD = "/v3/agents/{agent_id}", "/v3/leads/{lead_id}"
_CONVERSATION = f"{_AGENT}/convos/{{convo_id}}"


@signed_in("/convos")
def read_conversation(session: Session, agent_id: str, convo_id: str) -> Response:
    """Return a conversation's metadata, or its message with the digest `message`. Each chunk is read once."""
    digest = current_request.query_value("message")
    _, row = conversations.find(session, agent_id, convo_id)
    if not digest:
        return _record("conversation", conversations.metadata_of(row))
    for message in transcript.newest_messages(row):
        if bubbles.digest(message) == digest:
            return pages.download("message.txt", _MEDIA, bubbles.full_text(message))
    raise errors.NotFound.of("message")


@signed_in("/agents")
def read_agent(session: Session, agent_id: str) -> Response:
    """Return an agent with its tools but without secrets."""
    return _record("agent", calls.get(_AGENT, agent_id=agent_id)["data"])


@signed_in("/agents")
def read_version(session: Session, agent_id: str, number: str) -> Response:
    """Return a version of an agent."""
    return _record("version", calls.get(f"{_AGENT}/versions/{{number}}", agent_id=agent_id, number=number)["data"])


@signed_in("/leads")
def read_lead(session: Session, agent_id: str, lead_id: str) -> Response:
    """Return a lead captured by an agent."""
    lead = calls.get(_LEAD, lead_id=lead_id)["data"]
    if lead.get("agentId") != agent_id:
        raise errors.NotFound.of("lead")
    return _record("lead", lead)


@signed_in("/settings")
def read_organisation(session: Session, org_id: str) -> Response:
    """Return an organisation."""
    rights.require_organisation(session, org_id)
    return _record("organisation", calls.get("/v2/orgs/{org_id}", org_id=org_id)["data"])


@signed_in("/settings")
def read_client(session: Session, org_id: str, client_id: str) -> Response:
    """Return a person in an organisation, without the password."""
    rights.require_organisation(session, org_id)
    client = calls.get("/v2/clients/{client_id}", client_id=client_id)["data"]
    if client.get("orgId") != org_id:
        raise errors.NotFound.of("client")
    return _record("client", client)


def _record(name: str, record: Any) -> Response:
    return pages.download(f"{name}.txt", _MEDIA, template_filters.compact_json(record))
