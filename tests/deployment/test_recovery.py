"""Restoring a stage: the restore point, foreign tables, an interrupted restore, and a shared key."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from infra import tables
from infra.deploy import checks, recovery, stack, teardown

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
NAMES = [tables.table_name(one, "cams-prod-") for one in tables.declared("AWS::DynamoDB::Table")]


class Dynamodb:
    """A fake account with point-in-time recovery, which moto lacks. `described` are additional tables."""

    def __init__(self, described: dict[str, dict[str, Any]] | None = None, *, status: str = "ENABLED") -> None:
        self.described, self._status = described or {}, status
        self.restored: list[str] = []

    def describe_continuous_backups(self, **request: Any) -> Any:
        # The tables' recovery windows differ slightly.
        shift = timedelta(minutes=NAMES.index(request["TableName"]))
        window = {
            "EarliestRestorableDateTime": NOW - timedelta(days=35) + shift,
            "LatestRestorableDateTime": NOW - shift,
        }
        found = {"PointInTimeRecoveryStatus": self._status, **window}
        return {"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": found}}

    def get_paginator(self, _: str) -> Any:
        return self

    def paginate(self) -> list[dict[str, Any]]:
        return [{"TableNames": [*NAMES, *self.described]}]

    def describe_table(self, **request: Any) -> Any:
        return {"Table": {**request, "TableStatus": "ACTIVE", **self.described.get(request["TableName"], {})}}

    def restore_table_to_point_in_time(self, **request: Any) -> None:
        assert request["SourceTableName"] in NAMES
        assert request["RestoreDateTime"] == NOW
        self.restored.append(request["TargetTableName"])


def origin(source: str, when: datetime) -> dict[str, Any]:
    return {"RestoreSummary": {"SourceTableArn": f"arn:aws:dynamodb:eu:1:table/{source}", "RestoreDateTime": when}}


def test_latest_is_the_last_moment_that_all_tables_have() -> None:
    assert recovery.moment(Dynamodb(), "cams-prod", "latest") == NOW - timedelta(minutes=len(NAMES) - 1)


def test_a_moment_is_a_whole_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check for whole seconds, because DynamoDB drops fractions, and a repeated command compares restore points."""
    monkeypatch.setattr(f"{__name__}.NOW", NOW + timedelta(milliseconds=250))
    latest = NOW.replace(microsecond=0) - timedelta(minutes=len(NAMES) - 1)
    assert recovery.moment(Dynamodb(), "cams-prod", "latest") == latest
    before = latest - timedelta(seconds=1)
    assert recovery.moment(Dynamodb(), "cams-prod", f"{before.isoformat()[:19]}.900+00:00") == before


def test_a_moment_may_have_any_time_zone() -> None:
    assert recovery.moment(Dynamodb(), "cams-prod", "2026-11-21T13:00:00+01:00") == NOW - timedelta(days=1)


@pytest.mark.parametrize("at", ["yesterday", "2026-11-21", "2026-11-21T12:00:00"])
def test_a_time_without_a_time_zone_is_refused(at: str) -> None:
    with pytest.raises(checks.NotReady, match="AT must be a time with a time zone"):
        recovery.moment(Dynamodb(), "cams-prod", at)


@pytest.mark.parametrize("at", [NOW, NOW - timedelta(days=35)])
def test_a_moment_that_one_table_does_not_have_is_refused(at: datetime) -> None:
    with pytest.raises(
        checks.NotReady, match=r"cams-prod can be restored to any time from 2026-10-18T.* to 2026-11-22T"
    ):
        recovery.moment(Dynamodb(), "cams-prod", at.isoformat())


def test_tables_without_recovery_are_refused() -> None:
    with pytest.raises(checks.NotReady, match="has no point-in-time recovery"):
        recovery.moment(Dynamodb(status="DISABLED"), "cams-prod", "latest")


def test_an_interrupted_restore_continues_with_the_missing_tables() -> None:
    dynamodb = Dynamodb({"cams-b-agents": origin("cams-prod-agents", NOW)})
    wanted = [name.replace("cams-prod", "cams-b") for name in NAMES]
    assert [*recovery.restore(dynamodb, "cams-prod", "cams-b", NOW)] == wanted
    assert dynamodb.restored == [name for name in wanted if name != "cams-b-agents"]


def test_recovery_is_enabled_as_soon_as_dynamodb_permits_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat the request, because DynamoDB rejects it while it sets up a new table's backups."""
    refusals = ["ContinuousBackupsUnavailableException"] * 2
    waits: list[float] = []
    monkeypatch.setattr(recovery.time, "sleep", waits.append)
    with mock_aws():
        tables.create_missing(boto3.client, "cams-b-")
        dynamodb = boto3.client("dynamodb")
        update = dynamodb.update_continuous_backups

        def refuse_first(**request: Any) -> Any:
            if refusals:
                raise ClientError({"Error": {"Code": refusals.pop()}}, "UpdateContinuousBackups")
            return update(**request)

        monkeypatch.setattr(dynamodb, "update_continuous_backups", refuse_first)
        recovery.apply_settings(dynamodb, "cams-b")
        description = {
            dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"][
                "PointInTimeRecoveryDescription"
            ]["PointInTimeRecoveryStatus"]
            for name in dynamodb.list_tables()["TableNames"]
        }
        refusals.append("AccessDeniedException")
        with pytest.raises(ClientError, match="AccessDeniedException"):
            recovery.apply_settings(dynamodb, "cams-b")
    assert (description, len(waits)) == ({"ENABLED"}, 2)


@pytest.mark.parametrize(
    ("existing", "reason"),
    [
        ({}, "exists and was not restored from cams-prod-agents"),
        (origin("cams-test-agents", NOW), "exists and was not restored from cams-prod-agents"),
        (origin("cams-prod-agents", NOW - timedelta(hours=1)), "continue with AT=2026-11-22T11:00:00"),
    ],
)
def test_a_table_of_another_origin_stops_the_restore_before_it_begins(existing: dict[str, Any], reason: str) -> None:
    dynamodb = Dynamodb({"cams-b-agents": existing})
    with pytest.raises(checks.NotReady, match=reason):
        next(recovery.restore(dynamodb, "cams-prod", "cams-b", NOW))
    assert dynamodb.restored == []


@pytest.fixture
def cloudformation(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Create a stage with a key (`cams-prod`), and a restored stage that uses the same key (`cams-b`)."""
    with mock_aws():
        client = boto3.client("cloudformation")
        template = '{"Parameters": {"KeyArn": {"Type": "String"}}, "Resources": {"T": {"Type": "AWS::SNS::Topic"}}}'
        for name, key in (("cams-prod", ""), ("cams-b", "the key")):
            parameters = [{"ParameterKey": "KeyArn", "ParameterValue": key}]
            client.create_stack(StackName=name, TemplateBody=template, Parameters=parameters)
        monkeypatch.setattr(stack, "outputs", lambda *_: {"EncryptionKeyArn": "the key"})
        yield client


def test_the_key_is_deleted_with_the_last_stage_only(cloudformation: Any) -> None:
    assert teardown.key_to_delete(cloudformation, "cams-prod") is None
    assert teardown.key_to_delete(cloudformation, "cams-b") is None
    cloudformation.delete_stack(StackName="cams-b")
    assert teardown.key_to_delete(cloudformation, "cams-prod") == "the key"
