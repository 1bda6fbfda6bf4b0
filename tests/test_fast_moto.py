"""The fast path behaves like plain moto, although it calls moto directly, shares backups and restores records."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.kms.models import kms_backends

from chalicelib import storage
from chalicelib.storage import keyring
from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.engine_requests import counted
from tests.fast_moto import over_http, plain_moto, restore_or_create
from tests.moto_tables import items, tables
from tests.selection import first_case

pytestmark = pytest.mark.usefixtures("fast_path")

TABLE = "cams-keyring"
ITEM = {"name": {"S": "a"}, "wrapped": {"B": b"\x00\xff"}, "set": {"BS": [b"\x01"]}, "B": {"M": {"B": {"B": b"\x02"}}}}
KEY = {"name": {"S": "a"}}
ABSENT = {"ConditionExpression": "attribute_not_exists(#n)", "ExpressionAttributeNames": {"#n": "name"}}
RETURNED = {**ABSENT, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "get": ("get_item", {"TableName": TABLE, "Key": KEY, "ReturnConsumedCapacity": "TOTAL"}),
    "get nothing": ("get_item", {"TableName": TABLE, "Key": {"name": {"S": "b"}}}),
    "put": ("put_item", {"TableName": TABLE, "Item": ITEM, "ReturnValues": "ALL_OLD"}),
    "put refused": ("put_item", {"TableName": TABLE, "Item": ITEM, **RETURNED}),
    "update": (
        "update_item",
        {
            "TableName": TABLE,
            "Key": KEY,
            "UpdateExpression": "ADD n :b",
            "ExpressionAttributeValues": {":b": {"N": "1"}},
            "ReturnValues": "UPDATED_NEW",
        },
    ),
    "delete": ("delete_item", {"TableName": TABLE, "Key": KEY, "ReturnValues": "ALL_OLD"}),
    "scan": ("scan", {"TableName": TABLE, "Select": "COUNT"}),
    "query": (
        "query",
        {
            "TableName": TABLE,
            "KeyConditionExpression": "#n = :n",
            "ExpressionAttributeNames": {"#n": "name"},
            "ExpressionAttributeValues": {":n": {"S": "a"}},
        },
    ),
    "batch get": ("batch_get_item", {"RequestItems": {TABLE: {"Keys": [KEY]}}}),
    "batch write": ("batch_write_item", {"RequestItems": {TABLE: [{"PutRequest": {"Item": ITEM}}]}}),
    "transaction of reads": ("transact_get_items", {"TransactItems": [{"Get": {"TableName": TABLE, "Key": KEY}}]}),
    "transaction": ("transact_write_items", {"TransactItems": [{"Put": {"TableName": TABLE, "Item": ITEM}}]}),
    "transaction refused": (
        "transact_write_items",
        {"TransactItems": [{"Put": {"TableName": TABLE, "Item": ITEM, **RETURNED}}]},
    ),
    "no table": ("get_item", {"TableName": "none", "Key": KEY}),
    "wrong key": ("get_item", {"TableName": TABLE, "Key": {"other": {"S": "a"}}}),
}


@pytest.mark.parametrize(("operation", "parameters"), REQUESTS.values(), ids=REQUESTS)
@first_case
def test_a_direct_answer_equals_moto_s_answer_over_http(
    engine: None, operation: str, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer() -> tuple[Any, Any]:
        client = storage.sdk_client("dynamodb")
        client.put_item(TableName=TABLE, Item=ITEM)
        try:
            answered = getattr(client, operation)(**parameters)
        except ClientError as error:
            answered = error.response | {"raised": type(error).__name__}
        status = answered.pop("ResponseMetadata")["HTTPStatusCode"]
        return status, (answered, items()[TABLE])

    monkeypatch.setattr("botocore.endpoint.Endpoint.make_request", _refuse)
    direct = answer()
    monkeypatch.undo()
    with over_http():
        assert answer() == direct


QUERIES: dict[str, dict[str, Any]] = {
    "a partition": {"KeyConditionExpression": "#p = :p"},
    "backwards": {"KeyConditionExpression": "#p = :p", "ScanIndexForward": False},
    "a range": {"KeyConditionExpression": "#p = :p AND #i > :i"},
    "a page": {"KeyConditionExpression": "#p = :p", "Limit": 1},
    "a later page": {
        "KeyConditionExpression": "#p = :p",
        "ExclusiveStartKey": {"partition": {"S": "one"}, "item": {"S": "a"}},
    },
    "a filter": {"KeyConditionExpression": "#p = :p", "FilterExpression": "#n > :n"},
    "nothing": {"KeyConditionExpression": "#p = :i"},
    "an index": {"IndexName": "by_workspace", "KeyConditionExpression": "#w = :w"},
    "an index backwards": {"IndexName": "by_workspace", "KeyConditionExpression": "#w = :w", "ScanIndexForward": False},
    "a page of an index": {"IndexName": "by_workspace", "KeyConditionExpression": "#w = :w", "Limit": 2},
}
NAMES = {"#p": "partition", "#i": "item", "#n": "number", "#w": "workspace"}
VALUES: dict[str, Any] = {":p": {"S": "one"}, ":i": {"S": "a"}, ":n": {"N": "9"}, ":w": {"S": "here"}}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_of_some_items_equals_plain_moto_s(engine: None, query: dict[str, Any]) -> None:
    client = storage.sdk_client("dynamodb")
    for number, (partition, item, workspace) in enumerate(
        product(("two", "one", "three"), ("c", "a", "b"), ("here", "there")), start=5
    ):
        row = {"partition": partition, "item": f"{item}{workspace}", "workspace": workspace, "agent_id": item}
        texts = {name: {"S": text} for name, text in row.items()}
        client.put_item(TableName="cams-agents", Item={**texts, "number": {"N": f"{number}"}})
    client.put_item(TableName="cams-agents", Item={"partition": {"S": "one"}, "item": {"S": "other"}})
    text = " ".join(query.get(name, "") for name in ("KeyConditionExpression", "FilterExpression"))
    names, values = ({one: held[one] for one in held if one in text} for held in (NAMES, VALUES))
    request = {
        "TableName": "cams-agents",
        **query,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    }
    fast = client.query(**request)
    with plain_moto():
        plain = client.query(**request)
    assert {**fast, "ResponseMetadata": None} == {**plain, "ResponseMetadata": None}
    assert bool(fast["Items"]) == (query != QUERIES["nothing"])


@pytest.mark.parametrize("excess", [0, 1])
def test_the_largest_item_is_plain_moto_s(engine: None, excess: int) -> None:
    size = len("namealistétext") + 1  # "é" has two bytes
    item = {**KEY, "list": {"L": [{"S": "é"}]}, "text": {"S": "x" * (405_000 - size + excess)}}

    def is_refused() -> bool:
        try:
            storage.sdk_client("dynamodb").put_item(TableName=TABLE, Item=item)
        except ClientError as error:
            return "size" in str(error)
        return False

    assert is_refused() == bool(excess)
    with plain_moto():
        assert is_refused() == bool(excess)


def test_stream_records_equal_plain_moto_s(engine: None) -> None:
    client, stream = storage.sdk_client("dynamodb"), storage.sdk_client("dynamodbstreams")
    values = {
        "set": {"BS": [b"\x01"]},
        "list": {"L": [{"B": b"\x02"}, {"NULL": True}]},
        "B": {"M": {"B": {"N": "1.5"}}},
    }
    record = {"partition": {"S": "one"}, "item": {"S": "a"}, "bytes": {"B": b"\x00"}, **values}
    for item in (record, {**record, "flag": {"BOOL": True}}):
        client.put_item(TableName="cams-agents", Item=item)
    client.delete_item(TableName="cams-agents", Key={name: record[name] for name in ("partition", "item")})
    (arn,) = (one["StreamArn"] for one in stream.list_streams(TableName="cams-agents")["Streams"])
    (shard,) = stream.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}

    def read() -> list[Any]:
        iterator, pages = stream.get_shard_iterator(**place)["ShardIterator"], []
        for _ in range(2):
            answer = stream.get_records(ShardIterator=iterator, Limit=2)
            iterator = answer["NextShardIterator"]
            pages.append(answer["Records"])
        return pages

    fast = read()
    assert [[one["eventName"] for one in page] for page in fast] == [["INSERT", "MODIFY"], ["REMOVE"]]
    with plain_moto():
        assert read() == fast


def _refuse(*_: Any) -> None:
    raise AssertionError("this request must go over HTTP")


@pytest.fixture
def made(workspace: workspaces.NewWorkspace, agent_id: str) -> list[str]:
    """Create or restore a workspace and an agent, and return their ids."""
    return [workspace.workspace_id, agent_id]


@pytest.mark.parametrize("_", ["created or restored", "restored"])
def test_a_restored_workspace_and_agent_equal_created_ones(api: Api, made: list[str], _: str) -> None:
    assert made[0] in [one["workspace"]["S"] for one in items()[storage.table("agents")]]
    (record,) = tables()[storage.table("agents")].stream_shard.items
    assert record.record["eventName"] == "INSERT"
    with counted() as sent:
        assert api.get("/v2/agents/support").json["title"] == "Support"
    assert sent == {"GetItem": 1}, "the credential and the data key are cached"


@pytest.mark.parametrize("_", ["created or restored", "restored"])
def test_the_data_key_of_a_restored_workspace_is_cached(workspace: workspaces.NewWorkspace, _: str) -> None:
    with counted() as sent:
        keyring.current()
    assert not sent


def test_preconditions_are_created_again_if_the_tables_differ(engine: None) -> None:
    make: Callable[[], Any] = lambda: workspaces.create("Prepared")  # noqa: E731
    (first, _), put = restore_or_create("test", make), {"TableName": TABLE, "Item": ITEM}
    storage.sdk_client("dynamodb").put_item(**put)
    (second, is_old), now = restore_or_create("test", make), items()
    assert not is_old
    assert first.workspace_id != second.workspace_id
    assert KEY["name"] in [one["name"] for one in now[TABLE]]


WITH_RANGE, WITHOUT = "cams-workspaces", "cams-credentials"


def key(table: str, name: str) -> dict[str, Any]:
    return {one["AttributeName"]: {"S": name} for one in tables()[table].schema}


def update(table: str, name: str, condition: str = "attribute_exists(marks)") -> dict[str, Any]:
    expressions = {"UpdateExpression": "SET marks = :new", "ConditionExpression": condition}
    return {"Update": {"TableName": table, "Key": key(table, name), **expressions, "ExpressionAttributeValues": NEW}}


def put(table: str, name: str) -> dict[str, Any]:
    return {"Put": {"TableName": table, "Item": {**key(table, name), "marks": {"L": [{"S": "first"}]}}}}


def delete(table: str, name: str) -> dict[str, Any]:
    return {"Delete": {"TableName": table, "Key": key(table, name)}}


NEW = {":new": {"L": [{"S": "second"}]}}


def records() -> list[str]:
    shards = (table.stream_shard for table in tables().values())
    return [repr(record.record) for shard in shards if shard for record in shard.items]


@pytest.mark.parametrize("table", [WITH_RANGE, WITHOUT])
def test_a_failed_transaction_leaves_everything_as_it_was(engine: None, table: str) -> None:
    client = storage.sdk_client("dynamodb")
    client.transact_write_items(TransactItems=[put(table, "a"), put(table, "b"), put(table, "c")])
    before, streamed = items(), records()
    failing = update(table, "d")
    with pytest.raises(ClientError, match="TransactionCanceled"):
        client.transact_write_items(
            TransactItems=[update(table, "a"), delete(table, "b"), put(table, "e"), put(table, "c"), failing]
        )
    assert (items(), records()) == (before, streamed)
    client.transact_write_items(TransactItems=[update(table, "a"), delete(table, "b")])
    found = {item[next(iter(key(table, "")))]["S"]: item["marks"]["L"] for item in items()[table]}
    assert found == {"a": [{"S": "second"}], "c": [{"S": "first"}]}


def test_only_symmetric_keys_share_a_private_key(engine: None) -> None:
    kms = storage.sdk_client("kms")
    signing = {"KeyUsage": "SIGN_VERIFY", "KeySpec": "RSA_2048"}
    made = [kms.create_key(**one)["KeyMetadata"]["KeyId"] for one in ({}, {}, signing, signing)]
    keys = kms_backends[DEFAULT_ACCOUNT_ID]["eu-west-1"].keys
    first, second, *others = (keys[one].private_key for one in made)
    assert first is second
    assert len({first, *others}) == 3
