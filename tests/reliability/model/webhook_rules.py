"""Rules for webhooks, their deliveries, and the documentation."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize

from tests.reliability.model.answers import MADE, Document, Expected, Record, missing, success
from tests.reliability.model.forms import merged
from tests.reliability.model.machine import Workspace, conditions, picks, route
from tests.reliability.model.workspace_rules import WorkspaceRules

WEBHOOK = "/v3/webhooks/{webhook_id}"
DELIVERIES = f"{WEBHOOK}/deliveries"
_types = st.lists(st.sampled_from(["agent_created", "lead_captured", "webhook_test"]), min_size=1, max_size=4)
_required = {"url": st.sampled_from(["https://example.com/a", "https://example.com/b"]), "events": _types}
_more = {"enabled": st.booleans(), "description": st.sampled_from([None, "", "x" * 1000])}
PAYLOAD = "A test of this webhook endpoint."


class WebhookRules(WorkspaceRules):
    """Rules for webhook and delivery operations. No delivery is sent, so all deliveries stay pending."""

    @initialize()
    def begin(self) -> None:
        """Create records of every kind in both workspaces, because most requests need existing records."""
        for at in (0, 2):
            for agent_id in ("a1", "a2"):
                self.save_v2(at, "key", agent_id, {"title": agent_id}, None)
            self.create_webhook(at, "key", {"url": "https://example.com/a", "events": ["lead_captured"]})
            for pick in (0, 1):
                self.create_tool(at, "token", pick, "tool", {})
                self.create_lead(at, "token", pick, {})
                self.send_test(at, "token", 0)

    def hook(self, at: int, pick: int) -> tuple[str, Record | None]:
        """Return the id and record of a webhook that may be unknown or belong to the other workspace."""
        webhook_id = self.known("webhook", at, pick)
        return webhook_id, self.workspace(at).of("webhook").get(webhook_id)

    @route("POST /v3/webhooks", content=st.fixed_dictionaries(_required, optional=_more))
    def create_webhook(self, at: int, caller: str, content: Document) -> None:
        record = Record({})

        def expected(_: Workspace) -> Expected:
            kept = {
                "kind": "push",
                "enabled": True,
                **content,
                "events": list(dict.fromkeys(content["events"])),
                "createdAt": self.now,
            }
            record.document = {"description": None, **kept}
            shown = {"id": MADE, "signingSecret": MADE, **record.document}
            lasting = self.lasting(at, caller, "webhook", "webhook.signingSecret")
            return Expected(success("Webhook created successfully", shown, **lasting), record)

        answer = self.ask("POST /v3/webhooks", at, caller, expected, {"webhook": content})
        if answer.status == 200:
            self.workspace(at).of("webhook")[answer.data["id"]] = record

    @route("GET /v3/webhooks")
    def list_webhooks(self, at: int, caller: str) -> None:
        def expected(workspace: Workspace) -> Expected:
            shown = [{"id": key, **one.document} for key, one in workspace.of("webhook").items()]
            return Expected(success("Webhooks retrieved successfully", shown))

        self.ask("GET /v3/webhooks", at, caller, expected)

    @route(f"GET {WEBHOOK}", pick=picks, condition=conditions)
    def read_webhook(self, at: int, caller: str, pick: int, condition: str | None) -> None:
        webhook_id, known = self.hook(at, pick)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("webhook", webhook_id)
            return Expected(success("Webhook retrieved successfully", {"id": webhook_id, **record.document}), record)

        self.ask(f"GET {WEBHOOK}", at, caller, expected, None, condition, known, webhook_id=webhook_id)

    @route(
        f"PATCH {WEBHOOK}",
        pick=picks,
        content=st.fixed_dictionaries({}, optional={**_required, **_more}),
        condition=conditions,
    )
    def change_webhook(self, at: int, caller: str, pick: int, content: Document, condition: str | None) -> None:
        webhook_id, known = self.hook(at, pick)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("webhook", webhook_id)
            after = {"description": None, **merged(record.document, content)}
            record.save({**after, "events": list(dict.fromkeys(after["events"]))})
            shown = {"id": webhook_id, **record.document}
            lasting = self.lasting(at, caller, "webhook")
            return Expected(success("Webhook updated successfully", shown, **lasting), record)

        self.ask(
            f"PATCH {WEBHOOK}", at, caller, expected, {"webhook": content}, condition, known, webhook_id=webhook_id
        )

    @route(f"POST {WEBHOOK}/rotate", pick=picks, condition=conditions)
    def rotate_webhook(self, at: int, caller: str, pick: int, condition: str | None) -> None:
        webhook_id, known = self.hook(at, pick)

        def expected(workspace: Workspace) -> Expected:
            record = workspace.get("webhook", webhook_id)
            record.tag = None
            shown = {"id": webhook_id, "signingSecret": MADE, **record.document}
            lasting = self.lasting(at, caller, "webhook.signingSecret")
            return Expected(success("Webhook secret rotated successfully", shown, **lasting), record)

        self.ask(f"POST {WEBHOOK}/rotate", at, caller, expected, None, condition, known, webhook_id=webhook_id)

    @route(f"DELETE {WEBHOOK}", pick=picks, condition=conditions)
    def delete_webhook(self, at: int, caller: str, pick: int, condition: str | None) -> None:
        webhook_id, _ = self.hook(at, pick)
        self.delete_record(f"DELETE {WEBHOOK}", at, caller, "webhook", webhook_id, condition, webhook_id=webhook_id)

    # ---- deliveries ----

    @route(f"POST {WEBHOOK}/test", pick=picks)
    def send_test(self, at: int, caller: str, pick: int) -> None:
        webhook_id, _ = self.hook(at, pick)
        self.queue(f"POST {WEBHOOK}/test", at, caller, "Webhook test", None, webhook_id=webhook_id)

    @route(f"POST {DELIVERIES}/{{delivery_id}}/redeliver", pick=picks)
    def redeliver(self, at: int, caller: str, pick: int) -> None:
        webhook_id, delivery_id = self.known("delivery", at, pick, ("nothing", "nothing"))
        ids = {"webhook_id": webhook_id, "delivery_id": delivery_id}
        name = f"POST {DELIVERIES}/{{delivery_id}}/redeliver"
        self.queue(name, at, caller, "Delivery", (webhook_id, delivery_id), **ids)

    def queue(self, name: str, at: int, caller: str, what: str, again: Any, **ids: str) -> None:
        """Request a test or a redelivery."""
        webhook_id, record = ids["webhook_id"], Record({})

        def expected(workspace: Workspace) -> Expected:
            workspace.get("webhook", webhook_id)
            made = {"message": PAYLOAD, "createdAt": self.now}
            old = workspace.get("delivery", again).document if again else {"eventId": MADE, "payload": made}
            nothing_yet = {"responseStatus": None, "durationMs": None, "error": None}
            record.document = {
                "type": "webhook_test",
                "status": "pending",
                "createdAt": self.now,
                "eventId": old["eventId"],
                "payload": old["payload"],
                **nothing_yet,
            }
            shown = {"id": MADE, **_short(record)}
            return Expected(success(f"{what} queued successfully", shown))

        answer = self.ask(name, at, caller, expected, None, None, None, "", **ids)
        if answer.status == 200:
            record.document["eventId"] = answer.data["eventId"]
            self.workspace(at).of("delivery")[webhook_id, answer.data["id"]] = record

    @route(
        f"GET {DELIVERIES}",
        pick=picks,
        limit=st.sampled_from([1, 100]),
        status=st.sampled_from(["", "pending", "failed"]),
    )
    def list_deliveries(self, at: int, caller: str, pick: int, limit: int, status: str) -> None:
        webhook_id, _ = self.hook(at, pick)

        def whole(workspace: Workspace) -> list[Document]:
            workspace.get("webhook", webhook_id)
            own = [(key[1], one) for key, one in workspace.of("delivery").items() if key[0] == webhook_id]
            return [{"id": key, **_short(one)} for key, one in reversed(own) if status in ("", "pending")]

        self.pages(
            f"GET {DELIVERIES}", at, caller, "Deliveries retrieved successfully", limit, whole,
            more=f"&status={status}" if status else "", webhook_id=webhook_id,
        )  # fmt: skip

    @route(f"GET {DELIVERIES}/{{delivery_id}}", pick=picks)
    def read_delivery(self, at: int, caller: str, pick: int) -> None:
        webhook_id, delivery_id = self.known("delivery", at, pick, ("nothing", "nothing"))

        def expected(workspace: Workspace) -> Expected:
            workspace.get("webhook", webhook_id)
            record = workspace.get("delivery", (webhook_id, delivery_id))
            return Expected(success("Delivery retrieved successfully", {"id": delivery_id, **record.document}))

        ids = {"webhook_id": webhook_id, "delivery_id": delivery_id}
        self.ask(f"GET {DELIVERIES}/{{delivery_id}}", at, caller, expected, **ids)

    # ---- documentation ----

    described: dict[str, Any] = {}  # noqa: RUF012

    @route("GET /openapi.json")
    def read_document(self, at: int, caller: str) -> None:
        self.ask("GET /openapi.json", at, caller, lambda _: self.first_answer("/openapi.json"))

    @route("GET /")
    def read_root(self, at: int, caller: str) -> None:
        self.ask("GET /", at, caller, lambda _: Expected("", status=302))

    @route("GET /docs")
    def read_page(self, at: int, caller: str) -> None:
        self.ask("GET /docs", at, caller, lambda _: self.first_answer("/docs"))

    @route("GET /docs/{asset}", asset=st.sampled_from(["page.css", "nothing.js"]))
    def read_asset(self, at: int, caller: str, asset: str) -> None:
        def expected(_: Workspace) -> Expected:
            if asset == "nothing.js":
                raise missing("file")
            return self.first_answer(f"/docs/{asset}")

        self.ask("GET /docs/{asset}", at, caller, expected, asset=asset)

    def first_answer(self, path: str) -> Expected:
        """Return the response to the first request."""
        from tests.api import Api

        if path not in self.described:
            answer = Api().get(path)
            self.described[path] = answer.text if answer.json is None else answer.json
        return Expected(self.described[path])


def _short(record: Record) -> Document:
    return {name: value for name, value in record.document.items() if name != "payload"}
