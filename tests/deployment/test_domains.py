"""The destruction of a stage with a custom domain stops before the first deletion."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import click
import pytest
from click.testing import CliRunner
from moto import mock_aws

from infra.deploy import chalice_process, chalice_state, domains
from infra.deploy.commands import deployment


@pytest.fixture
def gateway() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("apigateway")


def create_api(gateway: Any) -> str:
    api: str = gateway.create_rest_api(name="cams")["id"]
    root = gateway.get_resources(restApiId=api)["items"][0]["id"]
    gateway.put_method(restApiId=api, resourceId=root, httpMethod="GET", authorizationType="NONE")
    gateway.put_integration(restApiId=api, resourceId=root, httpMethod="GET", type="MOCK")
    gateway.create_deployment(restApiId=api, stageName="prod")
    return api


def test_an_api_with_a_mapping_is_refused_in_one_sentence_with_the_command(gateway: Any) -> None:
    ours, other = create_api(gateway), create_api(gateway)
    gateway.create_domain_name(domainName="cams.example.com")
    gateway.create_base_path_mapping(domainName="cams.example.com", restApiId=other, stage="prod", basePath="other")
    domains.require_unmapped(gateway, ours)
    gateway.create_base_path_mapping(domainName="cams.example.com", restApiId=ours, stage="prod")
    with pytest.raises(click.ClickException) as refused:
        domains.require_unmapped(gateway, ours)
    assert refused.value.message == (
        "The domain cams.example.com is mapped to this API, and API Gateway deletes no API with a mapping: run `aws "
        "apigateway delete-base-path-mapping --domain-name cams.example.com --base-path '(none)'`, then repeat."
    )


def test_destroying_a_stage_with_a_mapping_changes_nothing(gateway: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    api = create_api(gateway)
    gateway.create_domain_name(domainName="cams.example.com")
    gateway.create_base_path_mapping(domainName="cams.example.com", restApiId=api, stage="prod")
    boto3.client("cloudformation").create_stack(StackName="cams-prod", TemplateBody='{"Resources": {}}')
    monkeypatch.setattr(chalice_state, "reconcile", lambda *_: [])
    monkeypatch.setattr(chalice_state, "api_id", lambda _: api)
    for change in ("run", "prepare_deletion"):
        monkeypatch.setattr(chalice_process, change, lambda *_: pytest.fail("a deletion began"))
    answer = CliRunner().invoke(deployment, ["destroy", "--stage", "prod", "--yes"])
    assert (answer.exit_code, answer.output.count("\n")) == (1, 1)
    assert answer.output.startswith("Error: The domain cams.example.com is mapped to this API")


def test_an_account_without_domains_is_not_refused(gateway: Any) -> None:
    domains.require_unmapped(gateway, create_api(gateway))


def test_a_domain_without_mappings_is_not_refused() -> None:
    pages = {"get_domain_names": {"items": [{"domainName": "cams.example.com"}]}, "get_base_path_mappings": {}}

    class Gateway:
        """A fake client whose responses lack `items`, like API Gateway's responses for a domain without mappings."""

        def get_paginator(self, operation: str) -> Any:
            return SimpleNamespace(paginate=lambda **_: [pages[operation]])

    domains.require_unmapped(Gateway(), "any")
