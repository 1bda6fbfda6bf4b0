"""Stream and queue functions retry records that a newer version stored: no record is skipped or dead-lettered."""

from contextlib import nullcontext

import pytest

from chalicelib import extensions, storage
from chalicelib.storage.layouts import UnknownLayout
from chalicelib.webhooks import functions, hosts, queue
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import state_body, webhook_body
from tests.operations import populate
from tests.storage.test_layouts import STATE, newer_version
from tests.test_log_values import CHOSEN, WATCHED, WATCHING, table_of
from tests.webhooks.pipeline import Inbox, Stream, drain, fan_out, take, waiting

EVENTS = ("organisation_created", "message_received")


@pytest.mark.parametrize("newer", ["the record", "the endpoint", "its host"])
def test_fan_out_repeats_a_record_until_a_newer_version_reads_it(
    stream: Stream, api: Api, agent_id: str, workspace: NewWorkspace, inbox: Inbox, newer: str
) -> None:
    stream.read()
    with newer_version() if newer == "the endpoint" else nullcontext():
        api.post("/v3/webhooks", webhook_body(inbox.url(), *EVENTS))
    if newer == "its host":
        with newer_version():
            hosts.demote(workspace.workspace_id, inbox.host)
    with newer_version() if newer == "the record" else nullcontext():
        api.post("/v2/orgs/acme", {"name": "Acme"})
        api.post(STATE, state_body("Hello"))
    records = stream.read("organisations", "conversations")
    for record in records:
        with pytest.raises(UnknownLayout):
            fan_out([record])
    with newer_version():
        fan_out(records)
        drain()
    assert sorted(post.body["type"] for post in inbox.posts) == sorted(EVENTS)
    assert waiting(queue.DEAD_LETTER) == []


# These functions read only unencrypted attributes. Core counts conversations by their keys, and the console reads only
# conversations that wait for a person.
PLAIN = {"follow_deliveries", "follow_credentials"}
PLAIN |= set() if extensions.has("reports") else {"follow_conversations"}


def test_every_function_of_a_stream_repeats_records_of_a_newer_version(stream: Stream, workspace: NewWorkspace) -> None:
    with newer_version():
        populate({"Authorization": f"Bearer {workspace.workspace_key}"}, "mark", CHOSEN)
    records = stream.read(*WATCHED)
    for name in WATCHING.keys() - PLAIN:
        own = [one for one in records if one["eventSourceARN"].split("/")[1] == storage.table(table_of(name))]
        with pytest.raises(UnknownLayout):
            WATCHING[name]({"Records": own}, None)
    assert waiting(queue.DEAD_LETTER) == []


def test_fan_out_reports_only_the_part_of_a_batch_that_it_cannot_read(stream: Stream, api: Api) -> None:
    api.post("/v2/orgs/before", {"name": "Before"})
    with newer_version():
        api.post("/v2/orgs/after", {"name": "After"})
    before, after = stream.read("organisations")
    reported = functions.fan_out_organisations({"Records": [before, after]}, None)
    assert reported == {"batchItemFailures": [{"itemIdentifier": after["dynamodb"]["SequenceNumber"]}]}
    assert waiting(queue.DEAD_LETTER) == []


@pytest.mark.parametrize("newer", ["the event", "the endpoint", "its host"])
def test_delivery_repeats_a_message_until_a_newer_version_reads_it(
    stream: Stream, api: Api, workspace: NewWorkspace, inbox: Inbox, newer: str
) -> None:
    webhook = api.post("/v3/webhooks", webhook_body(inbox.url(), *EVENTS)).data
    api.post("/v2/orgs/acme", {"name": "Acme"})
    with newer_version() if newer == "the event" else nullcontext():
        fan_out(stream.read("organisations"))
    with newer_version():
        if newer == "the endpoint":
            api.patch(f"/v3/webhooks/{webhook['id']}", {"webhook": {"description": "Changed"}})
        if newer == "its host":
            hosts.demote(workspace.workspace_id, inbox.host)
    message = take()
    with pytest.raises(UnknownLayout):
        message.run()
    assert inbox.posts == []
    with newer_version():
        message.run()
        drain(queue.SLOW)  # the hanging host is slow
    assert len(inbox.posts) == 1
    assert waiting(queue.DEAD_LETTER) == []
