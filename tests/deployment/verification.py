"""A deployed stage behind fake clients, for tests of `make verify`."""

from collections.abc import Iterator, Mapping
from typing import Any

from chalicelib.extensions import present
from infra.deploy import stage
from infra.deploy.functions import declared_functions
from infra.verify.client import Client, Response
from infra.verify.deployment import Deployment, Note
from tests.api import Api
from tests.deployment.test_functions import OUTPUTS


def deployed(**clients: Any) -> Deployment:
    """Return the stage `prod` with these SDK clients, by service."""
    return Deployment(clients.__getitem__, "prod", "cams-prod", OUTPUTS, "api", "http://localhost", present())


def problems(check: Iterator[str]) -> list[str]:
    return [one for one in check if not isinstance(one, Note)]


class Configured:
    """A fake Lambda client whose functions have no variables."""

    exceptions = type("Exceptions", (), {"ResourceNotFoundException": KeyError})

    def get_function_configuration(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803 - the parameter of boto3
        return {}


class Functions(Configured):
    """A fake Lambda client with a deployment's functions."""

    def __init__(self) -> None:
        variables = stage.variables("cams-prod", OUTPUTS)
        others = {"CAMS_STORED_LAYOUT": "3", "CAMS_CORS_ORIGIN": "https://example.com"}
        self.reserved: dict[str, int] = {}
        self.deployed: dict[str, dict[str, Any]] = {
            one.deployed_name("cams-prod"): {
                "FunctionName": one.deployed_name("cams-prod"),
                "MemorySize": one.memory_mb,
                "Timeout": one.timeout_seconds,
                "CodeSha256": "1",
                "Runtime": "python3.13",
                "Environment": {"Variables": {**variables, **others}},
            }
            for one in declared_functions()
        }

    def get_function_configuration(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803 - the parameter of boto3
        return self.deployed[FunctionName]

    def get_function_concurrency(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803 - the parameter of boto3
        value = self.reserved.get(FunctionName)
        return {} if value is None else {"ReservedConcurrentExecutions": value}

    def get_function_recursion_config(self, **_: str) -> dict[str, str]:
        return {"RecursiveLoop": "Allow"}


class InProcess(Client):
    """An API client that invokes the service in this process."""

    def send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Response:
        authorization = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        sent = {"Content-Type": "application/json", **authorization, **(headers or {})}
        answer = Api().call(method, path, body, sent)
        return Response(answer.status, answer.headers, answer.json)
