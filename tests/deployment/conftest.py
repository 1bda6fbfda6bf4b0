"""An API in an emulated account, and one cache of the SDK's service models."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.loaders import create_loader
from moto import mock_aws

# Each test has its own SDK session, which would read the models of its services again: a third of a second each.
botocore.session.create_loader = cache(create_loader)


@pytest.fixture
def api_id() -> Iterator[str]:
    """An API with the stage `prod`, deployed once, as Chalice does."""
    with mock_aws():
        api = add_api(type="MOCK")
        boto3.client("apigateway").create_deployment(restApiId=api, stageName="prod")
        yield api


def add_api(**integration: Any) -> str:
    """Create an API with one method; return its id."""
    gateway = boto3.client("apigateway")
    api: str = gateway.create_rest_api(name="cams")["id"]
    (root,) = gateway.get_resources(restApiId=api)["items"]
    place = {"restApiId": api, "resourceId": root["id"], "httpMethod": "GET"}
    gateway.put_method(**place, authorizationType="NONE")
    gateway.put_integration(**place, **integration)
    return api
