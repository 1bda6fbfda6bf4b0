"""The test of a stored tool. Operators see the result on the tool's page, other people on a page of the test."""

from chalice.app import Response

from chalicelib.extensions.console.access import calls, guard
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import tool_arguments, tool_page, tool_results


@signed_in("/agents")
def test_tool(session: Session, agent_id: str, tool_id: str) -> Response:
    """Call a tool's server with the submitted arguments, and show the request and response."""
    sent = guard.form()
    if session.client_id is not None:
        return _show_test(session, agent_id, tool_id, sent)
    page = tool_page.read_page(session, agent_id, tool_id)
    trial = tool_page.run_test(session, page, sent)
    return tool_page.show(session, page, tool_page.values_of(page), trial=trial)


def _show_test(session: Session, agent_id: str, tool_id: str, sent: dict[str, str]) -> Response:
    """Show the test to a person who may not change the tool, or see which parameters have a fixed value."""
    tool, _ = tool_page.read(agent_id, tool_id)
    trial = tool_results.run(session, tool, (), sent)
    agent = calls.get("/v3/agents/{agent_id}", agent_id=agent_id)["data"]
    form = {"id": tool["id"], **tool_arguments.form_members(tool)}
    return guard.page(
        session, "tool.html", "/agents", trial.status, agent=agent, tool=tool, test_form=form, trial=trial
    )
