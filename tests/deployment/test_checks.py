"""What is missing or in the way is told before anything is changed, in one sentence that says what to do."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from click.testing import CliRunner
from moto import mock_aws

from chalicelib import settings
from infra import tables
from infra.deploy import checks, stack, stage
from infra.deploy.commands import deployment


@pytest.fixture(autouse=True)
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(stage, "CHALICE", tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"stages": {"local": {}}}))
    with mock_aws():
        yield


def sentence() -> str:
    with pytest.raises(checks.NotReady) as refused:
        checks.everything(boto3.session.Session(), "cams-prod", "prod")
    assert "\n" not in refused.value.message
    return refused.value.message


def test_nothing_is_wrong_with_an_empty_account() -> None:
    checks.everything(boto3.session.Session(), "cams-prod", "prod")


def test_no_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert "set AWS_DEFAULT_REGION" in sentence()


def test_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise checks.BotoCoreError

    monkeypatch.setattr(boto3.session.Session, "client", refuse)
    assert "set AWS_PROFILE" in sentence()


def test_another_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 0))
    assert "use 3.10 to 3.14" in sentence()


def test_another_version_of_a_package_than_was_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks.metadata, "version", lambda _: "0.1")
    assert "it is 0.1 here: `make install`" in sentence()


def test_another_account_than_the_stage_is_in() -> None:
    arn = "arn:aws:dynamodb:eu-west-1:999999999999:table/cams-prod-agents/stream/1"
    config = {"stages": {"prod": {"environment_variables": {"CAMS_STREAM_AGENTS": arn}}}}
    (stage.CHALICE / "config.json").write_text(json.dumps(config))
    assert "Stage prod is in account 999999999999" in sentence()


def test_somebody_else_at_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "status", lambda *_: "UPDATE_IN_PROGRESS")
    assert "wait until it is done" in sentence()


@pytest.mark.parametrize("state", ["CREATE_FAILED", "DELETE_FAILED", "ROLLBACK_FAILED", "UPDATE_ROLLBACK_FAILED"])
def test_a_stack_that_is_half_there(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "status", lambda *_: state)
    assert state in sentence()


@pytest.mark.parametrize(
    "state", ["CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "ROLLBACK_COMPLETE"]
)
def test_a_stack_to_go_on_with(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "status", lambda *_: state)
    checks.everything(boto3.session.Session(), "cams-prod", "prod")


def test_tables_without_a_stack() -> None:
    tables.create_missing(boto3.client, "cams-prod-")
    assert "There are tables of cams-prod but no stack" in sentence()


def test_tables_of_another_stage_are_not_in_the_way() -> None:
    tables.create_missing(boto3.client, settings.table_prefix())
    checks.everything(boto3.session.Session(), "cams-prod", "prod")


@pytest.mark.parametrize("name", ["", "local", "Prod", "pr-od", "1st", "seventeenletters1"])
def test_a_name_that_is_no_stage(name: str) -> None:
    answer = CliRunner().invoke(deployment, ["deploy", "--stage", name])
    assert answer.exit_code == 2
    assert "must be 1 to 16 of a-z and 0-9" in answer.output


def test_destroying_what_is_not_there() -> None:
    answer = CliRunner().invoke(deployment, ["destroy", "--stage", "prod", "--yes"])
    assert answer.exit_code == 1
    assert "There is no stack cams-prod" in answer.output


def test_destroying_asks_for_the_name_of_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "status", lambda *_: "UPDATE_COMPLETE")
    answer = CliRunner().invoke(deployment, ["destroy", "--stage", "prod"], input="yes\n")
    assert answer.exit_code == 1
    assert "Nothing has been changed" in answer.output
