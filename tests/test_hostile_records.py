"""A workspace's malformed records do not stop stream and queue functions from serving other workspaces.

1. The fixture `records` reads the stream records of two workspaces that have a record of every kind.
2. `mutations` copies the first workspace's records. In each copy, one attribute or member is absent, has a wrong type,
   is huge, is not a number, or is a time after the year 9999.
3. `check` sends the copies to a function in batches with the second workspace's good records. The rows and messages
   that the function writes for the second workspace (`Effects`) must be the same as without malformed records.
"""

import base64
import copy
import csv
import io
import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from chalice.app import SQSEventConfig
from click.testing import CliRunner

from app import app
from chalicelib import clock, ids, maintenance, queues, storage
from chalicelib.conversations import store as conversations
from chalicelib.conversations.new_messages import Totals
from chalicelib.conversations.state import State
from chalicelib.leads.store import LeadRow
from chalicelib.queues import messages, shared_messages, stream_batches, tasks
from chalicelib.storage import encryption, parent_scoped_ids
from chalicelib.webhooks import functions as webhook_functions
from chalicelib.webhooks import queue
from chalicelib.workspaces.store import NewWorkspace
from infra.deploy.function import Function
from infra.deploy.functions import declared_functions
from infra.operator.commands import cams
from tests import extensions
from tests.api import Api
from tests.builders import webhook_body
from tests.operations import populate
from tests.test_log_values import WATCHED, WATCHING, table_of
from tests.webhooks import pipeline
from tests.webhooks.conftest import inbox, stream  # noqa: F401 - the fixtures
from tests.webhooks.pipeline import Inbox, Record, Stream

LATE_ULID = "7zzzzzzzzzzzzzzzzzzzzzzzzz"  # a timestamp in the year 10889
ABSENT = object()
ATTRIBUTES: tuple[Any, ...] = (
    ABSENT, None, 7, {}, {"S": ""}, {"S": "text"}, {"S": "x" * 3_000}, {"S": "#" * 9}, {"S": LATE_ULID}, {"N": "7"},
    {"N": "NaN"}, {"N": "9e99"}, {"S": 7}, {"B": "%%%"}, {"B": "AAAA"}, {"B": 7}, {"NULL": True}, {"BOOL": True},
    {"L": []}, {"M": {}}, {"SS": ["x"]},
)  # fmt: skip
MEMBERS: tuple[Any, ...] = (
    ABSENT, None, 7, -1.5, True, "", "text", "#", "x" * 100_000, LATE_ULID, [], [7], {}, {"a": None}, 10**30, 1e308,
    253_402_300_800, 253_402_300_800_000, float("nan"), float("inf"),
)  # fmt: skip
BATCH = 50
SEALED = ("document", "summary", "metadata", "load", "convo", "received")
EVENTS = ("agent_created", "agent_updated", "organisation_created", "client_created", "lead_captured",
          "message_received", "conversation_state_changed", "conversation_assigned")  # fmt: skip


class Effects:
    """A recorder of what functions write and send: row keys, message groups and dead letters."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.rows: set[tuple[str, ...]] = set()
        self.texts: set[tuple[str, str]] = set()
        self.dead: list[Any] = []
        save_many, send = storage.save_many, queues.send

        def save(rows: Sequence[storage.Row]) -> None:
            save_many(rows)
            self.rows |= {(type(row).__name__, *row.keys) for row in rows}

        def sent(queue: str, texts: Sequence[str], group: str, *delay: int) -> None:
            if queue == stream_batches.DEAD_LETTER:
                self.dead += map(json.loads, texts)
                return
            send(queue, texts, group, *delay)
            self.texts |= {(queue, group)}

        patch.setattr(storage, "save_many", save)
        patch.setattr(queues, "send", sent)

    def clear(self) -> None:
        self.rows.clear()
        self.texts.clear()
        self.dead.clear()

    def of(self, workspace_id: str) -> tuple[set[tuple[str, ...]], set[tuple[str, str]]]:
        return {one for one in self.rows if workspace_id in repr(one)}, {
            one for one in self.texts if one[1] == workspace_id
        }


@pytest.fixture
def records(
    stream: Stream, inbox: Inbox, workspace: NewWorkspace, other_workspace: NewWorkspace  # noqa: F811
) -> tuple[dict[str, list[Record]], dict[str, list[Record]]]:  # fmt: skip
    """Return two workspaces' stream records by table. Each workspace creates and changes every kind of record."""
    stream.read(*WATCHED)  # skip the records of the workspaces' creation
    records_of_each = []
    for tenant in (workspace, other_workspace):
        api = Api(tenant.workspace_key)
        api.post("/v3/webhooks", webhook_body(inbox.url(), *EVENTS))
        for mark in ("first", "second"):
            populate({"Authorization": f"Bearer {tenant.workspace_key}"}, mark, {
                "agent_id": "support", "user_id": "ann", "client_id": "ann", "org_id": "acme"
            })  # fmt: skip
        state = {"metadata": {"state": "requested_chat", "userBrowser": "Firefox", "origin": "web-chat"}}
        assert api.post("/agents/support/interact/bo/state", state).status == 200
        records = stream.read(*WATCHED)
        pipeline.fan_out(records)
        pipeline.drain()
        records += stream.read("deliveries")
        records_of_each.append(records)
    mine, others = ({table: _of_table(tenant, table) for table in WATCHED} for tenant in records_of_each)
    return mine, others


def _of_table(records: list[Record], table: str) -> list[Record]:
    return [one for one in records if one["eventSourceARN"].split("/")[1] == storage.table(table)]


def mutations(record: Record) -> Iterator[tuple[str, Record]]:
    """Yield malformed copies of a record, each with the path of its only malformed value."""
    for value in (None, 7, "text", [], {}, {"dynamodb": {}}, {**record, "dynamodb": None}):
        yield "record", value
    for name in ("eventName", "eventSourceARN", "dynamodb"):
        yield name, {key: value for key, value in record.items() if key != name}
    for image, attributes in record["dynamodb"].items():
        if image not in ("Keys", "NewImage", "OldImage"):
            for value in MEMBERS:
                yield image, _changed(record, (image,), value)
            continue
        for name in attributes:
            for value in ATTRIBUTES:
                yield f"{image}.{name}", _changed(record, (image, name), value)
            if image != "Keys" and name in SEALED:
                yield from _sealed(record, image, name)


def _sealed(record: Record, image: str, name: str) -> Iterator[tuple[str, Record]]:
    row = _Sealed(record, image, name)
    document = row.open()
    for value in (None, 7, [], {}, "text"):
        yield f"{image}.{name}", row.with_document(value)
    for member in (*document, "state", "firstMessageTS", "lastMessageTS"):
        for value in MEMBERS:
            changed = {key: one for key, one in document.items() if key != member}
            yield (
                f"{image}.{name}.{member}",
                row.with_document(changed if value is ABSENT else {**changed, member: value}),
            )


class _Sealed:
    """An encrypted attribute of an image, with methods that decrypt and replace its document."""

    def __init__(self, record: Record, image: str, name: str) -> None:
        self._record, self._place = record, (image, name)
        keys = [value["S"] for value in record["dynamodb"]["Keys"].values()]
        table = storage.logical_name(record["eventSourceARN"].split("/")[1])
        self._workspace_id = keys[0].split("#")[0]
        stored = {one: _plain(value) for one, value in record["dynamodb"][image].items()}
        self._keys = "/".join((table, *(stored[one]["S"] for one in _key_names(table)), name))
        self._sealed = stored[name]["B"]

    def open(self) -> dict[str, Any]:
        text = encryption.unseal(self._workspace_id, self._keys, self._sealed)
        document: dict[str, Any] = json.loads(text)
        return document

    def with_document(self, document: Any) -> Record:
        sealed = encryption.seal(self._workspace_id, self._keys, json.dumps(document).encode())
        return _changed(self._record, self._place, {"B": base64.b64encode(sealed).decode()})


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    return {"B": base64.b64decode(value["B"])} if "B" in value else value


def _key_names(table: str) -> list[str]:
    described = storage.sdk_client("dynamodb").describe_table(TableName=storage.table(table))["Table"]
    return [one["AttributeName"] for one in sorted(described["KeySchema"], key=lambda key: str(key["KeyType"]))]


def _changed(record: Record, path: tuple[str, ...], value: Any) -> Record:
    changed = copy.deepcopy(record)
    parent = changed["dynamodb"]
    for name in path[:-1]:
        parent = parent[name]
    if value is ABSENT:
        parent.pop(path[-1], None)
    else:
        parent[path[-1]] = value
    return changed


def distinct(records: list[Record]) -> list[Record]:
    """Return one record per combination of event name and attributes."""
    records_by_form = {
        (one["eventName"], *sorted(one["dynamodb"].get("NewImage", {})), *sorted(one["dynamodb"].get("OldImage", {}))):
        one for one in records
    }  # fmt: skip
    return [*records_by_form.values()]


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(WATCHING))
def test_the_record_of_another_workspace_is_processed_beside_each_wrong_record(
    name: str, records: Any, other_workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(name, records, other_workspace, monkeypatch, 1)


def test_the_record_of_another_workspace_is_processed_beside_some_wrong_records(
    records: Any, other_workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in WATCHING:
        with monkeypatch.context() as patch:
            check(name, records, other_workspace, patch, 197)


def check(name: str, records: Any, other: NewWorkspace, patch: pytest.MonkeyPatch, step: int) -> None:
    """Pass every `step`-th malformed record to a function, in batches with the other workspace's good records."""
    mine, others = records
    function, table = WATCHING[name], table_of(name)
    good = others[table]
    expected = _run(patch, function, good).of(other.workspace_id)
    assert any(expected), "processing the good records has no effect"
    cases = [one for record in distinct(mine[table]) for one in mutations(record)][::step]
    assert cases
    effects, half = Effects(patch), len(good) // 2
    for start in range(0, len(cases), BATCH):
        where, bad = zip(*cases[start : start + BATCH], strict=True)
        effects.clear()
        shared_messages._sent.clear()  # each batch sends its own messages
        try:
            returned = function({"Records": [*good[:half], *bad, *good[half:]]}, None)
        except Exception as error:
            raise AssertionError(where) from error
        assert returned in (None, {"batchItemFailures": []}), where
        assert effects.of(other.workspace_id) == expected, where
        assert {one["function"] for one in effects.dead} <= {name}, where


def _run(patch: pytest.MonkeyPatch, function: Callable[[Any, Any], Any], records: list[Record]) -> Effects:
    shared_messages._sent.clear()
    with patch.context() as inner:
        effects = Effects(inner)
        function({"Records": records}, None)
    return effects


# Queue messages


TEXTS = ("", "x", "7", "null", "[]", "{}", '["w"]', "[7, 7, 7]", '["w", "t", [["x"]]]', '["w", "e", "t", ["i"], ""]',
         '["RecountQuarter", "w#support", "2026-11-22", "x"]', '["RecountHour", "w#support", 253402300800, 0]',
         '["RecountHour", "w#support", "x", 0]', '["ResumeCascade", "w", "support"]', '["ClearLeftovers", "w", 7]',
         '["ContinueFanOut", "w", "t", [["x"]]]', '["ApplyRetention", "w", "a", 0]', '["ApplyRetention"]',
         '["w", "support", 1e999]', '["FindRecipients", 7, 7, 7, 7]', '["Notify", "w", [], {}]',
         '["RecountQuarter", "#", "2026-11-22", 96]', "[" * 100_000)  # fmt: skip


def test_a_message_is_processed_beside_wrong_messages(
    stream: Stream,  # noqa: F811
    workspace: NewWorkspace,
    api: Api,
    inbox: Inbox,  # noqa: F811
) -> None:
    """Check that a function reports each failed message of a batch, so that only these reach a dead-letter queue."""
    api.post("/v3/webhooks", webhook_body(inbox.url(), *EVENTS))
    assert api.post("/v2/agents/support", {"title": "Support"}).status == 200
    pipeline.fan_out(stream.read("agents"))
    delivered = queue.DeliveryMessage.parse(pipeline.take().bodies[0]).pack()
    agent = storage.join_key(workspace.workspace_id, "support")
    good = {
        "deliver": (webhook_functions.deliver, delivered),
        "deliver_slow": (webhook_functions.deliver_slow, delivered),
        "maintain": (maintenance.maintain, messages.pack(tasks.RecountQuarter(agent, "2026-11-22", 0))),
    }
    for name, (function, texts) in extensions.queue_functions(workspace.workspace_id, "support", "ann").items():
        good[name] = function, texts[-1]
    reporting = {source.name for source in declared_functions() if source.queue and reports(source)}
    good = {name: pair for name, pair in good.items() if name in reporting}
    assert good.keys() == reporting
    for name, (function, text) in good.items():
        queued = [{"messageId": str(number), "body": source} for number, source in enumerate((*TEXTS, text))]
        failed = {source["itemIdentifier"] for source in function({"Records": queued}, None)["batchItemFailures"]}
        assert str(len(TEXTS)) not in failed, name
    assert len(inbox.posts) == 1
    # All other queue functions receive one message per invocation.
    for source in app.event_sources:
        if isinstance(source, SQSEventConfig) and source.name not in good:
            assert source.batch_size == 1


def reports(function: Function) -> bool:
    return "FunctionResponseTypes" in function.mapping_settings


# Stored records


def test_records_of_a_wrong_form_that_are_stored_already_are_exported_and_counted(
    workspace: NewWorkspace, api: Api
) -> None:
    """Check that CSV exports contain invalid values as text, and recounts skip invalid creation times."""
    assert api.post("/v2/agents/support", {"title": "Support"}).status == 200
    members = ("agentName", "name", "email", "phone", "channel", "createdAt")
    partition = parent_scoped_ids.partition(workspace.workspace_id, "support")
    for number, (member, value) in enumerate(itertools.product(members, STORED)):
        ulid = ids.id_at(clock.milliseconds(), number)
        lead = LeadRow(partition, parent_scoped_ids.id_at("support", ulid), version_tag=ulid)
        lead.workspace, lead.captured = workspace.workspace_id, ulid
        lead.seal(_with({"agentId": "support", "channel": "web-chat", "createdAt": 1}, member, value))
        storage.save_many([lead])
    names = ("title", "state", "userName", "origin", "tags", "messagesNum", "lastModified")
    for number, (member, value) in enumerate(itertools.product(names, STORED)):
        _store_conversation(workspace.workspace_id, f"c{number}", ids.new_id(), member, value)
    _store_conversation(workspace.workspace_id, "late", LATE_ULID, "title", "Late")
    for path, rows in (("/v3/leads", members), ("/v3/agents/support/convos", names)):
        lines, cursor = 0, f"{path}/export?format=csv"
        while cursor:
            answer = api.get(cursor)
            assert answer.status == 200, answer.text
            lines += len([*csv.reader(io.StringIO(answer.text))])
            link = answer.headers.get("link", "")
            cursor = f"{path}/export{link.partition('<')[2].partition('>')[0]}" if link else ""
        assert lines > len(rows) * len(STORED)
    recounted = CliRunner().invoke(cams, ["tallies", "recount", "--workspace", workspace.workspace_id])
    assert recounted.exit_code == 0, recounted.output


STORED = tuple(value for value in MEMBERS if not (isinstance(value, float) and not math.isfinite(value)))


def _with(document: dict[str, Any], member: str, value: Any) -> dict[str, Any]:
    changed = {name: one for name, one in document.items() if name != member}
    return changed if value is ABSENT else {**changed, member: value if value != "x" * 100_000 else "x" * 10_000}


def _store_conversation(workspace_id: str, name: str, created: str, member: str, value: Any) -> None:
    row = conversations.ConversationRow(storage.join_key(workspace_id, "support", name), version_tag=created)
    row.agent, row.created = storage.join_key(workspace_id, "support"), created
    turns = b'[{"from":"human","ts":1,"messages":{"mid":"m","item":{"text":"Hello"}}}]'
    metadata = _with({"lastModified": 1, "tags": ["one"]}, member, value)
    storage.save_many([conversations.restore(row, State(metadata, turns, Totals(1, 1)))])
