"""An agent with many conversations: concurrent creation, competing writers, and costs that stay the same."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from benchmarks import populate
from benchmarks.costs import warm_up
from chalicelib import clock, storage
from chalicelib.conversations import store
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.capacity import metered
from tests.selection import whole

AT_ONCE, RIVALS = 300, 50
CREATE, LIST = "/v3/agents/support/convos", "/v2/agents/support/convos"


@pytest.fixture
def requests() -> Iterator[Counter[str]]:
    """Delay each engine request by 15 ms; yield the requests by operation."""
    counted: Counter[str] = Counter()
    lock = threading.Lock()

    def delay(model: Any, **_: Any) -> None:
        time.sleep(0.015)
        with lock:
            counted[model.name] += 1

    events = storage.sdk_client("dynamodb").meta.events
    events.register_first("before-call.dynamodb", delay)
    yield counted
    events.unregister("before-call.dynamodb", delay)


def at_once(number: int, send: Callable[[int], Answer]) -> list[Answer]:
    """Send `number` requests at the same time, each from its own thread."""
    start = threading.Barrier(number)

    def wait_and_send(index: int) -> Answer:
        start.wait()
        return send(index)

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(wait_and_send, range(number)))


@whole
def test_conversations_that_are_created_at_once_take_two_requests_each(
    api: Api, agent_id: str, workspace: NewWorkspace, requests: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(clock, "sleep", pauses.append)
    api.get("/v2/clients")  # caches the credential
    workspaces.retention_days(workspace.workspace_id)  # cached, too
    requests.clear()
    answers = at_once(AT_ONCE, lambda index: api.post(CREATE, {"conversation": {"title": str(index)}}))
    assert [answer.status for answer in answers] == [200] * AT_ONCE
    assert requests == {"GetItem": AT_ONCE, "PutItem": AT_ONCE}
    assert pauses == []
    shown = [one["ID"] for page in range(1, AT_ONCE // 20 + 1) for one in api.get(f"{LIST}?page={page}").data]
    assert sorted(shown) == sorted(answer.data["id"] for answer in answers)


def test_rivals_for_one_conversation_lose_no_update(api: Api, agent_id: str, requests: Counter[str]) -> None:
    """The old turns in each 200 response are empty or come from another write, because the writes form one sequence."""
    path = "/agents/support/interact/ann/state"

    def turns(index: int) -> dict[str, Any]:
        return {"turns": [{"from": "bot", "messages": [{"mid": str(index), "item": {"text": "Hello"}}]}]}

    answers = at_once(RIVALS, lambda index: api.post(path, turns(index)))
    assert {(answer.status, answer.json.get("code")) for answer in answers} <= {(200, None), (409, "STALE")}
    written = [answer.json for answer in answers if answer.status == 200]
    following = {str(one["oldTurns"]): one["turns"] for one in written}
    assert len(following) == len(written) >= 1, "two writes replaced the same state"
    last: list[Any] = []
    for _ in written:
        last = following[str(last)]
    assert api.post(path, {}).json["turns"] == last


def costs(tenant: populate.Tenant, deleted: str) -> dict[str, tuple[dict[str, int], float, float]]:
    """Return the requests, read units and write units of each operation; `deleted` is a conversation to delete."""
    api, counted = tenant.api, {}
    warm_up(tenant)
    cursor = api.get(LIST).json["nextCursor"]
    turns = {"turns": [{"from": "human", "messages": [{"item": {"text": "Hello"}}]}]}
    state = f"/agents/support/interact/{populate.conversation_id(1)}/state"
    for name, send in {
        "create": lambda: api.post(CREATE, {"conversation": {}}),
        "first state": lambda: api.post("/agents/support/interact/new/state", turns),
        "read": lambda: api.post(state, {}),
        "replace": lambda: api.post(state, turns),
        "list by cursor": lambda: api.get(f"{LIST}?cursor={cursor}"),
        "delete": lambda: api.delete(f"{CREATE}/{deleted}"),
    }.items():
        with metered() as meter:
            assert send().status == 200
        counted[name] = (dict(meter.requests), meter.reads, meter.writes)
    return counted


def test_costs_do_not_depend_on_the_number_of_conversations_or_deletions(engine: None) -> None:
    small, large = populate.tenant(), populate.tenant()
    populate.fill(small, range(1, 61))
    populate.fill(large, range(1, 1_001))
    keys = [store.key(large.workspace_id, populate.AGENT, populate.conversation_id(number)) for number in range(2, 900)]
    gone = random.Random(1).sample(keys, 450)
    storage.delete_many([store.ConversationRow(key.partition, key.sort) for key in gone])
    left = next(number for number in range(2, 900) if keys[number - 2] not in gone)
    small_costs = costs(small, populate.conversation_id(2))
    assert small_costs == costs(large, populate.conversation_id(left))
    assert {
        name: (sum(requests.values()), reads, writes) for name, (requests, reads, writes) in small_costs.items()
    } == {
        "create": (2, 0.5, 2),
        "first state": (2, 1.5, 2),
        "read": (1, 1.5, 0),
        "replace": (2, 1.5, 2),
        "list by cursor": (2, 1.5, 0),
        "delete": (2, 1.5, 2),
    }
