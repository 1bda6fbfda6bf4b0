"""The secrets that each credential can read. Real requests cover credentials × secret members × operations (§5).

Each secret member in the specification has a unique value. The tests call every operation with each credential, and
search every response for these values and for generated keys and tokens. `pytest -s` prints the operations. The table
in docs/guide.md shows the result; `CAMS_UPDATE_DOCS=1` writes the table.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from chalicelib.credentials import scopes
from chalicelib.webhooks import events
from chalicelib.workspaces import store as workspaces
from tests import generated_docs
from tests.api import Api
from tests.contract.member_table import alone, members
from tests.engines import new_engine
from tests.guarantees import CaseCounter
from tests.moto_tables import restore, snapshot
from tests.operations import GUARDED, ROUTES, STATE, populate, send
from tests.webhooks import pipeline

pytestmark = pytest.mark.guarantee("isolated")

CREDENTIALS = (
    "workspace key",
    "access token",
    "scoped token",
    "read-only token",
    "agent key",
    "visitor token",
    "webhook receiver",
)
# Names of generated secrets, by value prefix.
GENERATED = {
    "cams_agent_": "agent: SECRET_API_KEY",
    "whsec_": "webhook: signingSecret",
    "cams_access_": "access token: token",
    "cams_visitor_": "visitor token: token",
    "cams_workspace_": "workspace key: key",
    "cams_events_": "workspace: workspaceSecret",
}
# Secret member -> credential -> the operations whose responses show the member.
Shows = dict[str, dict[str, set[str]]]


class Observed(NamedTuple):
    """The secrets that each credential can read, and the operations that accept each credential."""

    shows: Shows
    opened: dict[str, set[str]]


@pytest.fixture(scope="module")
def observed() -> Iterator[Observed]:
    with new_engine(), pytest.MonkeyPatch.context() as patch, pipeline.inbox() as inbox:
        patch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
        made = workspaces.create("Observed")
        api, stream = Api(made.workspace_key), pipeline.Stream()
        api.post("/v3/webhooks", {"webhook": {"url": inbox.url(), "events": list(events.TYPES)}}).data  # noqa: B018
        own = {"Authorization": f"Bearer {made.workspace_key}"}
        ids = populate(own, "observed", dict.fromkeys(("agent_id", "client_id", "org_id", "user_id"), "one"))
        values = fill(api, ids)
        pipeline.fan_out(stream.read())
        pipeline.drain()
        bearers = {
            "workspace key": made.workspace_key,
            "access token": made.access_token,
            "scoped token": issue(api, scopes=[one for one in scopes.ALL if one.endswith(":write")]),
            "read-only token": issue(api, readOnly=True),
            "agent key": api.get("/v2/agents/one").json["SECRET_API_KEY"],
            "visitor token": api.post("/agents/one/interact/one/visitor-tokens", {"token": {}}).data["token"],
        }
        shows: Shows = {name: {one: set() for one in CREDENTIALS} for name in (*values, *GENERATED.values())}
        opened = {one: set() for one in CREDENTIALS}
        tables = snapshot()
        for credential, bearer in bearers.items():
            for name in GUARDED:
                # A visitor token cannot be used to replace a conversation's state.
                body = "{}" if (name, credential) == (STATE, "visitor token") else None
                answer = send(name, {"Authorization": f"Bearer {bearer}"}, ids, body=body)
                if answer.status == 200 and not name.startswith("GET "):
                    restore(tables)
                if answer.status == 200:
                    opened[credential].add(name)
                for member in found_in(answer.text, values):
                    shows[member][credential].add(name)
        for post in inbox.posts:
            opened["webhook receiver"].add(post.body["type"])
            for member in found_in(post.text.decode(), values):
                shows[member]["webhook receiver"].add(post.body["type"])
        yield Observed(shows, opened)


def fill(api: Api, ids: dict[str, str]) -> dict[str, str]:
    """Give every secret member in the specification a unique value; return the values by member."""
    values: dict[str, str] = {}

    def record(resource: str) -> dict[str, Any]:
        whole: dict[str, Any] = {}
        for member in members(resource):
            if member.row.get("secret") and member.path != "SECRET_API_KEY":
                text = f"<{resource} {member.path}>"
                values[f"{LABELS[resource]}: {member.path}"] = text
                merge(whole, alone(member, [text] if member.type.endswith("[]") else text))
        return whole

    fields = [{"key": "Authorization", "in": "header", **record("tool_field")}]
    for answer in (
        api.patch("/v3/agents/one", {"agent": record("agent_v3")}),
        api.patch(f"/v3/tools/{ids['tool_id']}", {"tool": {**record("tool"), "fields": fields}}),
        api.post("/v2/clients/one", record("client")),
    ):
        assert answer.status == 200, answer.text
    return values


LABELS = {"agent_v3": "agent", "tool": "tool", "tool_field": "field of a tool", "client": "client"}


def merge(into: dict[str, Any], other: dict[str, Any]) -> None:
    for name, value in other.items():
        if isinstance(value, dict):
            merge(into.setdefault(name, {}), value)
        else:
            into[name] = value


def issue(api: Api, **rights: Any) -> str:
    token: str = api.post("/v3/tokens", {"token": {"name": "observed", **rights}}).data["token"]
    return token


def found_in(text: str, values: dict[str, str]) -> set[str]:
    generated = {GENERATED[start] for start in re.findall("|".join(GENERATED), text)}
    return generated | {member for member, value in values.items() if value in text}


def test_the_guide_lists_which_credential_is_shown_which_secret(observed: Observed, count_cases: CaseCounter) -> None:
    members_by_credentials: dict[tuple[str, str], list[str]] = {}
    for member, by_credential in sorted(observed.shows.items()):
        print(member, *(f"\n    {one}: {', '.join(sorted(names)) or '-'}" for one, names in by_credential.items()))  # noqa: T201
        cells = {credential: cell(observed, member, credential) for credential in CREDENTIALS}
        shown, hidden = (
            ", ".join(one for one, text in cells.items() if text == wanted) for wanted in ("shown", "hidden")
        )
        members_by_credentials.setdefault((shown, hidden), []).append(member)
    rows = [(by_record(names), *credentials) for credentials, names in members_by_credentials.items()]
    table = generated_docs.table(["Secret members", "Shown to", "Hidden from"], rows)
    generated_docs.check("docs/guide.md", "secrets", table)
    count_cases(states=sum(map(len, observed.opened.values())))


def by_record(members: list[str]) -> str:
    """Return these members grouped by record, such as ``tool: `serverUrlSecret` ``."""
    paths: dict[str, list[str]] = {}
    for member in members:
        record, _, path = member.partition(": ")
        paths.setdefault(record, []).append(f"`{path}`")
    return "; ".join(f"{record}: {', '.join(names)}" for record, names in paths.items())


def cell(observed: Observed, member: str, credential: str) -> str:
    """Return `shown`, `hidden`, or `-` if the credential is accepted by no operation that could show the member."""
    could = observed.shows[member]["workspace key"] & observed.opened[credential]
    did = observed.shows[member][credential]
    if credential == "webhook receiver":
        return "shown" if did else "-"
    if not could:
        assert not did
        return "-"
    assert did in (set(), could), (member, credential, did ^ could)  # identical in every operation
    return "shown" if did else "hidden"


def test_every_operation_was_sent_with_every_credential_that_opens_it(observed: Observed) -> None:
    by_credential = {one: len(names) for one, names in observed.opened.items()}
    assert observed.opened["workspace key"] == set(GUARDED)
    # A tool test sends secrets, which a token with scopes cannot read.
    tests_of_tools = {"POST /v3/tools/{tool_id}/test"} & ROUTES.keys()
    assert observed.opened["access token"] - observed.opened["scoped token"] == tests_of_tools
    assert observed.opened["scoped token"] <= observed.opened["access token"]
    assert all(by_credential.values())
    assert len(observed.opened["webhook receiver"]) >= 6


def test_tokens_with_scopes_and_visitors_are_shown_no_secret_of_a_record(observed: Observed) -> None:
    for credential in ("read-only token", "visitor token"):
        assert [member for member, by in observed.shows.items() if by[credential]] == []
    # A secret that the caller requested. It belongs to no record.
    assert [member for member, by in observed.shows.items() if by["scoped token"]] == ["visitor token: token"]


def test_an_agent_key_is_not_shown_itself(observed: Observed) -> None:
    assert observed.shows["agent: SECRET_API_KEY"]["agent key"] == set()
    assert "POST /agents/{agent_id}/interact/{user_id}/state" in observed.shows["agent: chatappToken"]["agent key"]
