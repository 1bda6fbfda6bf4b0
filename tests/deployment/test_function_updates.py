"""A deployment uploads its package once, changes all functions in parallel, and skips up-to-date functions."""

import base64
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator
from typing import Any

import boto3
import botocore.session
import click
import pytest
from botocore.handlers import BUILTIN_HANDLERS
from chalice.awsclient import TypedAWSClient
from moto import mock_aws

from infra.deploy.function_updates import FunctionUpdates

NAMES = ("cams-prod", "cams-prod-deliver", "cams-prod-erase")
_BUCKET = "packages"


def package(text: str) -> bytes:
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("app.py", text)
    return code.getvalue()


def digest(code: bytes) -> str:
    return base64.b64encode(hashlib.sha256(code).digest()).decode()


OLD, NEW = package("old"), package("new")


@pytest.fixture
def role() -> Iterator[str]:
    """Create a role in an account with the bucket; return the role's ARN."""
    handlers = list(BUILTIN_HANDLERS)
    with mock_aws():
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket=_BUCKET)
        trust = {"Version": "2012-10-17", "Statement": []}
        made = boto3.client("iam").create_role(RoleName="role", AssumeRolePolicyDocument=json.dumps(trust))
        yield made["Role"]["Arn"]
    BUILTIN_HANDLERS[:] = handlers


class Deployment:
    """A deployment that uses Chalice's client and records all calls that change functions."""

    def __init__(self, role: str) -> None:
        session = boto3.Session()
        self.calls: list[str] = []
        session.events.register("before-call.lambda", self._count)
        self.updates = FunctionUpdates(session, _BUCKET)
        handlers = list(BUILTIN_HANDLERS)
        self.updates.register()
        self.chalice = TypedAWSClient(botocore.session.Session())
        BUILTIN_HANDLERS[:] = handlers
        self.role = role

    def create(self, code: bytes) -> str:
        for name in NAMES:
            self.chalice.create_function(name, self.role, code, "python3.13", "app.app", {"A": "1"}, memory_size=512)  # type: ignore[arg-type]
        return self.updates.apply({})

    def update(self, code: bytes, **variables: str) -> None:
        for name in NAMES:
            self.chalice.update_function(
                name,
                code,  # type: ignore[arg-type]
                variables,
                memory_size=512,
                security_group_ids=[],
                subnet_ids=[],
                layers=[],
            )

    def _count(self, model: Any, **_: Any) -> None:
        if not model.name.startswith("Get"):
            self.calls.append(model.name)


@pytest.fixture
def deployed(role: str) -> Deployment:
    """Deploy old code with the variable A=1; return a second deployment."""
    Deployment(role).create(OLD)
    packages = boto3.client("s3").list_objects_v2(Bucket=_BUCKET)["Contents"]
    for one in packages:
        boto3.client("s3").delete_object(Bucket=_BUCKET, Key=one["Key"])
    return Deployment(role)


def functions() -> list[dict[str, Any]]:
    return [boto3.client("lambda").get_function_configuration(FunctionName=name) for name in NAMES]


def packages() -> list[str]:
    return [one["Key"] for one in boto3.client("s3").list_objects_v2(Bucket=_BUCKET).get("Contents", ())]


def test_the_functions_are_created_from_one_upload(role: str) -> None:
    assert Deployment(role).create(OLD) == "uploaded 0.0 MB; created 3 functions"
    assert packages() == [f"{hashlib.sha256(OLD).hexdigest()}.zip"]
    assert {one["CodeSha256"] for one in functions()} == {digest(OLD)}


def test_the_updates_are_held_back_until_chalice_has_finished(deployed: Deployment) -> None:
    deployed.update(NEW, A="2")
    assert {one["CodeSha256"] for one in functions()} == {digest(OLD)}
    assert deployed.calls == []
    figures = deployed.updates.apply({})
    assert re.fullmatch(
        r"uploaded 0\.0 MB; updated 3 functions in \d+\.\d s; versions were mixed for \d+\.\d s", figures
    )
    assert {one["CodeSha256"] for one in functions()} == {digest(NEW)}
    assert [one["Environment"]["Variables"] for one in functions()] == [{"A": "2"}] * 3
    assert packages() == [f"{hashlib.sha256(NEW).hexdigest()}.zip"]


def test_a_function_gets_its_code_before_its_settings(deployed: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infra.deploy.function_updates._UPDATES_AT_ONCE", 1)
    deployed.update(NEW, A="2")
    deployed.updates.apply({})
    assert deployed.calls == ["UpdateFunctionCode", "UpdateFunctionConfiguration"] * 3


def test_a_deployment_without_a_change_updates_and_uploads_nothing(deployed: Deployment) -> None:
    deployed.update(OLD, A="1")
    assert deployed.updates.apply({}) == "no function has changed"
    assert deployed.calls == []
    assert packages() == []


@pytest.mark.parametrize("variables", [{"A": "2"}, {"A": "1", "B": "1"}, {}], ids=["changed", "added", "removed"])
def test_a_variable_alone_updates_the_settings_only(variables: dict[str, str], deployed: Deployment) -> None:
    deployed.update(OLD, **variables)
    assert re.fullmatch(r"updated 3 functions in \d+\.\d s", deployed.updates.apply({}))
    assert deployed.calls == ["UpdateFunctionConfiguration"] * 3
    assert [one.get("Environment", {}).get("Variables", {}) for one in functions()] == [variables] * 3


def test_another_architecture_updates_the_code(deployed: Deployment) -> None:
    deployed.chalice.update_function(NAMES[0], OLD, {"A": "1"}, architecture="arm64")  # type: ignore[arg-type]
    deployed.updates.apply({})
    assert deployed.calls == ["UpdateFunctionCode"]


def test_a_function_whose_code_has_moved_gets_its_new_handler(deployed: Deployment) -> None:
    """Check the handler, because Chalice sets it only when it creates a function."""
    deployed.update(OLD, A="1")
    deployed.updates.apply({NAMES[1]: "chalicelib.functions.deliver", NAMES[2]: "app.app"})
    assert deployed.calls == ["UpdateFunctionConfiguration"]
    assert [one["Handler"] for one in functions()] == ["app.app", "chalicelib.functions.deliver", "app.app"]
    assert [one["Environment"]["Variables"] for one in functions()] == [{"A": "1"}] * 3


def test_an_update_that_lambda_cannot_finish_is_reported_in_one_sentence(
    deployed: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed.update(NEW, A="1")
    failed = {"LastUpdateStatus": "Failed", "LastUpdateStatusReason": "The zip file is too large."}
    monkeypatch.setattr(FunctionUpdates, "_wait", lambda *_: failed)
    with pytest.raises(click.ClickException, match=r"^Lambda could not update the function cams-prod: The zip file is"):
        deployed.updates.apply({})
