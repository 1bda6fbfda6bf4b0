"""One row per console route: who may use the route, and the fields of a successful request."""

import html
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from chalicelib import clock, storage
from chalicelib.extensions import has
from chalicelib.extensions.console.access import session_store
from chalicelib.ids import new_id
from chalicelib.storage import Document
from chalicelib.webhooks import ledger
from chalicelib.webhooks.events import Event
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Answer, Api
from tests.extensions.console.browser import FORM, Browser
from tests.extensions.console.conftest import PASSWORD

CANARY = "canary-5b1c"
# Who may use a route: all callers, all sessions, people in the organisation, its administrators, or operators.
ALL, OWN, PERSON, ADMIN, OPERATOR = "all", "own", "person", "admin", "operator"

Route = tuple[str, str]


class Row(NamedTuple):
    """Who may use a route, its query, and whether its page shows the canary.

    For a form: its page and the typed values.
    """

    who: str
    query: str = ""
    shows: bool = True
    page: str = ""
    typed: Mapping[str, str] = MappingProxyType({})


_HOME = "/console/{workspace}"
_AGENT, _CONVO = f"{_HOME}/agents/{{agent_id}}", f"{_HOME}/convos/{{agent_id}}/{{convo_id}}"
_MESSAGE = f"{_CONVO}/messages/{{message_id}}"
_ORG, _HOOK = f"{_HOME}/settings/orgs/{{org_id}}", f"{_HOME}/settings/webhooks/{{webhook_id}}"
_CLIENT, _VERSION = f"{_ORG}/clients/{{client_id}}", f"{_AGENT}/versions/{{number}}"
_LEAD = f"{_HOME}/leads/{{agent_id}}/{{lead_id}}"
_DELIVERY = f"{_HOOK}/deliveries/{{delivery_id}}"
_UNSUBSCRIBE, _PASSWORD = f"{_HOME}/unsubscribe/{{token}}", f"{_HOME}/password/{{token}}"
_TOOL = f"{_AGENT}/tools/{{tool_id}}/settings"
_NEW_TOOL = {"name": "New", "serverUrl": "https://a.test/", "fields.0.key": "number", "fields.0.in": "query"}
_NEW_HOOK = {"url": "https://hooks.test/new", "description": "New", "events.lead_captured": "on"}
_NEW_PASSWORD = {"currentPassword": PASSWORD, "dashboardPassword": "battery staple"}
_NEW = {"name": "New", "email": "x@a.test", "dashboardPassword": "correct horse"}
ROWS: dict[Route, Row] = {
    ("GET", "/console"): Row(ALL, shows=False),
    ("POST", "/console"): Row(ALL, page="/console", typed={"workspace": "01JT0000000000000000000000"}),
    ("GET", "/console/assets/{name}"): Row(ALL, shows=False),
    ("GET", "/console/site/{name}"): Row(ALL, shows=False),
    ("GET", _HOME): Row(ALL, shows=False),
    ("POST", _HOME): Row(ALL, page=_HOME, typed={"email": "x", "password": "x"}),
    ("GET", f"{_HOME}/overview"): Row(PERSON),
    ("GET", f"{_HOME}/convos"): Row(PERSON, "?agent=support&q=canary"),
    ("POST", f"{_HOME}/convos"): Row(
        PERSON, page=f"{_HOME}/convos", typed={"action": "end", "pick.support/ann": "on", "tags": "x"}
    ),
    ("GET", f"{_HOME}/inbox"): Row(PERSON, "?tab=waiting"),
    ("GET", _CONVO): Row(PERSON),
    ("GET", f"{_CONVO}/live"): Row(PERSON),
    ("GET", f"{_CONVO}/text"): Row(PERSON),
    ("GET", f"{_CONVO}/delete"): Row(ADMIN),
    ("POST", f"{_CONVO}/delete"): Row(ADMIN, page=f"{_CONVO}/delete"),
    ("GET", _MESSAGE): Row(ADMIN),
    ("POST", _MESSAGE): Row(ADMIN, page=_MESSAGE, typed={"text": "Changed"}),
    ("POST", f"{_MESSAGE}/delete"): Row(ADMIN, page=_MESSAGE),
    ("POST", _CONVO): Row(PERSON, page=_CONVO, typed={"action": "end"}),
    ("POST", f"{_CONVO}/live"): Row(PERSON, page=_CONVO, typed={"text": "x"}),
    ("GET", f"{_HOME}/jump"): Row(OWN, "?q=kim"),
    ("GET", f"{_HOME}/organisation"): Row(OPERATOR, shows=False),
    ("POST", f"{_HOME}/organisation"): Row(OPERATOR, page=f"{_HOME}/organisation", typed={"org": "acme"}),
    ("GET", f"{_HOME}/leads"): Row(PERSON, "?agent=support"),
    ("POST", f"{_HOME}/leads"): Row(ADMIN, page=f"{_HOME}/leads", typed={"action": "delete", "pick.1": "{lead_id}"}),
    ("GET", f"{_HOME}/leads.csv"): Row(PERSON, "?agent=support"),
    ("GET", _LEAD): Row(PERSON),
    ("POST", _LEAD): Row(PERSON, page=_LEAD, typed={"name": "Changed"}),
    ("GET", f"{_LEAD}/text"): Row(PERSON),
    ("GET", f"{_HOME}/agents"): Row(PERSON),
    ("GET", f"{_HOME}/new-agent"): Row(OPERATOR, shows=False),
    ("POST", f"{_HOME}/new-agent"): Row(OPERATOR, page=f"{_HOME}/new-agent", typed={"title": "New"}),
    ("POST", f"{_HOME}/sample-data"): Row(OPERATOR, page=f"{_HOME}/new-agent"),
    ("GET", f"{_AGENT}/try"): Row(OPERATOR),
    ("POST", f"{_AGENT}/try"): Row(OPERATOR, page=f"{_AGENT}/try", typed={"text": "Hello"}),
    ("GET", f"{_AGENT}/new-tool"): Row(OPERATOR, shows=False),
    ("POST", f"{_AGENT}/new-tool"): Row(OPERATOR, page=f"{_AGENT}/new-tool", typed=_NEW_TOOL),
    ("GET", _TOOL): Row(OPERATOR),
    ("POST", _TOOL): Row(OPERATOR, page=_TOOL, typed={"name": "Changed", "fields.0.key": "number"}),
    ("GET", f"{_AGENT}/delete"): Row(OPERATOR),
    ("POST", f"{_AGENT}/delete"): Row(OPERATOR, page=f"{_AGENT}/delete", typed={"title": CANARY}),
    ("GET", f"{_AGENT}/site"): Row(OPERATOR),
    ("POST", f"{_AGENT}/site"): Row(OPERATOR, page=f"{_AGENT}/site"),
    ("GET", _AGENT): Row(PERSON),
    ("POST", _AGENT): Row(PERSON, page=_AGENT, typed={"title": "Changed"}),
    ("GET", f"{_AGENT}/replies"): Row(PERSON),
    ("POST", f"{_AGENT}/replies"): Row(PERSON, page=f"{_AGENT}/replies", typed={"reply.0.text": "Hello"}),
    ("POST", f"{_AGENT}/tools/{{tool_id}}"): Row(PERSON, page=_AGENT, typed={"arguments": "{}"}),
    ("GET", f"{_AGENT}/text"): Row(PERSON),
    ("GET", f"{_HOME}/settings"): Row(ADMIN, shows=False),
    ("GET", _ORG): Row(ADMIN),
    ("GET", f"{_ORG}/text"): Row(ADMIN, shows=False),
    ("POST", _ORG): Row(ADMIN, page=_ORG, typed={"name": "Changed"}),
    ("GET", f"{_ORG}/agents"): Row(OPERATOR),
    ("POST", f"{_ORG}/agents"): Row(OPERATOR, page=f"{_ORG}/agents", typed={"agent.1": "other"}),
    ("POST", f"{_ORG}/delete"): Row(OPERATOR, page=_ORG),
    ("GET", f"{_ORG}/new-client"): Row(ADMIN, shows=False),
    ("POST", f"{_ORG}/new-client"): Row(ADMIN, page=f"{_ORG}/new-client", typed=_NEW),
    ("GET", _CLIENT): Row(ADMIN),
    ("GET", f"{_CLIENT}/text"): Row(ADMIN),
    ("POST", _CLIENT): Row(ADMIN, page=_CLIENT, typed={"name": "Changed", "email": "kim@acme.test"}),
    ("POST", f"{_HOME}/settings/tokens"): Row(OPERATOR, page=f"{_HOME}/settings", typed={"name": "New", "days": "30"}),
    ("POST", f"{_HOME}/settings/tokens/{{token_id}}"): Row(OPERATOR, page=f"{_HOME}/settings"),
    ("GET", f"{_HOME}/settings/new-org"): Row(OPERATOR),
    ("POST", f"{_HOME}/settings/new-org"): Row(OPERATOR, page=f"{_HOME}/settings/new-org", typed={"name": "New"}),
    ("GET", f"{_HOME}/settings/workspace"): Row(OPERATOR, shows=False),
    ("POST", f"{_HOME}/settings/workspace"): Row(OPERATOR, page=f"{_HOME}/settings/workspace", typed={"name": "New"}),
    ("GET", f"{_HOME}/settings/new-webhook"): Row(OPERATOR, shows=False),
    ("POST", f"{_HOME}/settings/new-webhook"): Row(OPERATOR, page=f"{_HOME}/settings/new-webhook", typed=_NEW_HOOK),
    ("GET", _HOOK): Row(OPERATOR),
    ("POST", _HOOK): Row(OPERATOR, page=_HOOK, typed={"action": "test"}),
    ("POST", f"{_HOOK}/deliveries"): Row(OPERATOR, page=_HOOK),
    ("GET", _DELIVERY): Row(OPERATOR),
    ("POST", _DELIVERY): Row(OPERATOR, page=_HOOK),
    ("GET", f"{_HOME}/account"): Row(OWN, shows=False),
    ("GET", f"{_HOME}/photos/{{client_id}}"): Row(ADMIN, shows=False),
    ("POST", f"{_HOME}/account"): Row(OWN, page=f"{_HOME}/account", typed={"notify": "on", "timezone": "Asia/Tokyo"}),
    ("POST", f"{_HOME}/end-view"): Row(OWN, page=f"{_HOME}/overview"),
    ("POST", f"{_HOME}/account/password"): Row(OWN, page=f"{_HOME}/account", typed=_NEW_PASSWORD),
    ("POST", f"{_HOME}/account/sign-out"): Row(OWN, page=f"{_HOME}/account"),
    ("GET", f"{_HOME}/forgot-password"): Row(ALL, shows=False),
    ("POST", f"{_HOME}/forgot-password"): Row(ALL, page=f"{_HOME}/forgot-password", typed={"email": "x@a.test"}),
    # Links in emails open these routes without a session.
    ("GET", _UNSUBSCRIBE): Row(ALL, shows=False),
    ("POST", _UNSUBSCRIBE): Row(ALL, page=_UNSUBSCRIBE),
    ("GET", _PASSWORD): Row(ALL, shows=False),
    ("POST", _PASSWORD): Row(ALL, page=_PASSWORD, typed={"dashboardPassword": "correct horse"}),
    ("POST", f"{_HOME}/sign-out"): Row(OWN, page=f"{_HOME}/overview"),
}  # fmt: skip
if has("reports"):
    ROWS |= {
        ("GET", f"{_HOME}/analytics"): Row(PERSON, "?agent=support&by=origin"),
        ("GET", f"{_HOME}/analytics.csv"): Row(PERSON, "?agent=support&by=origin", shows=False),
        ("GET", f"{_HOME}/settings/usage"): Row(OPERATOR, shows=False),
        ("GET", f"{_HOME}/settings/usage.csv"): Row(OPERATOR, shows=False),
    }
if has("transcripts"):
    ROWS |= {
        ("GET", f"{_CONVO}/export"): Row(PERSON),
        ("GET", f"{_HOME}/convos.csv"): Row(PERSON, "?agent=support&q=canary"),
        ("GET", f"{_HOME}/convos.json"): Row(PERSON, "?agent=support&q=canary"),
    }
if has("erasures"):
    ROWS |= {
        ("GET", f"{_HOME}/settings/erasures"): Row(OPERATOR, "?userID=ann"),
        ("POST", f"{_HOME}/settings/erasures"): Row(
            OPERATOR, page=f"{_HOME}/settings/erasures?userID=x", typed={"userID": "x", "action": "erase"}
        ),
        ("GET", f"{_HOME}/settings/erasures/{{erasure_id}}"): Row(OPERATOR, shows=False),
        ("GET", f"{_HOME}/settings/erasures/{{erasure_id}}/receipt"): Row(OPERATOR, shows=False),
    }
if has("copies"):
    ROWS |= {
        ("GET", f"{_AGENT}/template"): Row(OPERATOR),
        ("POST", f"{_AGENT}/clone"): Row(OPERATOR, page=_AGENT),
    }
if has("history"):
    ROWS |= {
        ("GET", f"{_HOME}/settings/audit"): Row(OPERATOR, shows=False),
        ("GET", f"{_HOME}/settings/audit.csv"): Row(OPERATOR, shows=False),
        ("GET", f"{_AGENT}/versions"): Row(PERSON),
        ("GET", _VERSION): Row(PERSON),
        ("GET", f"{_VERSION}/text"): Row(PERSON),
        ("GET", f"{_AGENT}/tools/{{tool_id}}/versions"): Row(OPERATOR),
        ("GET", f"{_AGENT}/tools/{{tool_id}}/versions/{{number}}"): Row(OPERATOR),
        ("POST", f"{_AGENT}/tools/{{tool_id}}/versions/{{number}}"): Row(
            OPERATOR, page=f"{_AGENT}/tools/{{tool_id}}/versions/{{number}}"
        ),
        ("POST", _VERSION): Row(PERSON, page=_VERSION),
    }
# These routes store nothing: a tool test, the form on the first page, links that name no client, cookies of operators,
# an agent's key, and a request for a link while the stage sends no emails.
UNSTORED = {
    ("POST", f"{_AGENT}/tools/{{tool_id}}"), ("POST", "/console"), ("POST", _UNSUBSCRIBE), ("POST", _PASSWORD),
    ("POST", f"{_HOME}/end-view"), ("POST", f"{_AGENT}/site"), ("POST", f"{_HOME}/forgot-password"),
    ("POST", f"{_HOME}/organisation"),
}  # fmt: skip
MAY = {PERSON: {ALL, OWN, PERSON}, ADMIN: {ALL, OWN, PERSON, ADMIN}, OPERATOR: {ALL, PERSON, ADMIN, OPERATOR}}


class World(NamedTuple):
    """A workspace with two organisations, and the ids for the paths."""

    workspace: NewWorkspace
    api: Api
    ids: dict[str, str]

    def path(self, route: str) -> str:
        """Return a route's path, with the record ids of the organisation `acme`."""
        return re.sub(r"{(\w+)}", lambda match: self.ids[match[1]], route)

    def browser(self, email: str) -> Browser:
        """Sign in as a client, or as an operator if the email is empty; return the browser."""
        browser = Browser(self.workspace.workspace_id)
        browser.start_session(
            **({"email": email, "password": PASSWORD} if email else {"key": self.workspace.workspace_key})
        )
        return browser


def build(workspace: NewWorkspace, api: Api, mark: str = CANARY) -> World:
    """Create two organisations; one organisation's records contain the canary or another mark."""
    people: dict[str, dict[str, Any]] = {
        "kim": {"orgId": "acme", "name": mark, "squarePhotoURL": "data:image/jpeg;base64,AAAA"},
        "pat": {"orgId": "acme"},
        "ada": {"orgId": "acme", "isOrgAdmin": True},
        "shut": {"orgId": "acme", "isOrgAdmin": True, "canAccess": []},
        "eve": {"orgId": "rival"},
        "mal": {"orgId": "rival", "isOrgAdmin": True},
        "lone": {"isOrgAdmin": True},
        "lost": {"orgId": "gone", "isOrgAdmin": True},
    }
    api.post("/v2/orgs/acme", {"name": "Acme", "canSelfEdit": True})
    api.post("/v2/orgs/rival", {"name": "Rival", "widgetIDs": ["other"], "canSelfEdit": True})
    for one, members in people.items():
        api.post(f"/v2/clients/{one}", {"email": f"{one}@acme.test", "dashboardPassword": PASSWORD, **members})
    api.patch("/v3/agents/support", {"agent": {"title": mark}})
    metadata = {"userName": mark, "state": "requested_chat"}
    body = {"turns": [{"from": "human", "messages": [{"mid": "first", "item": {"text": mark}}]}], "metadata": metadata}
    assert api.post("/agents/support/interact/ann/state", body).status == 200
    lead_id = api.post("/v3/leads", {"lead": {"agentId": "support", "name": mark}}).data["id"]
    hook = {"url": "https://hooks.test/x", "events": ["lead_captured"], "description": mark}
    hook_id = api.post("/v3/webhooks", {"webhook": hook}).data["id"]
    delivery_id = queue_event(workspace.workspace_id, hook_id)
    fail_delivery(workspace.workspace_id, hook_id, delivery_id)
    tool = {"name": mark, "serverUrl": "http://127.0.0.1:9/"}
    tool_id = api.post("/v3/agents/support/tools", {"tool": tool}).data["id"]
    extensions.populate(workspace.workspace_id, {"agent_id": "support", "tool_id": tool_id}, mark)
    ids = {
        "workspace": workspace.workspace_id,
        "agent_id": "support",
        "convo_id": "ann",
        "org_id": "acme",
        "client_id": "kim",
        **extensions.joined("CHOSEN"),
        "name": "unknown",
        "lead_id": lead_id,
        "message_id": "first",
        "token": "unknown",
        "webhook_id": hook_id,
        "delivery_id": delivery_id,
        "tool_id": tool_id,
        "token_id": api.post("/v3/tokens", {"token": {"name": mark, "expiresInSeconds": 86_400}}).data["id"],
    }
    if has("erasures"):
        ids["erasure_id"] = api.post("/v3/erasures", {"erasure": {"userID": "someone"}}).data["id"]
    return World(workspace, api, ids)


_PAYLOAD: Document = {"agentId": "support", "agentName": "Support", "leadName": "Ann"}


def queue_event(workspace_id: str, webhook_id: str, kind: str = "lead_captured", payload: Document = _PAYLOAD) -> str:
    """Store an event, such as one about a lead, and its pending delivery. Return the delivery's id."""
    event = Event(new_id(), workspace_id, kind, {**payload, "createdAt": clock.milliseconds()})
    row = ledger.new(workspace_id, webhook_id, event.id, event.type, new_id())
    with storage.unit_of_work():
        ledger.stage_event(event)
        storage.put(row)
    return row.delivery_id


def fail_delivery(workspace_id: str, webhook_id: str, delivery_id: str) -> None:
    """Let a delivery expire, as if its event could not be sent in time."""
    row = ledger.read(workspace_id, webhook_id, delivery_id)
    assert ledger.claim(row)
    ledger.expire(row, "It was not sent in time.")


def fields(world: World, route: str, row: Row, owner: Browser) -> dict[str, str]:
    """Return what an authorised person's browser sends for the first form with this address and the row's `action`."""
    typed = {name: world.path(value) for name, value in row.typed.items()}
    page = (
        owner.open(world.path(row.page).removeprefix(owner.home)) if row.page != "/console" else Api().get("/console")
    )
    for address, content in re.findall(
        r'<form[^>]*method="post" action="([^"]*)"[^>]*>(.*?)</form>', page.text, re.DOTALL
    ):
        if html.unescape(address) == world.path(route).removesuffix("/live"):
            inputs = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', content)
            hidden = {name: html.unescape(value) for name, value in inputs}
            if "action" not in hidden or hidden["action"] == row.typed.get("action", hidden["action"]):
                return {**hidden, **typed}
    return typed


def requests(world: World, owner: Browser) -> dict[Route, bytes | None]:
    """Return the body of a successful request to each route, or None for a page."""
    return {
        (method, route): None if method == "GET" else urlencode(fields(world, route, row, owner)).encode()
        for (method, route), row in ROWS.items()
    }


def send(world: World, at: Route, body: bytes | None, cookie: str, **headers: str) -> Answer:
    """Send a request without following redirects."""
    method, route = at
    return Api().call(
        method,
        world.path(route) + ROWS[at].query,
        body,
        {**(FORM if body is not None else {}), "Cookie": cookie, **headers},
    )


def signed(body: bytes, cookie: str) -> bytes:
    """Return a form that contains the secret from the cookie's session."""
    token = cookie.partition("=")[2]
    return urlencode(
        {**dict(parse_qsl(body.decode(), keep_blank_values=True)), "form": session_store.form_token(token)}
    ).encode()
