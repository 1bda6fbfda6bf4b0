"""The emulator with patches for the rehearsal. It runs on the interpreter of `.venv-engine`.

    python -m tests.deployment.emulator

The patched emulator imports an API from its document (`tests.deployment.api_import`), unpacks each package once
(`tests.deployment.package_cache`), and checks the same IAM actions and resources as AWS. It sets TTL and point-in-time
recovery on a stack's tables, supports interrupted restores, and omits the simulated delay of half a second when a
function changes its state. It creates alarms with metric math, but never evaluates them.
"""

import importlib
import json
from typing import Any

from tests.deployment import api_import, package_cache

provisioners = importlib.import_module("ministack.services.cloudformation.provisioners")
actions = importlib.import_module("ministack.core.iam_actions")
dynamodb = importlib.import_module("ministack.services.dynamodb")
streams = importlib.import_module("ministack.services.dynamodb_streams")
_alarm_record = provisioners._cw_metric_alarm_record
_table_handlers = provisioners._RESOURCE_HANDLERS["AWS::DynamoDB::Table"]
_create_table = _table_handlers["create"]
_update_table = _table_handlers["update"]
_extract_iam_action = actions.extract_iam_action
_extract_resource_arn = actions.extract_resource_arn
_describe_backups = dynamodb._describe_continuous_backups
_restore = dynamodb._restore_table_to_point_in_time
_table_description = dynamodb._table_description


def extract_aws_action(*arguments: Any, **named: Any) -> str | None:
    """Return the IAM action of a call. In SQS, `sqs:SendMessage` also covers SendMessageBatch."""
    action: str | None = _extract_iam_action(*arguments, **named)
    return action.removesuffix("Batch") if action and action.startswith("sqs:") else action


def extract_aws_resource(
    service: str, method: str, path: str, headers: Any, body: bytes, query: Any, region: str, account: str
) -> str:
    """Return the ARN of the resource that a call accesses."""
    if service == "cloudformation" and (stack := actions._query_param(query, "StackName")):
        name = str(stack).rpartition(":stack/")[2].partition("/")[0]
        return f"arn:aws:cloudformation:{region}:{account}:stack/{name}/id"
    if service == "apigateway":
        return f"arn:aws:apigateway:{region}::{path}"
    if service == "lambda" and method == "POST" and path.endswith("/functions"):
        return f"arn:aws:lambda:{region}:{account}:function:{json.loads(body)['FunctionName']}"
    if service.startswith("dynamodb") and (stream := actions._safe_json_field(body, "StreamArn")):
        return str(stream)
    if service.startswith("dynamodb") and (iterator := actions._safe_json_field(body, "ShardIterator")):
        return f"arn:aws:dynamodb:{region}:{account}:table/{streams._decode_iterator(iterator)['t']}/stream/any"
    if service == "events" and (rule := actions._safe_json_field(body, "Name")):
        return f"arn:aws:events:{region}:{account}:rule/{rule}"
    if service == "dynamodb" and (source := actions._safe_json_field(body, "SourceTableName")):
        return f"arn:aws:dynamodb:{region}:{account}:table/{source}"
    return str(_extract_resource_arn(service, method, path, headers, body, query, region, account))


def describe_continuous_backups(data: dict[str, Any]) -> Any:
    """Return a table's backups, which go back an hour. The emulator's own backups start in the current second."""
    status, headers, body = _describe_backups(data)
    content = json.loads(body)
    window = content.get("ContinuousBackupsDescription", {}).get("PointInTimeRecoveryDescription", {})
    if "EarliestRestorableDateTime" in window:
        window["EarliestRestorableDateTime"] -= 3600
    return status, headers, json.dumps(content).encode()


def restore_table_to_point_in_time(data: dict[str, Any]) -> Any:
    """Restore a table, and record the table from which it was restored."""
    answer = _restore(data)
    if answer[0] == 200:
        dynamodb._tables[data["TargetTableName"]]["RestoreSummary"] = {
            "SourceTableArn": dynamodb._tables[data["SourceTableName"]]["TableArn"],
            "RestoreDateTime": data["RestoreDateTime"],
            "RestoreInProgress": False,
        }
    return answer


def metric_alarm_record(name: str, properties: dict[str, Any]) -> Any:
    """Return an alarm's record. The emulator does not evaluate alarms with metric math."""
    if "Expression" in (properties.get("Metrics") or [{}])[0]:
        properties = {**properties, "Metrics": None, "Namespace": "expression", "MetricName": "expression"}
    return _alarm_record(name, properties)


def table_description(name: str) -> dict[str, Any]:
    """Return a table's description, including the table from which it was restored."""
    origin = dynamodb._tables[name].get("RestoreSummary")
    return {**_table_description(name), **({"RestoreSummary": origin} if origin else {})}


def create_table(logical_id: str, properties: dict[str, Any], stack: str) -> Any:
    """Create a stack's table with TTL and point-in-time recovery, which the emulator omits."""
    created = _create_table(logical_id, properties, stack)
    _set_table(created[0], {}, properties)
    return created


def update_table(table: str, old: dict[str, Any], new: dict[str, Any], *rest: Any, **named: Any) -> Any:
    """Update a stack's table, with TTL and point-in-time recovery."""
    updated = _update_table(table, old, new, *rest, **named)
    _set_table(table, old, new)
    return updated


def _set_table(table: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    for name, call in _TABLE_SETTINGS.items():
        if name in new and new[name] != old.get(name):
            call({"TableName": table, name: new[name]})


_TABLE_SETTINGS = {
    "TimeToLiveSpecification": dynamodb._update_ttl,
    "PointInTimeRecoverySpecification": dynamodb._update_continuous_backups,
}
_table_handlers.update(create=create_table, update=update_table)
vars(dynamodb).update(
    _describe_continuous_backups=describe_continuous_backups,
    _restore_table_to_point_in_time=restore_table_to_point_in_time,
    _table_description=table_description,
)
vars(provisioners)["_cw_metric_alarm_record"] = metric_alarm_record
vars(api_import.gateway)["handle_request"] = api_import.handle_request
vars(importlib.import_module("ministack.core.lambda_runtime"))["zipfile"] = package_cache.replacement
vars(actions).update(extract_iam_action=extract_aws_action, extract_resource_arn=extract_aws_resource)
vars(importlib.import_module("ministack.services.lambda_svc"))["_LAMBDA_STATE_TRANSITION_DELAY"] = 0.02

if __name__ == "__main__":
    importlib.import_module("ministack.app").main()
