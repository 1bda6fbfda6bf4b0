"""Ids of 128 characters work wherever they are part of a longer value, such as a link, a cursor or an email."""

import random
import string
from collections.abc import Iterator

import pytest

from chalicelib.ids import IDENTIFIER
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api

PASSWORD = "correct horse"
NOTIFIED = {"notificationsSettings": {"notifyThrough": "email", "notifyIf": "all"}}
KINDS = "=+-@~:|,._9Az"


def longest(last: str) -> str:
    """Return an incompressible id of 128 characters that contains characters of every kind and ends with `last`."""
    return KINDS + "".join(random.Random(last).choices(string.ascii_letters + string.digits + KINDS, k=114)) + last


AGENT, OTHER, ORG, CLIENT, CONVERSATION = map(longest, "abcde")


@pytest.fixture
def longest_ids(workspace: NewWorkspace, api: Api) -> Api:
    """Create a workspace whose caller-chosen ids all have the maximum length."""
    for agent in (AGENT, OTHER):
        assert api.post(f"/v2/agents/{agent}", {"title": "Support"}).status == 200
    assert api.post(f"/v2/orgs/{ORG}", {"name": "Acme", "widgetIDs": [AGENT, OTHER]}).status == 200
    for client in (CLIENT, longest("g")):
        body = {"orgId": ORG, "email": f"{client[-1]}@acme.test", "dashboardPassword": PASSWORD, **NOTIFIED}
        assert api.post(f"/v2/clients/{client}", {**body, "isOrgAdmin": True}).status == 200
    for number in (CONVERSATION, longest("f")):
        for agent in (AGENT, OTHER):
            turns = [{"from": "human", "messages": [{"mid": longest("m"), "item": {"text": "hello"}}]}]
            metadata = {"state": "requested_chat", "chatAssignedTo": CLIENT}
            body = {"turns": turns, "metadata": metadata}
            assert api.post(f"/agents/{agent}/interact/{number}/state", body).status == 200
            assert api.post("/v3/leads", {"lead": {"agentId": agent, "name": number}}).status == 200
    hook = api.post("/v3/webhooks", {"webhook": {"url": "https://hooks.test/x", "events": ["lead_captured"]}})
    api.post(f"/v3/webhooks/{hook.data['id']}/test")
    extensions.populate(workspace.workspace_id, {"agent_id": AGENT}, "Before")
    return api


def test_the_ids_have_every_kind_of_character() -> None:
    assert all(IDENTIFIER.fullmatch(one) and len(one) == 128 for one in (AGENT, OTHER, ORG, CLIENT, CONVERSATION))


LISTS = (
    "/v3/agents", "/v3/clients", "/v3/orgs",
    "/v3/convos?inbox=true", "/v3/leads", f"/v3/agents/{AGENT}/convos", f"/v3/agents/{AGENT}/leads",
    f"/v3/orgs/{ORG}/agents",
    f"/v3/orgs/{ORG}/clients", f"/v3/agents/{AGENT}/convos/{CONVERSATION}/messages",
    "/v2/clients", f"/v3/convos?inbox=true&assignedTo={CLIENT}", *extensions.listed("LISTS"),
)  # fmt: skip


@pytest.mark.parametrize("path", LISTS)
def test_a_cursor_with_such_an_id_continues_its_list(path: str, longest_ids: Api) -> None:
    quoted = path.replace("|", "%7C").replace("+", "%2B")
    whole = longest_ids.get(quoted)
    listed = [*follow(longest_ids, quoted)]
    assert whole.status == 200 and listed == whole.json["data"]


def follow(api: Api, path: str) -> Iterator[object]:
    """Read a list, one record per page, and yield all records."""
    joined, cursor = "&" if "?" in path else "?", ""
    for _ in range(20):
        answer = api.get(f"{path}{joined}{'pageSize' if path == '/v3/orgs' else 'limit'}=1{cursor}")
        assert answer.status == 200, answer.text
        yield from answer.json["data"]
        if "nextCursor" not in answer.json:
            return
        cursor = "&cursor=" + answer.json["nextCursor"].replace("+", "%2B").replace("|", "%7C")
    pytest.fail("The list has too many pages.")
