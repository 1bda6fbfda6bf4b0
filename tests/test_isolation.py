"""The isolation matrix (§5), which sends every route in `contract/routes.json` as every caller of two workspaces.

Both workspaces use the same ids for an agent, a client, an organisation and a conversation. Each also has other
records. A rejected request changes nothing in any table. An accepted request neither returns nor changes data of the
other workspace. The response for another workspace's record is the same as for an unknown record.
"""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import pytest

from chalicelib import clock, storage
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.workspaces import store as workspaces
from tests import extensions
from tests.api import Answer, Api
from tests.assertions import refused
from tests.conftest import PassTime
from tests.engines import new_engine
from tests.guarantees import CaseCounter
from tests.moto_tables import items, restore, snapshot
from tests.operations import CREATED_WHEN_NAMED, GUARDED, MESSAGES, ROUTES, STATE, named, populate, scope_of, send
from tests.selection import first_case, one_of_each

pytestmark = pytest.mark.guarantee("isolated")

# §5: the status for each credential on each row's routes. A read-only token gets 200 only for GET.
ROWS = ("v3", "edge", "visitor", "workspace")
OPENS: dict[str, tuple[int, int, int, int]] = {
    "workspace key": (200, 200, 200, 200),
    "access token": (200, 403, 403, 403),
    "read-only token": (200, 403, 403, 403),
    "agent key": (403, 200, 200, 403),
    "visitor token": (403, 403, 200, 403),
}
# Bodies that a visitor token may send, if they differ from the body in the contract's route table.
BY_VISITOR = {STATE: '{"metadata": {"userName": "$mark"}}'}
UNAUTHENTICATED = (401, 401, 401, 401)
KINDS = (tokens.WORKSPACE, tokens.ACCESS, tokens.AGENT, tokens.VISITOR)
EXPECTED: dict[str, tuple[int, int, int, int]] = {
    **OPENS,
    "key of another agent": (403, 403, 403, 403),
    "token of another visitor": (403, 403, 403, 403),
    "no header": UNAUTHENTICATED,
    "empty header": UNAUTHENTICATED,
    "scheme alone": UNAUTHENTICATED,
    "scheme and a space": UNAUTHENTICATED,
    "another scheme": UNAUTHENTICATED,
    "malformed": UNAUTHENTICATED,
    "mistyped": UNAUTHENTICATED,
    "webhook secret": UNAUTHENTICATED,
    **{f"{what} {kind}": UNAUTHENTICATED for what in ("unknown", "revoked", "expired") for kind in KINDS},
}

# Path parameters for which a caller may use only its own id.
OWN = {**{one: set[str]() for one in OPENS}, "agent key": {"agent_id"}, "visitor token": {"agent_id", "user_id"}}

Items = dict[str, list[dict[str, Any]]]


class Tenant(NamedTuple):
    """A workspace with a record of every kind, and the headers of its callers.

    Both tenants have the same caller-chosen `ids`. `only` contains ids that the other tenant does not have. `canaries`
    contains the tenant's texts, tokens and generated ids. None of these may reach the other tenant.
    """

    workspace_id: str
    headers: dict[str, dict[str, str]]
    ids: dict[str, str]
    only: dict[str, str]
    canaries: list[str]


class Stage(NamedTuple):
    """Two tenants, and a snapshot of all tables before each request."""

    ours: Tenant
    theirs: Tenant
    tables: bytes


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with new_engine():
        ours, theirs = tenant("canary-ours"), tenant("canary-theirs")
        for headers in (*ours.headers.values(), *theirs.headers.values()):
            Api().call("GET", "/v3/agents", headers=headers)  # stores the credential's first use
        yield Stage(ours, theirs, snapshot())


def tenant(mark: str) -> Tenant:
    made = workspaces.create(mark)
    api = Api(made.workspace_key)
    own = {"Authorization": f"Bearer {made.workspace_key}"}
    names = ("agent_id", "client_id", "org_id", "user_id")
    ids = populate(own, mark, dict.fromkeys(names, "same"))
    only = populate(own, mark, dict.fromkeys(names, f"{mark}-id"))
    made_up = {
        one
        for has in (ids, only)
        for one in has.values()
        if one not in ("same", f"{mark}-id", *extensions.joined("CHOSEN").values())
    }
    keys = [api.get(f"/v2/agents/{one['agent_id']}").json["SECRET_API_KEY"] for one in (ids, only)]
    visitors = [
        send("POST /agents/{agent_id}/interact/{user_id}/visitor-tokens", own, one).data["token"] for one in (ids, only)
    ]
    read_only = api.post("/v3/tokens", {"token": {"name": mark, "readOnly": True}}).data["token"]
    ended = {
        f"{what} {kind}": _ended_token(made.workspace_id, kind, what)
        for kind in KINDS
        for what in ("revoked", "expired")
    }
    bearers = {
        "workspace key": made.workspace_key,
        "access token": made.access_token,
        "read-only token": read_only,
        "agent key": keys[0],
        "key of another agent": keys[1],
        "visitor token": visitors[0],
        "token of another visitor": visitors[1],
        "malformed": "nonsense",
        "mistyped": made.workspace_key[:-1] + ("a" if made.workspace_key[-1] != "a" else "b"),
        "webhook secret": made.workspace_secret,
        **{f"unknown {kind}": tokens.new(kind) for kind in KINDS},
        **ended,
    }
    headers = {
        "no header": {},
        "empty header": {"Authorization": ""},
        "scheme alone": {"Authorization": "Bearer"},
        "scheme and a space": {"Authorization": "Bearer "},
        "another scheme": {"Authorization": f"Basic {made.workspace_key}"},
        **{name: {"Authorization": f"Bearer {token}"} for name, token in bearers.items()},
    }
    return Tenant(made.workspace_id, headers, ids, only, [mark, made.workspace_id, *made_up, *bearers.values()])


def _ended_token(workspace_id: str, kind: str, how: str) -> str:
    agent_id = "same" if kind in (tokens.AGENT, tokens.VISITOR) else None
    issued = credentials.prepare(workspace_id, kind, "ended", 3600 if how == "revoked" else -1, agent_id=agent_id)
    with storage.unit_of_work():
        credentials.stage(issued)
    if how == "revoked":
        credentials.revoke(issued.credential)
    return issued.token


def items_of(tenant: Tenant) -> Items:
    """Return a tenant's items by table."""
    return {name: [one for one in all_ if tenant.workspace_id in repr(one)] for name, all_ in items().items()}


def leaked(answer: Answer, tenant: Tenant, sent: dict[str, str]) -> list[str]:
    """Return which canaries of a tenant a response's body and headers contain, except ids that the caller sent."""
    text = without_sent_ids(answer.text + repr(answer.headers), sent)
    return [one for one in tenant.canaries if one in text]


def without_sent_ids(text: str, sent: dict[str, str]) -> str:
    for name, value in sent.items():
        text = text.replace(value, f"<{name}>")
    return text


def normalised(answer: Answer, sent: dict[str, str]) -> tuple[int, str, dict[str, str]]:
    """Return a response with placeholders for the sent ids and generated values."""
    generated = r"(cams|whsec)_[\w+/=]+|[0-9a-z]{26,37}|(?<=\"mid\":\")[^\"]+"
    headers = {name: value for name, value in answer.headers.items() if name not in ("etag", "x-request-id")}
    return answer.status, re.sub(generated, "<generated>", without_sent_ids(answer.text, sent)), headers


def expected_status(name: str, caller: str) -> int:
    row = ROUTES[name]["credential"]
    if caller == "read-only token" and row == "v3" and not scope_of(name).endswith(":read"):
        return 403
    return EXPECTED[caller][ROWS.index(row)]


def sent(name: str, tenant: Tenant, caller: str, ids: dict[str, str]) -> Answer:
    """Send an operation as a caller of this tenant."""
    body = BY_VISITOR.get(name) if caller == "visitor token" else None
    return send(name, tenant.headers[caller], ids, body=body)


@one_of_each(lambda name: (ROUTES[name]["credential"], name.split()[0]))
@pytest.mark.parametrize("name", GUARDED)
def test_a_route_accepts_exactly_the_credentials_of_its_row(stage: Stage, count_cases: CaseCounter, name: str) -> None:
    ours, theirs = stage.ours, stage.theirs
    everything, others = items(), items_of(theirs)
    opened = [caller for caller in EXPECTED if expected_status(name, caller) == 200]
    for caller in EXPECTED.keys() - {*opened}:
        answer = sent(name, ours, caller, ours.ids)
        refused(answer, expected_status(name, caller), interaction=name.endswith("/state"))
        assert leaked(answer, ours, {}) == leaked(answer, theirs, {}) == [], caller
    assert items() == everything
    for caller in opened:
        answer = sent(name, ours, caller, ours.ids)
        assert answer.status == 200, caller
        assert leaked(answer, theirs, {}) == [], caller
        assert items_of(theirs) == others, caller
        restore(stage.tables)
    count_cases(states=len(EXPECTED))


@one_of_each(lambda name: tuple(named(name)))
@pytest.mark.parametrize("name", GUARDED)
def test_another_workspace_s_record_is_answered_like_an_unknown_one(
    stage: Stage, count_cases: CaseCounter, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    now, start = clock.milliseconds(), clock.monotonic()
    monkeypatch.setattr(clock, "milliseconds", lambda: now)
    monkeypatch.setattr(clock, "monotonic", lambda: start)  # the response of a tool test contains the duration
    ours, theirs = stage.ours, stage.theirs
    everything, protected = items(), items_of(ours)
    variables = named(name)
    crossings = [frozenset(some) for size in range(len(variables) + 1) for some in combinations(variables, size)]
    cases = {(caller, crossed): crossing_status(name, caller, crossed) for caller in OPENS for crossed in crossings}

    def cross(caller: str, crossed: frozenset[str]) -> None:
        """Send another workspace's ids, then unknown ids, and assert that the responses are equal."""
        foreign = {one: ours.only[one] for one in crossed}
        unknown = {one: f"{value[:-4]}zzzz" for one, value in foreign.items()}
        answers = []
        for ids in (foreign, unknown):
            answer = sent(name, theirs, caller, {**theirs.ids, **ids})
            assert answer.status == cases[caller, crossed], (caller, crossed)
            assert leaked(answer, ours, ids) == [], (caller, crossed)
            if answer.status in (200, 201):
                assert items_of(ours) == protected, (caller, crossed)
                restore(stage.tables)
            answers.append(normalised(answer, ids))
        assert answers[0] == answers[1], (caller, crossed)

    accepted = [case for case, status in cases.items() if status in (200, 201)]
    for case in cases.keys() - {*accepted}:
        cross(*case)
    assert items() == everything
    for case in accepted:
        cross(*case)
    count_cases(tenants=len(OPENS) * len(crossings), states=2 * len(OPENS) * len(crossings))


def crossing_status(name: str, caller: str, crossed: frozenset[str]) -> int:
    """Return the expected status for `crossed` ids that belong to another workspace or are unknown."""
    status = expected_status(name, caller)
    if status == 200 and crossed & OWN[caller]:
        return 403
    if status == 200 and crossed and crossed <= extensions.joined("CREATED_WHEN_NAMED").get(name, set()):
        return 201
    return 404 if status == 200 and not crossed <= CREATED_WHEN_NAMED.get(name, set()) else status


@pytest.mark.parametrize("name", [MESSAGES, "POST /v3/agents/{agent_id}/convos/{convo_id}/messages"])
def test_a_rejected_reply_shows_only_the_caller_s_conversation(
    stage: Stage, count_cases: CaseCounter, name: str
) -> None:
    ours, theirs = stage.ours, stage.theirs
    everything = items()
    for caller in (one for one in OPENS if expected_status(name, one) == 200):
        for seen in ("unknown", theirs.only["message_id"]):
            body = json.dumps({"messages": [{}], "inReplyTo": seen})
            answer = send(name, ours.headers[caller], ours.ids, body=body)
            assert (answer.status, answer.json["code"]) == (409, "OUTDATED"), caller
            assert answer.json["conversation"]["newest"]["mid"] == ours.ids["message_id"], caller
            assert leaked(answer, theirs, {}) == [], caller
    assert items() == everything
    count_cases(states=2 * len(OPENS))


REVOCATIONS = {
    "workspace key": "GET /v2/clients",
    "access token": "GET /v3/agents",
    "agent key": "GET /v2/agents/{agent_id}",
    "visitor token": STATE,
}


@pytest.mark.parametrize("kind", REVOCATIONS)
@first_case
def test_a_revoked_credential_is_refused_after_thirty_seconds(
    stage: Stage, count_cases: CaseCounter, pass_time: PassTime, kind: str
) -> None:
    ours = stage.ours
    held = ours.headers[kind]
    statuses = [sent(REVOCATIONS[kind], ours, kind, ours.ids).status]
    row = credentials.find_active(tokens.fingerprint(held["Authorization"].removeprefix("Bearer ")))
    assert row is not None
    credentials.revoke(row)
    for seconds in (29, 2):
        pass_time(seconds)
        statuses.append(sent(REVOCATIONS[kind], ours, kind, ours.ids).status)
    restore(stage.tables)
    assert statuses == [200, 200, 401]
    count_cases(states=2)
