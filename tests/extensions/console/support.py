"""The console in the core tests: its queue function with messages, and the rows of its emails."""

import pytest

from chalicelib import clock, ids, storage
from chalicelib.clients import store as clients
from chalicelib.extensions.console import functions
from chalicelib.extensions.console.account_pages import one_time_links
from chalicelib.extensions.console.extension import QUEUE
from chalicelib.extensions.console.notifications import allowance, notices
from chalicelib.extensions.console.queue import FindRecipients, Notify, SendChangeNotice, SendLink, SendResetLink
from chalicelib.queues import messages
from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.extensions import QueueFunctions
from tests.extensions.console.browser import Browser
from tests.followers import follow
from tests.queues.messages import take
from tests.webhooks import pipeline

QUEUES = (QUEUE,)


def queue_functions(workspace_id: str, agent_id: str, client_id: str) -> QueueFunctions:
    """Return the queue function by name, with a message of each kind.

    Only the service could seal the address of a change notice, so that message is for a client who is gone.
    """
    kinds = (
        FindRecipients(workspace_id, 0, (agent_id,)),
        Notify(workspace_id, client_id, 0),
        SendLink(workspace_id, client_id, one_time_links.INVITATION),
        SendResetLink(workspace_id, "unknown"),
        SendChangeNotice(workspace_id, f"{client_id}-gone", "email", 0, ""),
    )
    return {"notify_people": (functions.notify_people, [*map(messages.pack, kinds)])}


def add_rows(workspace_id: str) -> None:
    """Store the rows of an email, and of a one-time link."""
    client = clients.new(workspace_id, "ann")
    client.seal({})
    with storage.unit_of_work():
        one_time_links.stage(client, one_time_links.RESET)
    notices.claim(None, workspace_id, "ann", clock.milliseconds())
    assert allowance.take(workspace_id)


def run_functions() -> None:
    """Notify a person, and let an administrator change and invite a person."""
    with pytest.MonkeyPatch.context() as patch:
        _notify_people(patch)
        _change_a_person()


def _notify_people(patch: pytest.MonkeyPatch) -> None:
    """Request a person in two conversations. The first conversation's metadata is too long for the index."""
    patch.setenv("CAMS_MAIL_SENDER", "cams@example.com")
    patch.setenv("CAMS_CONSOLE_URL", "https://example.com/console")
    storage.sdk_client("ses", attempts=1).verify_email_identity(EmailAddress="cams@example.com")
    new, stream = workspaces.create("Notified"), pipeline.Stream()
    api, settings = Api(new.workspace_key), {"notifyThrough": "email", "notifyIf": "all"}
    for path, body in (
        ("/v2/agents/support", {}),
        ("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support"]}),
        ("/v2/clients/bo", {"orgId": "acme", "email": "bo@example.com", "notificationsSettings": settings}),
    ):
        assert api.post(path, body).status == 200
    for name in ("ann", "bob"):
        metadata = {"state": "requested_chat", "userName": ids.random_text(3_000) if name == "ann" else name}
        assert api.post(f"/agents/support/interact/{name}/state", {"metadata": metadata}).status == 200
        follow("conversations", stream.read("conversations"))
        for _ in range(2):
            _run_queue()


def _run_queue() -> None:
    records = [{"messageId": "1", "body": one["body"]} for one in take(QUEUE)]
    assert functions.notify_people({"Records": records}, None) == {"batchItemFailures": []}


def _change_a_person() -> None:
    """Change a person in a commit that fails if the administrator's rights have changed, and send them a link."""
    new = workspaces.create("Console")
    api, browser = Api(new.workspace_key), Browser(new.workspace_id)
    administrator = {"email": "bo@acme.test", "dashboardPassword": "correct horse", "isOrgAdmin": True}
    assert api.post("/v2/orgs/acme", {"name": "Acme"}).status == 200
    for client_id, members in (("bo", administrator), ("kim", {"email": "kim@example.com"})):
        assert api.post(f"/v2/clients/{client_id}", {"orgId": "acme", **members}).status == 200
    browser.start_session(email="bo@acme.test", password="correct horse")
    page = browser.open("/settings/orgs/acme/clients/kim")
    assert browser.submit(page, "/clients/kim", {"name": "Kim"}).status == 200
    assert browser.submit(page, "/clients/kim", {"action": "invite"}).status == 200
    assert browser.submit(browser.open("/forgot-password"), "/forgot-password", {"email": "bo@acme.test"}).status == 200
    _run_queue()
