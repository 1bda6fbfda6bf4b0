"""Every API operation has a place in the console, or a reason why it has none."""

from app import app
from tests import extensions
from tests.extensions.console.called_operations import called_operations
from tests.openapi.document import operations

# The document omits the operations of absent extensions.
extensions.require("adapters", "analytics_records", "copies", "erasures", "feeds", "history", "openai")
extensions.require("reports", "tool_calls", "transcripts")

_CONVOS, _CONVO = "/v3/agents/{agent_id}/convos", "/v3/agents/{agent_id}/convos/{convo_id}"
_V2, _VISITOR = "/v2/agents/{agent_id}", "/agents/{agent_id}/interact/{user_id}"
_AGENT_VERSIONS, _TOOL_VERSIONS = "/v3/agents/{agent_id}/versions", "/v3/tools/{tool_id}/versions"
_OPENAI = "/agents/{agent_id}/openai/v1/conversations"

# The page that shows an operation's records. The page reads them without the operation, or its path is not constant.
PAGES = {
    "GET /v3/convos": "/convos",
    f"GET {_CONVO}/messages": "/convos/{agent_id}/{convo_id}",
    f"PATCH {_CONVO}": "/convos/{agent_id}/{convo_id}",
    "GET /v3/agents/{agent_id}/leads": "/leads",
    "GET /v3/leads": "/leads",
    "GET /v3/leads/export": "/leads.csv",
    "GET /v3/agents/{agent_id}/tools": "/agents/{agent_id}",
    "GET /v3/analytics": "/analytics",
    f"GET {_AGENT_VERSIONS}": "/agents/{agent_id}/versions",
    f"POST {_AGENT_VERSIONS}/{{number}}/restore": "/agents/{agent_id}/versions/{number}",
    f"GET {_TOOL_VERSIONS}": "/agents/{agent_id}/tools/{tool_id}/versions",
    f"GET {_TOOL_VERSIONS}/{{number}}": "/agents/{agent_id}/tools/{tool_id}/versions/{number}",
    f"POST {_TOOL_VERSIONS}/{{number}}/restore": "/agents/{agent_id}/tools/{tool_id}/versions/{number}",
    "GET /v3/agents/{agent_id}/analytics": "/analytics",
    "GET /v3/orgs/{org_id}/analytics": "/analytics",
}
# The console calls the v3 operation with the same effect.
OLDER_FORMS = {
    f"GET {_V2}", f"POST {_V2}", f"GET {_V2}/convos", f"GET {_V2}/analytics", f"DELETE {_V2}/analytics",
    "GET /v2/clients", "PUT /v2/clients", "GET /v2/orgs", "PUT /v2/orgs", "DELETE /v2/orgs/{org_id}",
    "DELETE /v3/clients/{client_id}", "GET /v3/agents",
}  # fmt: skip
# Operations for programs, with the reason why people need no page for them.
REASONS = {
    "an AI or a chat page writes conversations": {
        f"GET {_VISITOR}/messages", f"POST {_CONVOS}", f"PUT {_CONVO}",
        f"DELETE {_VISITOR}", f"DELETE {_VISITOR}/messages/{{message_id}}", f"PATCH {_CONVO}/messages",
        f"GET {_OPENAI}", f"POST {_OPENAI}", f"GET {_OPENAI}/{{convo_id}}", f"POST {_OPENAI}/{{convo_id}}",
        f"DELETE {_OPENAI}/{{convo_id}}", f"GET {_OPENAI}/{{convo_id}}/items", f"POST {_OPENAI}/{{convo_id}}/items",
        f"GET {_OPENAI}/{{convo_id}}/items/{{message_id}}", f"DELETE {_OPENAI}/{{convo_id}}/items/{{message_id}}",
    },
    "a program passes the token to a chat page": {f"POST {_VISITOR}/visitor-tokens", f"POST {_CONVO}/visitor-tokens"},
    "an AI's server reports its own records": {
        f"GET {_V2}/analytics/{{convo_id}}", f"POST {_V2}/analytics/{{convo_id}}",
        "DELETE /v3/agents/{agent_id}/analytics",
    },
    "a consumer keeps its own position": {"GET /v3/webhooks/{webhook_id}/events"},
    "the new key would end the session that shows it": {"POST /v3/workspace/key/rotate"},
}  # fmt: skip


def test_every_operation_has_a_place_or_a_reason() -> None:
    listed = [*PAGES, *OLDER_FORMS, *(one for these in REASONS.values() for one in these)]
    served, called = {one.route for one in operations()}, called_operations()
    assert served - called == {*listed}
    assert len(listed) == len({*listed})
    assert not called - served


def test_every_named_page_exists() -> None:
    pages = {path for path, methods in app.routes.items() if "GET" in methods}
    assert {page for page in PAGES.values() if f"/console/{{workspace}}{page}" not in pages} == set()
