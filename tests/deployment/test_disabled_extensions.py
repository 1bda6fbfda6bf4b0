"""A disabled extension adds nothing to the routes, the template and the package."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from app import app
from chalicelib.extensions import present
from infra import extension_parts
from infra.deploy import template
from infra.deploy.function import API
from infra.deploy.functions import declared_functions
from infra.deploy.policies import policy
from infra.local.children import ROOT
from infra.package import build, wheels
from tests.deployment.test_functions import OUTPUTS, SENDER
from tests.selection import whole

# The code runs in a separate process, because the extensions are selected when the app is imported.
_PRINT = """
import json
from app import app
routes = [[path, method] for path, methods in app.routes.items() for method in methods]
print(json.dumps([routes, [source.name for source in app.event_sources]]))
"""
Resources = dict[str, dict[str, Any]]
each_set = pytest.mark.parametrize(
    "names",
    [(), *({*present()} - {name} for name in present())],
    ids=["no extension", *(f"without {name}" for name in present())],
)
# The gate builds a package without each of these extensions, which add packages or operations of a service.
# `make test-long` builds the others.
_WITH_PACKAGES = ("console", "erasures", "reports")
each_package = pytest.mark.parametrize(
    "built",
    [
        pytest.param((), id="no extension"),
        *(
            pytest.param(
                {*present()} - {name}, id=f"without {name}", marks=[] if name in _WITH_PACKAGES else pytest.mark.long
            )
            for name in present()
        ),
    ],
    indirect=True,
    scope="module",
)
# An index that is read only by the command `infra.cams workspace delete`.
_INDEX_OF_THE_OPERATOR = "idempotency/index/by_workspace"
_KEY = "vendor.sha256"
each_extension = pytest.mark.parametrize("name", present())


class Built(NamedTuple):
    """The extensions of a package, and the directory in which it is staged."""

    names: Collection[str]
    directory: Path


def others(name: str) -> list[str]:
    return [other for other in present() if other != name]


@cache
def registered(*names: str) -> tuple[set[tuple[str, str]], set[str]]:
    """Return the routes and functions of the app with these extensions."""
    environment = {**os.environ, "CAMS_EXTENSIONS": ",".join(names)}
    line = [sys.executable, "-c", _PRINT]
    ran = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    routes, functions = json.loads(ran.stdout)
    return {(path, method) for path, method in routes}, set(functions)


def of_kind(resources: Resources, kind: str) -> Resources:
    return {key: one["Properties"] for key, one in resources.items() if one["Type"] == kind}


def name_of(properties: dict[str, Any], member: str) -> str:
    """Return a resource's name without the prefix."""
    return str(properties[member]["Fn::Sub"]).removeprefix("${Name}-")


def own_resources(name: str) -> Resources:
    """Return the template's resources that exist only because of this extension."""
    kept = template.build(others(name))["Resources"]
    return {key: one for key, one in template.build()["Resources"].items() if key not in kept}


@each_extension
def test_no_route_and_no_function(name: str) -> None:
    folder = f"chalicelib.extensions.{name}."
    own = {
        (path, method)
        for path, methods in app.routes.items()
        for method, route in methods.items()
        if getattr(route.view_function, "func", route.view_function).__module__.startswith(folder)  # may be a partial
    }
    routes, functions = registered(*others(name))
    missing = registered(*present())[0] - routes
    assert own and own <= missing
    assert all(path.startswith("/console/") for path, _ in missing - own)  # console pages that use these routes
    assert {API, *functions} == {function.name for function in declared_functions(others(name))}
    assert {source.name for source in app.event_sources if source.handler_string.startswith(folder)}.isdisjoint(
        functions
    )


@each_set
def test_every_table_index_stream_queue_and_key_is_for_a_function(names: tuple[str, ...]) -> None:
    resources, functions = template.build(names)["Resources"], declared_functions(names)
    granted = {place for function in functions for place in function.tables}
    tables = of_kind(resources, "AWS::DynamoDB::Table")
    named = {name_of(table, "TableName"): table for table in tables.values()}
    assert named.keys() == {place for place in granted if "/" not in place}
    assert (granted - named.keys()) | {_INDEX_OF_THE_OPERATOR} == {
        f"{name}/index/{index['IndexName']}"
        for name, table in named.items()
        for index in table.get("GlobalSecondaryIndexes", ())
    }
    streams = {function.stream for function in functions if function.stream}
    assert {name for name, table in named.items() if "StreamSpecification" in table} == streams
    outputs = template.build(names)["Outputs"]
    assert {key.removesuffix("Stream").lower() for key in outputs if key.endswith("Stream")} == streams
    queues = {name_of(queue, "QueueName") for queue in of_kind(resources, "AWS::SQS::Queue").values()}
    used = {function.queue for function in functions if function.queue}
    assert {queue for queue in queues if not queue.endswith("-dead")} == used
    assert {queue.removesuffix("-dead") for queue in queues} == used
    keys = {key for function in functions for key in function.keys}
    assert {f"{key}Arn" for key in of_kind(resources, "AWS::KMS::Key")} == keys | {"EncryptionKeyArn"}


@each_set
def test_every_alarm_and_permission_is_for_something_that_exists(names: tuple[str, ...]) -> None:
    content, functions = template.build(names), declared_functions(names)
    resources: Resources = content["Resources"]
    deployed = {function.deployed_name("${Name}") for function in functions}
    for alarm in of_kind(resources, "AWS::CloudWatch::Alarm").values():
        text = json.dumps(alarm)
        assert {*re.findall(r'"FunctionName", "Value": {"Fn::Sub": "([^"]+)"', text)} <= deployed
        assert {*re.findall(r'"Fn::GetAtt": \["(\w+)"', text)} <= resources.keys()
    existing = {name_of(table, "TableName") for table in of_kind(resources, "AWS::DynamoDB::Table").values()}
    existing |= {name_of(queue, "QueueName") for queue in of_kind(resources, "AWS::SQS::Queue").values()}
    outputs = {name: OUTPUTS[name] for name in OUTPUTS.keys() & {*content["Outputs"]}}
    for function in functions:
        for statement in policy(function, "cams-prod", outputs, SENDER)["Statement"]:
            service, resource = statement["Action"][0].partition(":")[0], statement["Resource"]
            if service in ("dynamodb", "sqs"):
                assert resource.partition("cams-prod-")[2].partition("/")[0] in existing, resource


@each_extension
def test_the_resources_of_an_extension_are_gone_and_no_other(name: str) -> None:
    own, kept, whole_template = own_resources(name), template.build(others(name)), template.build()
    assert kept["Resources"].keys() == whole_template["Resources"].keys() - own.keys()
    file = ROOT / f"chalicelib/extensions/{name}/deploy/template.yaml"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    declared = set(re.findall(r"^  (\w+):$", text.partition("\nOutputs:")[0], re.MULTILINE))
    core = template.build([])["Resources"].keys()
    assert own.keys() >= declared - core
    assert not own.keys() & core


@whole
@each_package
def test_no_byte_in_the_package(built: Built, package: set[str]) -> None:
    names, shipped = built.names, files(built.directory)
    missing = package - shipped
    assert shipped < package
    folders = tuple(f"chalicelib/extensions/{name}/" for name in present() if name not in names)
    assert {path for path in package if path.startswith(folders)} == {
        path for path in missing if not path.startswith("vendor/")
    }
    tops = {path.split("/")[1] for path in missing if path.startswith("vendor/")}
    dropped = required(None) - required(names)
    assert dropped <= tops - {"botocore"} and bool(dropped) == bool(tops - {"botocore"})


@whole
@each_package
def test_no_operation_of_a_service_in_the_package(built: Built) -> None:
    data = built.directory / "vendor" / "botocore" / "data"
    has_console, has_erasures = "console" in built.names, "erasures" in built.names
    services = {path.name for path in data.iterdir() if path.is_dir()}
    assert services == {"dynamodb", "kms", "sqs"} | ({"ses"} if has_console else set())
    (kms,) = (data / "kms").glob("*/service-2.json")
    assert json.loads(kms.read_text())["operations"].keys() == {"Decrypt"} | ({"Sign"} if has_erasures else set())
    partitions = json.loads((data / "endpoints.json").read_text())["partitions"]
    assert any("email" in partition["services"] for partition in partitions) == has_console


@pytest.fixture(scope="module")
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build the package with these extensions, once for both tests."""
    directory = tmp_path_factory.mktemp("built")
    build.stage(directory, wheels.THIS_MACHINE, extensions=request.param)
    return Built(request.param, directory)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the package's files with all extensions."""
    directory = tmp_path_factory.mktemp("package")
    build.stage(directory, wheels.THIS_MACHINE)
    return files(directory)


def required(extensions: Collection[str] | None) -> set[str]:
    """Return the names of the packages that core and these extensions need."""
    lines = [line for path in extension_parts.requirements(extensions) for line in path.read_text().splitlines()]
    return {line.partition("==")[0] for line in lines if line and line[0] != "#"}


def files(directory: Path) -> set[str]:
    """Return a package's files. Check that their contents equal the sources."""
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()} - {_KEY}
