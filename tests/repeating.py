"""Every POST and PATCH in the situations in which it does something of its own, for tests that send them twice.

A world is a workspace that has been in use for a while. Two of them are equal to the last byte but for what is sealed:
the clock is still, and what is random is drawn from one seed.
"""

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
from chalicelib.workspaces import store as workspaces
from tests.api import Answer, Api
from tests.builders import lead_body, state_body, webhook_body
from tests.conftest import clear
from tests.evidence import stored
from tests.operations import CHOSEN, MADE_BY, ROUTES, STATE, body_of

WEBHOOK = "/v3/webhooks/{webhook_id}"
KEY = '"8e03978e-40d5-43dd-bc93-6894a57f9324"'  # as the draft has it; the quotes are part of it
TABLE = storage.table("idempotency")
REPLAYED = "idempotency-replayed"
NOISE = b64encode(random.Random(1).randbytes(600_000)).decode()  # no item holds it, compressed or not


class Case(NamedTuple):
    """An operation, the body it is sent with, and path values other than the world's own."""

    id: str
    operation: str
    body: Any = None
    values: dict[str, str] = {}  # noqa: RUF012

    @property
    def method(self) -> str:
        return self.operation.split()[0]

    @property
    def record(self) -> str:
        """The kind of record that it is about."""
        return self.id.split()[0]


def turns(*texts: str) -> dict[str, Any]:
    """A replacement of a state: a turn of the user for each text."""
    return {"turns": [{"from": "human", "messages": [{"type": "text", "item": {"text": text}}]} for text in texts]}


CASES = [
    Case("agent create", "POST /v3/agents", {"agent": {"title": "New"}}),
    Case("agent change", "PATCH /v3/agents/{agent_id}", {"agent": {"title": "v3", "nodes": [{"id": "a"}]}}),
    Case("agent change nothing", "PATCH /v3/agents/{agent_id}", {"agent": {"title": "Support"}}),
    Case("agent key clear", "PATCH /v3/agents/{agent_id}", {"agent": {"SECRET_API_KEY": None}}),
    Case("agent create v2", "POST /v2/agents/{agent_id}", {"title": "New"}, {"agent_id": "new"}),
    Case("agent save v2", "POST /v2/agents/{agent_id}", {"title": "v2"}),
    Case("tool create", "POST /v3/agents/{agent_id}/tools", {"tool": {"name": "New", "fields": [{"key": "x"}]}}),
    Case("tool change", "PATCH /v3/tools/{tool_id}", {"tool": {"fields": [{"key": "a"}, {"key": "b"}]}}),
    Case("conversation create", "POST /v3/agents/{agent_id}/convos", {"conversation": {"title": "New"}}),
    Case("state read", STATE, {}),
    Case("state replace", STATE, state_body("Hello", "Again")),
    Case("state describe", STATE, {"metadata": {"userName": "Ann"}}),
    Case("state shorten", STATE, {"delete": {"mids": ["m1"]}}),
    Case("state create", STATE, state_body("First"), {"user_id": "new"}),
    Case("state create, large", STATE, state_body(NOISE), {"user_id": "new"}),
    Case("state replace, large", STATE, state_body(NOISE)),
    Case("analytics write", "POST /v2/agents/{agent_id}/analytics/{convo_id}", {"record": "convo", "browser": "B"}),
    Case("client create", "POST /v2/clients/{client_id}", {"name": "New", "email": "new@x.test"}, {"client_id": "new"}),
    Case("client create, bare", "POST /v2/clients/{client_id}", {}, {"client_id": "new"}),
    Case("client save", "POST /v2/clients/{client_id}", {"name": "Changed"}),
    Case("client save, another email", "POST /v2/clients/{client_id}", {"email": "b@x.test"}),
    Case("organisation create", "POST /v2/orgs/{org_id}", {"name": "New"}, {"org_id": "new"}),
    Case("organisation save", "POST /v2/orgs/{org_id}", {"name": "Changed"}),
    Case("lead create", "POST /v3/leads", lead_body(name="Ann")),
    Case("webhook create", "POST /v3/webhooks", webhook_body("https://example.com/new")),
    Case("webhook change", f"PATCH {WEBHOOK}", {"webhook": {"description": "Changed"}}),
    Case("webhook rotate", f"POST {WEBHOOK}/rotate"),
    Case("webhook test", f"POST {WEBHOOK}/test"),
    Case("redeliver", f"POST {WEBHOOK}/deliveries/{{delivery_id}}/redeliver"),
    Case("token create", "POST /v3/tokens", {"token": {"name": "New", "readOnly": True}}),
    Case("key rotate", "POST /v3/workspace/key/rotate", {"overlapSeconds": 3600}),
]
CASES += [
    Case(name.lower(), name, body_of(name))
    for name, one in ROUTES.items()
    if one["method"] in idempotency.METHODS and name not in {case.operation for case in CASES}
]
each_case = pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])


def named(case_id: str) -> Case:
    """The case with this name."""
    return next(case for case in CASES if case.id == case_id)


# The records before a case.
BEFORE = ("agent_id", "webhook_id", "tool_id", "delivery_id", "user_id", "client_id", "org_id")


class World:
    """The workspace's API and ids; `now` is its time in Unix milliseconds."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000
        self._random = random.Random(0)

    def make(self, names: Iterable[str] = BEFORE) -> None:
        """What is there before a case: a workspace, and of its records those that these path values name."""
        self.workspace = workspaces.create("World")
        self.api = Api(self.workspace.workspace_key)
        self.values = {**CHOSEN}
        for name in names:
            path = MADE_BY[name].split()[1].format(**self.values)
            body = state_body("Hello", mid="m1") if name == "user_id" else body_of(MADE_BY[name], "Support")
            answer = self.api.post(path, body)
            assert answer.status == 200, answer.text
            if name == "agent_id":
                self.agent_key = Api(answer.data["SECRET_API_KEY"])
            if name not in CHOSEN:
                self.values[name] = answer.data["id"]

    def path(self, case: Case) -> str:
        return case.operation.split()[1].format(**{**self.values, **case.values})

    def send(self, case: Case, key: str | None, api: Api | None = None, body: Any = None, **headers: str) -> Answer:
        """Send a case with a key, or without one; `headers` with `_` for `-`."""
        api, body = api or self.api, case.body if body is None else body
        given = {} if key is None else {"Idempotency-Key": key}
        typed = {} if body is None else {"Content-Type": "application/json"}
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return api.call(case.method, self.path(case), body, {**api._headers, **typed, **given, **more})

    def draw_alike(self) -> None:
        """From here on, what is random is the same in every world."""
        self._random.seed(1)


@contextmanager
def world(patch: pytest.MonkeyPatch) -> Iterator[World]:
    """A new world, alone in the engine; its time and chance are those of the service inside the block."""
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
        made.make()
        yield made


@pytest.fixture
def here(engine: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with world(monkeypatch) as made:
        yield made


def others() -> dict[str, Any]:
    """Every item of every table but that of the keys."""
    return {name: items for name, items in stored().items() if name != TABLE}


def same(first: Answer, again: Answer) -> bool:
    """Whether the second answer is a replay of the first one, to the byte."""
    expected = {**first.headers, REPLAYED: "true", "x-request-id": again.headers["x-request-id"]}
    return (first.status, first.text, expected) == (again.status, again.text, again.headers)


def refusal(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json["code"]
