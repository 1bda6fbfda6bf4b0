"""`make verify` names each queue, table, log group and alarm that is missing or differs."""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from chalicelib import settings, storage
from infra import tables
from infra.deploy import template
from infra.verify import data, functions, monitoring
from infra.verify.deployment import Note
from tests.deployment.verification import Functions, deployed, problems

QUEUES = [one["QueueName"]["Fn::Sub"].removeprefix("${Name}-") for one in tables.declared("AWS::SQS::Queue")]


SOURCES = [
    one["QueueName"]["Fn::Sub"].removeprefix("${Name}-")
    for one in tables.declared("AWS::SQS::Queue")
    if "RedrivePolicy" in one
]


@pytest.fixture
def sqs(engine: None) -> Iterator[Any]:
    """Create the template's queues. Afterwards, restore the queues that the test deletes or changes."""
    yield storage.sdk_client("sqs")
    tables.create_missing(storage.sdk_client, settings.table_prefix())


def check_queues(sqs: Any) -> list[str]:
    return problems(data.check_queues(deployed(sqs=sqs)._replace(name="cams")))


def test_each_missing_queue_is_named(sqs: Any) -> None:
    assert check_queues(sqs) == []
    for queue in QUEUES:
        sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName=f"cams-{queue}")["QueueUrl"])
    assert check_queues(sqs) == [
        f"The queue cams-{queue} does not exist: create it as infra/template.yaml declares it." for queue in QUEUES
    ]


def test_each_missing_redrive_policy_is_named(sqs: Any) -> None:
    for queue in SOURCES:
        url = sqs.get_queue_url(QueueName=f"cams-{queue}")["QueueUrl"]
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": ""})
    problems = [one.partition(" does not move messages to cams-")[0] for one in check_queues(sqs)]
    assert problems == [f"The queue cams-{queue}" for queue in SOURCES]


def test_each_queue_that_refuses_access_is_named(sqs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = ClientError({"Error": {"Code": "AccessDenied", "Message": "Denied."}}, "GetQueueUrl")
    find = sqs.get_queue_url

    def refuse(QueueName: str) -> Any:  # noqa: N803 - the parameter of boto3
        if QueueName in ("cams-deliveries", "cams-maintenance"):
            raise refused
        return find(QueueName=QueueName)

    monkeypatch.setattr(sqs, "get_queue_url", refuse)
    assert sorted(check_queues(sqs)) == [
        f"The queue cams-{one} cannot be read: {refused}" for one in ("deliveries", "maintenance")
    ]


def test_dead_letters_are_a_note(sqs: Any) -> None:
    url = sqs.get_queue_url(QueueName="cams-maintenance-dead")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="dead")
    notes = [*data.check_queues(deployed(sqs=sqs)._replace(name="cams"))]
    assert [(type(one), one) for one in notes] == [
        (Note, "cams-maintenance-dead has 1 dead letters (docs/operate.md, Dead letters)")
    ]


def test_tables_without_their_protection_are_named(engine: None) -> None:
    dynamodb = storage.sdk_client("dynamodb")
    sentences = problems(data.check_tables(deployed(dynamodb=dynamodb)._replace(name="cams")))
    command = "aws dynamodb update-table --table-name cams-agents --deletion-protection-enabled"
    assert f"The table cams-agents has no deletion protection: run `{command}`." in sentences
    assert (
        "The table cams-agents has no point-in-time recovery: enable it, because `make restore` needs it." in sentences
    )
    assert len(sentences) == 2 * len(tables.declared("AWS::DynamoDB::Table"))  # TTL, streams and indexes match


def test_a_missing_alarm_and_a_missing_log_group_are_named() -> None:
    with mock_aws():
        cloudwatch, logs, sns = boto3.client("cloudwatch"), boto3.client("logs"), boto3.client("sns")
        topic = sns.create_topic(Name="cams-prod-alarms")["TopicArn"]
        current = deployed(cloudwatch=cloudwatch, logs=logs, sns=sns, **check_clients())._replace(
            outputs={"AlarmsTopicArn": topic}
        )
        names = [one["AlarmName"]["Fn::Sub"] for one in template.declared("AWS::CloudWatch::Alarm")]
        *found, function, rule, note = monitoring.check_alarms(current)
        assert function.startswith("The function cams-prod-check does not exist. `chalice deploy` does not repair it")
        assert rule.startswith("The rule schedule, which invokes cams-prod-check, does not exist. ")
        assert [one.split()[2] for one in found] == [name.replace("${Name}", "cams-prod") for name in names]
        assert (type(note), note) == (
            Note,
            f"the alarms have no recipient: {topic} has no confirmed subscription (docs/operate.md, Deploy)",
        )
        groups = [one["LogGroupName"]["Fn::Sub"] for one in template.declared("AWS::Logs::LogGroup")]
        missing = [one.split()[3] for one in functions.check_logs(current)]
        assert missing == [group.replace("${Name}", "cams-prod") for group in groups]


def check_clients() -> dict[str, Any]:
    """Return the clients that the check of the function `check` needs, except for its alarm's clients."""
    detail = {"StackResourceDetail": {"PhysicalResourceId": "schedule"}}
    cloudformation = SimpleNamespace(describe_stack_resource=lambda **_: detail)
    return {"lambda": boto3.client("lambda"), "events": boto3.client("events"), "cloudformation": cloudformation}


def alarms(topic: str) -> list[dict[str, Any]]:
    """Return a deployment's alarms."""
    own = {"ActionsEnabled": True, "AlarmActions": [topic]}
    return [
        {**one, **own, "AlarmName": one["AlarmName"]["Fn::Sub"].replace("${Name}", "cams-prod")}
        for one in template.declared("AWS::CloudWatch::Alarm")
    ]


def test_an_alarm_with_another_threshold_a_disabled_check_and_a_closed_topic_are_named() -> None:
    with mock_aws():
        sns, clients = boto3.client("sns"), check_clients()
        topic = sns.create_topic(Name="cams-prod-alarms")["TopicArn"]
        page = {"MetricAlarms": alarms(topic)}
        paginator = SimpleNamespace(paginate=lambda **_: [page])
        cloudwatch = SimpleNamespace(get_paginator=lambda _: paginator)
        clients["lambda"] = Functions()
        clients["lambda"].deployed["cams-prod-check"] = {}
        clients["events"].put_rule(Name="schedule", ScheduleExpression="rate(5 minutes)")
        current = deployed(cloudwatch=cloudwatch, sns=sns, **clients)._replace(outputs={"AlarmsTopicArn": topic})
        assert problems(monitoring.check_alarms(current)) == []
        failing = next(one for one in page["MetricAlarms"] if one["AlarmName"] == "cams-prod-ApiFailing")
        failing["Threshold"] = 1e9
        clients["events"].disable_rule(Name="schedule")
        deny = {"Effect": "Deny", "Principal": "*", "Action": "sns:Publish", "Resource": topic}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [deny]})
        sns.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=policy)
        alarm, rule, closed = problems(monitoring.check_alarms(current))
    assert alarm.startswith(
        "The alarm cams-prod-ApiFailing has a different Threshold. `chalice deploy` does not repair it"
    )
    assert rule.endswith(", is DISABLED: run `aws events enable-rule --name schedule`.")
    assert closed.startswith(f"The policy of the topic {topic} denies access")
