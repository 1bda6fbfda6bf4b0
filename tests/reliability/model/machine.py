"""The rules' base class: two workspaces, their callers, and requests whose responses are compared."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from chalicelib import clock
from chalicelib.workspaces import store as workspaces
from tests.api import Answer, Api
from tests.engines import clear
from tests.moto_tables import drop_history
from tests.operations import DISABLED, ROUTES, scope_of
from tests.reliability.model.answers import MADE, Expected, Record, Refused, assert_equal, missing
from tests.reliability.model.forms import Ids, platform

_MESSAGES = "GET /v3/agents/{agent_id}/convos/{convo_id}/messages"
COVERED: set[str] = set()
# Index of the record that a rule picks, modulo the number of records.
picks = st.integers(0, 11)
callers = st.sampled_from(["key", "key", "key", "token", "token", "read only", "agent", "other agent", "anonymous"])
conditions = st.sampled_from([None] * 8 + ["match", "match", "stale", "any", "none", "unless", "weak"])
_START = 1_800_000_000_000
_FAILED = "If-Match does not match the record's current ETag; read it and try again."
_RULED_OUT = "If-None-Match matches the existing record; read it and try again."


def route(name: str, /, **arguments: st.SearchStrategy[Any]) -> Callable[..., Any]:
    """Declare a rule for a route, unless its extension is off. Rules add further arguments.

    `at` picks the workspace and `caller` the credential.
    """
    if name in DISABLED:
        return lambda method: method
    assert name in ROUTES, name
    COVERED.add(name)
    decorated: Callable[..., Callable[..., Any]] = rule
    return decorated(at=picks, caller=callers, **arguments)


class Workspace:
    """The model of a workspace, which stores records by kind and id in creation order."""

    def __init__(self, name: str) -> None:
        made = workspaces.create(name)
        self.id, self.key, self.token = made.workspace_id, made.workspace_key, made.access_token
        self.read_only = ""  # the access token
        self.key_ends = clock.seconds() + 365 * 86_400
        self.record = Record({"name": name, "createdAt": clock.iso(clock.seconds())})
        self.kinds: dict[str, dict[Any, Record]] = {}
        self.agent_keys: dict[str, str] = {}
        self.ids: Ids = {}

    def of(self, kind: str) -> dict[Any, Record]:
        """Return all records of this kind."""
        return self.kinds.setdefault(kind, {})

    def get(self, kind: str, key: Any) -> Record:
        """Return a record. Raise Refused if the record is unknown."""
        if key not in self.of(kind):
            raise missing(kind)
        return self.of(kind)[key]

    def delete_agent(self, agent_id: str) -> None:
        """Delete an agent and all its records."""
        self.of("agent").pop(agent_id)
        self.agent_keys.pop(agent_id, None)
        for kind in ("tool", "lead"):
            for key, record in list(self.of(kind).items()):
                if record.document["agentId"] == agent_id:
                    del self.of(kind)[key]
        for kind in ("conversation", "analytics record"):
            for key in [key for key in self.of(kind) if key[0] == agent_id]:
                del self.of(kind)[key]


class Machine(RuleBasedStateMachine):
    """The service and its model. Other modules define the rules. `compared` counts compared responses."""

    compared = 0

    def __init__(self) -> None:
        super().__init__()
        self._patch = pytest.MonkeyPatch()
        self.now = _START
        self._patch.setattr(clock, "milliseconds", lambda: self.now)
        self._patch.setattr(clock, "monotonic", lambda: self.now / 1000)
        clear()
        drop_history()
        self.workspaces = [Workspace("One"), Workspace("Two")]
        for workspace in self.workspaces:
            self.now += 1000
            made = Api(workspace.key).post("/v3/tokens", {"token": {"name": "read only", "readOnly": True}}).data
            workspace.read_only = made["token"]
            listed = Api(workspace.key).get("/v3/tokens").data
            workspace.kinds["token"] = {token["id"]: Record(token) for token in listed}

    def teardown(self) -> None:
        """Restore the clock."""
        self._patch.undo()

    def workspace(self, at: int) -> Workspace:
        """Return one of the two workspaces. The first workspace is returned more often."""
        return self.workspaces[at % 3 == 2]

    def known(self, kind: str, at: int, pick: int, unknown: Any = "nothing") -> Any:
        """Return a record key of this kind from either workspace, or an unknown key."""
        keys = [*self.workspace(at).of(kind), *self.workspaces[pick % 2].of(kind), unknown]
        return keys[pick % len(keys)]

    def seconds(self) -> int:
        """Return the current time in Unix seconds."""
        return self.now // 1000

    def ask(
        self,
        name: str,
        at: int,
        caller: str,
        expected: Callable[[Workspace], Expected],
        body: Any = None,
        condition: str | None = None,
        record: Record | None = None,
        query: str = "",
        **ids: str,
    ) -> Answer:
        """Send a request and compare the response with the model's. Preconditions refer to `record`.

        The model changes only if the request is authorized.
        """
        self.now += 1000
        workspace, (method, path) = self.workspace(at), name.split()
        token = self._token(workspace, caller, ids.get("agent_id"))
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        condition = None if record is not None and record.tag is None else condition
        headers |= _condition(condition, record)
        status, body_expected, of = 200, None, None
        try:
            self._authorize(workspace, name, caller, ids)
            if "agent_id" in ids and not name.endswith("/agents/{agent_id}"):
                workspace.get("agent", ids["agent_id"])
            if condition:
                self._check(condition, record, method)
            body_expected, of, status = expected(workspace)
        except Refused as refused:
            status, body_expected = refused.status, refused.body()
            if name.endswith("/state"):
                agent = workspace.of("agent").get(ids["agent_id"])
                body_expected |= {"appError": body_expected["message"]}
                if agent is not None and status not in (401, 403):
                    body_expected |= {"platformName": platform(agent.document)}
        except NotModified:
            status, body_expected, of = 304, "", record
        answer = Api().call(method, path.format(**ids) + query, body, headers)
        assert_equal(answer, status, body_expected, f"{name} {ids} {query} by {caller}, {condition}, {str(body)[:300]}")
        self._check_tag(answer, of, name)
        Machine.compared += 1
        return answer

    def _token(self, workspace: Workspace, caller: str, agent_id: str | None) -> str | None:
        keys = workspace.agent_keys
        other = next((key for name, key in keys.items() if name != agent_id), workspace.key)
        own = keys.get(agent_id or "", other)
        tokens = {"key": workspace.key, "token": workspace.token, "read only": workspace.read_only}
        return {**tokens, "agent": own, "other agent": other, "anonymous": None}[caller]

    def _authorize(self, workspace: Workspace, name: str, caller: str, ids: dict[str, str]) -> None:
        """Check whether §5 allows the credential, and whether an agent key belongs to the agent."""
        needed = ROUTES[name]["credential"]
        token = self._token(workspace, caller, ids.get("agent_id"))
        if needed == "none":
            return
        if token is None:
            raise Refused(401, "A valid bearer token is required.")
        if caller in ("token", "read only"):
            used = list(workspace.of("token").values())[caller == "read only"]
            used.document["lastUsedAt"] = MADE  # last use is stored to within ten minutes
        kind = self.kind(workspace, caller, ids.get("agent_id"))
        of_agents = {"edge", "visitor"}
        opens = {"key": {"v3", *of_agents, "workspace"}, "token": {"v3"}, "read only": {"v3"}, "agent": of_agents}[kind]
        is_own = kind != "agent" or workspace.agent_keys.get(ids.get("agent_id", "")) == token
        if needed not in opens or not is_own:
            raise Refused(403, "This credential does not permit this request.")
        if kind == "read only" and not name.startswith("GET "):
            raise Refused(403, f"The access token lacks the scope {scope_of(name)}.")

    def kind(self, workspace: Workspace, caller: str, agent_id: str | None = None) -> str:
        """Return the kind of credential that a caller uses. If the agent has no key, this is the workspace key."""
        if caller in ("token", "read only"):
            return caller
        return "key" if self._token(workspace, caller, agent_id) == workspace.key else "agent"

    def lasting(self, at: int, caller: str, *paths: str) -> dict[str, Any]:
        """Return the warnings that an access token receives about access that outlives the token."""
        message = "remains in effect after this access token expires"
        warnings = [{"path": path, "message": message} for path in paths]
        return {"warnings": warnings} if self.kind(self.workspace(at), caller) == "token" else {}

    def _check(self, condition: str, record: Record | None, method: str) -> None:
        matches = {"match": record is not None, "any": record is not None, "stale": False}
        if method != "GET" and not matches.get(condition, True):
            raise Refused(412, _FAILED)
        ruled_out = record is not None and condition in ("none", "unless", "weak")
        if ruled_out:
            if method == "GET":
                raise NotModified
            raise Refused(412, _RULED_OUT)

    def _check_tag(self, answer: Answer, record: Record | None, name: str) -> None:
        tag = answer.headers.get("etag")
        if record is None:
            has_tag = name == _MESSAGES  # the list of messages has the conversation's tag
            assert has_tag or tag is None, f"{name}: the response has an ETag, but there is no record"
            return
        assert tag, f"{name}: no ETag"
        tag = re.sub(r'\.[0-9a-f]{16}"$', '"', tag)  # remove the part for the tools in an agent's response
        assert record.tag in (None, tag), f"{name}: the ETag differs from that of the record's last save"
        record.tag = tag


class NotModified(Exception):
    """The model's 304 response: the caller already has the current record."""


def _condition(condition: str | None, record: Record | None) -> dict[str, str]:
    tag = record.tag if record is not None and record.tag else '"unknown-tag"'
    return {
        None: {},
        "match": {"If-Match": f'"x", {tag}'},
        "stale": {"If-Match": '"stale"'},
        "any": {"If-Match": "*"},
        "none": {"If-None-Match": "*"},
        "unless": {"If-None-Match": tag},
        "weak": {"If-None-Match": f"W/{tag}"},
    }[condition]
