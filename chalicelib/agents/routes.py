"""Agent routes: reads, lists, creation and changes (§4.1, §4.2)."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.agents import rendering, store
from chalicelib.credentials import tokens
from chalicelib.http import auth, bodies, cors, etag, pages, parameters, privileges, references, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation
from chalicelib.ids import IDENTIFIER, ULID, new_id
from chalicelib.organisations import store as organisations
from chalicelib.storage import Document
from chalicelib.tools import store as tools

if TYPE_CHECKING:
    from chalicelib.agents import forms, listing, record
else:
    forms = LazyModule("chalicelib.agents.forms")
    listing = LazyModule("chalicelib.agents.listing")
    record = LazyModule("chalicelib.agents.record")

routes = Blueprint(__name__)
references.declare("agent", store.key, store.is_active)

_DEFAULTS = {"agentPlatform": "vg"}
_SEARCH = "search"
_KEY = f"agent.{privileges.AGENT_KEY}"


@routes.route("/v3/agents/{agent_id}", methods=["GET"])  # §4.1
@Operation(data="record.AgentV3", headers=("If-None-Match",), raises=(errors.NotFound,))
def read_agent(agent_id: str) -> Response:
    """Read an agent in the v3 form, with its tools.

    If the tools are too large for the response, `tools` is absent. In that case, list the tools in pages.
    """
    stored = store.find_with_tools(auth.caller().workspace_id, agent_id)
    row = store.require_agent(stored.agent)
    text = row.text() if privileges.sees_secrets() else rendering.encode(row.open())
    return rendering.with_tools("Agent retrieved successfully", row, text, stored)


@routes.route("/v3/agents", methods=["GET"])
@Operation(data="list[record.AgentV3]", query=("limit", "cursor"), bounded=True)
def list_agents() -> Response:
    """List the workspace's agents, in the v3 form, ordered by id.

    While `hasMore` is true, pass `nextCursor` as `cursor` to continue. New and changed agents may take a second to
    appear.
    """
    return _page(partial(store.list_entries, auth.caller().workspace_id))


@routes.route("/v3/agents/search", methods=["GET"])
@Operation(
    bare="record.AgentSearch",
    query=("workspaceId", "search", "sortBy", "page", "limit", "starredOnly", "deployed", "cursor"),
    position=ULID,
    bounded=True,
)
def search_agents() -> Response:
    """List a page of the workspace's agents that match all filters, in the v3 form.

    `search` searches the title and the first 200 characters of the description. `starredAgents` is the same page of
    only the starred agents. A search examines the 1,000 agents that were changed last. If there are more, `total` and
    `totalStarred` are absent. In that case, the last page's `nextCursor` is the `cursor` of a search of the next 1,000.
    If the agents do not fit in a response, the last of them have only their ids, `title`, `description`, `starred`,
    `deployed` and times. New and changed agents may take a second to appear.
    """
    return listing.search(auth.caller().workspace_id, listing.AgentQuery.from_request())


@routes.route("/v3/agents", methods=["POST"])
@Operation(
    body="record.NewAgentIn",
    data="record.AgentV3",
    creates=True,
    warns=True,
    headers=("Prefer",),
    raises=(store.KeyTaken, errors.TooLarge),
)
def create_agent() -> Response:
    """Create an agent, and its tools if the body contains any.

    The service generates its id and, unless the body contains one, its `SECRET_API_KEY`. If the caller is an access
    token, `warnings` lists this key, because it does not expire. Members that are unknown to the service are stored as
    sent, and `warnings` lists them.
    """
    body: record.NewAgentIn = bodies.read()
    workspace_id, agent_id = auth.caller().workspace_id, new_id()
    members = privileges.guard_agent_key({}, forms.merge_v3(_DEFAULTS, body.agent), _KEY)
    members.pop("tools", None)
    row, document = store.create(workspace_id, agent_id, members)
    tool_documents = [tool.merge_into(tools.DEFAULTS) for tool in body.agent.tools or ()]
    whole_agent = store.AgentAndTools(row, tools.create(workspace_id, agent_id, tool_documents))
    warnings = privileges.warn_of_lasting(_KEY)
    return rendering.with_tools("Agent created successfully", row, rendering.encode(document), whole_agent, warnings)


@routes.route("/v3/agents/{agent_id}", methods=["PATCH"])
@Operation(
    body="record.AgentIn",
    data="record.AgentV3",
    warns=True,
    headers=("If-Match", "Prefer"),
    raises=(errors.NotFound, errors.Stale, store.KeyTaken, errors.TooLarge),
)
def change_agent(agent_id: str) -> Response:
    """Change an agent. Objects are merged, lists are replaced, `nodes` are merged by id, and `null` clears a member.

    `tools` is ignored, and `warnings` lists it. To change a tool, use the tool's own route. Members that are unknown to
    the service replace the stored members with the same names, and `warnings` lists them. Only the workspace key can
    set `SECRET_API_KEY`.
    """
    change: record.AgentIn = bodies.read()
    stored = store.find_with_tools(auth.caller().workspace_id, agent_id)
    row = etag.require_match(stored.agent, "agent")
    before = row.open()
    merged = privileges.keep_sent_back(before, forms.merge_v3(before, change.agent), lambda: record.AgentV3)
    guarded = privileges.guard_agent_key(before, merged, _KEY)
    after = store.save(row, _without_unusable_key(row, before, change.agent.SECRET_API_KEY), guarded)
    return rendering.with_tools("Agent updated successfully", row, rendering.encode(after), stored)


@routes.route("/v3/orgs/{org_id}/agents", methods=["GET"])
@Operation(data="list[record.AgentV3]", query=("limit", "cursor"), bounded=True, raises=(errors.NotFound,))
def list_organisation_agents(org_id: str) -> Response:
    """List the agents in an organisation's `widgetIDs`, in the v3 form, ordered by id.

    Ids of missing agents are skipped. A request examines up to 500 ids, so a page may be short or empty. While
    `hasMore` is true, pass `nextCursor` as `cursor` to continue. Changes may take a second to appear in the list.
    """
    workspace_id = auth.caller().workspace_id
    members = organisations.read(workspace_id, org_id).open().get("widgetIDs", ())
    ids = sorted(agent_id for agent_id in {*members} if IDENTIFIER.fullmatch(agent_id))

    def fetch(after: str | None, limit: int) -> Iterator[store.AgentRow]:
        following = (agent_id for agent_id in ids if after is None or agent_id > after)
        return (store.row_for_key(workspace_id, agent_id) for agent_id in islice(following, limit))

    return _page(fetch)


@routes.route("/v2/agents/{agent_id}", methods=["GET"], cors=cors.CORS)  # §4.2
@Operation(bare="record.AgentV2", headers=("If-None-Match",), raises=(errors.NotFound,))
def read_agent_v2(agent_id: str) -> Response:
    """Read an agent in the v2 form. The response is the agent itself, without an envelope."""
    row = store.read(auth.caller().workspace_id, agent_id)
    return etag.tagged(responses.json_response(_v2_form(row.open())), row)


@routes.route("/v2/agents/{agent_id}", methods=["POST"], cors=cors.CORS)  # §4.2
@Operation(
    body="record.AgentV2",
    data="record.AgentV2",
    warns=True,
    headers=("If-Match", "If-None-Match", "Prefer"),
    raises=(errors.Stale, store.AgentBeingDeleted, store.KeyTaken, errors.TooLarge),
)
def save_agent(agent_id: str) -> Response:
    """Create or change an agent. Omitted members keep their values, and `null` clears a member.

    Only the workspace key can set `SECRET_API_KEY`. Members that are unknown to the service are stored as sent, and
    `warnings` lists them.
    """
    change: record.AgentV2 = bodies.read()
    workspace_id = auth.caller().workspace_id
    row = etag.check_preconditions(store.find(workspace_id, agent_id))
    if row is None:
        _require_usable_id(agent_id)
        verb = "created"
        members = privileges.guard_agent_key({}, forms.merge_v2(_DEFAULTS, change))
        row, document = store.create(workspace_id, agent_id, members)
    else:
        verb, before = "updated", row.open()
        after = privileges.guard_agent_key(before, forms.merge_v2(before, change))
        document = store.save(row, _without_unusable_key(row, before, change.SECRET_API_KEY), after)
    success = responses.success(f"Agent {verb} successfully", _v2_form(document))
    return etag.tagged(success, row)


def _require_usable_id(agent_id: str) -> None:
    """Raise Invalid for the id `search`, because `GET /v3/agents/{agent_id}` could not read such an agent."""
    if agent_id == _SEARCH:
        raise errors.Invalid.member(
            "agent_id", f"must not be {_SEARCH}, because GET /v3/agents/{_SEARCH} is another route"
        )


def _page(fetch: Callable[[str | None, int], Iterator[store.AgentRow]]) -> Response:
    """Return a page of the agents for the entries that `fetch` yields."""
    limit, cursor = parameters.limit(), parameters.cursor()
    return pages.bounded_page("Agents retrieved successfully", listing.examine(fetch, cursor, limit), limit)


def _without_unusable_key(row: store.AgentRow, before: Document, key: str | None) -> Document:
    """Return `before`. Omit its agent key if the workspace key sends that key back and it has no credential.

    Earlier versions stored keys without a credential. If such a key is omitted from `before`, the save stages its
    credential. If `key`, the key in the change, equals the stored key, this costs one request.
    """
    is_sent_back = bool(key) and key == before.get(privileges.AGENT_KEY) and auth.caller().kind == tokens.WORKSPACE
    if not is_sent_back or not tokens.is_agent_key(key or "") or store.find_key(row, key):
        return before
    return {name: value for name, value in before.items() if name != privileges.AGENT_KEY}


def _v2_form(document: Document) -> Document:
    return privileges.for_agent_key(forms.v2_form(document))
