"""The errors in the OpenAPI document: every operation returns each documented error and no other error."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from app import app
from chalicelib import clock, errors, ids, storage
from chalicelib import extensions as enabled
from chalicelib.credentials import store as credentials
from chalicelib.http import auth, responses
from chalicelib.webhooks import endpoints
from chalicelib.workspaces import store as workspaces
from tests import extensions
from tests.api import Answer, Api
from tests.openapi.document import ExampleValues, Operation, broken_rules, document, operations, resolved
from tests.openapi.example_stage import DELETIONS, LONG, OPERATIONS, TOO_LARGE, VERSIONED, WITH_BODY, Stage
from tests.openapi.example_stage import stage as stage
from tests.openapi.examples import IDS, WORKSPACE_ID
from tests.operations import body_of


def raising(error: type[errors.ApiError]) -> set[str]:
    """Return the operations that declare this error."""
    views = [app.routes[one.path][one.method].view_function for one in operations()]
    return {view.__name__ for view in views if any(issubclass(one, error) for one in view.operation.raises)}


CONFLICTING = raising(errors.Conflict)


def test_an_operation_describes_each_of_its_conflicts_by_a_known_code() -> None:
    known = set(document()["components"]["schemas"]["Error"]["properties"]["code"]["examples"])
    for operation in (OPERATIONS[name] for name in CONFLICTING):
        declared = app.routes[operation.path][operation.method].view_function.operation.raises
        codes = {error.code for error in declared if issubclass(error, errors.Conflict)}
        described = set(re.findall(r"`([A-Z_]+)`: ", operation.description["responses"]["409"]["description"]))
        assert described - {"IDEMPOTENCY_KEY_REUSED"} == codes, operation.name
        assert described <= known, operation.name


# These bodies differ from the example records, so that each request writes.
CHANGES: dict[str, Any] = {name: body_of(one.route, "Other") for name, one in WITH_BODY.items()}
CHANGES["assign_conversation"] = {"assignToUserId": None}


def pull_endpoint(stage: Stage) -> dict[str, str]:
    """Create a pull endpoint, whose events no URL receives; return its path value."""
    with storage.unit_of_work():
        row, _ = endpoints.create(
            stage.known.substitute(WORKSPACE_ID), {"kind": "pull", "events": ["lead_captured"], "enabled": True}
        )
    return {"webhook_id": row.webhook_id}


def documented(status: int) -> set[str]:
    """Return the operations that document this error."""
    return {name for name, one in OPERATIONS.items() if status in one.statuses}


def operations_answering(
    status: int, send: Callable[[Operation], Answer], operations: dict[str, Operation] = OPERATIONS
) -> set[str]:
    """Return the operations for which `send` returns this status; assert that each response matches the document."""
    names = set()
    # Deletions run last, so that all records exist until then.
    for name, operation in sorted(operations.items(), key=lambda operation: operation[0] in DELETIONS):
        answer = send(operation)
        if answer.status == status:
            names.add(name)
            response = resolved(operation.description["responses"].get(str(status), {}))
            assert broken_rules(response["content"]["application/json"]["schema"], answer.json) == [], name
            always = {header.lower() for header, one in response.get("headers", {}).items() if one.get("required")}
            assert always <= answer.headers.keys()
    return names


def test_400_is_returned_only_where_documented(stage: Stage) -> None:
    def send(operation: Operation) -> Answer:
        query = f"{'&' if operation.query else '?'}page=0&limit=0" if operation.method == "GET" else ""
        return stage.send(operation, [1] if operation.body else None, query, **bad_id(operation))

    def bad_id(operation: Operation) -> dict[str, str]:
        return dict.fromkeys(operation.path_values, "%20") if not operation.body else {}

    assert operations_answering(400, send) == documented(400)


def test_401_is_returned_only_where_documented(engine: None) -> None:
    assert operations_answering(401, Stage(Api(), ExampleValues()).send) == documented(401) == OPERATIONS.keys()


def test_403_is_returned_only_where_documented(stage: Stage) -> None:
    other = stage.api.post("/v3/agents", {"agent": {}}).data["SECRET_API_KEY"]
    assert operations_answering(403, Stage(Api(other), stage.known).send) == documented(403) == OPERATIONS.keys()


def test_404_is_returned_only_where_documented(engine: None) -> None:
    new = workspaces.create("Empty")
    stage = Stage(Api(new.workspace_key), ExampleValues())
    stage.api.get("/v2/clients")
    (key,) = credentials.list_active(new.workspace_id, "workspace")
    credentials.revoke(key)  # the credential stays cached and accepted for 30 seconds

    # Creations by id run last, so that no records exist until then. A v3 creation requires an agent.
    creating = {name: one for name, one in OPERATIONS.items() if name.startswith("save_") and "/v2/" in one.path}
    others = {name: one for name, one in OPERATIONS.items() if name not in creating}
    assert operations_answering(404, stage.send, others) | operations_answering(
        404, stage.send, creating
    ) == documented(404)


def test_409_is_returned_only_where_documented(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    dynamodb, values = storage.sdk_client("dynamodb"), {"test_webhook": pull_endpoint(stage)}

    def overtake(row: storage.Row) -> None:
        """Change the version tag, as a concurrent write would."""
        if isinstance(row, storage.TaggedRow) and row.version_tag is not None:
            dynamodb.update_item(
                TableName=row.Meta.table_name,
                Key=row.get_operation_kwargs_from_class(*row.keys)["Key"],
                UpdateExpression="SET version_tag = :other",
                ExpressionAttributeValues={":other": {"S": ids.new_id()}},
            )

    for name in ("put", "update", "delete"):
        real = getattr(storage, name)
        monkeypatch.setattr(
            storage, name, lambda row, *more, real=real, **options: overtake(row) or real(row, *more, **options)
        )
    monkeypatch.setattr(clock, "sleep", lambda duration: None)
    taken = stage.api.get("/v3/agents/support").data["SECRET_API_KEY"]
    key, client = {"SECRET_API_KEY": taken}, {"email": "taken@example.com"}
    assert stage.api.post("/v2/clients/taken", client).status == 200
    bodies = {
        **CHANGES,
        "create_agent": {"agent": key},
        "import_template": {"agentTemplate": {"agentData": key}},
        "put_client": client,
        "create_client": {"client": client},
    }

    # Without a precondition, the last analytics write wins.
    headers = {"write_analytics": {"If-Match": "*"}}
    if enabled.has("reports"):
        monkeypatch.setattr("chalicelib.extensions.reports.report.MAX_AGENTS", 0)
    extensions.call("reach_conflicts", monkeypatch)
    answering = operations_answering(
        409,
        lambda operation: stage.send(
            operation, bodies.get(operation.name), headers=headers.get(operation.name), **values.get(operation.name, {})
        ),
    )
    assert answering == CONFLICTING


def test_409_of_a_reused_key(stage: Stage) -> None:
    """The first request claims the key, so every other request conflicts."""
    key = {"Idempotency-Key": "one"}
    assert stage.send(OPERATIONS["exchange_state"], {}, headers=key, user_id="other").status == 200
    assert operations_answering(409, lambda operation: stage.send(operation, headers=key)) | CONFLICTING == documented(
        409
    )


def test_412_is_returned_only_where_documented(stage: Stage) -> None:
    headers = {"If-Match": '"another"'}
    assert operations_answering(412, lambda operation: stage.send(operation, headers=headers)) == documented(412)


def test_413_of_a_body_is_returned_only_where_documented(stage: Stage) -> None:
    body = b'{"x":"%s"}' % (b"x" * 3_000_000)
    assert (
        operations_answering(413, lambda operation: stage.send(operation, body), WITH_BODY)
        == documented(413) & WITH_BODY.keys()
    )


def test_413_of_a_record_is_returned_only_where_declared(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    extensions.call("reach_record_limits", monkeypatch)
    # A version may have a record's maximum size, and a restore adds the current secrets.
    secret, tool = LONG[:500_000], stage.known.substitute(IDS["tool_id"])
    stage.api.patch("/v3/agents/support", {"agent": {"chatappToken": secret}})
    stage.api.patch(f"/v3/tools/{tool}", {"tool": {"serverUrlSecret": secret}})
    workspace_id = stage.known.substitute(WORKSPACE_ID)
    extensions.populate(workspace_id, stage.known.substitute(VERSIONED), LONG[-160_000:])
    declaring = raising(errors.TooLarge)
    asked = WITH_BODY | {name: OPERATIONS[name] for name in declaring}
    assert (
        operations_answering(413, lambda operation: stage.send(operation, TOO_LARGE.get(operation.name)), asked)
        == declaring
    )


def test_413_of_a_list_is_returned_only_where_documented(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"list_events": pull_endpoint(stage)}
    monkeypatch.setattr(responses, "RESPONSE_LIMIT", 10)
    lists = {
        name: one
        for name, one in OPERATIONS.items()
        if name.startswith(("list_", "search_", "read_new_", "export_conversations"))
    }
    answering = operations_answering(
        413, lambda operation: stage.send(operation, **values.get(operation.name, {})), lists
    )
    assert answering == documented(413) - WITH_BODY.keys() - raising(errors.TooLarge)


def test_415_is_returned_only_where_documented(stage: Stage) -> None:
    def send(operation: Operation) -> Answer:
        headers = {**stage.api._headers, "Content-Type": "text/plain"}
        return stage.api.call(operation.method, operation.address(), b"{}", headers)

    assert operations_answering(415, send, WITH_BODY) == documented(415) == WITH_BODY.keys()


def test_429_is_returned_only_where_documented(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "MAX_ENDPOINTS", 0)
    extensions.call("reach_limits", monkeypatch)
    stage.api.patch("/v3/agents/support", {"agent": {"messagesLimit": 0.5}})
    answering = operations_answering(
        429, lambda operation: stage.send(operation, CHANGES.get(operation.name), user_id="visitor-2")
    )
    assert answering == documented(429)


def test_500_is_returned_only_where_documented(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "caller", lambda: 1 // 0)
    assert operations_answering(500, stage.send) == documented(500) == OPERATIONS.keys()


def test_503_is_returned_only_where_documented(stage: Stage) -> None:
    dynamodb = storage.sdk_client("dynamodb")
    for table in dynamodb.list_tables()["TableNames"]:
        dynamodb.delete_table(TableName=table)

    assert operations_answering(503, stage.send) == documented(503) == OPERATIONS.keys()
