"""The Python client's models, pages and webhooks. It calls the service without a network."""

import base64
import hmac
import inspect
import json
import pickle
import re
import sys
import time
from itertools import pairwise
from typing import Any, Literal, get_origin

import pytest

from chalicelib import extensions
from chalicelib.workspaces.store import NewWorkspace
from infra.client import build
from infra.client.names import AT_EDGE, OF_OTHER_CLIENTS
from tests.generated_clients.in_process import Connect, Service
from tests.openapi.document import operations
from tests.selection import whole

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="NOT TESTED: the Python client needs Python 3.11.")


def test_the_client_has_at_most_160_models(cams: Any) -> None:
    """Models are the classes and enumerations in `models`. Both forms of a record are one class."""
    names = {name for name, one in vars(cams.models).items() if inspect.isclass(one) or get_origin(one) is Literal}
    models = names - {"Any", "Literal", "Record"}
    assert {"Agent", "Message", "Platform"} < models
    assert not [name for name in models if name.endswith("Input")]
    assert len(models) <= 160


def test_no_representation_contains_a_secret(client: Any, agent: Any, workspace: NewWorkspace) -> None:
    assert agent.secret_api_key.startswith("cams_agent_")
    shown = f"{client!r} {client.conversations!r} {agent!r} {client.webhooks.__dict__}"
    assert "url='https://cams.test'" in shown and "title='Support'" in shown
    assert "secret_api_key=…" in shown
    assert agent.secret_api_key not in shown and workspace.workspace_key not in shown
    page = client.agents.list().first_page()
    assert page.body["data"][0]["SECRET_API_KEY"] == agent.secret_api_key
    assert "title='Support'" in repr(page) and agent.secret_api_key not in repr(page)


def test_a_record_has_typed_members_and_keeps_unknown_ones(cams: Any, client: Any) -> None:
    limits = cams.models.Limits(max_interactions_per_user_id=2)
    agent = client.agents.create(title="Support", limits=limits, nodes=[{"id": "start", "toolsIds": []}])
    agent = client.agents.retrieve(agent.id)
    assert (agent.limits, agent.nodes[0].tools_ids, agent.description) == (limits, [], None)
    assert type(agent.limits) is cams.models.Limits
    assert cams.models.Agent.from_dict({"title": "A", "later": 1}).to_dict() == {"title": "A", "later": 1}
    assert pickle.loads(pickle.dumps(agent)) == agent
    with pytest.raises(AttributeError, match="immutable"):
        agent.title = "Other"
    with pytest.raises(TypeError, match="no member titel"):
        client.agents.create(titel="Support")


def test_names_are_those_that_a_person_would_choose(cams: Any, client: Any) -> None:
    organisation = cams.models.Organisation.from_dict({"widgetIDs": ["a"], "ID": "acme"})
    assert (organisation.widget_ids, organisation.id) == (["a"], "acme")
    assert "default_llm_options" in cams.models.NodesSettings._members
    assert "ui_handoff_title" in cams.models.Agent._members
    records = [record for record in vars(cams.models).values() if inspect.isclass(record) and record.__doc__]
    own = {"etag", "request_id", "to_dict", "from_dict"}
    assert not [record for record in records if own & getattr(record, "_members", {}).keys()]
    assert not [name for name in vars(client) if "_" in name.strip("_")]
    assert hasattr(cams._sync.resources.Analytics, "list") == extensions.has("analytics_records")


def test_docstrings_list_the_credentials_of_both_routes(cams: Any) -> None:
    text = " ".join(inspect.getdoc(cams._sync.resources.Messages.list).split())
    assert re.search(r"Credentials: workspace key or agent key \S+ or .*access token with the scope", text)


def test_docstrings_are_wrapped_once(cams: Any) -> None:
    lines = inspect.getdoc(cams._sync.resources.Messages.list).splitlines()
    paragraphs = [line for line in lines[: lines.index("Args:")] if line]
    followed = [line for line, following in pairwise(lines) if following and line in paragraphs]
    assert len(followed) >= 4
    assert not [line for line in followed if len(line) < 80]


def test_a_preconditions_etag_comes_from_the_record(cams: Any, client: Any, agent: Any) -> None:
    changed = client.agents.update(agent.id, title="Sales", if_match=agent.etag)
    assert changed.etag != agent.etag
    with pytest.raises(cams.errors.PreconditionFailed):
        client.agents.update(agent.id, title="Other", if_match=agent.etag)
    with pytest.raises(cams.NotModified):
        client.agents.retrieve(agent.id, if_none_match=changed.etag)


def test_a_list_is_read_page_by_page(connect: Connect, agent: Any, client: Any) -> None:
    client.conversations(agent.id, "ann").messages.add(*map(str, range(25)))
    service = Service()
    messages = connect(service).conversations(agent.id, "ann").messages

    assert [message.item["text"] for message in messages.list(limit=10)] == [*map(str, reversed(range(25)))]
    assert len(service.requests) == 3
    page = messages.list(limit=10).first_page()
    assert (len(page.data), page.body["hasMore"]) == (10, True)
    assert len(messages.list(limit=10, cursor=page.next_cursor).first_page().data) == 10
    assert [len(page.data) for page in messages.list(limit=10).pages()] == [10, 10, 5]


def test_an_export_is_one_file(client: Any, agent: Any) -> None:
    for number in range(3):
        client.leads.create(agent_id=agent.id, name=f"Lead {number}")
    pages = list(client.leads.export(format="ndjson", limit=2))
    assert len(pages) == 2
    assert [json.loads(line)["name"] for line in "".join(pages).splitlines()] == ["Lead 2", "Lead 1", "Lead 0"]


@whole
def test_both_clients_have_every_operation_once(cams: Any) -> None:
    methods = {}
    for package in (cams._async, cams._sync):
        classes = [item for name, item in vars(package.resources).items() if inspect.isclass(item)]
        own = [item for item in classes if item.__module__ == package.resources.__name__]
        methods[package] = {
            f"{item.__name__.removeprefix('Async')}.{name}"
            for item in own
            for name in vars(item)
            if not name.startswith("__")
        }
    assert methods[cams._async] == methods[cams._sync]
    by_hand = {"Conversation.messages", "Resources.__init__"}
    own = [one for one in operations() if one.description.get("x-extension") not in OF_OTHER_CLIENTS]
    assert len(methods[cams._sync] - by_hand) == len(own) - len({"add", *AT_EDGE})
    assert {"Agents.create", "Messages.list", "Tokens.issue"} < methods[cams._sync]
    assert hasattr(cams._sync.resources.Messages, "add")


def test_the_modules_by_hand_have_at_most_800_lines() -> None:
    """The sessions of agent frameworks have their own limit, in `test_sessions`."""
    package = build.SOURCE / "cams"
    sessions = {package / "_async/transcript.py", *package.glob("sessions/*.py")}
    files = {*package.rglob("*.py")} - sessions
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= 800


def test_a_webhook_needs_a_secret(cams: Any) -> None:
    """Anyone can compute the signature for an empty key."""
    headers = {"webhook-id": "e-1", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,AAAA"}
    for secret in ("", "whsec_", "whsec_?"):
        with pytest.raises(ValueError):
            cams.verify_webhook(b"{}", headers, secret)


def test_a_verified_event_has_a_typed_payload(cams: Any) -> None:
    secret = b"a signing secret"
    payload = {"leadName": "Ann", "agentId": "support"}

    def receive(kind: str, as_text: bool = False) -> Any:
        body = json.dumps({"type": kind, "payload": payload}).encode()
        headers = {"webhook-id": "e-1", "cams-message-id": "m%C3%BC-1", "webhook-timestamp": str(int(time.time()))}
        signed = b"e-1." + headers["webhook-timestamp"].encode() + b"." + body
        headers["webhook-signature"] = "v1," + base64.b64encode(hmac.digest(secret, signed, "sha256")).decode()
        received = body.decode() if as_text else body
        return cams.verify_webhook(received, headers, f"whsec_{base64.b64encode(secret).decode()}")

    event = receive("lead_captured")
    assert isinstance(event, cams.events.LeadCaptured)
    assert (event.id, event.type, event.payload.lead_name, event.payload.agent_id) == (
        "e-1",
        "lead_captured",
        "Ann",
        "support",
    )
    assert event.message_id == "mü-1"
    assert receive("lead_captured", as_text=True) == event
    later = receive("a_later_type")
    assert later.payload == payload
    assert "Ann" not in repr(later)
