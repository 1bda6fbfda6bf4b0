"""Cases for every POST, PUT and PATCH operation, for tests that send requests twice.

A world is a populated workspace. Two worlds are byte-for-byte equal except for encrypted values, because the clock is
stopped and random values come from a fixed seed.
"""

import copy
import random
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from chalicelib import clock, ids, storage
from chalicelib.http import idempotency
from chalicelib.storage import keyring
from chalicelib.workspaces import store as workspaces
from tests import extensions
from tests.api import Answer, Api
from tests.assertions import stored
from tests.builders import lead_body, message, state_body, webhook_body
from tests.engines import clear
from tests.fast_moto import restore_or_create
from tests.operations import CHOSEN, CREATED_BY, MESSAGES, QUERIES, ROUTES, STATE, body_of

MESSAGE = "/v3/agents/{agent_id}/convos/{convo_id}/messages/{message_id}"
WEBHOOK = "/v3/webhooks/{webhook_id}"
VISITORS = "/v3/agents/{agent_id}/convos/{convo_id}/visitor-tokens"
EDGE_VISITORS = "/agents/{agent_id}/interact/{user_id}/visitor-tokens"
KEY = '"8e03978e-40d5-43dd-bc93-6894a57f9324"'  # the format in the IETF draft, which includes the quotation marks
TABLE = storage.table("idempotency")
HUMAN = {"from": "human"}
REPLAYED = "idempotency-replayed"
CONVERSATION = "{} /v3/agents/{{agent_id}}/convos/{{convo_id}}{}"
NOISE = b64encode(random.Random(1).randbytes(600_000)).decode()  # too large for one item, even when compressed


class Case(NamedTuple):
    """An operation, its body, the path values that differ from the world's path values, and its first status."""

    id: str
    operation: str
    body: Any = None
    values: dict[str, str] = {}  # noqa: RUF012
    status: int = 200

    @property
    def method(self) -> str:
        return self.operation.split()[0]

    @property
    def record(self) -> str:
        """Return the kind of record that the operation writes."""
        return self.id.split()[0]


def turns(*texts: str) -> dict[str, Any]:
    """Return a body that replaces a state with one user turn per text."""
    return {"turns": [{"from": "human", "messages": [{"type": "text", "item": {"text": text}}]} for text in texts]}


CASES = [
    Case("agent create", "POST /v3/agents", {"agent": {"title": "New"}}),
    Case("agent change", "PATCH /v3/agents/{agent_id}", {"agent": {"title": "v3", "nodes": [{"id": "a"}]}}),
    Case("agent key clear", "PATCH /v3/agents/{agent_id}", {"agent": {"SECRET_API_KEY": None}}),
    Case("agent create v2", "POST /v2/agents/{agent_id}", {"title": "New"}, {"agent_id": "new"}),
    Case("agent save v2", "POST /v2/agents/{agent_id}", {"title": "v2"}),
    Case("tool create", "POST /v3/agents/{agent_id}/tools", {"tool": {"name": "New", "fields": [{"key": "x"}]}}),
    Case("tool change", "PATCH /v3/tools/{tool_id}", {"tool": {"fields": [{"key": "a"}, {"key": "b"}]}}),
    Case("conversation create", "POST /v3/agents/{agent_id}/convos", {"conversation": {"title": "New"}}),
    Case("conversation change", CONVERSATION.format("PATCH", ""), {"conversation": {"title": "New", "tags": ["a"]}}),
    Case("conversation assign", CONVERSATION.format("POST", "/assign"), {"assignToUserId": "ann"}),
    Case("state replace", STATE, state_body("Hello", "Again")),
    Case("state describe", STATE, {"metadata": {"userName": "Ann"}}),
    Case("state shorten", STATE, {"delete": {"mids": ["m1"]}}),
    Case("state create", STATE, state_body("First"), {"user_id": "new"}),
    Case("state create, large", STATE, state_body(NOISE), {"user_id": "new"}),
    Case("state replace, large", STATE, state_body(NOISE)),
    Case(
        "message add", MESSAGES, {"messages": [message("Hello", mid="m1", **HUMAN), message("More", mid="m2", **HUMAN)]}
    ),
    Case("message reply", MESSAGES, {"messages": [message("Hi", mid="m2", **{"from": "bot"})], "inReplyTo": "m1"}),
    Case("message create", MESSAGES, {"messages": [message("First", mid="m1", **HUMAN)]}, {"user_id": "new"}),
    Case(
        "message add, long",
        MESSAGES,
        {"messages": [message(NOISE[:300_000], mid="m2", **HUMAN), message("last", mid="m3", **HUMAN)]},
    ),
    Case("message change", f"PATCH {MESSAGE}", {"message": {"item": {"text": "Changed"}}}),
    Case("analytics write", "POST /v2/agents/{agent_id}/analytics/{convo_id}", {"record": "convo", "browser": "B"}),
    Case("client create", "POST /v2/clients/{client_id}", {"name": "New", "email": "new@x.test"}, {"client_id": "new"}),
    Case("client create, bare", "POST /v2/clients/{client_id}", {}, {"client_id": "new"}),
    Case("client create, put", "PUT /v2/clients", {"name": "New"}),
    Case("client create v3", "POST /v3/clients", {"client": {"name": "New"}}),
    Case("client create v3, email", "POST /v3/clients", {"client": {"email": "new@x.test"}}),
    Case("client save", "POST /v2/clients/{client_id}", {"name": "Changed"}),
    Case("client save, another email", "POST /v2/clients/{client_id}", {"email": "b@x.test"}),
    Case("organisation create", "POST /v2/orgs/{org_id}", {"name": "New"}, {"org_id": "new"}),
    Case("organisation save", "POST /v2/orgs/{org_id}", {"name": "Changed"}),
    Case("organisation create, put", "PUT /v2/orgs", {"name": "New"}),
    Case("organisation create v3", "POST /v3/orgs", {"organisation": {"name": "New"}}),
    Case("lead create", "POST /v3/leads", lead_body(name="Ann")),
    Case("webhook create", "POST /v3/webhooks", webhook_body("https://example.com/new")),
    Case("webhook change", f"PATCH {WEBHOOK}", {"webhook": {"description": "Changed"}}),
    Case("webhook rotate", f"POST {WEBHOOK}/rotate"),
    Case("webhook test", f"POST {WEBHOOK}/test"),
    Case("redeliver", f"POST {WEBHOOK}/deliveries/{{delivery_id}}/redeliver"),
    Case("visitor token create", f"POST {VISITORS}", {"token": {}}),
    Case("visitor token create, edge", f"POST {EDGE_VISITORS}", {"token": {}}, {"user_id": "new"}),
    *(Case(*case) for case in extensions.listed("REPEATED")),
    Case("token create", "POST /v3/tokens", {"token": {"name": "New", "readOnly": True}}),
    Case("key rotate", "POST /v3/workspace/key/rotate", {"overlapSeconds": 3600}),
]
# Cases that change no record.
NO_WRITE = [
    Case("agent change nothing", "PATCH /v3/agents/{agent_id}", {"agent": {"title": "Support"}}),
    *(Case(*case) for case in extensions.listed("NO_WRITES")),
    Case("state read", STATE, {}),
    Case("message repeat", MESSAGES, {"messages": [message("Hello", mid="m1", **HUMAN)]}),
]
CASES += [
    Case(name.lower(), name, body_of(name))
    for name, one in ROUTES.items()
    if one["method"] in idempotency.METHODS and name not in {case.operation for case in (*CASES, *NO_WRITE)}
]
each_case = pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
# One case for each kind of commit: a put, an update, deleting another row, rows that lock each other, a message to a
# queue, and responses in several pieces. `test_idempotency_crashes.py` runs every operation.
EACH_COMMIT = (
    *("tool create", "analytics write", "agent key clear", "client save, another email", "webhook test"),
    *("webhook create", "state replace, large", "message add, long"),
)
each_commit = pytest.mark.parametrize(
    "case", [case for case in CASES if case.id in EACH_COMMIT], ids=lambda case: case.id
)
each_case_without_a_write = pytest.mark.parametrize("case", NO_WRITE, ids=[case.id for case in NO_WRITE])


def case_named(case_id: str) -> Case:
    """Return the case with this name."""
    return next(case for case in (*CASES, *NO_WRITE) if case.id == case_id)


# The records that exist before each case.
BEFORE = ("agent_id", "lead_id", "webhook_id", "tool_id", "delivery_id", "user_id", "client_id", "org_id")


class World:
    """A workspace with its API and its ids; `now` is the time in Unix milliseconds."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000
        self._random = random.Random(0)

    def populate(self, names: Iterable[str] = BEFORE) -> None:
        """Create the workspace, and the records that these path values name."""
        self.workspace = workspaces.create("World")
        self.api = Api(self.workspace.workspace_key)
        self.values = {**CHOSEN}
        for name in names:
            path = CREATED_BY[name].split()[1].format(**self.values)
            body = state_body("Hello", mid="m1") if name == "user_id" else body_of(CREATED_BY[name], "Support")
            answer = self.api.post(path, body)
            assert answer.status == 200, answer.text
            if name == "agent_id":
                self.agent_key = Api(answer.data["SECRET_API_KEY"])
            if name not in CHOSEN:
                self.values[name] = answer.data["id"]
        extensions.populate(self.workspace.workspace_id, self.values, "Kept")

    def populated(self) -> dict[str, Any]:
        """Populate the world; return its attributes, for `resume`."""
        self.populate()
        return copy.deepcopy(vars(self))

    def resume(self, attributes: dict[str, Any]) -> None:
        """Continue with restored rows: set the attributes, and cache the credential, the data key and the agent."""
        vars(self).update(copy.deepcopy(attributes))
        keyring.current()
        self.api.get("/v2/agents/support")

    def path(self, case: Case) -> str:
        query: str = QUERIES.get(case.operation, "")
        return case.operation.split()[1].format(**{**self.values, **case.values}) + query

    def send(self, case: Case, key: str | None, api: Api | None = None, body: Any = None, **headers: str) -> Answer:
        """Send a case, with an idempotency key unless it is None; names in `headers` contain `_` for `-`."""
        api, body = api or self.api, case.body if body is None else body
        given = {} if key is None else {"Idempotency-Key": key}
        typed = {} if body is None else {"Content-Type": "application/json"}
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return api.call(case.method, self.path(case), body, {**api._headers, **typed, **given, **more})

    def reseed(self) -> None:
        """Reset the random seed, so that all later random values are equal in every world."""
        self._random.seed(1)


@contextmanager
def new_world(patch: pytest.MonkeyPatch) -> Iterator[World]:
    """Yield a new world in an empty engine. Inside the block, the service uses the world's clock and random values."""
    clear()
    made = World()
    with patch.context() as inside:
        still = SimpleNamespace(time_ns=lambda: made.now * 1_000_000, monotonic=time.monotonic, sleep=lambda _: None)
        drawn = SimpleNamespace(
            randbits=lambda count: made._random.getrandbits(count),
            token_bytes=lambda count: made._random.randbytes(count),
        )
        inside.setattr(clock, "time", still)
        inside.setattr(ids, "secrets", drawn)
        attributes, is_old = restore_or_create("world", made.populated)
        if is_old:
            made.resume(attributes)
        yield made


@pytest.fixture
def world(engine: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with new_world(monkeypatch) as made:
        yield made


def stored_records() -> dict[str, Any]:
    """Return every item in every table except the idempotency table."""
    return {name: items for name, items in stored().items() if name != TABLE}


def is_replay(first: Answer, again: Answer) -> bool:
    """Return whether the second response is a byte-for-byte replay of the first."""
    expected = {**first.headers, REPLAYED: "true", "x-request-id": again.headers["x-request-id"]}
    return (first.status, first.text, expected) == (again.status, again.text, again.headers)


def error_of(answer: Answer) -> tuple[int, str]:
    """Return a response's status and error code."""
    return answer.status, answer.json["code"]
