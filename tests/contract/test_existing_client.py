"""The 24 tools of an existing client of this interface: each tool's requests, and the members that it reads.

`-s` prints a table of the tools that work. The client sends only the requests in this module.
"""

import csv
import io
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from chalicelib.extensions import enabled
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api


class Client:
    """The client, with a workspace that contains an agent, a person, and 22 conversations."""

    def __init__(self, workspace: NewWorkspace) -> None:
        self.workspace_id, self._api = workspace.workspace_id, Api(workspace.workspace_key)
        tools = [{"name": "find_order", "serverUrl": "https://shop.example.com/orders"}]
        members = {"title": "Support", "description": "Helps", "starred": True, "tools": tools, "nodes": [{"id": "n1"}]}
        self.agent = self.send("POST", "/agents", {"agent": members})["data"]["id"]
        self.other = self.send("POST", "/agents", {"agent": {"title": "Another"}})["data"]["id"]
        person = {"client": {"name": "Ann", "email": "ann@example.com"}}
        self.person = self.send("POST", "/clients", person)["data"]["ID"]
        for number in range(22):
            members = {"userName": f"User {number}", "origin": "web-chat", "state": "ai-chatting"}
            created = self.send("POST", f"/agents/{self.agent}/convos", {"conversation": members})
            self.conversation = created["data"]["id"]
        self.convos = f"/agents/{self.agent}/convos"
        self.convo = f"{self.convos}/{self.conversation}"
        message = {"type": "text", "item": {"payload": {"message": "Hello"}}}
        self.turns = [{"from": "human", "messages": [message]}, {"from": "bot", "messages": [message]}]

    def answer(self, method: str, path: str, body: Any = None, **query: Any) -> Answer:
        """Return the response to a request, which must succeed."""
        answer = self._api.call(method, f"/v3{path}" + (f"?{urlencode(query, doseq=True)}" if query else ""), body)
        assert answer.status == 200, answer.text
        return answer

    def send(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Return the JSON body of the response to a request, which must succeed."""
        answer = self.answer(method, path, body, **query)
        assert answer.json["success"] is True
        assert isinstance(answer.json["message"], str)
        return answer.json

    def rows(self, path: str, **query: Any) -> list[dict[str, str]]:
        """Return the rows of a CSV response."""
        answer = self.answer("GET", path, **query)
        assert answer.headers["content-type"].startswith("text/csv")
        return [*csv.DictReader(io.StringIO(answer.text, newline=""))]


Step = Callable[[Client], object]


def list_agents(client: Client) -> None:
    assert len(client.send("GET", "/agents", limit=500)["data"]) == 2


def search_agents(client: Client) -> None:
    page = client.send(
        "GET", "/agents/search", workspaceId=client.workspace_id, search="", sortBy="newest", page=1, limit=50,
        starredOnly="false",
    )  # fmt: skip
    assert {"agents", "starredAgents", "total", "totalStarred", "page", "limit", "hasMore"} <= page.keys()
    assert ([one["title"] for one in page["agents"]], page["total"]) == (["Another", "Support"], 2)
    assert ([one["id"] for one in page["starredAgents"]], page["totalStarred"]) == ([client.agent], 1)
    assert (page["page"], page["limit"], page["hasMore"]) == (1, 50, False)
    assert client.send("GET", "/agents/search") == page
    orders = {"oldest": 0, "firstCreated": 0, "lastCreated": 1, "alphabetical": 1}
    for order, place in orders.items():
        agents = client.send("GET", "/agents/search", sortBy=order)["agents"]
        assert [one["id"] for one in agents].index(client.agent) == place
    starred = client.send("GET", "/agents/search", search="sup", starredOnly="true", page=1, limit=1)
    assert ([one["id"] for one in starred["agents"]], starred["total"], starred["hasMore"]) == (
        [client.agent],
        1,
        False,
    )


def create_agent_from_template(client: Client) -> None:
    owner = client.send("GET", "/agents", limit=1)["data"][0]["ownerID"]
    assert owner == client.workspace_id
    assert client.send("POST", "/agents", {"agent": {"title": "Copy"}})["data"]["ownerID"] == owner


def export_agent(client: Client) -> None:
    template = client.send("GET", f"/agents/{client.agent}/export-template")["agentTemplate"]
    names = {"name", "description", "nodes", "tools", "variables", "agentData", "workspaceId"}
    assert template.keys() == names
    assert (template["name"], template["workspaceId"]) == ("Support", client.workspace_id)
    assert ([one["id"] for one in template["nodes"]], len(template["tools"])) == (["n1"], 1)


def import_agent(client: Client) -> None:
    template = client.send("GET", f"/agents/{client.agent}/export-template")["agentTemplate"]
    body = {"agentTemplate": template, "agentName": "Imported", "fromAgentId": client.agent}
    agent = client.send("POST", "/agents/import-template", body)["data"]
    assert (agent["title"], agent["description"], len(agent["tools"])) == ("Imported", "Helps", 1)
    assert agent["id"] != client.agent


def get_agent_usage(client: Client) -> None:
    path = f"/agents/{client.agent}/usage"
    of_days = client.send("POST", path, {"range": {"from": "2026-11-01T00:00:00Z", "to": "2026-11-03"}})
    assert client.send("POST", path, {"range": {"from": 1793491200, "to": 1793664000}})["data"] == of_days["data"]
    assert client.send("POST", path, {})["data"]["agentId"] == client.agent


def list_conversations(client: Client) -> list[Any]:
    first = client.send("GET", client.convos, limit=20, page=1)
    second = client.send("GET", client.convos, limit=20, cursor=first["nextCursor"])
    assert (first["hasMore"], second["hasMore"]) == (True, False)
    assert len({one["ID"] for one in (*first["data"], *second["data"])}) == 22
    return [*first["data"]]


def query_conversations(client: Client) -> None:
    change = {"summary": "Asked for an order", "capturedVariables": {"order": "1010"}, "userName": "Ann"}
    client.send("PATCH", client.convo, {"conversation": change})
    for row in list_conversations(client):
        record = client.send("GET", f"{client.convos}/{row['ID']}")["data"]
        assert (record["ID"], record["origin"], record["ts"]) == (row["ID"], "web-chat", row["ts"])
    record = client.send("GET", client.convo)["data"]
    assert {name: record[name] for name in change} == change


def get_conversation(client: Client) -> None:
    record = client.send("GET", client.convo)["data"]
    assert (record["ID"], record["userName"]) == (client.conversation, "User 21")


def get_conversations(client: Client) -> None:
    ids = [one["ID"] for one in client.send("GET", client.convos, limit=3, page=1)["data"]]
    assert [client.send("GET", f"{client.convos}/{one}")["data"]["ID"] for one in ids] == ids


MEMBERS = {
    "userName": "Ann", "userEmail": "ann@example.com", "userPhone": "+31 20 123", "title": "Order", "tags": ["new"],
    "state": "ai-chatting", "origin": "web-chat", "ts": 1793577600, "notes": "Call back", "summary": "An order",
    "capturedVariables": {"order": "1010"},
}  # fmt: skip


def create_conversation(client: Client) -> None:
    created = client.send("POST", client.convos, {"conversation": MEMBERS})["data"]["id"]
    record = client.send("GET", f"{client.convos}/{created}")["data"]
    assert {name: record[name] for name in MEMBERS} == MEMBERS


def update_conversation(client: Client) -> None:
    record = client.send("PATCH", client.convo, {"conversation": {**MEMBERS, "priority": "high"}})
    assert {name: record["data"][name] for name in MEMBERS} == MEMBERS
    assert [one["path"] for one in record["warnings"]] == ["conversation.priority"]
    assert client.send("GET", client.convo)["data"]["priority"] == "high"


def update_conversation_messages(client: Client) -> None:
    body = {"turns": client.turns, "updateConversationMetadata": True, "lgMessages": [{"role": "user"}]}
    assert len(client.send("PATCH", f"{client.convo}/messages", body)["data"]) == 2
    assert client.send("GET", client.convo)["data"]["messagesNum"] == 2


def assign_conversation(client: Client) -> None:
    body = {"assignToUserId": client.person, "delegatedBy": "supervisor"}
    user = client.send("POST", f"{client.convo}/assign", body)["assignedUser"]
    assert user == {"id": client.person, "name": "Ann", "email": "ann@example.com"}
    assert client.send("GET", client.convo)["data"]["chatAssignedTo"] == client.person


def export_conversation(client: Client) -> None:
    client.send("PATCH", f"{client.convo}/messages", {"turns": client.turns})
    record = client.send("GET", f"{client.convo}/export")["data"]
    assert (record["ID"], len(record["messages"])) == (client.conversation, 2)
    assert client.send("GET", f"{client.convo}/export", format="json")["data"] == record
    (row,) = client.rows(f"{client.convo}/export", format="csv")
    assert (row["ID"], row["transcript"]) == (client.conversation, "human: Hello\nbot: Hello")


def export_all_conversations(client: Client) -> None:
    path = f"{client.convos}/export"
    first = client.send("GET", path, format="json", limit=20, sort="oldest", fromTs=0, toTs=4_000_000_000)
    rest = client.send("GET", path, limit=20, sort="oldest", fromTs=0, cursor=first["nextCursor"])
    ids = [one["ID"] for one in (*first["data"], *rest["data"])]
    assert (len(set(ids)), ids[-1], "nextCursor" in rest) == (22, client.conversation, False)
    assert [one["ID"] for one in client.send("GET", path, limit=22)["data"]] == ids[::-1]
    assert client.send("GET", path, toTs=1)["data"] == []
    chosen = client.send("GET", path, convoIds=[ids[3], ids[1], "unknown"])
    assert [one["ID"] for one in chosen["data"]] == [ids[3], ids[1]]
    assert [one["ID"] for one in client.rows(path, format="csv", convoIds=ids[:2])] == ids[:2]


def delete_conversation(client: Client) -> None:
    client.send("DELETE", client.convo)
    assert client.conversation not in {one["ID"] for one in client.send("GET", client.convos)["data"]}


def get_agent(client: Client) -> None:
    assert client.send("GET", f"/agents/{client.agent}")["data"]["title"] == "Support"


def create_agent(client: Client) -> None:
    assert client.send("POST", "/agents", {"agent": {"title": "New", "vg_temperature": 0.5}})["data"]["title"] == "New"


def update_agent(client: Client) -> None:
    changed = client.send("PATCH", f"/agents/{client.agent}", {"agent": {"title": "Changed"}})["data"]
    assert (changed["title"], changed["description"]) == ("Changed", "Helps")


def delete_agent(client: Client) -> None:
    client.send("DELETE", f"/agents/{client.other}")
    assert [one["id"] for one in client.send("GET", "/agents")["data"]] == [client.agent]


def set_custom_css(client: Client) -> None:
    changed = client.send("PATCH", f"/agents/{client.agent}", {"agent": {"ADVANCED_customCSS": "a {}"}})
    assert changed["data"]["ADVANCED_customCSS"] == "a {}"


def get_custom_css(client: Client) -> None:
    set_custom_css(client)
    assert client.send("GET", f"/agents/{client.agent}")["data"]["ADVANCED_customCSS"] == "a {}"


def clear_custom_css(client: Client) -> None:
    set_custom_css(client)
    changed = client.send("PATCH", f"/agents/{client.agent}", {"agent": {"ADVANCED_customCSS": ""}})
    assert changed["data"]["ADVANCED_customCSS"] == ""


class Tool(NamedTuple):
    """A tool: its requests, and the extension that serves one of them, if there is one."""

    run: Step
    extension: str | None = None


TOOLS = [
    Tool(list_agents),
    Tool(search_agents),
    Tool(create_agent_from_template),
    Tool(export_agent, "copies"),
    Tool(import_agent, "copies"),
    Tool(get_agent_usage, "reports"),
    Tool(list_conversations),
    Tool(query_conversations),
    Tool(get_conversation),
    Tool(get_conversations),
    Tool(create_conversation),
    Tool(update_conversation),
    Tool(update_conversation_messages),
    Tool(assign_conversation),
    Tool(export_conversation, "transcripts"),
    Tool(export_all_conversations, "transcripts"),
    Tool(delete_conversation),
    Tool(get_agent),
    Tool(create_agent),
    Tool(update_agent),
    Tool(delete_agent),
    Tool(set_custom_css),
    Tool(get_custom_css),
    Tool(clear_custom_css),
]


@pytest.fixture
def client(workspace: NewWorkspace, ticking: None) -> Client:
    return Client(workspace)


def test_the_client_has_24_tools() -> None:
    assert len({tool.run for tool in TOOLS}) == 24


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.run.__name__)
def test_a_tool_of_the_client_works(tool: Tool, client: Client) -> None:
    if tool.extension not in (None, *(extension.name for extension in enabled())):
        pytest.skip(f"the extension {tool.extension} is off")
    tool.run(client)
    print(f"| {tool.run.__name__} | works |")  # noqa: T201


def test_the_other_lists_of_the_client_have_true_totals(client: Client) -> None:
    for number in range(3):
        client.send("POST", "/orgs", {"organisation": {"name": f"Organisation {number}"}})
        client.send("POST", "/leads", {"lead": {"agentId": client.agent, "name": f"Lead {number}"}})
    orgs = client.send("GET", "/orgs", page=2, pageSize=2)
    assert (len(orgs["data"]), orgs["total"], orgs["currentPage"], orgs["totalPages"]) == (1, 3, 2, 2)
    leads = client.send("GET", "/leads", agentId=client.agent, page=1, limit=2, searchTerm="lead")
    assert (len(leads["data"]), leads["total"], leads["page"], leads["totalPages"]) == (2, 3, 1, 2)
    assert client.send("GET", "/leads", page=1, searchTerm="lead 2")["total"] == 1
