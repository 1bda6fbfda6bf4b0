"""Routes that issue visitor tokens. Back ends request these tokens for pages that display a conversation."""

import math
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import clock, errors
from chalicelib.agents import store as agents
from chalicelib.conversations import records
from chalicelib.credentials import visitors as credentials
from chalicelib.http import auth, bodies, cors, responses
from chalicelib.http.operation import Operation

if TYPE_CHECKING:
    from chalicelib.conversations import models

routes = Blueprint(__name__)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}/visitor-tokens", methods=["POST"])
@Operation(body="models.VisitorTokenIn", data="models.VisitorToken", raises=(errors.NotFound,))
def issue_visitor_token(agent_id: str, convo_id: str) -> Response:
    """Issue a visitor token for an existing conversation. Only this response contains `token`.

    A visitor token is safe to use in a browser, because it can only read one conversation, add messages to it, and set
    the user's name, email and phone. It expires after a day by default, and never outlives the credential that issued
    it. It becomes invalid when the conversation is deleted.
    """
    body: models.VisitorTokenIn = bodies.read()
    loaded = records.load(agent_id, convo_id)
    errors.require(loaded.row, "conversation")
    return _issue(loaded, body.token.expiresInSeconds)


@routes.route("/agents/{agent_id}/interact/{user_id}/visitor-tokens", methods=["POST"], cors=cors.CORS)
@Operation(body="models.VisitorTokenIn", data="models.VisitorToken", raises=(errors.NotFound,))
def issue_visitor_token_at_edge(agent_id: str, user_id: str) -> Response:
    """Issue a visitor token for a conversation that may not exist yet. Only this response contains `token`.

    This route corresponds to `POST /v3/agents/{agent_id}/convos/{convo_id}/visitor-tokens`, but accepts agent keys. The
    first change with the token creates the conversation.
    """
    body: models.VisitorTokenIn = bodies.read()
    return _issue(records.load(agent_id, user_id), body.token.expiresInSeconds)


def _issue(loaded: records.AgentAndConversation, lifetime: int | None) -> Response:
    """Stage a token that is valid for `lifetime` seconds, but not longer than the caller's credential."""
    caller, now = auth.caller(), clock.seconds()
    ends_at = min(now + (lifetime or credentials.LIFETIME), caller.ends_at or math.inf)
    issued = credentials.issue(
        caller.workspace_id,
        loaded.agent.agent_id,
        loaded.conversation_id,
        loaded.row.created if loaded.row else None,
        int(ends_at) - now,
        agent_created=loaded.agent.open().get(agents.CREATED),
        issuer=caller.token_hash,
        issuer_id=caller.credential_id,
    )
    token = {"token": issued.token, "expiresAt": clock.iso(int(ends_at)), "createdAt": clock.iso(now)}
    return responses.success("Visitor token created successfully", token)
