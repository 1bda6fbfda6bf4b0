"""No log line contains a path value, neither a caller-chosen value, such as an email address, nor a generated id.

Every operation runs with unique ids: without faults, with unknown ids, on rows that cannot be decrypted, and with
errors whose messages contain the request. The tests read everything that the process prints.
"""

import json
import logging
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from chalice.app import DynamoDBEventConfig
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app import app
from chalicelib import maintenance, storage
from chalicelib.queues import messages, tasks
from chalicelib.storage import encryption
from chalicelib.webhooks import functions, queue
from chalicelib.workspaces.store import NewWorkspace
from infra.local import worker
from tests import extensions
from tests.api import Api
from tests.builders import webhook_body
from tests.operations import GUARDED, named, populate, send
from tests.selection import one_of_each, zip_cycled
from tests.webhooks import pipeline
from tests.webhooks.conftest import inbox, stream  # noqa: F401 - the fixtures
from tests.webhooks.pipeline import Inbox, Stream

CHOSEN = {name: f"canary-{name}@x.test" for name in ("agent_id", "user_id", "client_id", "org_id")}
UNKNOWN = {name: f"unknown-canary-{name}" for name in ("agent_id", "user_id", "convo_id", "client_id", "org_id")}
CANARY = "canary"


@pytest.fixture
def printed(capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """Return a function that reads the output since its last call. As on Lambda, the root logger also prints."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    logging.getLogger().addHandler(handler)

    def read() -> str:
        output = capfd.readouterr()
        return output.out + output.err

    yield read
    logging.getLogger().removeHandler(handler)


def with_rows_that_do_not_decrypt(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(encryption, "_cipher", lambda *_: AESGCM(bytes(32)))


def with_errors_of_the_database(patch: pytest.MonkeyPatch) -> None:
    def fail(_: Any, operation: str, parameters: Any) -> Any:
        raise ClientError({"Error": {"Code": "ValidationException", "Message": str(parameters)}}, operation)

    patch.setattr(BaseClient, "_make_api_call", fail)


def with_other_errors(patch: pytest.MonkeyPatch) -> None:
    def fail(_: Any, __: str, parameters: Any) -> Any:
        raise ValueError(str(parameters))

    patch.setattr(BaseClient, "_make_api_call", fail)


def without_fault(patch: pytest.MonkeyPatch) -> None:
    """Change nothing."""


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "no fault": without_fault,
    "rows that do not decrypt": with_rows_that_do_not_decrypt,
    "errors of the database": with_errors_of_the_database,
    "other errors": with_other_errors,
}


# One fault per operation suffices, because a single module reports the errors of all operations.
@pytest.mark.parametrize(("name", "fault"), zip_cycled(GUARDED, [fault for fault in FAULTS if fault != "no fault"]))
@one_of_each(lambda fault: fault)
def test_no_line_of_an_operation_has_a_value_of_its_path(
    workspace: NewWorkspace, name: str, fault: str, printed: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"Authorization": f"Bearer {workspace.workspace_key}"}
    ids = populate(headers, "mark", CHOSEN)
    printed()
    statuses = []
    for failing in (without_fault, FAULTS[fault]):
        with monkeypatch.context() as patch:
            failing(patch)
            statuses += [send(name, headers, named_ids).status for named_ids in (ids, {**ids, **UNKNOWN})]
    lines = printed()
    assert CANARY not in lines
    assert not [variable for variable in named(name) if ids[variable] in lines]
    routes = [json.loads(line)["route"] for line in lines.splitlines() if '"route"' in line]
    assert routes == [name.split()[1]] * len(statuses)
    assert ('"exception"' in lines) == (500 in statuses)


def table_of(name: str) -> str:
    """Return the table whose stream an event function reads, such as "agents" for `follow_agents`."""
    return name.rpartition("_")[2]


# Every stream function by name.
WATCHING: dict[str, Callable[[Any, Any], Any]] = {
    one.name: getattr(import_module(one.handler_string.rpartition(".")[0]), one.name)
    for one in app.event_sources
    if isinstance(one, DynamoDBEventConfig)
}
WATCHED = sorted({table_of(name) for name in WATCHING})


@pytest.fixture
def records(api: Api, workspace: NewWorkspace, stream: Stream, inbox: Inbox) -> list[Any]:  # noqa: F811
    """Return stream records for one record of each kind. A webhook endpoint is subscribed to their events."""
    api.post("/v3/webhooks", webhook_body(inbox.url(), "agent_created", "message_received", "client_created"))
    headers = {"Authorization": f"Bearer {workspace.workspace_key}"}
    populate(headers, "mark", CHOSEN)
    return stream.read(*WATCHED)


def invoke(event_function: Callable[[Any, Any], Any], event_records: list[Any]) -> str:
    """Invoke an event function; return the text of its exception, which the Lambda runtime prints."""
    try:
        event_function({"Records": event_records}, None)
    except Exception as error:
        worker.report("function", error)
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("fault", ["no fault", "rows that do not decrypt", "errors of the database"])
def test_no_line_of_an_event_function_has_an_id_of_a_path(
    workspace: NewWorkspace,
    records: list[Any],
    fault: str,
    printed: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipeline.fan_out(records)
    held = [pipeline.take(name) for name in (queue.FAST, queue.SLOW)]
    webhook_ids = {json.loads(body)[1] for delivery in held for body in delivery.bodies}
    agent = storage.join_key(workspace.workspace_id, CHOSEN["agent_id"])
    packed = [
        tasks.ResumeCascade(workspace.workspace_id, CHOSEN["agent_id"]),
        tasks.ApplyRetention(workspace.workspace_id, CHOSEN["agent_id"]),
        tasks.ClearLeftovers(f"{agent}#{CHOSEN['user_id']}"),
        tasks.RecountQuarter(agent, "2026-11-22", 0),
    ]
    queue_functions = extensions.queue_functions(workspace.workspace_id, CHOSEN["agent_id"], CHOSEN["client_id"])
    texts = [*map(messages.pack, packed), CANARY, *(text for _, texts in queue_functions.values() for text in texts)]
    queued = [{"messageId": "1", "receiptHandle": "1", "body": text} for text in texts]
    printed()
    if fault == "errors of the database":
        monkeypatch.setattr(BaseClient, "_make_api_call", _fail_without_values)
    else:
        FAULTS[fault](monkeypatch)
    raised = []
    for name, event_function in WATCHING.items():
        own = [record for record in records if record["eventSourceARN"].split("/")[1] == storage.table(table_of(name))]
        assert own, name
        raised.append(invoke(event_function, own))
    for delivery in held:
        raised.append(invoke(functions.deliver, delivery.records))
    for message in queued:
        raised.append(invoke(functions.deliver_slow, [message]))
        raised.append(invoke(maintenance.maintain, [message]))
        raised += [invoke(function, [message]) for function, _ in queue_functions.values()]
    monkeypatch.undo()
    lines = printed()
    assert lines
    assert webhook_ids
    for value in (CANARY, *webhook_ids):
        assert value not in lines
        assert not [text for text in raised if value in text]


def _fail_without_values(_: Any, operation: str, parameters: Any) -> Any:
    """Raise an error whose message contains no keys, as DynamoDB and SQS do."""
    raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "Access denied."}}, operation)
