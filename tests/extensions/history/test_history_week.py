"""The history of a random week whose stream batches are redelivered, shuffled, bisected and interrupted."""

import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

from chalicelib import clock, errors, followers, storage
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.extensions.history.extension import TABLES
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.guarantees import CaseCounter
from tests.listed_pages import flatten, read_pages
from tests.webhooks import pipeline

HOUR, DAY = 3_600, 24 * 3_600
WEEK = 7 * DAY
SECRET = "secret-value"
Record = dict[str, Any]


class ExpectedEntry(NamedTuple):
    """The history entry that a change should produce."""

    at: str
    resource: str
    operation: str
    by: str
    changed: tuple[str, ...] | None  # None for creations, because their members are not compared


class Week:
    """Sends random requests, and lists the history entries that they should produce."""

    def __init__(self, workspace: NewWorkspace, seed: int) -> None:
        self.expected: list[ExpectedEntry] = []
        self.chance, self._number = random.Random(seed), 0
        self._main = Api(workspace.workspace_key)
        self._apis = {"first key": self._main, "first token": Api(workspace.access_token)}
        self._records: dict[str, list[str]] = {"agents": [], "tools": [], "clients": [], "orgs": [], "webhooks": []}
        self._tools_of: dict[str, list[str]] = {}
        self._key_of: dict[str, str] = {}

    def do_something(self) -> None:
        """Send a randomly chosen kind of request."""
        self._number += 1
        kind = self.chance.choice([*self._records, "tokens", "rotation"])
        if kind == "tokens":
            return self._issue_and_revoke()
        if kind == "rotation":
            return self._rotate()
        owned, what = self._records[kind], self.chance.choice(("create", "update", "update", "nothing", "delete"))
        if not owned or what == "create":
            return self._create(kind)
        record = self.chance.choice(owned)
        if what == "delete":
            return self._delete(kind, record)
        return self._update(kind, record, is_change=what == "update")

    def _note(self, resource: str, operation: str, by: str, *changed: str) -> None:
        members = None if operation == "create" else tuple(sorted(changed))
        self.expected.append(ExpectedEntry(clock.iso(clock.seconds()), resource, operation, by, members))

    def _as(self) -> tuple[str, Api]:
        return self.chance.choice([*self._apis.items()])

    def _create(self, kind: str) -> None:
        by, api = self._as()
        if kind == "tools" and not self._records["agents"]:
            kind = "agents"
        agent = self.chance.choice(self._records["agents"]) if kind == "tools" else ""
        path = f"agents/{agent}/tools" if agent else kind
        made = api.post(f"/v3/{path}", {_BODY[kind]: _NEW[kind]})
        record: str = made.data["ID" if kind in _OF_V2 else "id"]
        self._records[kind].append(record)
        self._note(f"{kind}/{record}", "create", by)
        if kind == "tools":
            self._tools_of.setdefault(agent, []).append(record)
        if kind == "agents":
            self._note(f"keys/{self._agent_key(record)}", "create", by)

    def _agent_key(self, agent: str) -> str:
        row = storage.find(credentials.CredentialRow, tokens.fingerprint(self._secret_of(agent)))
        assert row is not None
        self._key_of[agent] = row.credential_id
        return row.credential_id

    def _secret_of(self, agent: str) -> str:
        key: str = self._main.get(f"/v3/agents/{agent}").data["SECRET_API_KEY"]
        return key

    def _update(self, kind: str, record: str, *, is_change: bool) -> None:
        (member, secret), is_v2 = _CHANGED[kind], kind in _OF_V2
        path = f"/{'v2' if is_v2 else 'v3'}/{kind}/{record}"
        before = self._main.get(path).data
        by, api = ("first key", self._main) if is_v2 else self._as()
        value = f"{SECRET} {self._number}" if is_change else before.get(member)
        change = {member: value, **({secret: value} if secret and is_change else {})}
        assert (api.post(path, change) if is_v2 else api.patch(path, {_BODY[kind]: change})).status == 200
        if is_change:
            self._note(f"{kind}/{record}", "update", by, *change)

    def _delete(self, kind: str, record: str) -> None:
        by, api = self._as()
        assert api.delete(f"/v3/{kind}/{record}").status == 200
        self._records[kind].remove(record)
        self._note(f"{kind}/{record}", "delete", by)
        if kind == "agents":
            self._note(f"keys/{self._key_of[record]}", "delete", by)
            for tool in self._tools_of.pop(record, []):
                if tool in self._records["tools"]:
                    self._records["tools"].remove(tool)
                    self._note(f"tools/{tool}", "delete", by)

    def _issue_and_revoke(self) -> None:
        issued = self._main.post("/v3/tokens", {"token": {"name": f"{SECRET} token"}}).data
        self._note(f"tokens/{issued['id']}", "create", "first key")
        assert Api(issued["token"]).get("/v3/agents").status == 200
        assert self._main.delete(f"/v3/tokens/{issued['id']}").status == 200
        self._note(f"tokens/{issued['id']}", "delete", "first key")

    def _rotate(self) -> None:
        if self._records["webhooks"]:
            record = self.chance.choice(self._records["webhooks"])
            assert self._main.post(f"/v3/webhooks/{record}/rotate").status == 200
            self._note(f"webhooks/{record}", "update", "first key", "secrets")


_BODY = {"agents": "agent", "tools": "tool", "clients": "client", "orgs": "organisation", "webhooks": "webhook"}
_NEW: dict[str, Any] = {
    "agents": {"title": SECRET, "chatappToken": SECRET},
    "tools": {"name": SECRET, "serverUrlSecret": SECRET},
    "clients": {"name": SECRET, "dashboardPassword": SECRET},
    "orgs": {"name": SECRET},
    "webhooks": {"url": "https://example.com/", "events": ["lead_captured"]},
}
# Resources that are created and deleted through v3, and saved through v2.
_OF_V2 = ("clients", "orgs")
# An ordinary member and a secret member of each resource.
_CHANGED = {
    "agents": ("title", "chatappToken"),
    "tools": ("name", "serverUrlSecret"),
    "clients": ("name", "dashboardPassword"),
    "orgs": ("name", ""),
    "webhooks": ("description", ""),
}


@pytest.mark.guarantee("changes")
def test_the_history_of_a_week_has_every_change_once_and_no_secret(
    workspace: NewWorkspace, api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    _compare(workspace, api, pass_time, monkeypatch, count_cases, 60)


@pytest.mark.guarantee("changes")
@pytest.mark.long
def test_the_history_of_a_busy_week_has_every_change_once_and_no_secret(
    workspace: NewWorkspace, api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    _compare(workspace, api, pass_time, monkeypatch, count_cases, 1_000)


def _compare(
    workspace: NewWorkspace,
    api: Api,
    pass_time: PassTime,
    patch: pytest.MonkeyPatch,
    count_cases: CaseCounter,
    number: int,
) -> None:
    pass_time(0)
    stream, week = pipeline.Stream(), Week(workspace, number)
    with pipeline.cheap_transactions():
        for _ in range(number):
            week.do_something()
            pass_time(WEEK // number)
    records = stream.read(*TABLES)
    faults = _keep_all(records, week.chance, patch)
    entries = flatten(read_pages(api, "/v3/history", 100))
    expected = [one if one.changed is not None else one._replace(changed=()) for one in week.expected]
    assert Counter(map(_as_expected, entries)) == Counter(expected)
    assert [one["id"] for one in entries] == sorted((one["id"] for one in entries), reverse=True)
    assert all(one["changed"] for one in entries if one["operation"] == "create")
    assert SECRET not in str(entries)
    assert len(entries) >= number // 2
    count_cases(faults=faults, states=len(entries))


def _as_expected(change: Record) -> ExpectedEntry:
    # Only top-level member names are compared, because a rotation moves all signing secrets.
    changed = () if change["operation"] == "create" else {one.split(".")[0] for one in change["changed"]}
    members = tuple(sorted(changed))
    return ExpectedEntry(change["at"], change["resource"], change["operation"], change["by"]["name"], members)


def _keep_all(records: list[Record], chance: random.Random, patch: pytest.MonkeyPatch) -> int:
    """Deliver the records in random order, 20 % of them twice; bisect failing batches. Return the number of faults."""
    save, faults = storage.save_many, Counter[str]()

    def fails_sometimes(rows: Any) -> None:
        if chance.random() < 0.3:
            faults["before"] += 1
            raise errors.Unavailable
        save(rows)
        if chance.random() < 0.2:
            faults["after"] += 1
            raise errors.Unavailable

    records = records + chance.sample(records, len(records) // 5)
    chance.shuffle(records)
    with patch.context() as faulty:
        faulty.setattr(storage, "save_many", fails_sometimes)
        for table in TABLES:
            own = [one for one in records if one["eventSourceARN"].split("/")[1] == storage.table(table)]
            for start in range(0, len(own), 20):
                _keep(table, own[start : start + 20])
    return faults.total()


def _keep(table: str, batch: list[Record]) -> None:
    try:
        assert getattr(followers, f"follow_{table}")({"Records": batch}, None) is None
    except errors.Unavailable:
        half = len(batch) // 2
        for part in (batch[:half], batch[half:]) if half else (batch,):
            _keep(table, part)
