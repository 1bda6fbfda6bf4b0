"""The erasures extension in the core tests."""

from typing import Any

import pytest

from chalicelib import clock, queues
from chalicelib.extensions.erasures import functions, store
from chalicelib.extensions.erasures.extension import QUEUE
from chalicelib.extensions.erasures.queue import Erase
from chalicelib.queues import messages
from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.engine_requests import refuse_operation
from tests.extensions import QueueFunctions
from tests.person_records import ZARA, fill
from tests.queues.messages import take
from tests.webhooks import pipeline

_CREATE, _LIST, _READ = "POST /v3/erasures", "GET /v3/erasures", "GET /v3/erasures/{erasure_id}"
CREATED_BY = {"erasure_id": _CREATE}
RECORDS = {"erasure": (_CREATE, (_READ,))}
COSTS: list[tuple[Any, ...]] = [
    (
        "erasure create",
        _CREATE,
        {"BatchGetItem": 1, "TransactWriteItems": 1, "SendMessageBatch": 1},
        {"erasure": {"userID": "user-9"}},
    ),
    ("erasure read", _READ, {"GetItem": 1}),
    ("erasure list", _LIST, {"Query": 1}),
]
REPEATED = [("erasure create", _CREATE, {"erasure": {"userID": "ann"}})]
NOT_IDEMPOTENT = ("erasure create",)
QUEUES = (QUEUE,)


def cost_values(api: Api) -> dict[str, str]:
    """Return an erasure's id."""
    queues._url(QUEUE)  # each process caches the URL
    return {"erasure_id": api.post("/v3/erasures", {"erasure": {"userID": "user-8"}}).data["id"]}


def wrong_members() -> dict[str, list[tuple[Any, str, str]]]:
    """Return invalid bodies: (body, member path, rule)."""
    from tests.bad_input.service import CANARY, NUMBER
    from tests.bad_input.wrong_members import MISSING, TEXT, UNKNOWN

    return {
        _CREATE: [
            ({}, "erasure", MISSING),
            ({"erasure": {}}, "erasure", "must have userID, email or phone"),
            ({"erasure": {"userID": NUMBER}}, "erasure.userID", TEXT),
            ({"erasure": {"email": None}}, "erasure.email", TEXT),
            ({"erasure": {"email": CANARY, "phone": ""}}, "erasure.phone", "must have at least 1 character"),
            ({"erasure": {"email": CANARY * 100}}, "erasure.email", "must have at most 1000 characters"),
            ({"erasure": {"unknown": CANARY}}, "erasure.unknown", UNKNOWN),
        ]
    }


def queue_functions(workspace_id: str, agent_id: str, client_id: str) -> QueueFunctions:
    """Return the queue function by name, with a message for it."""
    return {"erase": (functions.erase, [messages.pack(Erase(workspace_id, agent_id))])}


def reach_limits(patch: pytest.MonkeyPatch) -> None:
    """Make every request that creates an erasure exceed its limit."""
    patch.setattr(store, "MAX_RUNNING", 0)


def run_functions() -> None:
    """Erase a person who has records of every kind, including an event and a stored response in several pieces."""
    from tests.operation_cases import large

    new, stream = workspaces.create("Erased"), pipeline.Stream()
    api = Api(new.workspace_key)
    assert api.post("/v2/agents/support", {"description": ZARA["email"]}).status == 200
    pipeline.follow(stream.read("agents"))
    fill(api, new.workspace_id, "zara")
    headers = {**api._headers, "Content-Type": "application/json", "Idempotency-Key": "never-committed"}
    with refuse_operation("TransactWriteItems", "ThrottlingException"):
        assert api.call("POST", "/agents/support/interact/zara/state", large(5), headers).status == 503
    take(QUEUE)
    assert api.post("/v3/erasures", {"erasure": ZARA}).status == 200
    for later in (0, 90_000, 180_000):
        now = clock.milliseconds() + later
        with pytest.MonkeyPatch.context() as waiting:
            waiting.setattr(clock, "milliseconds", lambda now=now: now)
            functions.erase({"Records": take(QUEUE)}, None)
    assert take(QUEUE) == []


def _erasures(world: Any) -> Any:
    """Return all erasures, and assert that each has a slot.

    Messages are not checked, because they are sent before the commit.
    """
    rows = store.list_all(world.workspace.workspace_id)
    begun = [row for row in rows if row.item.startswith("erasure#")]
    assert {row.slot for row in begun} == {row.item for row in rows if row not in begun}
    return [[row.open(), row.is_complete] for row in begun]


LOOKS = {"erasures": [_erasures]}
