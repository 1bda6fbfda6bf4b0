"""The function table matches the application and the template."""

import json
from collections import Counter
from typing import Any

from chalice.app import DynamoDBEventConfig, SQSEventConfig

from app import app
from chalicelib import storage
from chalicelib.webhooks import queue, retry_policy
from infra.deploy import template
from infra.deploy.function import API, DEAD_LETTER_QUEUE, Function
from infra.deploy.functions import declared_functions
from infra.deploy.policies import policy, stream_output

_TABLES_ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/cams-prod-"
_STREAMS = [function.stream for function in declared_functions() if function.stream]
OUTPUTS = {
    "TablesArn": _TABLES_ARN,
    "EncryptionKeyArn": "arn:aws:kms:eu-west-1:123456789012:key/1",
    "ReceiptKeyArn": "arn:aws:kms:eu-west-1:123456789012:key/2",
    "DeadDeliveriesQueueArn": "arn:aws:sqs:eu-west-1:123456789012:cams-prod-deliveries-dead",
    **{stream_output(table): f"{_TABLES_ARN}{table}/stream/2026-11-21T00:00:00.000" for table in _STREAMS},
}
SENDER = "notifications@example.com"
_TEMPLATE = template.build()
RESOURCES: dict[str, Any] = _TEMPLATE["Resources"]
CONDITIONS: dict[str, Any] = _TEMPLATE["Conditions"]


def properties(kind: str) -> list[dict[str, Any]]:
    return [one["Properties"] for one in RESOURCES.values() if one["Type"] == kind]


def named(kind: str, member: str) -> dict[str, dict[str, Any]]:
    """Return the resources of a kind by their names without the prefix."""
    return {one[member]["Fn::Sub"].removeprefix("${Name}-"): one for one in properties(kind)}


def statements(function: Function) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = policy(function, "cams-prod", OUTPUTS, SENDER)["Statement"]
    return found


def test_the_table_lists_the_functions_that_the_application_registers() -> None:
    assert {one.name for one in declared_functions()} == {API, *(one.name for one in app.event_sources)}


def test_every_function_has_the_event_source_that_the_application_registers() -> None:
    by_name = {source.name: source for source in declared_functions()}
    for source in app.event_sources:
        function = by_name[source.name]
        if isinstance(source, DynamoDBEventConfig):
            assert (function.stream, function.queue) == (source.name.rpartition("_")[2], None)
        else:
            assert isinstance(source, SQSEventConfig) and source.queue
            assert (function.stream, function.queue) == (None, source.queue.removeprefix(storage.table("")))


def test_no_policy_has_a_wildcard_for_actions_or_resources() -> None:
    for function in declared_functions():
        for statement in statements(function):
            assert [action for action in statement["Action"] if "*" in action] == []
            resource = statement["Resource"]
            name = resource.removesuffix(":*") if ":log-group:" in resource else resource.removesuffix("/stream/*")
            if function.sends_mail and resource.endswith(":identity/*"):
                assert statement["Condition"] == {"StringEquals": {"ses:FromAddress": SENDER}}
                name = name.removesuffix(":identity/*")
            assert "*" not in name


def test_only_functions_that_send_mail_may_and_only_from_the_sender_of_the_stage() -> None:
    by_name = {one.name: policy(one, "cams-prod", OUTPUTS, SENDER)["Statement"] for one in declared_functions()}
    actions = {name: {action for one in found for action in one["Action"]} for name, found in by_name.items()}
    allowed = {name for name, found in actions.items() if "ses:SendRawEmail" in found}
    assert allowed == {one.name for one in declared_functions() if one.sends_mail}
    assert "ses:" not in json.dumps([policy(one, "cams-prod", OUTPUTS) for one in declared_functions()])


def test_the_tables_and_queues_of_a_policy_are_in_the_template() -> None:
    for function in declared_functions():
        tables = named("AWS::DynamoDB::Table", "TableName")
        queues = named("AWS::SQS::Queue", "QueueName")
        assert {one.partition("/")[0] for one in function.tables} <= tables.keys()
        assert {*function.sends_to, *([function.queue] if function.queue else []), DEAD_LETTER_QUEUE} <= queues.keys()
        for one in function.tables:
            table, _, index = one.partition("/index/")
            declared = [found["IndexName"] for found in tables[table].get("GlobalSecondaryIndexes", ())]
            assert index in ("", *declared)


def test_the_visibility_timeout_is_six_times_the_function_timeout() -> None:
    for function in declared_functions():
        if function.queue:
            assert (
                named("AWS::SQS::Queue", "QueueName")[function.queue]["VisibilityTimeout"]
                >= 6 * function.timeout_seconds
            )


def test_every_function_has_a_log_group_with_a_retention_period() -> None:
    for function in declared_functions():
        groups = {one["LogGroupName"]["Fn::Sub"]: one for one in properties("AWS::Logs::LogGroup")}
        assert groups[f"/aws/lambda/{function.deployed_name('${Name}')}"]["RetentionInDays"] == 30


def test_at_most_two_functions_read_a_stream() -> None:
    """Limit the readers to two, because DynamoDB throttles a shard's third reader."""
    assert max(Counter(_STREAMS).values()) <= 2


def test_retries_of_a_stream_end_by_age_and_leave_time_to_replay_its_records() -> None:
    for function in declared_functions():
        if function.stream:
            assert function.mapping_settings["MaximumRetryAttempts"] == -1
            assert 0 < function.mapping_settings["MaximumRecordAgeInSeconds"] <= 12 * 60 * 60
            assert function.mapping_settings["BisectBatchOnFunctionError"]


def test_retries_of_a_queue_are_finite_and_an_alarm_watches_its_dead_letter_queue() -> None:
    queues = named("AWS::SQS::Queue", "QueueName")
    watched = [
        one["Dimensions"][0]["Value"]["Fn::GetAtt"][0]
        for one in properties("AWS::CloudWatch::Alarm")
        if one.get("MetricName") == "ApproximateNumberOfMessagesVisible"
    ]
    for function in declared_functions():
        if function.queue:
            policy = queues[function.queue]["RedrivePolicy"]
            is_of_webhooks = function.queue in (queue.FAST, queue.SLOW)
            assert policy["maxReceiveCount"] == (retry_policy.MAX_RECEIVES if is_of_webhooks else 10)
            assert policy["deadLetterTargetArn"]["Fn::GetAtt"][0] in watched
    assert "DeadDeliveriesQueue" in watched  # the streams' failure destination


# These functions retry whole batches.
WITHOUT_PARTS = {
    "erase", "follow_analytics", "follow_conversations", "follow_deliveries",
    "follow_leads",
    "follow_agents", "follow_clients", "follow_organisations", "follow_webhooks", "follow_credentials",
}  # fmt: skip


def test_lambda_reads_the_failures_that_a_function_reports() -> None:
    """Check the setting that makes Lambda retry reported failures. Without it, messages are lost."""
    reporting = {one.name for one in declared_functions() if "FunctionResponseTypes" in one.mapping_settings}
    assert reporting == {one.name for one in app.event_sources} - WITHOUT_PARTS


def test_every_table_has_deletion_protection_and_point_in_time_recovery() -> None:
    for table in properties("AWS::DynamoDB::Table"):
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert table["DeletionProtectionEnabled"] == {"Fn::If": ["IsProtected", True, False]}


def conditions(resource: dict[str, Any]) -> list[str]:
    """Return a resource's condition, and the conditions to which it refers."""
    names = [resource["Condition"]] if "Condition" in resource else []
    return [
        *names,
        *(inner for name in names for one in CONDITIONS[name].get("Fn::And", ()) for inner in conditions(one)),
    ]


def test_only_resources_that_hold_data_are_retained() -> None:
    for name, resource in RESOURCES.items():
        is_key = resource["Type"].startswith("AWS::KMS::")
        holds_data = is_key or resource["Type"].startswith("AWS::DynamoDB::")
        # A stack that uses another stage's encryption key still signs receipts with its own key.
        expected = ["OwnsKey"] if name.startswith("EncryptionKey") else [] if holds_data else ["IsServing"]
        assert conditions(resource)[-1:] == expected, name
        if resource["Type"] != "AWS::KMS::Alias":
            assert (resource.get("DeletionPolicy") == "RetainExceptOnCreate") == holds_data, name


def test_every_filter_pattern_is_valid_json() -> None:
    for function in declared_functions():
        for one in function.mapping_settings.get("FilterCriteria", {"Filters": []})["Filters"]:
            assert json.loads(one["Pattern"]).keys() <= {"eventName", "dynamodb", "userIdentity"}
