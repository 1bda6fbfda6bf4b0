"""What is deployed: the zip that Chalice would upload, unzipped, in an interpreter that has nothing else.

The functions run against the local engine; what they import and open is compared with what ships.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StructureShape
from botocore.regions import EndpointResolver

from app import app
from infra.local.children import Engine
from infra.package import build, trim, wheels
from tests import local_index
from tests.deployment import package_runs
from tests.deployment.package_runs import Package
from tests.reliability.engine_fixture import local_engine  # noqa: F401 - the fixture

pytestmark = pytest.mark.engine

# 6.4 MB of it are the compiled libraries of cryptography and pydantic, another half the documentation page.
MOST_BYTES = 9_450_000


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory, local_engine: Engine) -> Package:  # noqa: F811
    return package_runs.made(tmp_path_factory.mktemp("package"), local_engine)


def test_the_package_answers_every_kind_of_request_where_there_is_nothing_else(package: Package) -> None:
    served = package.runs["serving"].answers
    assert [one["statusCode"] for one in served] == [200] * (len(served) - 1) + [400]
    assert [one["statusCode"] for one in package.runs["preparing"].answers] == [200] * 5


def test_every_handler_is_in_a_module_that_was_run(package: Package) -> None:
    handlers = {one.handler_string for one in app.event_sources}
    assert {handler.rpartition(".")[0] for handler in handlers} == {package_runs.STREAMS, package_runs.SWEEPS}


def test_everything_that_ships_is_imported_or_read_by_some_function(package: Package) -> None:
    used = {_top(file) for run in package.runs.values() for file in run.files}
    assert {_top(file) for file in _shipped(package)} - {"__pycache__"} == used - {"__pycache__"}


def test_little_ships_that_no_function_has_imported(package: Package) -> None:
    read = {file for run in package.runs.values() for file in run.files}
    with zipfile.ZipFile(package.zip) as archive:
        sizes = {
            one.filename: one.compress_size for one in archive.infolist() if one.filename.endswith((".pyc", ".so"))
        }
    assert sum(size for file, size in sizes.items() if file not in read) < 0.03 * sum(sizes.values())


def test_of_the_sdk_s_data_only_what_our_services_need_ships(package: Package) -> None:
    data = package.directory / "botocore" / "data"
    endpoints = json.loads((data / "endpoints.json").read_text())["partitions"]
    assert {name for partition in endpoints for name in partition["services"]} == set(trim.SERVICES)
    assert not [path for path in data.rglob("service-2.json") if "<p>" in path.read_text()]
    assert {path.name for path in data.iterdir() if path.is_dir()} == set(trim.SERVICES)
    read = {file for run in package.runs.values() for file in run.files if file.startswith("botocore/data/")}
    assert {file.split("/")[2] for file in read if file.count("/") > 2} == set(trim.SERVICES)


@pytest.mark.parametrize("service", trim.SERVICES)
def test_every_operation_of_the_services_is_as_the_sdk_describes_it(package: Package, service: str) -> None:
    stock, shipped = Loader(), _loader(package)
    described, ours = (ServiceModel(one.load_service_model(service, "service-2")) for one in (stock, shipped))
    assert ours.operation_names == described.operation_names
    for name in described.operation_names:
        expected, found = described.operation_model(name), ours.operation_model(name)
        assert found.http == expected.http
        assert _form(found.input_shape) == _form(expected.input_shape)
        assert _form(found.output_shape) == _form(expected.output_shape)
        assert [one.name for one in found.error_shapes] == [one.name for one in expected.error_shapes]


@pytest.mark.parametrize("service", trim.SERVICES)
def test_the_services_are_found_in_every_region(package: Package, service: str) -> None:
    stock, shipped = (EndpointResolver(one.load_data("endpoints")) for one in (Loader(), _loader(package)))
    partitions = stock.get_available_partitions()
    assert shipped.get_available_partitions() == partitions
    for partition in partitions:
        regions = stock.get_available_endpoints(service, partition, allow_non_regional=True)
        assert shipped.get_available_endpoints(service, partition, allow_non_regional=True) == regions
        for region in regions:
            assert shipped.construct_endpoint(service, region) == stock.construct_endpoint(service, region)
    rules = "endpoint-rule-set-1"
    expected, found = (one.load_service_model(service, rules)["rules"] for one in (Loader(), _loader(package)))
    assert json.dumps(found) == json.dumps(expected)


def test_the_certificates_that_webhooks_fall_back_on_ship(package: Package) -> None:
    assert (package.directory / "botocore" / "cacert.pem").stat().st_size > 100_000


def test_nothing_is_compiled_when_a_function_starts_or_runs(package: Package) -> None:
    for name, run in package.runs.items():
        assert run.after_each[-1]["compiled"] == [], name


def test_a_function_makes_one_client_of_the_database(package: Package) -> None:
    for name, run in package.runs.items():
        assert run.after_each[-1]["clients"]["DynamoDB"] == 1, name


@pytest.mark.parametrize("name", ["fanning out", "delivering", "sweeping"])
def test_functions_on_streams_and_queues_have_neither_wire_models_nor_the_http_edge(
    package: Package, name: str
) -> None:
    modules = package.runs[name].after_each[-1]["modules"]
    ours = [one for one in modules if one.startswith("chalicelib.")]
    edge = {
        "pydantic",
        "pydantic_core",
        "chalicelib.http.wire",
        "chalicelib.http.messages",
        "chalicelib.http.auth",
        "app",
    }
    assert not edge & set(modules)
    assert not [one for one in ours if "openapi" in one or one.endswith((".models", ".routes"))]


def test_an_agent_is_read_without_the_wire_models(package: Package) -> None:
    first, *_, last = package.runs["serving"].after_each
    assert not [name for name in first["modules"] if name.partition(".")[0] in {"pydantic", "pydantic_core"}]
    assert "pydantic" in last["modules"]


def test_what_makes_the_documentation_is_imported_for_it_only(package: Package) -> None:
    serving = package.runs["serving"]
    assert "chalicelib.openapi.document" not in serving.after_each[8]["modules"]
    assert "chalicelib.openapi.document" in serving.after_each[-1]["modules"]


def test_the_package_is_small(package: Package) -> None:
    assert package.zip.stat().st_size < MOST_BYTES


def test_two_builds_make_the_same_project(package: Package, tmp_path: Path) -> None:
    build.stage(tmp_path, wheels.HERE)
    first, second = (_contents(one) for one in (package.zip.parents[2], tmp_path))
    assert first == second


def test_a_build_does_away_with_what_was_staged_before_and_keeps_what_chalice_has_recorded(tmp_path: Path) -> None:
    recorded = tmp_path / ".chalice" / "deployed" / "prod.json"
    stale = tmp_path / "vendor" / "stale.json"
    for path in (recorded, stale):
        path.parent.mkdir(parents=True)
        path.write_text("{}")

    build.stage(tmp_path, wheels.HERE)

    assert recorded.exists()
    assert not stale.exists()
    assert (tmp_path / "requirements.txt").read_text() == ""
    assert (tmp_path / ".chalice" / "config.json").exists()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is all that pip is configured for."""
    for name, value in local_index.variables(tmp_path / "wheels").items():
        monkeypatch.setenv(name, value)
    return tmp_path / "wheels"


def test_a_build_that_fails_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "of", lambda *_: [wheels.File("broken.py", b"def")])
    with pytest.raises(build.BuildError, match="cannot be compiled"):
        build.stage(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_wheel_that_is_not_there_fails_the_build(index: Path, tmp_path: Path) -> None:
    local_index.add_wheel(index, "other")
    with pytest.raises(build.BuildError, match=r"cannot be had for x86_64-manylinux2014 as requirements-dev\.lock has"):
        build.stage(tmp_path / "staged")


@pytest.mark.parametrize(
    ("platform", "tag"),
    [
        (wheels.HERE, "py3-none-any"),
        (wheels.LAMBDA, "py3-none-manylinux2014_x86_64"),
        ("aarch64-manylinux2014", "py3-none-manylinux2014_aarch64"),
    ],
    ids=["here", "the functions' platform", "another platform"],
)
def test_the_files_of_a_package_are_those_of_its_wheel(platform: str, tag: str, index: Path, tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(local_index.add_wheel(index, "small", tag))
    (tmp_path / "requirements.txt").write_text("small==1\n")
    found = {file.path for file in wheels.of(tmp_path / "requirements.txt", platform, tmp_path / "lock")}
    with zipfile.ZipFile(index / f"small-1-{tag}.whl") as wheel:
        assert found == set(wheel.namelist()) - {"small-1.dist-info/RECORD"}


UNFIT = [
    ("another system", "py3-none-macosx_11_0_arm64", {}, "small==1", "no wheels with a matching platform tag"),
    ("another hash", "py3-none-any", {"sha256:": f"sha256:{0:064}\n#"}, "small==1", "Hash mismatch"),
    ("another version", "py3-none-any", {}, "small==2", "none were provided for: small==2"),
    ("not locked", "py3-none-any", {"small": "other"}, "small==1", "must have a hash"),
]


@pytest.mark.parametrize(
    ("tag", "forged", "requirement", "reason"), [one[1:] for one in UNFIT], ids=[one[0] for one in UNFIT]
)
def test_a_wheel_that_does_not_fit_fails_the_build(
    tag: str, forged: dict[str, str], requirement: str, reason: str, index: Path, tmp_path: Path
) -> None:
    line = local_index.add_wheel(index, "small", tag)
    for text, other in forged.items():
        line = line.replace(text, other)
    (tmp_path / "lock").write_text(line)
    (tmp_path / "requirements.txt").write_text(f"{requirement}\n")
    with pytest.raises(build.BuildError, match=reason):
        list(wheels.of(tmp_path / "requirements.txt", wheels.LAMBDA, tmp_path / "lock"))


def _shipped(package: Package) -> list[str]:
    return [path.relative_to(package.directory).as_posix() for path in package.directory.rglob("*") if path.is_file()]


def _top(file: str) -> str:
    """The package that a file is of, or the single module."""
    return file.split("/")[0].partition(".")[0]


def _loader(package: Package) -> Loader:
    return Loader(extra_search_paths=[str(package.directory / "botocore" / "data")], include_default_search_paths=False)


def _form(shape: Shape | None, above: tuple[str, ...] = ()) -> Any:
    """What of a shape decides what is sent and read."""
    if shape is None or shape.name in above:
        return shape and shape.name
    inner: list[tuple[str, Shape]] = []
    if isinstance(shape, StructureShape):
        inner = list(shape.members.items())
    elif isinstance(shape, ListShape):
        inner = [("member", shape.member)]
    elif isinstance(shape, MapShape):
        inner = [("key", shape.key), ("value", shape.value)]
    forms = {name: _form(one, (*above, shape.name)) for name, one in inner}
    return shape.name, shape.type_name, shape.serialization, shape.metadata, forms


def _contents(directory: Path) -> dict[str, tuple[bytes, float, int]]:
    """Every staged file by its path, with its time and permissions; not what Chalice has put beside them."""
    return {
        path.relative_to(directory).as_posix(): (path.read_bytes(), path.stat().st_mtime, path.stat().st_mode)
        for path in directory.rglob("*")
        if path.is_file() and ".chalice" not in path.parts
    }
