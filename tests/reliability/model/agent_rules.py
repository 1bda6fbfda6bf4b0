"""Rules for agents and their tools."""

from typing import Any
from urllib.parse import parse_qsl

from hypothesis import strategies as st

from chalicelib import clock
from chalicelib.deletion import cascade
from chalicelib.queues.tasks import ResumeCascade
from tests.reliability.model.answers import MADE, Document, Expected, Record, success
from tests.reliability.model.forms import for_agent_key, merged, merged_v2, v2_form, visible
from tests.reliability.model.machine import Machine, Workspace, conditions, picks, route

texts = st.sampled_from(["", "Support", "Zoë 😀", "a" * 300])
open_values = st.sampled_from([1, 1.0, True, "x", {"a": {"b": None}}, [1, None], {"a": 2}])
themes = st.sampled_from(
    [{"primary": "#0af"}, {"primary": "#0af", "own": 1.0}, {"themeType": "dark", "own": {"x": [1]}}]
)


def members(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[Document]:
    """Generate objects that contain some of these members. Values may be null."""
    return st.fixed_dictionaries({}, optional={name: st.none() | one for name, one in strategies.items()})


_shared = {
    "title": texts,
    "lang": texts,
    "vg_temperature": st.sampled_from([0, 1, 1.0, 0.7]),
    "smartInit": st.booleans(),
}
_nodes = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(["a", "b", "c"])},
        optional={
            "name": st.none() | texts,
            "rf": st.none() | open_values,
            "kb": members(enabled=st.booleans(), tags=st.lists(texts, max_size=2)),
        },
    ),
    max_size=3,
    unique_by=lambda node: node["id"],
)
changes_v3 = members(
    **_shared,
    vectorDb=open_values,
    starred=st.booleans(),
    kbTags=st.lists(texts, max_size=2),
    limits=members(maxInteractionsPerUserId=st.sampled_from([0, 3]), maxAnnualCreditsUsage=st.just(1)),
    messagesLimit=st.sampled_from([0, 5]),
    ui=members(widgetType=texts, voice=members(question=texts, dismissBtnLabel=texts)),
    nodes=_nodes,
    UIhandoffTitle=texts,
    agentPlatform=st.sampled_from(["vg", "vf", "other", {"a": 1}]),
    customThemeJSONString=st.sampled_from(['{ "primary" : "#0af" }', '{"themeType":"dark","own":1e2}']),
)
changes_v2 = members(
    **_shared, UIhandoffdescription=texts, agentPlatform=st.sampled_from(["vg", "vf"]), customThemeJSONString=themes
)
tool_names = texts.filter(bool)
tool_members = members(
    description=texts,
    serverUrl=texts,
    disabled=st.booleans(),
    channels=st.lists(texts, max_size=2),
    fields=st.lists(
        st.fixed_dictionaries({"id": st.sampled_from(["f", "g"])}, optional={"value": open_values, "key": texts}),
        max_size=2,
    ),
)
_SEARCHES = ["", "search=SUPP", "search=zo%C3%AB", "starredOnly=true", "search=supp&starredOnly=true", "page=2"]
agent_names = st.sampled_from(["a1", "a2", "a3"])
limits = st.sampled_from([1, 2, 100])


def unknown_in_theme(change: Document) -> Document:
    """Return the expected warnings for a change whose theme contains the member `own`."""
    message = "is not a member of this object; it is stored as sent"
    is_there = "own" in (change.get("customThemeJSONString") or {})
    return {"warnings": [{"path": "customThemeJSONString.own", "message": message}]} if is_there else {}


def _matches(agent: Document, text: str) -> bool:
    return text.casefold() in agent.get("title", "").casefold()[:200]


class AgentRules(Machine):
    """Rules for agents in the v2 and v3 forms, and for tools."""

    def agent(self, at: int, pick: int) -> str:
        """Return an agent id from either workspace, or an unknown id."""
        return str(self.known("agent", at, pick))

    def rendered(self, workspace: Workspace, agent_id: str, document: Document, caller: str) -> Document:
        """Return an agent in the v3 form, as this caller receives it."""
        own = {"ID": agent_id, "id": agent_id, "ownerID": workspace.id}
        return visible({**own, **document}, "agent_v3", caller)

    def tools_of(self, workspace: Workspace, agent_id: str) -> list[Document]:
        """Return an agent's tools, oldest first."""
        tools = workspace.of("tool").items()
        return [{"id": key, **one.document} for key, one in tools if one.document["agentId"] == agent_id]

    def new_agent(self, document: Document) -> Document:
        """Return a new agent that contains the sent and generated members."""
        now = self.seconds()
        return {"SECRET_API_KEY": MADE, **document, "createdAtUNIX": now, "lastModified": now}

    def saved(self, record: Record, after: Document) -> Record:
        """Save an agent. A save that changes nothing does not update `lastModified`."""
        if record.save(after).tag is None:
            record.document = {**after, "lastModified": self.seconds()}
        return record

    @route("POST /v3/agents", change=changes_v3)
    def create(self, at: int, caller: str, change: Document) -> None:
        record = Record({})

        def expected(workspace: Workspace) -> Expected:
            record.document = self.new_agent(merged({"agentPlatform": "vg"}, change))
            rendered = {"ID": MADE, "id": MADE, "ownerID": workspace.id, **record.document, "tools": []}
            lasting = self.lasting(at, caller, "agent.SECRET_API_KEY")
            return Expected(success("Agent created successfully", rendered, **lasting), record)

        answer = self.ask("POST /v3/agents", at, caller, expected, {"agent": change})
        if answer.status == 200:
            data = answer.data
            assert data["ID"] == data["id"]
            self.add_agent(at, data["id"], record, data["SECRET_API_KEY"])

    def add_agent(self, at: int, agent_id: str, record: Record, key: str) -> None:
        """Store a created agent and its key in the model."""
        record.document = {**record.document, "SECRET_API_KEY": key}
        self.workspace(at).of("agent")[agent_id] = record
        self.workspace(at).agent_keys[agent_id] = key

    @route("POST /v2/agents/{agent_id}", agent_id=agent_names, change=changes_v2, condition=conditions)
    def save_v2(self, at: int, caller: str, agent_id: str, change: Document, condition: str | None) -> None:
        known = self.workspace(at).of("agent").get(agent_id)
        made = Record({})

        def expected(_: Workspace) -> Expected:
            if known is None:
                made.document = self.new_agent(merged_v2({"agentPlatform": "vg"}, change))
                created = success("Agent created successfully", v2_form(made.document), **unknown_in_theme(change))
                return Expected(created, made)
            self.saved(known, merged_v2(known.document, change))
            rendered = for_agent_key(v2_form(known.document), self.kind(self.workspace(at), caller, agent_id))
            return Expected(success("Agent updated successfully", rendered, **unknown_in_theme(change)), known)

        answer = self.ask(
            "POST /v2/agents/{agent_id}", at, caller, expected, change, condition, known, agent_id=agent_id
        )
        if answer.status == 200 and known is None:
            self.add_agent(at, agent_id, made, answer.data["SECRET_API_KEY"])

    @route("PATCH /v3/agents/{agent_id}", pick=picks, change=changes_v3, condition=conditions)
    def change(self, at: int, caller: str, pick: int, change: Document, condition: str | None) -> None:
        agent_id = self.agent(at, pick)
        known = self.workspace(at).of("agent").get(agent_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("agent", agent_id)
            self.saved(record, merged(record.document, change))
            rendered = {
                **self.rendered(workspace, agent_id, record.document, "key"),
                "tools": self.tools_of(workspace, agent_id),
            }
            return Expected(success("Agent updated successfully", rendered), record)

        self.ask(
            "PATCH /v3/agents/{agent_id}", at, caller, expected, {"agent": change}, condition, known, agent_id=agent_id
        )

    @route("GET /v3/agents/{agent_id}", pick=picks, condition=conditions)
    def read(self, at: int, caller: str, pick: int, condition: str | None) -> None:
        agent_id = self.agent(at, pick)
        known = self.workspace(at).of("agent").get(agent_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("agent", agent_id)
            whole = {
                **self.rendered(workspace, agent_id, record.document, "key"),
                "tools": self.tools_of(workspace, agent_id),
            }
            rendered = visible(whole, "agent_v3", caller)
            return Expected(success("Agent retrieved successfully", rendered), record)

        if self.tools_of(self.workspace(at), agent_id) and condition in ("unless", "weak"):
            condition = None  # if an agent has tools, its ETag has a second part, which the model does not compute
        self.ask("GET /v3/agents/{agent_id}", at, caller, expected, None, condition, known, agent_id=agent_id)

    @route("GET /v2/agents/{agent_id}", pick=picks, condition=conditions)
    def read_v2(self, at: int, caller: str, pick: int, condition: str | None) -> None:
        agent_id = self.agent(at, pick)
        known = self.workspace(at).of("agent").get(agent_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("agent", agent_id)
            return Expected(for_agent_key(v2_form(record.document), self.kind(workspace, caller, agent_id)), record)

        self.ask("GET /v2/agents/{agent_id}", at, caller, expected, None, condition, known, agent_id=agent_id)

    @route("GET /v3/agents", limit=limits)
    def list_all(self, at: int, caller: str, limit: int) -> None:
        def whole(workspace: Workspace) -> list[Document | None]:
            agents = sorted(workspace.of("agent").items())
            return [self.rendered(workspace, key, one.document, caller) for key, one in agents]

        self.bounded("GET /v3/agents", at, caller, limit, whole, "", "Agents retrieved successfully")

    @route("GET /v3/agents/search", limit=limits, query=st.sampled_from(_SEARCHES))
    def search(self, at: int, caller: str, limit: int, query: str) -> None:
        filters = dict(parse_qsl(query))
        page = int(filters.get("page", 1))
        start = (page - 1) * limit

        def expected(workspace: Workspace) -> Expected:
            agents = {key: one.document for key, one in sorted(workspace.of("agent").items())}
            by_change = sorted(agents, key=lambda key: -agents[key]["lastModified"])
            matching = [key for key in by_change if _matches(agents[key], filters.get("search", ""))]
            starred = [key for key in matching if agents[key].get("starred")]
            listed = starred if "starredOnly" in filters else matching
            names = {"agents": listed, "starredAgents": starred}
            lists = {
                name: [self.rendered(workspace, key, agents[key], caller) for key in keys[start : start + limit]]
                for name, keys in names.items()
            }
            totals = {"total": len(listed), "totalStarred": len(starred), "page": page, "limit": limit}
            has_more = page * limit < len(listed)
            return Expected(success("Agents retrieved successfully", None, **lists, **totals, hasMore=has_more))

        more = f"&{query}" if query else ""
        self.ask("GET /v3/agents/search", at, caller, expected, None, None, None, f"?limit={limit}{more}")

    def bounded(
        self, name: str, at: int, caller: str, limit: int, whole: Any, query: str, message: str, **ids: str
    ) -> None:
        """Read the first two pages of a bounded list.

        `whole` returns all examined records, with None for each record that the filters exclude.
        """
        start, cursor = 0, ""
        for _ in range(2):

            def expected(workspace: Workspace, start: int = start) -> Expected:
                examined = whole(workspace)
                listed = [place for place, one in enumerate(examined) if one is not None][start : start + limit]
                has_more = len(listed) == limit and listed[-1] < len(examined) - 1
                more = {"nextCursor": MADE} if has_more else {}
                return Expected(success(message, [examined[place] for place in listed], hasMore=has_more, **more))

            size = "pageSize" if name == "GET /v3/orgs" else "limit"
            answer = self.ask(name, at, caller, expected, None, None, None, f"?{size}={limit}{cursor}{query}", **ids)
            if answer.status != 200 or "nextCursor" not in answer.json:
                return
            start, cursor = start + limit, f"&cursor={answer.json['nextCursor']}"

    def pages(
        self, name: str, at: int, caller: str, message: str, limit: int, whole: Any, more: str = "", **ids: str
    ) -> None:
        """Read a whole list by cursor. `whole` returns the expected records."""

        def page(cursor: str, start: int) -> Any:
            def expected(workspace: Workspace) -> Expected:
                everything = whole(workspace)
                rest = {"nextCursor": MADE} if len(everything) > start + limit else {}
                return Expected(success(message, everything[start : start + limit], **rest))

            return self.ask(name, at, caller, expected, None, None, None, f"?limit={limit}{cursor}{more}", **ids)

        start = 0
        answer = page("", start)
        while answer.status == 200 and "nextCursor" in answer.json:
            start += limit
            answer = page(f"&cursor={answer.json['nextCursor']}", start)

    @route("DELETE /v3/agents/{agent_id}", pick=picks, condition=conditions)
    def delete(self, at: int, caller: str, pick: int, condition: str | None) -> None:
        agent_id = self.agent(at, pick)
        known = self.workspace(at).of("agent").get(agent_id)

        def expected(workspace: Workspace) -> Expected:
            workspace.get("agent", agent_id)
            workspace.delete_agent(agent_id)
            return Expected(success("Agent deleted successfully"))

        answer = self.ask(
            "DELETE /v3/agents/{agent_id}", at, caller, expected, None, condition, known, agent_id=agent_id
        )
        if answer.status == 200:
            self.now += 90_000  # the delay until the cascade's second run, which releases the id
            cascade.resume(ResumeCascade(self.workspace(at).id, agent_id), 10)

    # ---- tools ----

    @route("POST /v3/agents/{agent_id}/tools", pick=picks, name=tool_names, members=tool_members)
    def create_tool(self, at: int, caller: str, pick: int, name: str, members: Document) -> None:
        agent_id, record = self.agent(at, pick), Record({})

        def expected(workspace: Workspace) -> Expected:
            now = clock.iso(self.seconds())
            record.document = {
                **merged({"method": "GET"}, {"name": name, **members}),
                "agentId": agent_id,
                "userId": workspace.id,
                "createdAt": now,
                "updatedAt": now,
            }
            return Expected(success("Tool created successfully", {"id": MADE, **record.document}), record)

        body = {"tool": {"name": name, **members}}
        answer = self.ask("POST /v3/agents/{agent_id}/tools", at, caller, expected, body, agent_id=agent_id)
        if answer.status == 200:
            self.workspace(at).of("tool")[answer.data["id"]] = record

    @route("GET /v3/agents/{agent_id}/tools", pick=picks, limit=limits)
    def list_tools(self, at: int, caller: str, pick: int, limit: int) -> None:
        name, message = "GET /v3/agents/{agent_id}/tools", "Tools retrieved successfully"
        agent_id = self.agent(at, pick)

        def whole(workspace: Workspace) -> list[Document]:
            return [visible(one, "tool", caller) for one in self.tools_of(workspace, agent_id)]

        self.ask(name, at, caller, lambda workspace: Expected(success(message, whole(workspace))), agent_id=agent_id)
        self.pages(name, at, caller, message, limit, whole, agent_id=agent_id)

    @route("GET /v3/tools/{tool_id}", pick=picks, condition=conditions)
    def read_tool(self, at: int, caller: str, pick: int, condition: str | None) -> None:
        tool_id = self.known("tool", at, pick)
        known = self.workspace(at).of("tool").get(tool_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("tool", tool_id)
            rendered = visible({"id": tool_id, **record.document}, "tool", caller)
            return Expected(success("Tool retrieved successfully", rendered), record)

        self.ask("GET /v3/tools/{tool_id}", at, caller, expected, None, condition, known, tool_id=tool_id)

    @route("PATCH /v3/tools/{tool_id}", pick=picks, members=tool_members, condition=conditions)
    def change_tool(self, at: int, caller: str, pick: int, members: Document, condition: str | None) -> None:
        tool_id = self.known("tool", at, pick)
        known = self.workspace(at).of("tool").get(tool_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("tool", tool_id)
            # Compare documents, because a copied tool's tag is not known yet.
            before = record.document
            if record.save(merged(before, members)).document is not before:
                record.document["updatedAt"] = clock.iso(self.seconds())
            return Expected(success("Tool updated successfully", {"id": tool_id, **record.document}), record)

        body = {"tool": members}
        self.ask("PATCH /v3/tools/{tool_id}", at, caller, expected, body, condition, known, tool_id=tool_id)

    @route("DELETE /v3/tools/{tool_id}", pick=picks, condition=conditions)
    def delete_tool(self, at: int, caller: str, pick: int, condition: str | None) -> None:
        tool_id = self.known("tool", at, pick)
        known = self.workspace(at).of("tool").get(tool_id)

        def expected(workspace: Workspace) -> Expected:
            workspace.get("tool", tool_id)
            del workspace.of("tool")[tool_id]
            return Expected(success("Tool deleted successfully"))

        self.ask("DELETE /v3/tools/{tool_id}", at, caller, expected, None, condition, known, tool_id=tool_id)
