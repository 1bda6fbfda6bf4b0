"""The local engine accepts only requests that are signed with this engine's credentials."""

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

from infra.local import children, credentials
from infra.local.children import Engine
from tests.reliability.engine_fixture import client, local_engine, running_engine  # noqa: F401 - the fixture
from tests.selection import whole

pytestmark = pytest.mark.engine


def send(engine: Engine, signer: Credentials | None, path: str = "/", **changes: Any) -> tuple[int, Any]:
    """Send a request, signed by `signer` unless it is None; return the response's status and body."""
    headers = {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"}
    request = AWSRequest(changes.pop("method", "POST"), engine.url + path, headers, b"{}")
    if signer:
        SigV4Auth(signer, "dynamodb", children.REGION).add_auth(request)
    all_headers = {**dict(request.headers.items()), **changes}
    sent = urllib.request.Request(request.url, request.data, all_headers, method=request.method)
    try:
        with urllib.request.urlopen(sent, timeout=5) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def own(engine: Engine) -> Credentials:
    return Credentials(engine.access_key, engine.secret_key)


def test_a_request_with_the_engines_credentials_is_answered(local_engine: Engine) -> None:  # noqa: F811
    status, body = send(local_engine, own(local_engine))
    assert (status, "TableNames" in json.loads(body)) == (200, True)


@pytest.mark.parametrize(
    "answer",
    [
        lambda engine: send(engine, None),
        lambda engine: send(engine, Credentials("local", "local")),
        lambda engine: send(engine, Credentials(engine.access_key[:-1], engine.secret_key)),
        lambda engine: send(engine, Credentials(f"{engine.access_key}0", engine.secret_key)),
        lambda engine: send(engine, None, Authorization="Bearer x"),
        lambda engine: send(engine, None, Authorization="é"),
        lambda engine: send(engine, None, path="/_ministack/health", method="GET"),
        lambda engine: send(engine, None, path="/_ministack/reset"),
        lambda engine: send(engine, own(engine), path="/_ministack/reset"),
        lambda engine: send(engine, None, method="OPTIONS"),
        lambda engine: send(engine, None, Origin="http://page.example"),
    ],
    ids=[
        "unsigned",
        "usual credentials of emulators",
        "shorter access key",
        "longer access key",
        "another scheme",
        "no ASCII",
        "unsigned health",
        "unsigned administration",
        "signed administration",
        "preflight",
        "page of another origin",
    ],
)
def test_any_other_request_is_refused(local_engine: Engine, answer: Any) -> None:  # noqa: F811
    status, body = answer(local_engine)
    assert (status, json.loads(body)["__type"]) == (403, "UnrecognizedClientException")


@pytest.mark.parametrize("service", ["dynamodb", "dynamodbstreams", "kms", "sqs"])
def test_an_sdk_with_wrong_credentials_gets_the_reason(local_engine: Engine, service: str) -> None:  # noqa: F811
    other = boto3.session.Session("local", "local", region_name=children.REGION)
    call = {"dynamodb": "list_tables", "dynamodbstreams": "list_streams", "kms": "list_keys", "sqs": "list_queues"}
    getattr(client(local_engine, service), call[service])()
    with pytest.raises(ClientError, match="accepts only requests with the credentials from its `environment`"):
        getattr(other.client(service, endpoint_url=local_engine.url), call[service])()


def test_each_state_directory_has_its_own_credentials(tmp_path: Path) -> None:
    directories = tmp_path / "first", tmp_path / "second"
    for directory in directories:
        directory.mkdir()
    first, second = map(credentials.find_or_create, directories)
    assert credentials.find_or_create(directories[0]) == first
    assert {*first}.isdisjoint(second)
    assert not [text for text in first if text in repr(first)]
    (path,) = directories[0].iterdir()
    assert path.stat().st_mode & 0o777 == 0o600


@whole
def test_the_credentials_of_the_last_run_are_valid_after_a_restart(tmp_path: Path) -> None:
    with running_engine(tmp_path) as running:
        before = running.environment
    with running_engine(tmp_path) as running:
        assert {**running.environment, "AWS_ENDPOINT_URL": ""} == {**before, "AWS_ENDPOINT_URL": ""}
        assert not [text for text in (running.access_key, running.secret_key) if text in repr(running)]
