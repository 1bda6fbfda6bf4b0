"""The local engine takes only requests that are signed with its own credentials."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from infra.local import children, signatures
from infra.local.children import Engine
from tests.reliability.engine_fixture import client, local_engine, running_engine  # noqa: F401 - the fixture
from tests.selection import whole

pytestmark = pytest.mark.engine

_LIST = "DynamoDB_20120810.ListTables"


def request(
    engine: Engine,
    credentials: Credentials | None,
    path: str = "/",
    body: bytes = b"{}",
    method: str = "POST",
    target: str = _LIST,
) -> AWSRequest:
    """A request, signed with the credentials if there are any."""
    headers = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0"}
    made = AWSRequest(method, engine.url + path, headers, body)
    if credentials:
        SigV4Auth(credentials, "dynamodb", children.REGION).add_auth(made)
    return made


def own(engine: Engine) -> Credentials:
    return Credentials(engine.access_key, engine.secret_key)


def send(made: AWSRequest, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
    """The status and the body of the engine's answer; `body` and `headers` change the request after its signature."""
    sent = {**dict(made.headers.items()), **headers}
    data = made.data if body is None else body
    try:
        with urllib.request.urlopen(urllib.request.Request(made.url, data, sent, method=made.method), timeout=5) as one:
            return one.status, one.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def test_a_request_signed_with_the_engines_credentials_is_answered(local_engine: Engine) -> None:  # noqa: F811
    status, body = send(request(local_engine, own(local_engine)))
    assert (status, "TableNames" in json.loads(body)) == (200, True)


@pytest.mark.parametrize(
    "made",
    [
        lambda engine: request(engine, None),
        lambda engine: request(engine, Credentials("local", "local")),
        lambda engine: request(engine, Credentials("LOCAL0123456789ABCDEF", engine.secret_key)),
        lambda engine: request(engine, Credentials(engine.access_key, "another")),
        lambda engine: request(engine, None, path="/_ministack/health", method="GET"),
        lambda engine: request(engine, None, path="/_ministack/reset"),
        lambda engine: request(engine, own(engine), path="/_ministack/reset"),
        lambda engine: request(engine, None, method="OPTIONS"),
    ],
    ids=[
        "unsigned",
        "the old credentials",
        "another access key",
        "another secret",
        "unsigned health",
        "unsigned administration",
        "signed administration",
        "preflight",
    ],
)
def test_any_other_request_is_refused(local_engine: Engine, made: Any) -> None:  # noqa: F811
    status, body = send(made(local_engine))
    assert (status, json.loads(body)["__type"]) == (403, "UnrecognizedClientException")


@pytest.mark.parametrize(
    "change",
    [
        {"body": b'{"Limit": 1}'},
        {"X-Amz-Target": "DynamoDB_20120810.DescribeLimits"},
        {"X-Amz-Date": "20200101T000000Z"},
        {"Authorization": "AWS4-HMAC-SHA256"},
        {"Authorization": "Bearer x"},
    ],
    ids=["body", "operation", "date", "no signature", "another scheme"],
)
def test_a_request_changed_after_its_signature_is_refused(local_engine: Engine, change: Any) -> None:  # noqa: F811
    assert send(request(local_engine, own(local_engine)), **change)[0] == 403


@whole
@pytest.mark.parametrize("place", [0, 20, 63])
def test_a_signature_with_another_digit_is_refused(local_engine: Engine, place: int) -> None:  # noqa: F811
    made = request(local_engine, own(local_engine))
    start, _, signature = made.headers["Authorization"].rpartition("=")
    digit = "0" if signature[place] != "0" else "1"
    changed = f"{start}={signature[:place]}{digit}{signature[place + 1 :]}"
    assert send(made, Authorization=changed)[0] == 403


def test_a_page_of_another_origin_is_refused(local_engine: Engine) -> None:  # noqa: F811
    assert send(request(local_engine, None), Origin="http://page.example")[0] == 403


@pytest.mark.parametrize("service", ["dynamodb", "dynamodbstreams", "kms", "sqs"])
def test_an_sdk_with_wrong_credentials_gets_the_reason(local_engine: Engine, service: str) -> None:  # noqa: F811
    other = boto3.session.Session("local", "local", region_name=children.REGION)
    call = {"dynamodb": "list_tables", "dynamodbstreams": "list_streams", "kms": "list_keys", "sqs": "list_queues"}
    getattr(client(local_engine, service), call[service])()
    with pytest.raises(ClientError, match="signed with the credentials in its `environment`"):
        getattr(other.client(service, endpoint_url=local_engine.url), call[service])()


def test_each_state_directory_has_its_own_lasting_credentials(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    created = signatures.find_or_create(one)
    assert signatures.find_or_create(one) == created
    different = signatures.find_or_create(other)
    assert {*created}.isdisjoint(different)
    assert created.secret_key not in repr(created)
    (path,) = one.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600


@whole
def test_the_credentials_of_the_last_run_are_valid_after_a_restart(tmp_path: Path) -> None:
    with running_engine(tmp_path) as running:
        before = running.address
    with running_engine(tmp_path) as running:
        assert {**running.address, "AWS_ENDPOINT_URL": ""} == {**before, "AWS_ENDPOINT_URL": ""}
        assert running.secret_key not in repr(running)
