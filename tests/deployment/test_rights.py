"""No function may do what it never does, and each may do what it does: its policy beside all calls that it makes.

The policies are compared as the cloud gets them. `rights_situations` lets the functions run, `rights` records.
"""

from collections.abc import Iterable, Iterator

import pytest

from chalicelib import clock, storage
from infra.deploy.functions import DEAD, FUNCTIONS, Function
from tests.deployment import rights_situations as situations
from tests.deployment.rights import Right, recorded
from tests.deployment.test_functions import each_function, statements
from tests.test_requests_per_operation import Service
from tests.test_requests_per_operation import service as service
from tests.webhooks.pipeline import cheap_transactions

NAME = "cams-prod"
"""Of the deployment whose policies `statements` makes."""

OPEN_ENDED = {
    "logs:CreateLogStream": "the cloud makes up the names of a log group's streams",
    "logs:PutLogEvents": "the cloud makes up the names of a log group's streams",
    "dynamodb:ListStreams": "it is asked for a table, and its resource is every stream of that",
}
"""The actions whose resource may end with an asterisk, and why."""


@pytest.fixture(scope="module")
def used(service: Service) -> Iterator[set[Right]]:
    """Everything that the functions have done in every situation."""
    with pytest.MonkeyPatch.context() as patch, cheap_transactions(), recorded() as rights:
        patch.setattr(clock, "sleep", lambda _: None)
        situations.every_operation(service)
        situations.a_request_is_repeated(service)
        situations.analytics_are_written_with_a_precondition(service)
        situations.a_whole_agent_is_deleted()
        situations.a_whole_agent_is_swept(patch)
        situations.webhooks(patch)
        yield rights


def granted(function: Function) -> set[Right]:
    """What the policy of a function lets it do."""
    return {
        Right(function.name, action, statement["Resource"].split(":", 5)[-1].replace(f"{NAME}-", ""))
        for statement in statements(function)
        for action in statement["Action"]
    }


def of_the_cloud(function: Function) -> set[Right]:
    """What the cloud does by itself with the rights of a function: it writes its log and reads what triggers it."""
    log = f"log-group:/aws/lambda/{function.physical(NAME)}:*".replace(f"{NAME}-", "")
    does = {log: ["logs:CreateLogStream", "logs:PutLogEvents"]}
    if function.queue:
        does[function.queue] = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]
    if function.stream:
        (one,) = {right.resource for right in granted(function) if right.action == "dynamodb:GetRecords"}
        assert one.startswith(f"table/{function.stream}/stream/")
        does[one] = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
        does[f"table/{function.stream}/stream/*"] = ["dynamodb:ListStreams"]
        does[DEAD] = ["sqs:SendMessage"]  # of what it gave up
    return {Right(function.name, action, resource) for resource, actions in does.items() for action in actions}


def lines(rights: Iterable[Right]) -> str:
    return "\n".join(sorted(map(str, rights)))


@each_function
def test_a_function_may_do_all_that_it_does(function: Function, used: set[Right]) -> None:
    done = {one for one in used if one.function == function.name} | of_the_cloud(function)
    missing = lines(done - granted(function))
    assert not missing, f"done, and not allowed by its policy:\n{missing}"


@each_function
def test_a_function_may_do_nothing_that_it_never_does(function: Function, used: set[Right]) -> None:
    unused = lines(granted(function) - used - of_the_cloud(function))
    assert not unused, f"allowed by its policy, and never done:\n{unused}"


def test_only_the_functions_of_the_table_do_anything(used: set[Right]) -> None:
    assert {one.function for one in used} == {one.name for one in FUNCTIONS}


def test_what_nobody_runs_is_nobodys_use(service: Service) -> None:
    with recorded() as rights:
        storage.sdk_client("dynamodb").scan(TableName=storage.table("agents"))
        assert rights == set()
        assert service.api.get("/v2/orgs/unknown").status == 404
    assert Right("api_handler", "dynamodb:GetItem", "table/organisations") in rights
    assert "dynamodb:Scan" not in {one.action for one in rights}


@each_function
def test_no_policy_says_everything(function: Function) -> None:
    for statement in statements(function):
        assert statement.keys() == {"Effect", "Action", "Resource"}  # neither NotAction nor NotResource
        assert [one for one in statement["Action"] if set("*?") & set(one)] == []
        resource = statement["Resource"]
        assert resource.startswith("arn:")
        if set("*?") & set(resource):
            assert set("*?").isdisjoint(resource[:-2])
            assert resource[-2:] in (":*", "/*")
            assert set(statement["Action"]) <= OPEN_ENDED.keys()
