"""Deployments after a failed stack creation or a replaced stream, and problems that the rehearsal must detect."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.deployment import cloud, rehearse
from tests.deployment.rehearsal import Failed

pytestmark = [pytest.mark.engine, pytest.mark.long]


def deploy(here: cloud.Cloud) -> str:
    """Deploy; return the output of a failed deployment, or an empty string on success."""
    completed = here.run("-m", "infra.deploy", "deploy", "--stage", "rehearsal")
    return completed.stdout + completed.stderr if completed.returncode else ""


def mappings(here: cloud.Cloud) -> list[dict[str, Any]]:
    return here.sdk("lambda").list_event_source_mappings()["EventSourceMappings"]


def replace_stream(here: cloud.Cloud, table: str) -> str:
    """Disable and re-enable a table's stream, which creates a new stream; return the new ARN."""
    dynamodb = here.sdk("dynamodb")
    dynamodb.update_table(TableName=table, StreamSpecification={"StreamEnabled": False})
    wanted = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    arn: str = dynamodb.update_table(TableName=table, StreamSpecification=wanted)["TableDescription"]["LatestStreamArn"]
    return arn


def test_a_failed_stack_is_completed_and_a_replaced_stream_followed(tmp_path: Path) -> None:
    with cloud.empty(tmp_path, {}) as here:
        alarms = here.project / "infra" / "deploy" / "monitoring.py"
        whole, throttles = alarms.read_text(), '{**_metric("AWS/Lambda", "Throttles"), **_SUM}'
        assert throttles in whole
        alarms.write_text(whole.replace(throttles, "{}"))
        assert "The stack cams-rehearsal ended with ROLLBACK_COMPLETE: FunctionsThrottled" in deploy(here)
        assert here.sdk("dynamodb").list_tables()["TableNames"] == []
        alarms.write_text(whole)

        assert deploy(here) == ""  # the deployment's verification compares each mapping's settings
        assert set(Counter(one["FunctionArn"] for one in mappings(here)).values()) == {1}

        arn = replace_stream(here, "cams-rehearsal-leads")
        kept = {one["UUID"] for one in mappings(here) if "table/cams-rehearsal-leads/" not in one["EventSourceArn"]}
        assert deploy(here) == ""
        renewed = [one for one in mappings(here) if one["EventSourceArn"] == arn]
        assert {one["FunctionArn"].rpartition("-")[2] for one in renewed} == {"fan_out_leads", "follow_leads"}
        assert all(one["BisectBatchOnFunctionError"] for one in renewed)
        assert {one["StartingPosition"] for one in renewed} == {"TRIM_HORIZON"}
        assert {one["UUID"] for one in mappings(here)} == {*kept, *(one["UUID"] for one in renewed)}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("policy", "cams-rehearsal-fan_out_agents"),
        ("stream", "The table cams-rehearsal-leads has no stream"),
    ],
)
def test_the_rehearsal_fails_if_something_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, reason: str
) -> None:
    monkeypatch.setenv("CAMS_VERIFY_PATIENCE", "20")  # a few seconds, because waiting repairs nothing
    with pytest.raises(Failed, match=reason):
        rehearse.rehearse(tmp_path, broken)
