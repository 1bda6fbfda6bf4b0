"""The metrics that the alarms watch, and the events that must not trigger an alarm."""

import json
import re
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.deploy import self_check, template
from infra.deploy.functions import declared_functions
from infra.deploy.idle_price import metrics

ALARMS: dict[str, dict[str, Any]] = {
    one["AlarmName"]["Fn::Sub"].removeprefix("${Name}-"): one for one in template.declared("AWS::CloudWatch::Alarm")
}
_FIRST_FUNCTION = "cams-prod-deliver"


def watched(name: str) -> set[str]:
    """Return the functions or queues whose metric `name` is watched by an alarm."""
    found = [one for alarm in ALARMS.values() for one in metrics(alarm) if one.get("MetricName") == name]
    return {json.dumps(one["Dimensions"][0]["Value"]) for one in found}


def test_an_alarm_watches_the_age_of_every_stream() -> None:
    expected = {json.dumps({"Fn::Sub": one.deployed_name("${Name}")}) for one in declared_functions() if one.stream}
    assert watched("IteratorAge") == expected


def test_an_alarm_refers_to_at_most_ten_metrics() -> None:
    """Check CloudWatch's limit of ten metrics per expression."""
    assert {name for name, alarm in ALARMS.items() if len(metrics(alarm)) > 10} == set()


def test_minutes_without_data_neither_delay_an_alarm_nor_raise_it() -> None:
    """Check minutes without data, because idle streams report no age, and the latest minute has no data yet."""
    combined = {name: alarm for name, alarm in ALARMS.items() if "MetricStat" in json.dumps(alarm)}
    assert "EventsLate" in combined
    for name, alarm in combined.items():
        assert "FILL" not in alarm["Metrics"][0]["Expression"]
        assert alarm["TreatMissingData"] == "notBreaching"
        periods = alarm.get("DatapointsToAlarm"), alarm["EvaluationPeriods"]
        assert periods == ((3, 15) if name.endswith("Late") else (None, 1))


def test_a_failing_receiver_raises_no_alarm() -> None:
    """Check that no alarm watches the receiver's failures (`failedDeliveries`) or the slow queue."""
    for alarm in ALARMS.values():
        assert "failedDeliveries" not in json.dumps(alarm)
        assert "SlowDeliveriesQueue" not in json.dumps(alarm)
    # A workspace that causes a backlog is not a quiet message group.
    assert not watched("ApproximateAgeOfOldestMessage")
    assert len(watched("ApproximateAgeOfOldestMessageInQuietGroups")) == 2


def test_every_description_says_what_to_do() -> None:
    """Require a command in the description, or a section of docs/operate.md, which `test_operate_page` looks up."""
    for alarm in ALARMS.values():
        assert re.search(r"`[^`]+`|docs/operate\.md, section ", alarm["AlarmDescription"]), alarm
    assert "`python -m infra.cams redrive-streams`" in ALARMS["DeadDeliveries"]["AlarmDescription"]


@pytest.mark.parametrize(
    ("mapping", "problem"),
    [
        ({"State": "Enabled", "LastProcessingResult": "OK"}, None),
        ({"State": "Enabled"}, None),
        ({"State": "Updating"}, None),
        ({"State": "Disabled"}, "The event source mapping of cams-prod-deliver is Disabled."),
        (None, "The event source mapping of cams-prod-deliver is missing."),
        (
            {"State": "Enabled", "LastProcessingResult": "PROBLEM: Access denied"},
            "The event source mapping of cams-prod-deliver reports: PROBLEM: Access denied",
        ),
        # The mapping of an idle stream still reports the result of its last batch.
        ({"State": "Enabled", "LastProcessingResult": "PROBLEM: Function call failed"}, None),
    ],
)
def test_the_check_reports_a_mapping_that_does_not_work(mapping: dict[str, Any] | None, problem: str | None) -> None:
    class Lambda:
        def get_paginator(self, _: str) -> Any:
            return self

        def paginate(self) -> list[dict[str, Any]]:
            arn = f"arn:aws:lambda:eu-west-1:1:function:{_FIRST_FUNCTION}"
            found = [{"FunctionArn": arn, **mapping}] if mapping else []
            other = {"FunctionArn": f"{arn}_slow", "State": "Disabled"}
            return [{"EventSourceMappings": [other]}, {"EventSourceMappings": found}]

    assert self_check.mapping_problems(Lambda(), [_FIRST_FUNCTION]) == ([problem] if problem else [])


def test_the_check_reports_a_key_that_is_about_to_be_deleted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with mock_aws():
        kms = boto3.client("kms")
        keys = [kms.create_key()["KeyMetadata"]["KeyId"] for _ in range(2)]
        for name, value in {"NAME": "cams-prod", "FUNCTIONS": "", "KEYS": " ".join(keys)}.items():
            monkeypatch.setenv(name, value)
        assert self_check.check({}, None) == []
        kms.schedule_key_deletion(KeyId=keys[1], PendingWindowInDays=30)
        assert self_check.check({}, None) == [f"The key {keys[1]} is PendingDeletion."]
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    (metric,) = line["_aws"]["CloudWatchMetrics"]
    assert (metric["Namespace"], metric["Dimensions"], line[metric["Metrics"][0]["Name"]]) == ("cams-prod", [[]], 1)


def test_the_check_knows_every_function_with_an_event_source() -> None:
    (function,) = template.declared("AWS::Lambda::Function")
    names = function["Environment"]["Variables"]["FUNCTIONS"]["Fn::Sub"].split()
    assert names == [one.deployed_name("${Name}") for one in declared_functions() if one.stream or one.queue]
    assert function["Code"]["ZipFile"] == Path(self_check.__file__).read_text("utf-8")


def test_a_check_that_does_not_run_is_noticed_after_the_first_one() -> None:
    """Check that the first deployment sends no notification, because new alarms have the state INSUFFICIENT_DATA."""
    alarm = ALARMS["PartsBroken"]
    assert (alarm["TreatMissingData"], alarm["InsufficientDataActions"]) == ("missing", alarm["AlarmActions"])
