"""Checks of the functions' code, settings, permissions, event source mappings and logs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from email.utils import parseaddr
from typing import Any

from infra.deploy import concurrency, deployed_settings, event_sources, recursion, template
from infra.deploy import stage as stages
from infra.deploy.function import Function
from infra.deploy.policies import policy
from infra.deploy.sdk_errors import unless_missing
from infra.tables import resolve
from infra.verify.deployment import Deployment, Note


def check_functions(stage: Deployment) -> Iterator[str]:
    """Check that each function is active and has the declared settings, and that all functions have the same code."""
    configurations = {one.name: _configuration(stage, one) for one in stage.functions}
    variables = {
        **_usual_variables(configurations.values()),
        **stages.variables(stage.name, stage.outputs, stage.extensions),
    }
    reserved = deployed_settings.reservations(stage.sdk("lambda"), stage.name)
    for function in stage.functions:
        configuration = configurations[function.name]
        deployed = function.deployed_name(stage.name)
        if configuration is None:
            yield f"The function {deployed} does not exist: run `chalice deploy`."
            continue
        for member, healthy in (("State", ("Active", "Inactive")), ("LastUpdateStatus", ("Successful",))):
            if configuration.get(member, healthy[0]) not in healthy:
                reason = configuration.get(f"{member}Reason", "Lambda gives no reason")
                yield f"{member} of the function {deployed} is {configuration[member]}: {reason}."
        for member, value in (("MemorySize", function.memory_mb), ("Timeout", function.timeout_seconds)):
            if configuration[member] != value:
                found = configuration[member]
                yield f"{member} of the function {deployed} is {found}, not {value}: run `chalice deploy`."
        environment = configuration.get("Environment", {}).get("Variables", {})
        different = sorted(name for name in {*variables, *environment} if environment.get(name) != variables.get(name))
        if different:
            yield f"The function {deployed} has a different value for {', '.join(different)}: run `chalice deploy`."
        if reserved.get(function.name, {}).get(stages.RESERVED) == 0:
            yield f"The reserved concurrency of {deployed} is 0, so Lambda never invokes it: run `chalice deploy`."
        if function.sends_to_itself and not recursion.is_allowed(stage.sdk("lambda"), deployed):
            yield f"Lambda would stop {deployed} when it sends messages to its own queue: run `chalice deploy`."
    yield from _mixed_code(stage, [one for one in configurations.values() if one])


def _usual_variables(configurations: Iterable[dict[str, Any] | None]) -> dict[str, str | None]:
    """Return each variable's most frequent value, because a deployment sets the same values for all functions."""
    environments = [
        configuration.get("Environment", {}).get("Variables", {}) for configuration in configurations if configuration
    ]
    names = {name for environment in environments for name in environment}
    return {name: Counter(environment.get(name) for environment in environments).most_common(1)[0][0] for name in names}


def _mixed_code(stage: Deployment, configurations: list[dict[str, Any]]) -> Iterator[str]:
    for member, meaning in (("CodeSha256", "code"), ("Runtime", "runtime")):
        values = Counter(configuration[member] for configuration in configurations)
        if len(values) > 1:
            usual = values.most_common(1)[0][0]
            others = sorted(
                configuration["FunctionName"] for configuration in configurations if configuration[member] != usual
            )
            yield f"{', '.join(others)} have a different {meaning} from the other functions: run `chalice deploy`."


def check_permissions(stage: Deployment) -> Iterator[str]:
    """Check that each function's role has exactly the generated policy.

    The check compares policy documents instead of simulating them. The comparison is exact and needs one request per
    role. The tour then uses the permissions.
    """
    iam = stage.sdk("iam")
    for function in stage.functions:
        role = f"{stage.name}-{function.name}"
        response = unless_missing(iam.get_role, RoleName=role)
        if response is None:
            yield f"The role {role} does not exist: run `chalice deploy`."
            continue
        deployed = response["Role"]
        if not _trusts_lambda(deployed["AssumeRolePolicyDocument"]):
            yield (
                f"Lambda may not assume the role {role}: let lambda.amazonaws.com assume it, with "
                f"`aws iam update-assume-role-policy --role-name {role}`."
            )
        if boundary := deployed.get("PermissionsBoundary"):
            yield Note(f"{role} has the permissions boundary {boundary['PermissionsBoundaryArn']}")
        configuration = _configuration(stage, function) or {}
        sender = configuration.get("Environment", {}).get("Variables", {}).get("CAMS_MAIL_SENDER", "")
        expected = _permissions(policy(function, stage.name, stage.outputs, parseaddr(sender)[1]))
        actual = set[str]()
        for name in iam.list_role_policies(RoleName=role)["PolicyNames"]:
            actual |= _permissions(iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"])
        for missing in sorted(expected - actual):
            yield f"The role {role} lacks the permission {missing}: run `chalice deploy`."
        attached = [one["PolicyArn"] for one in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]]
        for extra in (*sorted(actual - expected), *attached):
            yield f"The role {role} has the permission {extra}, which its function does not need: remove it."


def _trusts_lambda(document: Any) -> bool:
    statements = (json.loads(document) if isinstance(document, str) else document).get("Statement", ())
    return any(
        statement["Effect"] == "Allow"
        and isinstance(statement.get("Principal"), dict)
        and "lambda.amazonaws.com" in _as_list(statement["Principal"].get("Service", []))
        for statement in statements
    )


def _permissions(document: Any) -> set[str]:
    """Return each action with its resource, and with its condition if there is one."""
    parsed = json.loads(document) if isinstance(document, str) else document
    permissions = set()
    for statement in parsed["Statement"]:
        effect = "" if statement["Effect"] == "Allow" else f"{statement['Effect']} "
        condition = f" if {json.dumps(statement['Condition'], sort_keys=True)}" if "Condition" in statement else ""
        for action in _as_list(statement["Action"]):
            for resource in _as_list(statement["Resource"]):
                permissions.add(f"{effect}{action} on {resource}{condition}")
    return permissions


def _as_list(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def check_mappings(stage: Deployment) -> Iterator[str]:
    """Check that each stream and queue invokes its function through one enabled mapping with declared settings."""
    awslambda = stage.sdk("lambda")
    reservations = deployed_settings.reservations(awslambda, stage.name)
    current = {"lambda_functions": reservations, "extensions": stage.extensions}
    scaled = concurrency.mapping_settings(current, concurrency.available_executions(awslambda, current))
    for function in stage.functions:
        source = event_sources.event_source_arn(function, stage.name, stage.outputs)
        if function.stream or function.queue:
            expected = event_sources.declared_settings(function, stage.outputs, scaled)
            yield from _mapping_problems(awslambda, function.deployed_name(stage.name), source, expected)


def _mapping_problems(awslambda: Any, deployed: str, source: str, expected: dict[str, Any]) -> Iterator[str]:
    mappings = event_sources.list_mappings(awslambda, deployed)
    own = [one for one in mappings if one["EventSourceArn"] == source]
    if not own:
        yield f"{source} does not invoke {deployed}, because it has no event source mapping: run `chalice deploy`."
    for extra in [one for one in mappings if one not in own[:1]]:
        place = extra["EventSourceArn"]
        yield f"{deployed} has an additional event source mapping, {extra['UUID']} to {place}: run `chalice deploy`."
    for mapping in own[:1]:
        uuid, state = mapping["UUID"], mapping["State"]
        if state != "Enabled":
            command = f"aws lambda update-event-source-mapping --uuid {uuid} --enabled"
            yield f"The event source mapping {uuid} from {source} to {deployed} is {state}: run `{command}`."
        result = mapping.get("LastProcessingResult") or ""
        if result.startswith("PROBLEM"):
            yield Note(f"the last result of {source} to {deployed}: {result}")
        different = sorted(
            key for key, value in expected.items() if not event_sources.matches({key: mapping.get(key)}, {key: value})
        )
        if different:
            yield f"The mapping {source} to {deployed} has a different {', '.join(different)}: run `chalice deploy`."


def check_logs(stage: Deployment) -> Iterator[str]:
    """Check that each function's log group exists and has the declared retention period."""
    logs = stage.sdk("logs")
    pages = logs.get_paginator("describe_log_groups").paginate(logGroupNamePrefix=f"/aws/lambda/{stage.name}")
    retention = {one["logGroupName"]: one.get("retentionInDays") for page in pages for one in page["logGroups"]}
    for properties in template.declared("AWS::Logs::LogGroup", stage.extensions):
        group = resolve(properties["LogGroupName"], stage.name)
        if group not in retention:
            yield f"The log group {group} does not exist: Lambda would create it without a retention period."
        elif retention[group] != properties["RetentionInDays"]:
            days = properties["RetentionInDays"]
            yield f"The log group {group} keeps its lines for {retention[group] or 'all'} days, not {days}."


def _configuration(stage: Deployment, function: Function) -> dict[str, Any] | None:
    call = stage.sdk("lambda").get_function_configuration
    return unless_missing(call, FunctionName=function.deployed_name(stage.name))
