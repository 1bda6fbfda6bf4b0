"""Agents: the list, the form of the members that people change most, the rest as JSON, tools and versions."""

import json

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.console import fields, guard, overview, pages
from chalicelib.console.calls import Operations
from chalicelib.console.guard import signed_in
from chalicelib.console.sessions import Session
from chalicelib.http import exchange
from chalicelib.storage import Document

routes = Blueprint(__name__)

_AGENT, _VERSIONS = "/v3/agents/{agent_id}", "/v3/agents/{agent_id}/versions"
_PAGE = "/console/{workspace}/agents/{agent_id}"


@routes.route("/console/{workspace}/agents", methods=["GET"])
@signed_in("/agents")
def list_agents(session: Session) -> Response:
    """List the agents that the person sees, up to 50."""
    return pages.page(
        "agents.html",
        guard.language_of(session),
        session=session,
        current="/agents",
        titles=overview.agent_titles(session),
    )


@routes.route(_PAGE, methods=["GET"])
@signed_in("/agents")
def read_agent(session: Session, agent_id: str) -> Response:
    """Show an agent as a form."""
    return _form(session, agent_id)


@routes.route(_PAGE, methods=["POST"], content_types=guard.FORM)
@signed_in("/agents")
def save_agent(session: Session, agent_id: str) -> Response:
    """Save the form, unless somebody else saved the agent since it was shown; what was typed stays in the form."""
    typed = guard.form()
    before, _ = _read(agent_id)
    try:
        change = fields.change(before, typed)
        if change:
            body = {"agent": change}
            _operations().send("PATCH", _AGENT, body, typed.get("etag"), agent_id=agent_id)
    except (errors.Invalid, errors.PreconditionFailed) as error:
        return _form(session, agent_id, typed, error)
    return pages.redirect(f"/{session.workspace_id}/agents/{agent_id}?saved=true")


@routes.route(f"{_PAGE}/tools/{{tool_id}}", methods=["POST"], content_types=guard.FORM)
@signed_in("/agents")
def test_tool(session: Session, agent_id: str, tool_id: str) -> Response:
    """Call the server of one of the agent's tools, and show the request and the response."""
    agent, _ = _read(agent_id)
    (tool,) = [one for one in agent.get("tools", ()) if one["id"] == tool_id] or [None]
    if tool is None:
        raise errors.NotFound.of("tool")
    arguments = fields.parse_object("arguments", guard.form().get("arguments", "{}"))
    found = _operations().send("POST", "/v3/tools/{tool_id}/test", {"arguments": arguments}, tool_id=tool_id)["data"]
    return pages.page(
        "tool_test.html",
        guard.language_of(session),
        session=session,
        current="/agents",
        agent_id=agent_id,
        tool=tool,
        found=found,
    )


@routes.route(f"{_PAGE}/versions", methods=["GET"])
@signed_in("/agents")
def list_versions(session: Session, agent_id: str) -> Response:
    """List the versions of an agent, newest first."""
    found = _operations().get(_VERSIONS, {"cursor": exchange.query_value("cursor")}, agent_id=agent_id)
    return pages.page(
        "versions.html",
        guard.language_of(session),
        session=session,
        current="/agents",
        agent_id=agent_id,
        versions=found["data"],
        following=found.get("nextCursor"),
    )


@routes.route(f"{_PAGE}/versions/{{number}}", methods=["GET"])
@signed_in("/agents")
def compare_version(session: Session, agent_id: str, number: str) -> Response:
    """Show how a version of an agent differs from the agent of today."""
    found = _operations().get(f"{_VERSIONS}/{{number}}", agent_id=agent_id, number=number)["data"]
    now, _ = _read(agent_id)
    return pages.page(
        "version.html",
        guard.language_of(session),
        session=session,
        current="/agents",
        agent_id=agent_id,
        number=number,
        differences=fields.differences(found, now),
    )


@routes.route(f"{_PAGE}/versions/{{number}}", methods=["POST"], content_types=guard.FORM)
@signed_in("/agents")
def restore_version(session: Session, agent_id: str, number: str) -> Response:
    """Make the agent what it was; its keys stay those of today."""
    _operations().send("POST", f"{_VERSIONS}/{{number}}/restore", None, agent_id=agent_id, number=number)
    return pages.redirect(f"/{session.workspace_id}/agents/{agent_id}?saved=true")


def _form(
    session: Session, agent_id: str, typed: dict[str, str] | None = None, error: errors.ApiError | None = None
) -> Response:
    agent, tag = _read(agent_id)
    return pages.page(
        "agent.html",
        guard.language_of(session),
        error.STATUS_CODE if error else 200,
        session=session,
        current="/agents",
        agent=agent,
        agent_id=agent_id,
        tag=typed.get("etag", tag) if typed else tag,
        fields=fields.shown(agent, typed, error.issues if error else ()),
        rest=typed.get("rest", "") if typed else json.dumps(fields.rest(agent), indent=2, ensure_ascii=False),
        message=error.message if error else None,
        saved=exchange.query_value("saved") == "true",
    )


def _read(agent_id: str) -> tuple[Document, str]:
    answer, tag = _operations().get_tagged(_AGENT, agent_id=agent_id)
    return answer["data"], tag


def _operations() -> Operations:
    return Operations(routes.current_app.routes)
