"""Step: a stage with data is restored as a second stage while the first stage stays in service.

The emulator always restores the current items, regardless of the requested restore point.
"""

import json
import time
from typing import Any

from infra.deploy import recovery
from infra.tables import declared, table_name
from tests.deployment import cloud

_SETTLE_SECONDS = 60
STAGE, NAME = "restored", "cams-restored"


# These requests create a record of each kind again, because the examples end with deletions. One transcript is stored
# in chunks. The bot sends its messages, because 700 deliveries of user messages would take minutes.
RECORDS: dict[str, Any] = {
    "/v2/agents/filled": {"title": "Filled"},
    "/agents/filled/interact/ann/state": {
        "turns": [{"from": "bot", "messages": [{"item": {"text": f"{one} {'x' * 150}"}}]} for one in range(700)],
        "metadata": {"userName": "Ann"},
    },
    "/v2/agents/filled/analytics/ann": {"record": "load"},
    "/v2/clients/ann": {"name": "Ann"},
    "/v2/orgs/acme": {"name": "Acme"},
    "/v3/leads": {"lead": {"agentId": "filled", "name": "Ann"}},
}


def begin(here: cloud.Cloud, original: str) -> str:
    """Restore one table, as if the command were interrupted afterwards; return the restore point."""
    when = recovery.moment(here.sdk("dynamodb"), original, "latest")
    here.sdk("dynamodb").restore_table_to_point_in_time(
        SourceTableName=f"{original}-keyring", TargetTableName=f"{NAME}-keyring", RestoreDateTime=when
    )
    return when.isoformat()


Tables = dict[str, set[str]]


def read_tables(here: cloud.Cloud, stack: str) -> Tables:
    """Return every item of every table as JSON."""
    names = [table_name(one, "") for one in declared("AWS::DynamoDB::Table")]
    return {name: _items(here, f"{stack}-{name}") for name in names}


def read_settled_tables(here: cloud.Cloud, stack: str) -> Tables:
    """Return every item of every table after two seconds without changes. Raise AssertionError if a table is empty.

    Tallies may change up to a minute after other records.
    """
    deadline = time.monotonic() + _SETTLE_SECONDS
    before, latest = None, read_tables(here, stack)
    while latest != before:
        assert time.monotonic() < deadline, f"The tables still change after {_SETTLE_SECONDS} s."
        time.sleep(2)
        before, latest = latest, read_tables(here, stack)
    empty = {name for name, items in latest.items() if not items} - {"tallies"}
    assert not empty, f"The comparison would be meaningless, because these tables are empty:  {sorted(empty)}."
    return latest


def check_records(before: Tables, restored: Tables, after: Tables) -> int:
    """Check that exactly the original records are restored; return their number. May raise AssertionError.

    `before` and `after` contain the original tables before and after the restore, because functions may change items
    during the restore.
    """
    for name, items in restored.items():
        assert before[name] & after[name] <= items <= before[name] | after[name], f"The table {name} differs."
    return sum(map(len, restored.values()))


def check_settings(here: cloud.Cloud, original: str) -> None:
    """Check that the restored tables match the template and that the stage has the operator's settings."""
    for properties in declared("AWS::DynamoDB::Table"):
        wanted, found = _declared_settings(properties), _settings(here, table_name(properties, f"{NAME}-"))
        assert found == wanted, f"{properties['TableName']} has {found} instead of {wanted}."
    first, second = (
        here.sdk("lambda").get_function_configuration(FunctionName=stack)["Environment"]["Variables"]
        for stack in (original, NAME)
    )
    for name in ("CAMS_ENCRYPTION_KEY", "CAMS_CORS_ORIGIN"):
        assert first[name] == second[name], name


def _items(here: cloud.Cloud, table: str) -> set[str]:
    pages = here.sdk("dynamodb").get_paginator("scan").paginate(TableName=table)
    return {json.dumps(item, default=bytes.hex, sort_keys=True) for page in pages for item in page["Items"]}


def _declared_settings(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "stream": properties.get("StreamSpecification", {}).get("StreamViewType"),
        "protection": True,
        "indexes": sorted(one["IndexName"] for one in properties.get("GlobalSecondaryIndexes", ())),
        "expiry": properties.get("TimeToLiveSpecification", {}).get("AttributeName"),
        "recovery": "ENABLED",
    }


def _settings(here: cloud.Cloud, table: str) -> dict[str, Any]:
    dynamodb = here.sdk("dynamodb")
    settings = dynamodb.describe_table(TableName=table)["Table"]
    backups = dynamodb.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
    expiry = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    return {
        "stream": settings.get("StreamSpecification", {}).get("StreamViewType"),
        "protection": settings.get("DeletionProtectionEnabled"),
        "indexes": sorted(one["IndexName"] for one in settings.get("GlobalSecondaryIndexes", ())),
        "expiry": expiry.get("AttributeName"),
        "recovery": backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"],
    }
