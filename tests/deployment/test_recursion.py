"""A deployment disables recursive loop detection only for functions that send messages to their own queue."""

from contextlib import nullcontext
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.deploy import recursion
from infra.deploy.functions import declared_functions
from infra.verify import functions
from tests.deployment.test_functions import OUTPUTS
from tests.deployment.verification import deployed, problems

_CHAINS = ("maintain", "erase", "notify_people")
CHAINS = [f"cams-prod-{function.name}" for function in declared_functions() if function.name in _CHAINS]


class Lambda:
    """A fake Lambda client. Loop detection is on for new functions."""

    exceptions = type("Exceptions", (), {"ResourceNotFoundException": KeyError})

    def __init__(self) -> None:
        self.loops: dict[str, str] = {}
        self.calls = 0

    def get_function_recursion_config(self, FunctionName: str) -> dict[str, str]:  # noqa: N803 - the parameter of boto3
        return {"RecursiveLoop": self.loops.get(FunctionName, "Terminate")}

    def put_function_recursion_config(self, FunctionName: str, RecursiveLoop: str) -> None:  # noqa: N803 - as above
        self.calls += 1
        self.loops[FunctionName] = RecursiveLoop

    def get_function_configuration(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803 - the parameter of boto3
        name = FunctionName.removeprefix("cams-prod-")
        function = next(one for one in declared_functions() if one.deployed_name("cams-prod") == FunctionName)
        settings = {"MemorySize": function.memory_mb, "Timeout": function.timeout_seconds}
        return {**settings, "FunctionName": name, "CodeSha256": "1", "Runtime": "python3.13"}

    def get_function_concurrency(self, FunctionName: str) -> dict[str, int]:  # noqa: N803 - the parameter of boto3
        return {}


def test_exactly_the_functions_that_send_to_their_own_queue_may_invoke_themselves() -> None:
    account = Lambda()
    recursion.allow(account, "cams-prod", declared_functions())
    assert account.loops == dict.fromkeys(CHAINS, "Allow")
    recursion.allow(account, "cams-prod", declared_functions())
    assert account.calls == len(CHAINS)


@pytest.mark.parametrize(
    ("message", "is_known"),
    [("Unable to determine service/operation name to be authorized", False), ("You are not authorized", True)],
)
def test_a_region_without_the_detection_is_left_as_it_is(
    message: str, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise ClientError(
            {"Error": {"Code": "AccessDeniedException", "Message": message}}, "GetFunctionRecursionConfig"
        )

    monkeypatch.setattr(Lambda, "get_function_recursion_config", refuse)
    account = Lambda()
    with pytest.raises(ClientError, match="not authorized") if is_known else nullcontext():
        recursion.allow(account, "cams-prod", declared_functions())
    assert account.calls == 0


def test_no_function_invokes_itself_through_another_one() -> None:
    """Reject longer loops, because Lambda also detects loops across several functions."""
    consumers = {one.queue: one for one in declared_functions() if one.queue}
    for function in declared_functions():
        reached, following = set[str](), [queue for queue in function.sends_to if queue != function.queue]
        while following:
            queue = following.pop()
            if queue in consumers and queue not in reached:
                reached.add(queue)
                following += [one for one in consumers[queue].sends_to if one != queue]
        assert function.queue not in reached


@pytest.mark.parametrize("name", CHAINS)
def test_verify_names_a_function_that_lambda_would_stop(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infra.deploy.stage.variables", lambda *_: {})
    account = Lambda()
    recursion.allow(account, "cams-prod", declared_functions())
    stage = deployed(**{"lambda": account})._replace(outputs=OUTPUTS)
    assert problems(functions.check_functions(stage)) == []
    account.loops[name] = "Terminate"
    assert problems(functions.check_functions(stage)) == [
        f"Lambda would stop {name} when it sends messages to its own queue: run `chalice deploy`."
    ]
