"""During cloud failures, a caller gets a correct response or a 503 before the gateway times out.

A long random sequence of requests covers all routes. Each request runs twice from the same state: in a calm cloud to
determine the expected response, then in a hostile cloud. The second response is the same as the first, or a 503 with
`Retry-After`. Afterwards, the tables contain either the state before the request or the complete state after it. A
repeated request with an `Idempotency-Key` takes effect once and returns the expected response.
"""

import os
import random
import re
from typing import Any

import pytest
from moto.sqs.models import sqs_backends

from chalicelib import storage
from chalicelib.conversations.store import read_received
from chalicelib.http.idempotency import METHODS
from chalicelib.storage import encryption, layouts
from chalicelib.workspaces import store as workspaces
from tests.engines import clear_caches
from tests.guarantees import CaseCounter
from tests.http.replay_cases import REPLAYED, TABLE
from tests.moto_tables import items, restore, snapshot, tables
from tests.operations import GUARDED, STATE, populate, send
from tests.reliability.failing_cloud import CALM, Cloud, hostile_cloud
from tests.selection import whole

pytestmark = pytest.mark.guarantee("cloud")

# The gateway gives up after 29 seconds.
GATEWAY_SECONDS = 29
SHORT, LONG = 160, 1_600
NOISE = "".join(random.Random(0).choices("ABCDEFGHIJKLMNOP", k=900_000))  # needs chunks
BODIES = {
    STATE: [
        "",
        "{}",
        '{"metadata": {"userName": "$mark"}}',
        '{"turns": [{"from": "human", "messages": [{"mid": "a", "item": {}, "ts": 1}, {"mid": "b", "ts": 2}]}]}',
        '{"delete": {"mids": ["a"]}, "metadata": {"tags": ["$mark"]}}',
        f'{{"turns": [{{"from": "bot", "messages": [{{"mid": "$mark", "item": {{"text": "{NOISE}"}}, "ts": 1}}]}}]}}',
    ],
    "POST /v2/clients/{client_id}": ['{"email": "$mark@example.com"}', '{"email": null}', '{"email": "a@example.com"}'],
    # The overlap lasts as long as the key, because the simulated time advances by days.
    "POST /v3/workspace/key/rotate": ['{"overlapSeconds": 31536000}'],
}
# These operations send a queue message after their commit.
SENDING = {"POST /v3/webhooks/{webhook_id}/test", "POST /v3/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver"}
SWEEPING = "DELETE /v3/agents/{agent_id}"
# These operations send the most requests to the cloud, so they run almost as often as all others combined.
OFTEN = [*GUARDED, *[STATE] * 10, *sorted(SENDING) * 5, *["GET /v3/tokens"] * 3]

# Values that differ between the two runs of a request.
MADE = re.compile(r"(?:cams|whsec)_[\w+/=]+|[0-9a-z]{26,64}")
PARTITION = re.compile(r"(?<=[0-9a-z]{26})#(?:[0-7]|[0-9a-z]{11})(?='})")
# The last pattern matches the lifetime of a token that expires together with its issuer.
TIME = re.compile(r"\b1[78]\d{8}(\d{3})?\b|20\d\d-\d\d-\d\dT[\d:]+Z|(?<='lifetime', {'N': ')\d+")
FRESH = {"version_tag", "writing", "last_used_at"}


def stored_lines() -> list[str]:
    """Return all decrypted items, one per line, except idempotency keys and stored responses, which replays check."""
    return [decrypted(name, item) for name, held in items().items() if name != TABLE for item in held]


def decrypted(table: str, item: dict[str, dict[str, Any]]) -> str:
    """Return an item as text. Its documents are decrypted, and its chunks are replaced with their lengths."""
    keys = [item[key]["S"] for key in (tables()[table].hash_key_attr, tables()[table].range_key_attr) if key]
    plain: dict[str, Any] = {name: typed for name, typed in item.items() if name not in FRESH}
    for name, sealed in ((name, typed["B"]) for name, typed in item.items() if "B" in typed):
        if name == "part":
            plain[name] = len(sealed)
        elif name == "received":
            plain[name] = read_received(item)
        elif sealed[0] == layouts.CURRENT:
            place = "/".join((table.removeprefix(storage.table("")), *keys, name))
            plain[name] = encryption.unseal(keys[0].split("#")[0], place, sealed)
    if table == "cams-events":
        plain["workspace"] = keys[0].split("#")[0]  # the rest of the partition key depends on the event's id
    return f"{table} {sorted(plain.items())}"


class Sequence:
    """A sequence of random requests."""

    def __init__(self, cloud: Cloud, chance: random.Random) -> None:
        self.cloud, self.chance = cloud, chance
        made = workspaces.create("Hostile")
        self.headers = {"Authorization": f"Bearer {made.workspace_key}"}
        names = ("agent_id", "client_id", "org_id", "user_id")
        self.ids = populate(self.headers, "first", dict.fromkeys(names, "one"))
        self.busy = self.repeated = 0

    def step(self, number: int) -> None:
        """Send one request in the calm cloud, then in the hostile cloud, and compare the results."""
        name, ids, mark = self.chance.choice(OFTEN), self.some_ids(), f"mark{number}"
        body = self.chance.choice([None, *BODIES.get(name, ())])
        is_keyed = name.split()[0] in METHODS and self.chance.random() < 0.5
        headers = {**self.headers, **({"Idempotency-Key": mark} if is_keyed else {})}
        before, old = snapshot(), stored_lines()
        calm = send(name, headers, ids, mark, body)
        new = stored_lines()
        restore(before)
        if self.chance.random() < 0.5:
            clear_caches()  # a new process
        self.cloud.change()
        start = self.cloud.now
        answer = send(name, headers, ids, mark, body)
        took, self.cloud.weather = self.cloud.now - start, CALM

        context = (number, name, ids, body and body[:100])
        assert calm.status < 500, context
        assert took <= GATEWAY_SECONDS, context
        known = set(MADE.findall("".join(old)))
        left, old, new = (normalised(lines, known) for lines in (stored_lines(), old, new))
        if name == SWEEPING and calm.status == 200:
            assert answer.status in (200, 503), context
            assert send(name, self.headers, ids).status == 200, context  # complete the first run's cascade
            assert normalised(stored_lines(), known) == new, context
            self.release_id(name, ids)
        elif answer.status == 503:
            assert left in (old, new), context
        else:
            assert answer.status == calm.status, context
            assert normalised([answer.text], known) == normalised([calm.text], known), context
            assert left == new, context
            assert name not in SENDING or answer.status != 200 or answer.json["data"]["id"] in queued(), context
        if is_keyed and calm.status == 200:
            again = send(name, headers, ids, mark, body)
            assert normalised([again.text], known) == normalised([calm.text], known), context
            assert normalised(stored_lines(), known) == new, context
            is_replay = (answer.text, "true") == (again.text, again.headers.get(REPLAYED))
            assert old == new or answer.status == 503 or is_replay, context
            assert old == new or (left == new) == (REPLAYED in again.headers), context
            assert name not in SENDING or again.json["data"]["id"] in queued(), context
            self.repeated += 1
        if answer.status == 503:
            self.busy += 1
            assert answer.json["code"] == "UNAVAILABLE", context
            assert int(answer.headers["retry-after"]) > 0, context

    def release_id(self, name: str, ids: dict[str, str]) -> None:
        """Complete the second run's cascade."""
        self.cloud.sleep(90)
        assert [send(name, self.headers, ids).status for _ in range(2)] == [200, 404]

    def some_ids(self) -> dict[str, str]:
        """Return ids of existing records if possible. One id in ten is unknown."""
        one_of = self.chance.choice
        ids = dict(self.ids)
        for name in ("agent_id", "client_id", "org_id"):
            ids[name] = one_of(["one", "two"])
        ids["user_id"] = ids["convo_id"] = one_of(["one", "two", "three"])
        tools = [one for item in items()["cams-agents"] if (one := item["item"]["S"]).startswith("tool#")]
        ids["tool_id"] = one_of(tools).removeprefix("tool#") if tools else ids["tool_id"]
        for name, table in (("lead_id", "cams-leads"), ("webhook_id", "cams-webhooks")):
            existing = [item[name]["S"] for item in items()[table] if "document" in item]
            ids[name] = one_of(existing) if existing else ids[name]
        existing = [item for item in items()["cams-deliveries"] if item["webhook"]["S"].endswith(ids["webhook_id"])]
        ids["delivery_id"] = one_of(existing)["delivery_id"]["S"] if existing else ids["delivery_id"]
        issued = [item["credential_id"]["S"] for item in items()["cams-credentials"] if item["kind"]["S"] == "access"]
        ids["token_id"] = one_of(issued) if issued else ids["token_id"]
        if self.chance.random() < 0.1:
            ids[one_of(list(ids))] = "unknown"
        return ids


def normalised(lines: list[str], known: set[str]) -> list[str]:
    """Return lines with placeholders for generated values, times, and the partition keys that depend on them."""
    return sorted(
        TIME.sub(
            "<time>", MADE.sub(lambda match: match[0] if match[0] in known else "<new>", PARTITION.sub("#<n>", line))
        )
        for line in lines
    )


def queued() -> str:
    """Return the messages in the delivery queues."""
    (deliveries,) = (
        one for one in sqs_backends["123456789012"]["eu-west-1"].queues.values() if one.name == "cams-deliveries"
    )
    return repr([one.body for one in deliveries._messages])


@whole
@pytest.mark.parametrize("steps", [SHORT, pytest.param(LONG, marks=pytest.mark.long)])
def test_every_answer_is_correct_or_a_503_within_the_gateway_timeout(
    engine: None, count_cases: CaseCounter, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    chance = random.Random(int(os.environ.get("CAMS_SEED", "7")))
    random.seed(chance.random())  # for the SDK's and the service's pauses
    with hostile_cloud(chance, monkeypatch) as cloud:
        sequence = Sequence(cloud, chance)
        for number in range(steps):
            sequence.step(number)
    assert steps / 20 < sequence.busy < steps / 2, "the faults are too rare or too frequent to test both outcomes"
    assert sequence.repeated > steps / 10
    count_cases(faults=cloud.faults.total(), states=steps + sequence.repeated)
