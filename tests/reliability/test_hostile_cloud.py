"""Whatever the cloud's services do, a caller gets a right answer or a clear 503, in time.

A long random sequence over all routes. Each request is answered twice from the same state: first in a calm cloud, which
says what is right, then in a hostile one. What comes back then is the same, or a 503 that says when to come again; and
the tables hold what they held before or what the calm request has made of them, all of it. With an `Idempotency-Key`
the same request, sent again, then has had its effect once, and its answer is the right one.
"""

import os
import random
import re
from typing import Any

import pytest
from moto.sqs.models import sqs_backends

from chalicelib.http.idempotency import METHODS
from chalicelib.storage import encryption
from chalicelib.workspaces import store as workspaces
from tests.conftest import clear_caches
from tests.moto_tables import items, restore, snapshot, tables
from tests.operations import GUARDED, STATE, populate, send
from tests.promises import Shown
from tests.reliability.hostile import CALM, Cloud, hostile_cloud
from tests.repeating import REPLAYED, TABLE

pytestmark = pytest.mark.promise("cloud")

# The gateway gives up after 29 seconds.
GATEWAY_SECONDS = 29
SHORT, LONG = 160, 1_600
NOISE = "".join(random.Random(0).choices("ABCDEFGHIJKLMNOP", k=900_000))  # a state with it is in chunks
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
    # Each lives as long as the key itself: time goes on by days here.
    "POST /v3/workspace/key/rotate": ['{"overlapSeconds": 31536000}'],
}
# These send a message after their commit.
SENDING = {"POST /v3/webhooks/{webhook_id}/test", "POST /v3/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver"}
SWEEPING = "DELETE /v3/agents/{agent_id}"
# As often as all others together, nearly: they ask most of the cloud.
OFTEN = [*GUARDED, *[STATE] * 10, *sorted(SENDING) * 5, *["GET /v3/tokens"] * 3]

# What every run of a request makes anew.
MADE = re.compile(r"(?:cams|whsec)_[\w+/=]+|[0-9a-z]{26,64}")
TIME = re.compile(r"\b1[78]\d{8}(\d{3})?\b|20\d\d-\d\d-\d\dT[\d:]+Z")
FRESH = {"version_tag", "writing", "last_used_at"}


def everything() -> list[str]:
    """What all tables say, opened, an item a line; but for the keys and answers, which a replay shows."""
    return [opened(name, item) for name, held in items().items() if name != TABLE for item in held]


def opened(table: str, item: dict[str, dict[str, Any]]) -> str:
    """An item as text, with what is sealed in clear; of the chunks of a long state its lengths."""
    keys = [item[key]["S"] for key in (tables()[table].hash_key_attr, tables()[table].range_key_attr) if key]
    told: dict[str, Any] = {name: typed for name, typed in item.items() if name not in FRESH}
    for name, sealed in ((name, typed["B"]) for name, typed in item.items() if "B" in typed):
        if name == "part":
            told[name] = len(sealed)
        elif sealed[:1] == encryption._LAYOUT:
            told[name] = encryption.unseal(keys[0].split("#")[0], "/".join((table, *keys, name)), sealed)
    return f"{table} {sorted(told.items())}"


class Sequence:
    """The requests, one after the other."""

    def __init__(self, cloud: Cloud, chance: random.Random) -> None:
        self.cloud, self.chance = cloud, chance
        made = workspaces.create("Hostile")
        self.headers = {"Authorization": f"Bearer {made.workspace_key}"}
        names = ("agent_id", "client_id", "org_id", "user_id")
        self.ids = populate(self.headers, "first", dict.fromkeys(names, "one"))
        self.busy = self.repeated = 0

    def step(self, number: int) -> None:
        """One request, in the calm and then in the storm."""
        name, ids, mark = self.chance.choice(OFTEN), self.some_ids(), f"mark{number}"
        body = self.chance.choice([None, *BODIES.get(name, ())])
        is_keyed = name.split()[0] in METHODS and self.chance.random() < 0.5
        headers = {**self.headers, **({"Idempotency-Key": mark} if is_keyed else {})}
        before, old = snapshot(), everything()
        calm = send(name, headers, ids, mark, body)
        new = everything()
        restore(before)
        if self.chance.random() < 0.5:
            clear_caches()  # a new process
        self.cloud.change()
        start = self.cloud.now
        answer = send(name, headers, ids, mark, body)
        took, self.cloud.weather = self.cloud.now - start, CALM

        told = (number, name, ids, body and body[:100])
        assert calm.status < 500, told
        assert took <= GATEWAY_SECONDS, told
        known = set(MADE.findall("".join(old)))
        left, old, new = (alike(lines, known) for lines in (everything(), old, new))
        if name == SWEEPING and calm.status == 200:
            assert answer.status in (200, 503), told
            self.sweep(name, ids)
            assert alike(everything(), known) == new, told
        elif answer.status == 503:
            assert left in (old, new), told
        else:
            assert answer.status == calm.status, told
            assert alike([answer.text], known) == alike([calm.text], known), told
            assert left == new, told
            assert name not in SENDING or answer.status != 200 or answer.json["data"]["id"] in queued(), told
        if is_keyed and calm.status == 200:
            again = send(name, headers, ids, mark, body)
            assert alike([again.text], known) == alike([calm.text], known), told
            assert alike(everything(), known) == new, told
            assert answer.status == 503 or (answer.text, "true") == (again.text, again.headers.get(REPLAYED)), told
            assert old == new or (left == new) == (REPLAYED in again.headers), told
            assert name not in SENDING or again.json["data"]["id"] in queued(), told
            self.repeated += 1
        if answer.status == 503:
            self.busy += 1
            assert answer.json["code"] == "UNAVAILABLE", told
            assert int(answer.headers["retry-after"]) > 0, told

    def sweep(self, name: str, ids: dict[str, str]) -> None:
        """A deletion may be sent again until all is gone."""
        self.cloud.sleep(61)
        assert send(name, self.headers, ids).status in (200, 404)

    def some_ids(self) -> dict[str, str]:
        """Ids of what is there, where there is some; one in ten of nothing."""
        one_of = self.chance.choice
        found = dict(self.ids)
        for name in ("agent_id", "client_id", "org_id"):
            found[name] = one_of(["one", "two"])
        found["user_id"] = found["convo_id"] = one_of(["one", "two", "three"])
        for name, table in (("tool_id", "cams-tools"), ("lead_id", "cams-leads"), ("webhook_id", "cams-webhooks")):
            there = [item[name]["S"] for item in items()[table]]
            found[name] = one_of(there) if there else found[name]
        there = [item for item in items()["cams-deliveries"] if item["webhook"]["S"].endswith(found["webhook_id"])]
        found["delivery_id"] = one_of(there)["delivery_id"]["S"] if there else found["delivery_id"]
        issued = [item["credential_id"]["S"] for item in items()["cams-credentials"] if item["kind"]["S"] == "access"]
        found["token_id"] = one_of(issued) if issued else found["token_id"]
        if self.chance.random() < 0.1:
            found[one_of(list(found))] = "unknown"
        return found


def alike(lines: list[str], known: set[str]) -> list[str]:
    """Lines in which what was made anew, and when, looks the same every time."""
    return sorted(
        TIME.sub("<time>", MADE.sub(lambda one: one[0] if one[0] in known else "<new>", line)) for line in lines
    )


def queued() -> str:
    """The messages on the queue of deliveries."""
    (deliveries,) = (
        one for one in sqs_backends["123456789012"]["eu-west-1"].queues.values() if one.name == "cams-deliveries"
    )
    return repr([one.body for one in deliveries._messages])


@pytest.mark.parametrize("steps", [SHORT, pytest.param(LONG, marks=pytest.mark.long)])
def test_every_answer_is_right_or_a_clear_503_in_time(
    engine: None, shown: Shown, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    chance = random.Random(int(os.environ.get("CAMS_SEED", "6")))
    random.seed(chance.random())  # the SDK's pauses, and ours
    with hostile_cloud(chance, monkeypatch) as cloud:
        sequence = Sequence(cloud, chance)
        for number in range(steps):
            sequence.step(number)
    assert steps / 20 < sequence.busy < steps / 2, "too few or too many faults to see both"
    assert sequence.repeated > steps / 10
    shown(faults=cloud.faults.total(), states=steps + sequence.repeated)
