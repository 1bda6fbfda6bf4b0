"""Among sixteen concurrent writers of one record, `If-Match` accepts one. Limits are never exceeded."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.webhooks import endpoints
from tests.guarantees import CaseCounter
from tests.reliability import competing_writers
from tests.reliability.competing_writers import STATE, THREAD
from tests.reliability.processes import Service, output, service
from tests.selection import whole

pytestmark = pytest.mark.engine

PROCESSES, THREADS = 2, 8
LIMIT = 16
MEMBERS = [
    "userName", "userEmail", "userImage", "userPhone", "userBrowser", "userProfilePic", "userPlatform", "state",
]  # fmt: skip

# Kind of record -> the request that all writers send.
REQUESTS: dict[str, tuple[str, str, Any]] = {
    "agent": ("PATCH", "/v3/agents/support", {"agent": {"title": THREAD}}),
    "state": ("POST", STATE, {"turns": [{"from": "human", "messages": [{"mid": THREAD}]}]}),
    "metadata": ("POST", "/agents/support/interact/bo/state", {"metadata": {"userName": THREAD}}),
    "analytics": ("POST", "/v2/agents/support/analytics/ann", {"record": "convo", "browser": THREAD}),
    "client": ("POST", "/v2/clients/ann", {"email": f"{THREAD}@example.com"}),
    "organisation": ("POST", "/v2/orgs/acme", {"name": THREAD}),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("engine")) as served:
        yield served


def run_concurrently(served: Service, action: str, what: str) -> list[list[str]]:
    """Run an action in all threads of all processes simultaneously, and return each process's output."""
    started = [served.start(competing_writers.__name__, action, what, THREADS) for _ in range(PROCESSES)]
    return [output(one) for one in started]


@pytest.mark.guarantee("matched")
def test_exactly_one_of_sixteen_writers_with_the_same_etag_saves(served: Service, count_cases: CaseCounter) -> None:
    created = served.send(*REQUESTS.values())
    requests = [(*one, answer.headers["etag"]) for one, answer in zip(REQUESTS.values(), created, strict=True)]

    printed = run_concurrently(served, "save", json.dumps(requests))

    for name, lines in zip(REQUESTS, zip(*printed, strict=True), strict=True):
        assert Counter(" ".join(lines).split()) == {"200": 1, "412": PROCESSES * THREADS - 1}, name
    count_cases(states=len(REQUESTS) * PROCESSES * THREADS)


@pytest.mark.guarantee("matched")
@pytest.mark.parametrize("each", [3, pytest.param(10, marks=whole)])
def test_all_merges_of_eight_concurrent_writers_are_applied(
    each: int, served: Service, count_cases: CaseCounter
) -> None:
    served.send(("POST", STATE, {"turns": [], "metadata": {"userName": "0"}}))
    half = len(MEMBERS) // 2
    started = [
        served.start(competing_writers.__name__, "merge", json.dumps(members), each)
        for members in (MEMBERS[:half], MEMBERS[half:])
    ]
    statuses = Counter(" ".join(line for one in started for line in output(one)).split())
    assert statuses == {"200": len(MEMBERS) * each}
    (state,) = served.send(("POST", STATE, {}))
    assert {member: state.json["chatState"][member] for member in MEMBERS} == dict.fromkeys(MEMBERS, str(each))
    count_cases(states=len(MEMBERS) * each)


@pytest.mark.guarantee("limits")
@pytest.mark.parametrize("left", [3, pytest.param(16, marks=whole)])
def test_concurrent_creations_stop_exactly_at_the_limit_of_webhooks(
    left: int, served: Service, count_cases: CaseCounter
) -> None:
    """Check a workspace that can create three more webhooks, or one for each of sixteen concurrent creators."""
    create = ("POST", "/v3/webhooks", {"webhook": {"url": "https://example.com/hooks", "events": ["lead_captured"]}})
    (listed,) = served.send(("GET", "/v3/webhooks", None))
    known = [one["id"] for one in listed.data]
    served.send(*(("DELETE", f"/v3/webhooks/{name}", None) for name in known[endpoints.MAX_ENDPOINTS - left :]))
    served.send(*[create] * (endpoints.MAX_ENDPOINTS - left - len(known)))

    printed = run_concurrently(served, "save", json.dumps([(*create, None)]))

    refused = PROCESSES * THREADS - left
    assert Counter(" ".join(line for lines in printed for line in lines).split()) == Counter(
        {"200": left, **({"429": refused} if refused else {})}
    )
    (listed,) = served.send(("GET", "/v3/webhooks", None))
    assert len(listed.data) == endpoints.MAX_ENDPOINTS
    count_cases(requests=PROCESSES * THREADS)


@pytest.mark.guarantee("limits")
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("limits.maxInteractionsPerUserId", "matched"),
        pytest.param("messagesLimit", "plain", marks=whole),
        pytest.param("limits.maxInteractionsPerUserId", "plain", marks=pytest.mark.long),
        pytest.param("messagesLimit", "matched", marks=pytest.mark.long),
    ],
)
def test_a_limit_is_reached_and_never_exceeded(how: str, name: str, served: Service, count_cases: CaseCounter) -> None:
    limits = {"messagesLimit": None, "limits": {"maxInteractionsPerUserId": None}}
    limits |= {"messagesLimit": LIMIT} if name == "messagesLimit" else {"limits": {"maxInteractionsPerUserId": LIMIT}}
    # Delete the conversation first, because messages from other tests count too.
    delete = ("DELETE", "/v3/agents/support/convos/ann", None)
    empty = ("POST", STATE, {"turns": [], "metadata": {"userName": f"{how}, {name}"}})
    served.send(("PATCH", "/v3/agents/support", {"agent": limits}), delete, empty)

    taken = sum(int(line) for lines in run_concurrently(served, "append", how) for line in lines)

    one_more = {"turns": [{"from": "human", "messages": [{}] * (LIMIT + 1)}]}
    read, refused = served.send(("POST", STATE, {}), ("POST", STATE, one_more))
    counts = read.json["chatState"]
    assert (counts["messagesNum"], counts["interactionsNum"], len(read.json["turns"])) == (LIMIT, LIMIT, LIMIT)
    # With If-Match, every accepted message is stored. Without If-Match, one message may have replaced another.
    assert taken == LIMIT if how == "matched" else taken >= LIMIT
    assert (refused.status, refused.json["limit"]) == (429, {"name": name, "max": LIMIT, "used": LIMIT, "left": 0})
    count_cases(requests=taken)
