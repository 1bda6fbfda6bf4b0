"""The operations that read, save or delete one record, for precondition tests."""

import re
from typing import Any, NamedTuple

import pytest

from tests import extensions
from tests.api import Answer, Api
from tests.builders import message, state_body
from tests.operations import ANALYTICS, MESSAGES, STATE, body_of

V3_MESSAGES = "/v3/agents/{agent_id}/convos/{convo_id}/messages"
ROTATE = "POST /v3/webhooks/{webhook_id}/rotate"
OTHER_TAG = '"06fgz0x9w52n6p1x4c9r3k7thb"'
REPLACED, REPLACED_AGAIN = state_body("one", ts=1), state_body("two", ts=1)

Values = dict[str, str]


class Record(NamedTuple):
    """A kind of record: the operations that create, read and delete it."""

    created_by: str
    reads: tuple[str, ...]
    deleted_by: str | None = None


RECORDS = {
    "agent": Record(
        "POST /v3/agents",
        ("GET /v3/agents/{agent_id}", "GET /v2/agents/{agent_id}"),
        "DELETE /v3/agents/{agent_id}",
    ),
    "tool": Record("POST /v3/agents/{agent_id}/tools", ("GET /v3/tools/{tool_id}",), "DELETE /v3/tools/{tool_id}"),
    "conversation": Record(
        "POST /v3/agents/{agent_id}/convos",
        (
            STATE,
            "GET /v3/agents/{agent_id}/convos/{convo_id}",
            f"GET {V3_MESSAGES}",
            MESSAGES.replace("POST", "GET"),
        ),
        "DELETE /v3/agents/{agent_id}/convos/{convo_id}",
    ),
    "message": Record(MESSAGES, (STATE,), f"DELETE {V3_MESSAGES}/{{message_id}}"),
    "analytics": Record(ANALYTICS, ("GET /v2/agents/{agent_id}/analytics/{convo_id}",)),
    "client": Record(
        "POST /v2/clients/{client_id}", ("GET /v2/clients/{client_id}",), "DELETE /v3/clients/{client_id}"
    ),
    "organisation": Record("POST /v2/orgs/{org_id}", ("GET /v2/orgs/{org_id}",), "DELETE /v3/orgs/{org_id}"),
    "lead": Record("POST /v3/leads", ("GET /v3/leads/{lead_id}",), "DELETE /v3/leads/{lead_id}"),
    **{name: Record(*record) for name, record in extensions.joined("RECORDS").items()},
    "webhook": Record("POST /v3/webhooks", ("GET /v3/webhooks/{webhook_id}",), "DELETE /v3/webhooks/{webhook_id}"),
    # A workspace already exists before its first change.
    "workspace": Record("PATCH /v3/workspace", ("GET /v3/workspace",)),
}


def messages(mid: str) -> dict[str, Any]:
    """Return a body with one message."""
    return {"messages": [message("Hello", mid=mid, ts=1)]}


class Save(NamedTuple):
    """An operation that saves a record, with two bodies that each change the record."""

    record: str
    operation: str
    first: Any = None
    second: Any = None


SAVES = {
    "agent": Save("agent", "PATCH /v3/agents/{agent_id}", {"agent": {"title": "1"}}, {"agent": {"title": "2"}}),
    "agent v2": Save("agent", "POST /v2/agents/{agent_id}", {"title": "1"}, {"title": "2"}),
    "key of an agent": Save(
        "agent",
        "POST /v2/agents/{agent_id}",
        {"SECRET_API_KEY": None},
        {"SECRET_API_KEY": "a-key-that-the-service-has-not-made"},
    ),
    "tool": Save("tool", "PATCH /v3/tools/{tool_id}", {"tool": {"name": "1"}}, {"tool": {"name": "2"}}),
    "turns": Save("conversation", STATE, REPLACED, REPLACED_AGAIN),
    "metadata": Save("conversation", STATE, {"metadata": {"userName": "1"}}, {"metadata": {"userName": "2"}}),
    "metadata v3": Save(
        "conversation",
        "PATCH /v3/agents/{agent_id}/convos/{convo_id}",
        {"conversation": {"title": "1"}},
        {"conversation": {"title": "2"}},
    ),
    "assignment": Save(
        "conversation",
        "POST /v3/agents/{agent_id}/convos/{convo_id}/assign",
        {"assignToUserId": None, "state": "1"},
        {"assignToUserId": None, "state": "2"},
    ),
    "new message": Save("conversation", f"POST {V3_MESSAGES}", messages("a"), messages("b")),
    "new message, edge": Save("conversation", MESSAGES, messages("a"), messages("b")),
    "all messages": Save(
        "conversation", f"PATCH {V3_MESSAGES}", {"turns": [messages("a")]}, {"turns": [messages("b")]}
    ),
    "message": Save(
        "message", f"PATCH {V3_MESSAGES}/{{message_id}}", {"message": {"type": "1"}}, {"message": {"type": "2"}}
    ),
    "page load": Save("analytics", ANALYTICS, {"record": "load", "browser": "1"}, {"record": "load", "browser": "2"}),
    "analytics": Save("analytics", ANALYTICS, {"record": "convo", "ts": 1}, {"record": "convo", "ts": 2}),
    "client": Save("client", "POST /v2/clients/{client_id}", {"name": "1"}, {"name": "2"}),
    "email": Save("client", "POST /v2/clients/{client_id}", {"email": "1@x.test"}, {"email": "2@x.test"}),
    "organisation": Save("organisation", "POST /v2/orgs/{org_id}", {"name": "1"}, {"name": "2"}),
    "lead": Save("lead", "PATCH /v3/leads/{lead_id}", {"lead": {"name": "1"}}, {"lead": {"name": "2"}}),
    "webhook": Save(
        "webhook",
        "PATCH /v3/webhooks/{webhook_id}",
        {"webhook": {"description": "1"}},
        {"webhook": {"description": "2"}},
    ),
    "signing secret": Save("webhook", ROTATE),
    "workspace": Save("workspace", "PATCH /v3/workspace", {"workspace": {"name": "1"}}, {"workspace": {"name": "2"}}),
}
# These requests always write, because `ANALYTICS` does not read the record, and `ROTATE` creates a new secret.
ALWAYS_WRITES = {ANALYTICS, ROTATE}
# The operations that create a record whose id the caller chooses.
CREATED_AT_ID = {
    "agent": "POST /v2/agents/{agent_id}",
    "conversation": STATE,
    "analytics": ANALYTICS,
    "client": "POST /v2/clients/{client_id}",
    "organisation": "POST /v2/orgs/{org_id}",
}
# The operations that create a conversation together with its messages.
APPENDS = {MESSAGES, f"POST {V3_MESSAGES}"}
READS = {f"{name}, {path}": (name, path) for name, one in RECORDS.items() for path in one.reads if path != STATE}
DELETES = {name: one for name, one in RECORDS.items() if one.deleted_by}
# The read operations whose path contains an id. A workspace always exists.
ADDRESSED_READS = {name: one for name, one in READS.items() if one[0] != "workspace"}
# A message shares its conversation's ETag, so a request for a missing message returns 404.
ADDRESSED_SAVES = {name: one for name, one in SAVES.items() if name not in ("workspace", "message")}

each_save = pytest.mark.parametrize("save", SAVES.values(), ids=SAVES)
DELETED_BY_V2 = {"client": "DELETE /v2/clients/{client_id}", "organisation": "DELETE /v2/orgs/{org_id}"}
DELETIONS = [*((name, one.deleted_by or "") for name, one in DELETES.items()), *DELETED_BY_V2.items()]
each_deletion = pytest.mark.parametrize(("name", "operation"), DELETIONS, ids=[name for _, name in DELETIONS])


class Service:
    """The API of a workspace with the agent `support`."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def send(self, operation: str, values: Values, body: Any = None, **headers: str) -> Answer:
        """Send a request for this operation. The argument `If_Match` becomes the header `If-Match`."""
        method, path = operation.split()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        kind = {} if body is None else {"Content-Type": "application/json"}
        return self.api.call(method, path.format(**values), body, {**self.api._headers, **kind, **sent})

    def create(self, name: str) -> tuple[Values, str]:
        """Create a record; return its path values and ETag."""
        record = RECORDS[name]
        chosen = dict.fromkeys(re.findall(r"{(\w+)}", record.created_by), "one") | {"agent_id": "support"}
        answer = self.send(record.created_by, chosen, body_of(record.created_by, **chosen))
        assert answer.status == 200, answer.text
        if name == "message":
            return chosen | {"convo_id": "one", "message_id": answer.data[0]["mid"]}, answer.headers["etag"]
        made: str = (answer.json.get("data") or {}).get("id", "")
        id_of = {"conversation": ("user_id", "convo_id"), "client": (), "organisation": (), "analytics": ()}
        names = id_of.get(name, (f"{name}_id",))
        return chosen | dict.fromkeys(names, made), answer.headers["etag"]

    def tag(self, name: str, values: Values) -> str:
        """Read the record; return its ETag."""
        operation = RECORDS[name].reads[0]
        return self.send(operation, values, {} if operation == STATE else None).headers["etag"]


@pytest.fixture
def service(api: Api, agent_id: str) -> Service:
    return Service(api)


def unknown_record(operation: str, values: Values) -> Values:
    """Return the path values of a missing record."""
    return values | {re.findall(r"{(\w+)}", operation)[-1]: "unknown"}
