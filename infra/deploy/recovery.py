"""Restore a stage's tables to a restore point, as the tables of a new stage.

DynamoDB restores into new tables, so the live stage stays in service. A restored table contains the items and indexes,
but not the settings. Both stages use the same KMS key, because the documents stay encrypted with the data keys in the
keyring table.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from infra.deploy import sdk_errors
from infra.deploy.checks import NotReady
from infra.tables import declared, enable_ttl, list_names, table_name

_LATEST = "latest"
_POLL_SECONDS = 2.0


def moment(dynamodb: Any, source: str, at: str, extensions: Collection[str] | None = None) -> datetime:
    """Return the time `at` (ISO 8601 with a time zone). For `latest`, return the latest second to restore to.

    `source` is the stack name. Raise NotReady if a table of core or of these extensions cannot be restored.
    """
    windows = [
        dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"][
            "PointInTimeRecoveryDescription"
        ]
        for name, _ in _tables(source, extensions)
    ]
    if any(window["PointInTimeRecoveryStatus"] != "ENABLED" for window in windows):
        raise NotReady(f"A table of {source} has no point-in-time recovery: the stage cannot be restored.")
    latest: datetime = min(window["LatestRestorableDateTime"] for window in windows)
    if at == _LATEST:
        return latest.replace(microsecond=0)
    try:
        chosen = datetime.fromisoformat(at).replace(microsecond=0)
    except ValueError:
        chosen = datetime.min
    if chosen.tzinfo is None:
        raise NotReady("AT must be a time with a time zone, such as 2026-11-22T09:30:00+00:00, or `latest`.")
    earliest: datetime = max(window["EarliestRestorableDateTime"] for window in windows)
    if not earliest <= chosen <= latest:
        raise NotReady(f"{source} can be restored to any time from {earliest.isoformat()} to {latest.isoformat()}.")
    return chosen


def restore(
    dynamodb: Any, source: str, target: str, when: datetime, extensions: Collection[str] | None = None
) -> Iterator[str]:
    """Restore every table of the stack `source` to a timestamp, under `target`'s names. Yield each finished table.

    An interrupted restore can be rerun with the same timestamp. Raise NotReady if a target table was not restored from
    the same source and time.
    """
    pairs = [(name, f"{target}{name.removeprefix(source)}") for name, _ in _tables(source, extensions)]
    existing = list_names(dynamodb)
    for name, restored in pairs:
        if restored in existing:
            _check_origin(dynamodb.describe_table(TableName=restored)["Table"], name, when)
    for name, restored in pairs:
        if restored not in existing:
            dynamodb.restore_table_to_point_in_time(
                SourceTableName=name, TargetTableName=restored, RestoreDateTime=when
            )
    for _, restored in pairs:
        _wait_until_active(dynamodb, restored)
        yield restored


def apply_settings(dynamodb: Any, target: str, extensions: Collection[str] | None = None) -> None:
    """Apply the settings that restored tables lack: streams, TTL, point-in-time recovery and deletion protection."""
    for name, properties in _tables(target, extensions):
        table = dynamodb.describe_table(TableName=name)["Table"]
        changes: list[dict[str, Any]] = []
        if "StreamSpecification" in properties and not table.get("StreamSpecification", {}).get("StreamEnabled"):
            changes.append({"StreamSpecification": {**properties["StreamSpecification"], "StreamEnabled": True}})
        if not table.get("DeletionProtectionEnabled"):
            changes.append({"DeletionProtectionEnabled": True})
        for change in changes:  # DynamoDB accepts one change at a time
            dynamodb.update_table(TableName=name, **change)
            _wait_until_active(dynamodb, name)
        if "TimeToLiveSpecification" in properties:
            enable_ttl(dynamodb, name, properties["TimeToLiveSpecification"])
        _enable_recovery(dynamodb, name, properties["PointInTimeRecoverySpecification"])


def _tables(name: str, extensions: Collection[str] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each stack table's name and declared properties."""
    for properties in declared("AWS::DynamoDB::Table", extensions):
        yield table_name(properties, f"{name}-"), properties


def _check_origin(table: dict[str, Any], source: str, when: datetime) -> None:
    summary = table.get("RestoreSummary", {})
    if not summary.get("SourceTableArn", "").endswith(f"table/{source}"):
        raise NotReady(f"The table {table['TableName']} exists and was not restored from {source}: choose another TO.")
    if summary["RestoreDateTime"] != when:
        raise NotReady(
            f"The table {table['TableName']} was restored to another time: choose another TO, or continue with "
            f"AT={summary['RestoreDateTime'].isoformat()}."
        )


def _enable_recovery(dynamodb: Any, name: str, specification: dict[str, Any]) -> None:
    """Enable point-in-time recovery. Retry the request while DynamoDB is still setting up backups for the new table."""
    while True:
        try:
            dynamodb.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=specification)
            return
        except ClientError as error:
            if sdk_errors.code(error) != "ContinuousBackupsUnavailableException":
                raise
        time.sleep(_POLL_SECONDS)


def _wait_until_active(dynamodb: Any, name: str) -> None:
    """Wait without a time limit until the table is active, because restoring a large table takes hours."""
    while dynamodb.describe_table(TableName=name)["Table"]["TableStatus"] != "ACTIVE":
        time.sleep(_POLL_SECONDS)
