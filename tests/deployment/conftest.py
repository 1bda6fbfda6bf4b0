"""Fixtures for deployment tests, such as an API in an emulated account and a shared cache of SDK service models."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.loaders import create_loader
from moto import mock_aws

# Each test has a separate SDK session. Without this cache, each session would spend a third of a second loading service
# models.
botocore.session.create_loader = cache(create_loader)


@pytest.fixture(autouse=True)
def shared_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `boto3.client` return the same client again within a test. A new client takes 5 ms, and some tests use 50."""
    monkeypatch.setattr(boto3, "client", cache(boto3.client))


@pytest.fixture
def api_id() -> Iterator[str]:
    """Create an API and deploy its stage `prod`, as Chalice does; return the API's id."""
    with mock_aws():
        api = add_api(type="MOCK")
        boto3.client("apigateway").create_deployment(restApiId=api, stageName="prod")
        yield api


def add_api(**integration: Any) -> str:
    """Create an API with one method; return the API's id."""
    gateway = boto3.client("apigateway")
    api: str = gateway.create_rest_api(name="cams")["id"]
    (root,) = gateway.get_resources(restApiId=api)["items"]
    place = {"restApiId": api, "resourceId": root["id"], "httpMethod": "GET"}
    gateway.put_method(**place, authorizationType="NONE")
    gateway.put_integration(**place, **integration)
    return api
