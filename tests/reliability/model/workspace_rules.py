"""Rules for leads, and for the workspace, its tokens and its key."""

from typing import Any

from hypothesis import strategies as st

from chalicelib import clock
from tests.operations import ROUTES, scope_of
from tests.reliability.model.agent_rules import limits, members, texts
from tests.reliability.model.answers import MADE, Document, Expected, Record, Refused, success
from tests.reliability.model.forms import merged
from tests.reliability.model.machine import Workspace, conditions, picks, route
from tests.reliability.model.people_rules import PeopleRules

_leads = members(name=texts, email=texts, phone=texts, channel=st.sampled_from(["voice", "webchat"]))
# The name cannot be null, because it cannot be cleared.
_workspaces = st.fixed_dictionaries(
    {}, optional={"name": st.sampled_from(["One", "é 😀"]), "retentionDays": st.sampled_from([None, 1, 30, 3650])}
)
DAY, YEAR = 86_400, 365 * 86_400
_OPEN_TO_TOKENS = {scope_of(name) for name, one in ROUTES.items() if one["credential"] == "v3"}
_READ_SCOPES = sorted({f"{scope.partition(':')[0]}:read" for scope in _OPEN_TO_TOKENS})


class WorkspaceRules(PeopleRules):
    """Rules for operations on leads, the workspace and its credentials."""

    # ---- leads ----

    @route("POST /v3/leads", pick=picks, content=_leads)
    def create_lead(self, at: int, caller: str, pick: int, content: Document) -> None:
        agent_id, record = self.agent(at, pick), Record({})

        def expected(workspace: Workspace) -> Expected:
            title = workspace.get("agent", agent_id).document.get("title")
            kept = {"channel": "web-chat", **merged({}, content), "agentId": agent_id, "createdAt": self.now}
            record.document = {**kept, **({"agentName": title} if title else {})}
            return Expected(success("Lead created successfully", {"id": MADE, **record.document}), record)

        answer = self.ask("POST /v3/leads", at, caller, expected, {"lead": {"agentId": agent_id, **content}})
        if answer.status == 200:
            self.workspace(at).of("lead")[answer.data["id"]] = record

    @route("GET /v3/leads/{lead_id}", pick=picks, condition=conditions)
    def read_lead(self, at: int, caller: str, pick: int, condition: str | None) -> None:
        lead_id = self.known("lead", at, pick)
        known = self.workspace(at).of("lead").get(lead_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("lead", lead_id)
            return Expected(success("Lead retrieved successfully", {"id": lead_id, **record.document}), record)

        self.ask("GET /v3/leads/{lead_id}", at, caller, expected, None, condition, known, lead_id=lead_id)

    @route("GET /v3/leads", limit=limits)
    def list_all_leads(self, at: int, caller: str, limit: int) -> None:
        """List the workspace's leads, newest first."""

        def expected(workspace: Workspace) -> Expected:
            shown = [{"id": key, **one.document} for key, one in reversed(workspace.of("lead").items())]
            return Expected(success("Leads retrieved successfully", shown, hasMore=False))

        self.ask("GET /v3/leads", at, caller, expected, query="?limit=100")

    @route("PATCH /v3/leads/{lead_id}", pick=picks, content=_leads, condition=conditions)
    def change_lead(self, at: int, caller: str, pick: int, content: Document, condition: str | None) -> None:
        lead_id = self.known("lead", at, pick)
        known = self.workspace(at).of("lead").get(lead_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("lead", lead_id)
            record.save({"channel": "web-chat", **merged(record.document, content)})
            return Expected(success("Lead updated successfully", {"id": lead_id, **record.document}), record)

        body = {"lead": content}
        self.ask("PATCH /v3/leads/{lead_id}", at, caller, expected, body, condition, known, lead_id=lead_id)

    @route("GET /v3/agents/{agent_id}/leads", pick=picks, limit=limits)
    def list_leads(self, at: int, caller: str, pick: int, limit: int) -> None:
        agent_id = self.agent(at, pick)

        def whole(workspace: Workspace) -> list[Document]:
            leads = reversed(workspace.of("lead").items())
            return [{"id": key, **one.document} for key, one in leads if one.document["agentId"] == agent_id]

        name = "GET /v3/agents/{agent_id}/leads"
        self.pages(name, at, caller, "Leads retrieved successfully", limit, whole, agent_id=agent_id)

    @route("DELETE /v3/leads/{lead_id}", pick=picks, condition=conditions)
    def delete_lead(self, at: int, caller: str, pick: int, condition: str | None) -> None:
        lead_id = self.known("lead", at, pick)
        self.delete_record("DELETE /v3/leads/{lead_id}", at, caller, "lead", lead_id, condition, lead_id=lead_id)

    # ---- the workspace and its credentials ----

    @route("GET /v3/workspace", condition=conditions)
    def read_workspace(self, at: int, caller: str, condition: str | None) -> None:
        def expected(workspace: Workspace) -> Expected:
            shown = {"id": workspace.id, **workspace.record.document}
            return Expected(success("Workspace retrieved successfully", shown), workspace.record)

        self.ask("GET /v3/workspace", at, caller, expected, None, condition, self.workspace(at).record)

    @route("PATCH /v3/workspace", content=_workspaces, condition=conditions)
    def change_workspace(self, at: int, caller: str, content: Document, condition: str | None) -> None:
        def expected(workspace: Workspace) -> Expected:
            record = workspace.record.save(merged(workspace.record.document, content))
            shown = {"id": workspace.id, **record.document}
            return Expected(success("Workspace updated successfully", shown), record)

        body, known = {"workspace": content}, self.workspace(at).record
        self.ask("PATCH /v3/workspace", at, caller, expected, body, condition, known)

    @route(
        "POST /v3/tokens",
        name=st.sampled_from(["one", "é" * 200]),
        lifetime=st.sampled_from([None, DAY, YEAR]),
        read_only=st.booleans(),
    )
    def issue_token(self, at: int, caller: str, name: str, lifetime: int | None, read_only: bool) -> None:
        def expected(_: Workspace) -> Expected:
            token = {
                "id": MADE,
                "name": name,
                "readOnly": read_only,
                "token": MADE,
                "expiresAt": clock.iso(self.seconds() + (lifetime or 30 * DAY)),
                "createdAt": clock.iso(self.seconds()),
                "lastUsedAt": None,
                **({"scopes": _READ_SCOPES} if read_only else {}),
            }
            return Expected(success("Token created successfully", token))

        given = {"name": name, "expiresInSeconds": lifetime, "readOnly": read_only}
        answer = self.ask("POST /v3/tokens", at, caller, expected, {"token": given})
        if answer.status == 200:
            made = dict(answer.data)
            del made["token"]
            self.workspace(at).of("token")[made["id"]] = Record(made)

    @route("GET /v3/tokens", limit=limits)
    def list_tokens(self, at: int, caller: str, limit: int) -> None:
        """List all active tokens, oldest first."""
        self.pages("GET /v3/tokens", at, caller, "Tokens retrieved successfully", limit, self.tokens)

    def tokens(self, workspace: Workspace) -> list[Document]:
        """Return the tokens that the list contains. Only the two initial tokens have ever been used."""
        return [one.document for one in workspace.of("token").values()]

    @route("DELETE /v3/tokens/{token_id}", pick=picks)
    def revoke_token(self, at: int, caller: str, pick: int) -> None:
        # Keep the first two tokens, because the machine authenticates its requests with them.
        own = [key for one in self.workspaces for key in [*one.of("token")][2:]]
        token_id = [*own, "nothing"][pick % (len(own) + 1)]

        def expected(workspace: Workspace) -> Expected:
            if token_id not in workspace.of("token"):
                raise Refused(404, "There is no such credential.")
            del workspace.of("token")[token_id]
            return Expected(success("Token deleted successfully"))

        self.ask("DELETE /v3/tokens/{token_id}", at, caller, expected, token_id=token_id)

    @route("POST /v3/workspace/key/rotate", overlap=st.sampled_from([None, DAY, YEAR]))
    def rotate_key(self, at: int, caller: str, overlap: int | None) -> None:
        def expected(workspace: Workspace) -> Expected:
            now = self.seconds()
            ends = min(now + (overlap or DAY), workspace.key_ends)
            key = {
                "id": MADE,
                "key": MADE,
                "expiresAt": clock.iso(now + YEAR),
                "createdAt": clock.iso(now),
                "previousKeyExpiresAt": clock.iso(ends),
            }
            return Expected(success("Key rotated successfully", key))

        body: Any = None if overlap is None else {"overlapSeconds": overlap}
        answer = self.ask("POST /v3/workspace/key/rotate", at, caller, expected, body)
        if answer.status == 200:
            workspace = self.workspace(at)
            workspace.key, workspace.key_ends = answer.data["key"], self.seconds() + YEAR
