"""Rules for clients and organisations."""

from collections.abc import Collection
from typing import Any

from hypothesis import strategies as st

from tests.reliability.model.agent_rules import agent_names, limits, members, texts
from tests.reliability.model.answers import MADE, Document, Expected, Record, Refused, success
from tests.reliability.model.forms import merged, visible
from tests.reliability.model.machine import Workspace, conditions, route
from tests.reliability.model.message_rules import MessageRules

names = st.sampled_from(["x1", "x2", "x3"])
_clients = members(
    name=texts,
    dashboardPassword=st.sampled_from(["8 letter", "Zoë 😀 Zoë", "a" * 300]),
    orgId=st.sampled_from(["x1", "x2", "no identifier"]),
    email=st.sampled_from(["a@x.test", " A@X.test ", "b@x.test", ""]),
    canAccess=st.lists(texts, max_size=2),
    isOrgAdmin=st.booleans(),
    notificationsSettings=members(notifyThrough=texts, notifyIf=texts),
)
_organisations = members(
    preferredLanguage=st.sampled_from(["de", "en"]),
    widgetIDs=st.lists(st.one_of(agent_names, texts), max_size=3),
    canSelfEdit=st.booleans(),
    dashboardLayout=st.sampled_from(["vertical", "horizontal"]),
    lastModified=st.sampled_from([1, 2.5]),
)


class PeopleRules(MessageRules):
    """Rules for operations on clients and organisations."""

    @route("GET /v2/clients", limit=limits)
    def list_clients(self, at: int, caller: str, limit: int) -> None:
        message = "Clients retrieved successfully"

        def whole(workspace: Workspace) -> list[Document]:
            return [self.client(workspace, key, one) for key, one in sorted(workspace.of("client").items())]

        self.ask("GET /v2/clients", at, caller, lambda workspace: Expected(success(message, whole(workspace))))
        self.pages("GET /v2/clients", at, caller, message, limit, whole)

    def client(self, workspace: Workspace, client_id: Any, record: Record) -> Document:
        """Return a client as it appears in a response."""
        return {"ID": client_id, "ownerID": workspace.id, "orgUsers": [], **record.document}

    @route("GET /v2/clients/{client_id}", client_id=names, condition=conditions)
    def read_client(self, at: int, caller: str, client_id: str, condition: str | None) -> None:
        known = self.workspace(at).of("client").get(client_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("client", client_id)
            return Expected(success("Client retrieved successfully", self.client(workspace, client_id, record)), record)

        self.ask("GET /v2/clients/{client_id}", at, caller, expected, None, condition, known, client_id=client_id)

    @route("POST /v2/clients/{client_id}", client_id=names, content=_clients, condition=conditions)
    def save_client(self, at: int, caller: str, client_id: str, content: Document, condition: str | None) -> None:
        known = self.workspace(at).of("client").get(client_id)

        def expected(workspace: Workspace) -> Expected:
            record = known or Record({})
            after = merged(record.document, content)
            self.require_free_email(workspace, Record(after), client_id)
            workspace.of("client")[client_id] = record.save(after)
            return Expected(success("Client updated successfully", **missing_of_client(workspace, content)), record)

        self.ask("POST /v2/clients/{client_id}", at, caller, expected, content, condition, known, client_id=client_id)

    @route("GET /v3/clients", limit=limits, words=st.sampled_from(["", "B@X"]))
    def search_clients(self, at: int, caller: str, limit: int, words: str) -> None:
        def whole(workspace: Workspace) -> list[Document]:
            of_all = sorted(workspace.of("client").items())
            found = [visible(self.client(workspace, key, one), "client", caller) for key, one in of_all]
            return [one for one in found if words.lower() in f"{one.get('name', '')}\n{one.get('email', '')}".lower()]

        message = "Clients retrieved successfully"
        if not words:
            self.bounded("GET /v3/clients", at, caller, limit, whole, "", message)
            return

        def expected(workspace: Workspace) -> Expected:
            return Expected(success(message, whole(workspace), hasMore=False))

        self.ask("GET /v3/clients", at, caller, expected, None, None, None, f"?limit=100&q={words}")

    @route("POST /v3/clients", content=_clients)
    def create_client(self, at: int, caller: str, content: Document) -> None:
        self.create_client_by("POST /v3/clients", at, caller, content, {"client": content})

    @route("PUT /v2/clients", content=_clients)
    def put_client(self, at: int, caller: str, content: Document) -> None:
        self.create_client_by("PUT /v2/clients", at, caller, content, content)

    def create_client_by(self, name: str, at: int, caller: str, content: Document, body: Document) -> None:
        """Create a client whose id is generated."""
        path = "" if body is content else "client."
        record = Record(merged({}, content))

        def expected(workspace: Workspace) -> Expected:
            self.require_free_email(workspace, record)
            missing = missing_of_client(workspace, content, path).get("warnings", [])
            lasting = self.lasting(at, caller, f"{path}dashboardPassword") if content.get("dashboardPassword") else {}
            warnings = [*missing, *lasting.get("warnings", [])]
            shown = self.client(workspace, MADE, record)
            said = {"warnings": warnings} if warnings else {}
            return Expected(success("Client created successfully", shown, **said), record)

        answer = self.ask(name, at, caller, expected, body)
        if answer.status == 200:
            self.workspace(at).of("client")[answer.data["ID"]] = record

    def require_free_email(self, workspace: Workspace, record: Record, client_id: str = "") -> None:
        """Raise Refused if another client has this client's email address."""
        others = {_email(one) for key, one in workspace.of("client").items() if key != client_id} - {""}
        if _email(record) in others:
            raise Refused(
                409, "email belongs to another client of this workspace; use a different email.", code="EMAIL_TAKEN"
            )

    @route("DELETE /v2/clients/{client_id}", client_id=names, condition=conditions)
    def delete_client_v2(self, at: int, caller: str, client_id: str, condition: str | None) -> None:
        self.delete_record(
            "DELETE /v2/clients/{client_id}", at, caller, "client", client_id, condition, client_id=client_id
        )

    @route("DELETE /v3/clients/{client_id}", client_id=names, condition=conditions)
    def delete_client(self, at: int, caller: str, client_id: str, condition: str | None) -> None:
        self.delete_record(
            "DELETE /v3/clients/{client_id}", at, caller, "client", client_id, condition, client_id=client_id
        )

    def delete_record(
        self, name: str, at: int, caller: str, kind: str, key: str, condition: str | None, **ids: str
    ) -> None:
        """Delete a record without children."""
        known = self.workspace(at).of(kind).get(key)

        def expected(workspace: Workspace) -> Expected:
            workspace.get(kind, key)
            del workspace.of(kind)[key]
            shown = "Organization" if kind == "organisation" else kind.capitalize()
            return Expected(success(f"{shown} deleted successfully"))

        self.ask(name, at, caller, expected, None, condition, known, **ids)

    @route("GET /v2/orgs/{org_id}", org_id=names, condition=conditions)
    def read_organisation(self, at: int, caller: str, org_id: str, condition: str | None) -> None:
        known = self.workspace(at).of("organisation").get(org_id)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("organisation", org_id)
            shown = {"ID": org_id, "userId": workspace.id, **record.document}
            return Expected(success("Organization retrieved successfully", shown), record)

        self.ask("GET /v2/orgs/{org_id}", at, caller, expected, None, condition, known, org_id=org_id)

    @route("POST /v2/orgs/{org_id}", org_id=names, name=texts, content=_organisations, condition=conditions)
    def save_organisation(
        self, at: int, caller: str, org_id: str, name: str, content: Document, condition: str | None
    ) -> None:
        known = self.workspace(at).of("organisation").get(org_id)

        def expected(workspace: Workspace) -> Expected:
            record = known or Record({})
            before = record.document.get("lastModified")
            workspace.of("organisation")[org_id] = record.save(merged(record.document, {"name": name, **content}))
            if record.tag is None and record.document.get("lastModified") in (None, before):
                record.document["lastModified"] = self.seconds()
            warnings = missing_of_organisation(workspace, content)
            return Expected(success("Organization updated successfully", **warnings), record)

        body = {"name": name, **content}
        self.ask("POST /v2/orgs/{org_id}", at, caller, expected, body, condition, known, org_id=org_id)

    @route("GET /v3/orgs", limit=limits)
    def list_organisations(self, at: int, caller: str, limit: int) -> None:
        message = "Organizations retrieved successfully"
        self.bounded("GET /v3/orgs", at, caller, limit, organisations, "", message)

    @route("GET /v2/orgs", limit=limits)
    def list_organisations_v2(self, at: int, caller: str, limit: int) -> None:
        message = "Organizations retrieved successfully"
        self.ask("GET /v2/orgs", at, caller, lambda workspace: Expected(success(message, organisations(workspace))))
        self.pages("GET /v2/orgs", at, caller, message, limit, organisations)

    @route("GET /v3/orgs/{org_id}/clients", org_id=names, limit=limits)
    def list_organisation_clients(self, at: int, caller: str, org_id: str, limit: int) -> None:
        def whole(workspace: Workspace) -> list[Document | None]:
            workspace.get("organisation", org_id)
            return [
                visible(self.client(workspace, key, one), "client", caller)
                if one.document.get("orgId") == org_id
                else None
                for key, one in sorted(workspace.of("client").items())
            ]

        message = "Clients retrieved successfully"
        self.bounded("GET /v3/orgs/{org_id}/clients", at, caller, limit, whole, "", message, org_id=org_id)

    @route("GET /v3/orgs/{org_id}/agents", org_id=names)
    def list_organisation_agents(self, at: int, caller: str, org_id: str) -> None:
        def expected(workspace: Workspace) -> Expected:
            known = workspace.of("agent")
            named = workspace.get("organisation", org_id).document.get("widgetIDs", ())
            found = [
                self.rendered(workspace, key, known[key].document, caller) for key in sorted({*named}) if key in known
            ]
            return Expected(success("Agents retrieved successfully", found, hasMore=False))

        self.ask("GET /v3/orgs/{org_id}/agents", at, caller, expected, org_id=org_id)

    @route("POST /v3/orgs", name=texts, content=_organisations)
    def create_organisation(self, at: int, caller: str, name: str, content: Document) -> None:
        body = {"name": name, **content}
        self.create_organisation_by("POST /v3/orgs", at, caller, body, {"organisation": body})

    @route("PUT /v2/orgs", name=texts, content=_organisations)
    def put_organisation(self, at: int, caller: str, name: str, content: Document) -> None:
        body = {"name": name, **content}
        self.create_organisation_by("PUT /v2/orgs", at, caller, body, body)

    def create_organisation_by(self, route: str, at: int, caller: str, content: Document, body: Document) -> None:
        """Create an organisation whose id is generated."""
        path = "" if body is content else "organisation."
        record = Record({})

        def expected(workspace: Workspace) -> Expected:
            record.document = {"lastModified": self.seconds(), **merged({}, content)}
            shown = {"ID": MADE, "userId": workspace.id, **record.document}
            warnings = missing_of_organisation(workspace, content, path)
            return Expected(success("Organization created successfully", shown, **warnings), record)

        answer = self.ask(route, at, caller, expected, body)
        if answer.status == 200:
            self.workspace(at).of("organisation")[answer.data["ID"]] = record

    @route("DELETE /v3/orgs/{org_id}", org_id=names, condition=conditions)
    def delete_organisation(self, at: int, caller: str, org_id: str, condition: str | None) -> None:
        self.delete_record("DELETE /v3/orgs/{org_id}", at, caller, "organisation", org_id, condition, org_id=org_id)

    @route("DELETE /v2/orgs/{org_id}", org_id=names, condition=conditions)
    def delete_organisation_v2(self, at: int, caller: str, org_id: str, condition: str | None) -> None:
        self.delete_record("DELETE /v2/orgs/{org_id}", at, caller, "organisation", org_id, condition, org_id=org_id)


def missing_of_client(workspace: Workspace, content: Document, path: str = "") -> Document:
    """Return the warnings for a client that refers to a missing organisation."""
    ids = {f"{path}orgId": content["orgId"]} if content.get("orgId") is not None else {}
    return _missing(ids, "organisation", workspace.of("organisation"))


def missing_of_organisation(workspace: Workspace, content: Document, path: str = "") -> Document:
    """Return the warnings for an organisation that refers to missing agents."""
    ids = {f"{path}widgetIDs.{number}": one for number, one in enumerate(content.get("widgetIDs") or ())}
    return _missing(ids, "agent", workspace.of("agent"))


def _missing(ids: dict[str, str], kind: str, known: Collection[str]) -> Document:
    message = f"refers to no {kind} in this workspace; the value is stored as sent"
    found = [{"path": path, "message": message} for path, one in ids.items() if one not in known]
    return {"warnings": found} if found else {}


def organisations(workspace: Workspace) -> list[Document]:
    """Return all organisations, ordered by id."""
    found = sorted(workspace.of("organisation").items())
    return [{"ID": key, "userId": workspace.id, **one.document} for key, one in found]


def _email(record: Record) -> str:
    return (record.document.get("email") or "").strip().lower()
