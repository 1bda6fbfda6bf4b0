"""The deployment package (the zip file that Chalice uploads) runs in an interpreter without other packages.

The functions run on the local engine. The tests compare the files that the functions import and open with the package.
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

from infra import extension_parts
from infra.local.children import Engine
from infra.package import build, interpreters, trim, wheels
from tests import extensions, package_index
from tests.deployment import package_runs
from tests.deployment.package_runs import Package
from tests.reliability.engine_fixture import local_engine  # noqa: F401 - the fixture
from tests.selection import whole

pytestmark = [pytest.mark.engine, whole]

# cryptography's and pydantic's compiled libraries take up 6.4 MB, the documentation page 0.5 MB, and the time zones for
# reports 0.25 MB. The package has 10.71 MB on Python 3.11, 11.33 MB on 3.12 and 11.36 MB on 3.13, whose bytecode is
# larger. The console takes up 1.2 MB: its templates, texts and modules, each module as source and as bytecode.
MAX_BYTES = 11_450_000


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory, local_engine: Engine) -> Package:  # noqa: F811
    if not extensions.are_all_on():
        pytest.skip("The runs use every extension.")
    return package_runs.build_and_run(tmp_path_factory.mktemp("package"), local_engine)


def test_the_package_alone_serves_every_kind_of_request(package: Package) -> None:
    served = package.runs["serving"].answers
    assert [one["statusCode"] for one in served] == [200] * (len(served) - 1) + [400]
    assert [one["statusCode"] for one in package.runs["preparing"].answers] == [200] * 8


def test_the_pages_of_the_console_are_compiled(package: Package) -> None:
    assert [one["statusCode"] for one in package.runs["signing in"].answers] == [303]
    assert [one["statusCode"] for one in package.runs["showing pages"].answers] == [200] * len(package_runs.PAGES)
    assert not (package.directory / "chalicelib" / "extensions" / "console" / "templates").exists()
    assert "jinja2" not in package.runs["serving"].after_each[-1]["modules"]


def test_every_module_with_handlers_was_run(package: Package) -> None:
    of_extensions = {module for name, module in package_runs.MODULES.items() if name in package.runs}
    of_core = {package_runs.WEBHOOKS, package_runs.MAINTENANCE, package_runs.FOLLOWING}
    assert {*package_runs.MODULES.values()} == of_core | of_extensions


def test_every_shipped_package_is_used_by_a_function(package: Package) -> None:
    used = {_top(file) for run in package.runs.values() for file in run.files}
    used.add("tzdata")  # only read if the system has no time zones
    assert {_top(file) for file in _shipped(package)} - {"__pycache__"} == used - {"__pycache__"}


def test_less_than_three_percent_of_the_shipped_code_is_unused(package: Package) -> None:
    read = {file for run in package.runs.values() for file in run.files}
    with zipfile.ZipFile(package.zip) as archive:
        sizes = {
            one.filename: one.compress_size for one in archive.infolist() if one.filename.endswith((".pyc", ".so"))
        }
    assert sum(size for file, size in sizes.items() if file not in read) < 0.03 * sum(sizes.values())


def test_only_the_sdk_data_of_the_used_services_ships(package: Package) -> None:
    data = package.directory / "botocore" / "data"
    endpoints = json.loads((data / "endpoints.json").read_text())["partitions"]
    services = trim.services()
    assert {name for partition in endpoints for name in partition["services"]} == {
        one.endpoint for one in services.values()
    }
    assert not [path for path in data.rglob("service-2.json") if "<p>" in path.read_text()]
    assert {path.name for path in data.iterdir() if path.is_dir()} == services.keys()
    read = {file for run in package.runs.values() for file in run.files if file.startswith("botocore/data/")}
    assert {file.split("/")[2] for file in read if file.count("/") > 2} == services.keys()


@pytest.mark.parametrize("service", trim.services())
def test_trimming_changes_no_operation_of_a_service(package: Package, service: str) -> None:
    stock, shipped = Loader(), _loader(package)
    original, trimmed = (ServiceModel(one.load_service_model(service, "service-2")) for one in (stock, shipped))
    kept = list(trim.services()[service].operations)
    assert trimmed.operation_names == kept
    for name in kept:
        expected, operation = original.operation_model(name), trimmed.operation_model(name)
        assert operation.http == expected.http
        assert _form(operation.input_shape) == _form(expected.input_shape)
        assert _form(operation.output_shape) == _form(expected.output_shape)
        assert [shape.name for shape in operation.error_shapes] == [shape.name for shape in expected.error_shapes]


@pytest.mark.parametrize(("service", "listed"), [(name, service.endpoint) for name, service in trim.services().items()])
def test_trimming_changes_no_endpoint_of_a_service(package: Package, service: str, listed: str) -> None:
    stock, shipped = (EndpointResolver(one.load_data("endpoints")) for one in (Loader(), _loader(package)))
    partitions = stock.get_available_partitions()
    assert shipped.get_available_partitions() == partitions
    for partition in partitions:
        regions = stock.get_available_endpoints(listed, partition, allow_non_regional=True)
        assert shipped.get_available_endpoints(listed, partition, allow_non_regional=True) == regions
        for region in regions:
            assert shipped.construct_endpoint(listed, region) == stock.construct_endpoint(listed, region)
    rules = "endpoint-rule-set-1"
    expected, found = (one.load_service_model(service, rules)["rules"] for one in (Loader(), _loader(package)))
    assert json.dumps(found) == json.dumps(expected)


def test_the_fallback_certificates_for_webhooks_ship(package: Package) -> None:
    assert (package.directory / "botocore" / "cacert.pem").stat().st_size > 100_000


def test_no_function_compiles_a_module_at_run_time(package: Package) -> None:
    for name, run in package.runs.items():
        assert run.after_each[-1]["compiled"] == [], name


def test_no_function_compiles_a_regular_expression_while_it_is_imported(package: Package) -> None:
    # The package omits docstrings, so `dataclasses` composes those of three classes with this expression.
    of_docstrings = {repr(r"[\w\.]+")}
    for name, run in package.runs.items():
        assert {*run.at_start["expressions"]} <= of_docstrings, name


def test_every_function_creates_one_database_client(package: Package) -> None:
    for name, run in package.runs.items():
        assert run.after_each[-1]["clients"]["DynamoDB"] == 1, name


@pytest.mark.parametrize("name", ["fanning out", "delivering", "maintaining", "counting", "notify_people"])
def test_functions_on_streams_and_queues_load_neither_wire_models_nor_the_http_edge(
    package: Package, name: str
) -> None:
    modules = package.runs[name].after_each[-1]["modules"]
    own = [one for one in modules if one.startswith("chalicelib.")]
    edge = {
        "pydantic",
        "pydantic_core",
        "chalicelib.http.wire",
        "chalicelib.http.bodies",
        "chalicelib.http.auth",
        "app",
    }
    assert sorted(edge & set(modules)) == []
    assert not [one for one in own if "openapi" in one or one.endswith((".models", ".routes"))]


def test_reading_an_agent_loads_no_wire_models(package: Package) -> None:
    first, *_, last = package.runs["serving"].after_each
    assert not [name for name in first["modules"] if name.partition(".")[0] in {"pydantic", "pydantic_core"}]
    assert "pydantic" in last["modules"]


def test_reading_an_agent_imports_no_modules_of_webhook_functions_or_other_endpoints(package: Package) -> None:
    first, *_ = package.runs["serving"].after_each
    unused = {
        "chalicelib.webhooks.delivery",
        "chalicelib.webhooks.fan_out",
        "chalicelib.webhooks.ledger",
        "chalicelib.extensions.erasures.store",
        "chalicelib.extensions.history.rows",
    }
    assert sorted(unused & {*first["modules"]}) == []


def test_fan_out_and_delivery_do_not_import_each_other(package: Package) -> None:
    assert "chalicelib.webhooks.delivery" not in package.runs["fanning out"].after_each[-1]["modules"]
    assert "chalicelib.webhooks.fan_out" not in package.runs["delivering"].after_each[-1]["modules"]


def test_reading_an_agent_imports_no_help_texts_or_package_metadata_for_the_sdk(package: Package) -> None:
    first, *_ = package.runs["serving"].after_each
    unused = {"importlib.metadata", "botocore.docs.bcdoc", "botocore.docs.service"}
    assert sorted(unused & {*first["modules"]}) == []


def test_the_openapi_document_is_imported_on_demand(package: Package) -> None:
    serving = package.runs["serving"]
    assert "chalicelib.openapi.document" not in serving.after_each[8]["modules"]
    assert "chalicelib.openapi.document" in serving.after_each[-1]["modules"]


def test_the_package_does_not_exceed_its_size_limit(package: Package) -> None:
    assert package.zip.stat().st_size < MAX_BYTES


def test_a_second_build_replaces_the_staged_files_by_the_same_and_keeps_the_state_of_chalice(
    package: Package, tmp_path: Path
) -> None:
    recorded = tmp_path / ".chalice" / "deployed" / "prod.json"
    stale = tmp_path / "vendor" / "stale.json"
    for path in (recorded, stale):
        path.parent.mkdir(parents=True)
        path.write_text("{}")

    build.stage(tmp_path, wheels.THIS_MACHINE)

    assert _contents(package.zip.parents[2]) == _contents(tmp_path)
    assert recorded.exists()
    assert not stale.exists()
    assert (tmp_path / "requirements.txt").read_text() == ""


def test_a_later_build_keeps_the_packages_until_their_versions_names_or_services_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked = []

    def unpack(*_: Any, **__: Any) -> list[wheels.File]:
        unpacked.append(1)
        return [wheels.File(f"package/version{len(unpacked)}.py", b"")]

    monkeypatch.setattr(wheels, "unpack_files", unpack)
    build.stage(tmp_path)
    first = _contents(tmp_path)
    build.stage(tmp_path)
    assert _contents(tmp_path) == first
    build.stage(tmp_path, python=next(one for one in ("3.11", "3.12") if one != interpreters.VERSION))
    lock = tmp_path / "changed.lock"
    lock.write_text(wheels.LOCK.read_text() + "# changed")
    monkeypatch.setattr(wheels, "LOCK", lock)
    build.stage(tmp_path)
    requirements = tmp_path / "other.txt"
    requirements.touch()
    monkeypatch.setattr(extension_parts, "requirements", lambda _: [requirements])
    build.stage(tmp_path)
    monkeypatch.setattr(trim, "services", lambda _: {})
    build.stage(tmp_path)
    assert len(unpacked) == 5
    assert [one.stem for one in (tmp_path / "vendor" / "package").iterdir()] == ["version5"]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make pip use only a folder of wheels; return the folder."""
    for name, value in package_index.variables(tmp_path / "wheels").items():
        monkeypatch.setenv(name, value)
    return tmp_path / "wheels"


def test_a_build_that_fails_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "unpack_files", lambda *_, **__: [wheels.File("broken.py", b"def")])
    with pytest.raises(build.BuildError, match="does not compile"):
        build.stage(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_wheel_that_is_not_there_fails_the_build(index: Path, tmp_path: Path) -> None:
    package_index.add_wheel(index, "other")
    with pytest.raises(
        build.BuildError,
        match=r"are not available for x86_64-manylinux2014 and Python \S+ as requirements/dev\.lock has",
    ):
        build.stage(tmp_path / "staged")


@pytest.mark.parametrize(
    ("platform", "tag"),
    [
        (wheels.THIS_MACHINE, "py3-none-any"),
        (wheels.LAMBDA, "py3-none-manylinux2014_x86_64"),
        (wheels.PLATFORMS["arm64"], "py3-none-manylinux2014_aarch64"),
    ],
    ids=["here", "the functions' platform", "arm64"],
)
def test_the_files_of_a_package_are_those_of_its_wheel(platform: str, tag: str, index: Path, tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(package_index.add_wheel(index, "small", tag))
    (tmp_path / "requirements.txt").write_text("small==1\n")
    found = {file.path for file in wheels.unpack_files([tmp_path / "requirements.txt"], platform, tmp_path / "lock")}
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
    line = package_index.add_wheel(index, "small", tag)
    for text, other in forged.items():
        line = line.replace(text, other)
    (tmp_path / "lock").write_text(line)
    (tmp_path / "requirements.txt").write_text(f"{requirement}\n")
    with pytest.raises(build.BuildError, match=reason):
        list(wheels.unpack_files([tmp_path / "requirements.txt"], wheels.LAMBDA, tmp_path / "lock"))


def _shipped(package: Package) -> list[str]:
    return [path.relative_to(package.directory).as_posix() for path in package.directory.rglob("*") if path.is_file()]


def _top(file: str) -> str:
    """Return a file's top-level package or module."""
    return file.split("/")[0].partition(".")[0]


def _loader(package: Package) -> Loader:
    return Loader(extra_search_paths=[str(package.directory / "botocore" / "data")], include_default_search_paths=False)


def _form(shape: Shape | None, above: tuple[str, ...] = ()) -> Any:
    """Return the parts of a shape that determine how values are serialized and parsed."""
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
    """Return the content, modification time and mode of every staged file by path, except Chalice's files."""
    return {
        path.relative_to(directory).as_posix(): (path.read_bytes(), path.stat().st_mtime, path.stat().st_mode)
        for path in directory.rglob("*")
        if path.is_file() and ".chalice" not in path.parts
    }


@whole
def test_the_packages_of_both_architectures_have_the_same_files_for_their_processor(tmp_path: Path) -> None:
    machines = {"x86_64": 62, "arm64": 183}  # e_machine of the ELF header
    files = {}
    for architecture, machine in machines.items():
        directory = tmp_path / architecture
        assert build.stage(directory, wheels.PLATFORMS[architecture])
        libraries = [path.read_bytes() for path in directory.rglob("*.so")]
        assert libraries
        assert {int.from_bytes(library[18:20], "little") for library in libraries} == {machine}
        names = (str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())
        files[architecture] = {name.replace("aarch64", "x86_64") for name in names}
    assert files["arm64"] == files["x86_64"]
