"""Least privilege: each function's policy grants exactly the permissions that the function uses.

`rights_situations` runs the functions in every situation, and `rights` records their calls. The tests compare the calls
with the deployed policies.
"""

from collections.abc import Iterable, Iterator

import pytest

from chalicelib import clock, storage
from infra.deploy.function import DEAD_LETTER_QUEUE, Function
from infra.deploy.functions import declared_functions
from infra.package import trim
from tests import extensions
from tests.deployment import rights_situations as situations
from tests.deployment.rights import Right, recorded
from tests.deployment.test_functions import statements
from tests.operation_cases import Service
from tests.operation_cases import service as service
from tests.webhooks.pipeline import cheap_transactions

NAME = "cams-prod"
"""Name of the stack whose policies are generated."""

OPEN_ENDED = {
    "logs:CreateLogStream": "AWS generates the names of a log group's streams",
    "logs:PutLogEvents": "AWS generates the names of a log group's streams",
    "dynamodb:ListStreams": "the call names a table, and applies to every stream of the table",
    "ses:SendRawEmail": "a condition restricts it to the sender; in the sandbox, recipients are identities too",
}
"""Action whose resource may end with a wildcard -> the reason."""


@pytest.fixture(scope="module")
def used(service: Service) -> Iterator[set[Right]]:
    """Return the permissions that the functions use in all situations."""
    with pytest.MonkeyPatch.context() as patch, cheap_transactions(), recorded() as rights:
        patch.setattr(clock, "sleep", lambda _: None)
        situations.every_operation(service)
        situations.a_request_is_repeated(service)
        situations.analytics_are_written_with_a_precondition(service)
        situations.a_whole_agent_is_deleted(patch)
        situations.a_whole_agent_is_purged(patch)
        situations.conversations_are_counted(patch)
        extensions.call("run_functions")
        situations.conversations_expire(patch)
        situations.records_become_dead_letters()
        situations.webhooks(patch)
        yield rights


def granted(function: Function) -> set[Right]:
    """Return the permissions that a function's policy grants."""
    return {
        Right(function.name, action, statement["Resource"].split(":", 5)[-1].replace(f"{NAME}-", ""))
        for statement in statements(function)
        for action in statement["Action"]
    }


def used_by_lambda(function: Function) -> set[Right]:
    """Return the permissions that Lambda itself uses through the function's role, for logs and the event source."""
    log = f"log-group:/aws/lambda/{function.deployed_name(NAME)}:*".replace(f"{NAME}-", "")
    uses = {log: ["logs:CreateLogStream", "logs:PutLogEvents"]}
    if function.queue:
        uses[function.queue] = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]
    if function.stream:
        (one,) = {right.resource for right in granted(function) if right.action == "dynamodb:GetRecords"}
        assert one.startswith(f"table/{function.stream}/stream/")
        uses[one] = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
        uses[f"table/{function.stream}/stream/*"] = ["dynamodb:ListStreams"]
        uses[DEAD_LETTER_QUEUE] = ["sqs:SendMessage"]  # destination of batches that Lambda discards
    return {Right(function.name, action, resource) for resource, actions in uses.items() for action in actions}


def lines(rights: Iterable[Right]) -> str:
    return "\n".join(sorted(map(str, rights)))


def test_a_policy_grants_every_permission_that_its_function_uses(used: set[Right]) -> None:
    for function in declared_functions():
        needed = {one for one in used if one.function == function.name} | used_by_lambda(function)
        missing = lines(needed - granted(function))
        assert not missing, f"used but not granted by the policy:\n{missing}"


def test_a_policy_grants_no_permission_that_its_function_never_uses(used: set[Right]) -> None:
    for function in declared_functions():
        unused = lines(granted(function) - used - used_by_lambda(function))
        assert not unused, f"granted by the policy but never used:\n{unused}"


def test_permissions_are_recorded_for_exactly_the_functions_of_the_table(used: set[Right]) -> None:
    assert {one.function for one in used} == {one.name for one in declared_functions()}


def test_the_package_has_every_operation_that_a_function_calls(used: set[Right]) -> None:
    shipped = {
        f"{name}:{operation.removesuffix('Batch')}"
        for name, trimmed in trim.services().items()
        for operation in trimmed.operations
    }
    # A transaction needs the permissions of its steps.
    transactions = {"dynamodb:TransactGetItems", "dynamodb:TransactWriteItems"}
    assert {one.action for one in used} - {"dynamodb:ConditionCheckItem"} | transactions == shipped


def test_calls_outside_an_invocation_are_not_recorded(service: Service) -> None:
    with recorded() as rights:
        storage.sdk_client("dynamodb").scan(TableName=storage.table("agents"))
        assert rights == set()
        assert service.api.get("/v2/orgs/unknown").status == 404
    assert Right("api_handler", "dynamodb:GetItem", "table/organisations") in rights
    assert "dynamodb:Scan" not in {one.action for one in rights}


def test_no_policy_has_a_wildcard_beyond_the_known_ones() -> None:
    for function in declared_functions():
        for statement in statements(function):
            # Statements contain neither NotAction nor NotResource. Conditions can only restrict a statement.
            assert statement.keys() - {"Condition"} == {"Effect", "Action", "Resource"}
            assert [one for one in statement["Action"] if set("*?") & set(one)] == []
            resource = statement["Resource"]
            assert resource.startswith("arn:")
            if set("*?") & set(resource):
                assert set("*?").isdisjoint(resource[:-2])
                assert resource[-2:] in (":*", "/*")
                assert set(statement["Action"]) <= OPEN_ENDED.keys()
