"""The Python client as a customer gets it: the wheel is installed in a new environment and used against a local run."""

import email
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from chalicelib import __version__
from infra import uv
from infra.client import build
from infra.local.children import ROOT
from tests.generated_clients.test_generators import needs_generator, new_key, ran
from tests.openapi.document import document
from tests.reliability.runs import Run
from tests.selection import whole

pytestmark = [pytest.mark.engine, whole, needs_generator]

HERE = Path(__file__).parent
PAGE = (ROOT / "docs" / "python-client.md").read_text(encoding="utf-8")
SCRIPT = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that `make client` builds."""
    return build.build(tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment that contains only the wheel and its locked dependencies."""
    folder = tmp_path_factory.mktemp("installed")
    executable = folder / "bin" / "python"
    for line in (
        ("venv", "--clear", "--python", sys.executable, folder),
        ("pip", "install", "--python", executable, "--constraints", ROOT / "requirements/dev.lock", wheel),
    ):
        command, environment = uv.command(*map(str, line))
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return executable


def test_the_wheel_has_one_package_and_needs_one(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        sessions = [one for one in archive.infolist() if "/sessions/" in one.filename or "transcript" in one.filename]
        (metadata,) = (email.message_from_bytes(archive.read(one)) for one in names if one.endswith("/METADATA"))
    assert wheel.name == f"cams_client-{__version__}-py3-none-any.whl"
    assert {"cams/py.typed", "cams/models.py", "cams/_async/client.py", "cams/_sync/client.py"} < set(names)
    assert {name.split("/")[0] for name in names} == {"cams", f"cams_client-{__version__}.dist-info"}
    assert [re.match(r"\w+", one)[0] for one in metadata.get_all("Requires-Dist") if "extra" not in one] == ["httpx"]
    assert wheel.stat().st_size - sum(one.compress_size for one in sessions) < 80_000
    assert wheel.stat().st_size < 90_000
    assert (wheel.parent / f"cams_client-{__version__}.tar.gz").exists()


def test_two_builds_of_the_wheel_are_equal(wheel: Path, tmp_path: Path) -> None:
    assert build.build(tmp_path).read_bytes() == wheel.read_bytes()


def test_every_code_of_an_error_has_a_class(python: Path) -> None:
    known = document()["components"]["schemas"]["Error"]["properties"]["code"]["examples"]
    assert ran(python, "-c", "import cams; print(*cams.errors.BY_CODE)", cwd=HERE).split() == known


MISTAKES = [
    ('title="Support"', "title=5"),
    ('title="Support"', 'titel="Support"'),
    ("client.agents.create", "client.agents.creat"),
    ("error.code", "error.kode"),
    ("event.payload.lead_name", "event.payload.sender"),
    ("message.from_", "message.sender"),
    ("cams.models.Limits()", "cams.models.Limit()"),
    ("await client", "client"),
]


def test_programs_of_customers_have_no_type_errors_and_mypy_finds_mistakes(python: Path, tmp_path: Path) -> None:
    """The programs and the mistakes are checked in one run, because each run would read the whole package again."""
    programs = (HERE / "eight_operations.py", HERE / "python_client.py")
    (tmp_path / "page.py").write_text(SCRIPT, encoding="utf-8")
    for number, (correct, wrong) in enumerate(MISTAKES):
        assert correct in SCRIPT
        (tmp_path / f"mistake_{number}.py").write_text(SCRIPT.replace(correct, wrong), encoding="utf-8")
    # Without the last option, mypy accepts a coroutine that is never awaited.
    options = ("--python-executable", python, "--config-file=", "--enable-error-code=unused-coroutine")
    found = mypy(*options, *programs, *sorted(tmp_path.glob("*.py")), cwd=tmp_path)
    mistaken = {*re.findall(r"^(.+?):\d+: error", found, re.MULTILINE)}
    assert mistaken == {f"mistake_{number}.py" for number in range(len(MISTAKES))}, found


def mypy(*arguments: object, cwd: Path) -> str:
    """Run mypy; return its output."""
    line = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11", *map(str, arguments)]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True).stdout


def test_the_package_has_no_type_errors(wheel: Path) -> None:
    # `test_sessions` checks the adapters, because they import agent frameworks.
    assert "Success" in mypy("--config-file=", "--exclude=cams/sessions", "cams", cwd=wheel.parents[1])


def test_an_import_of_the_client_loads_few_modules(python: Path) -> None:
    code = "import sys, cams; print(*(name for name in sys.modules if name.split('.')[0] == 'cams'))"
    assert len(ran(python, "-c", code, cwd=HERE).split()) <= 20


def test_the_page_prints_what_its_comments_say(python: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text(SCRIPT, encoding="utf-8")
    expected = re.findall(r"^ *print\(.*\)  # (?!your)(.+)$", SCRIPT, re.MULTILINE)
    printed = ran(python, "page.py", cwd=tmp_path, **settings(run)).splitlines()
    # The example of the list shows one of two messages.
    assert [line for line in printed if line in expected] == expected
    assert len(printed) == len(expected) + 1


def test_eight_operations_run(python: Path, run: Run) -> None:
    ran(python, HERE / "eight_operations.py", cwd=HERE, **settings(run))


@pytest.mark.parametrize(
    "arguments",
    [
        ("pages",),
        ("creations",),
        ("appends",),
        pytest.param(("appends", "1000"), marks=pytest.mark.long),
        ("webhooks",),
    ],
    ids=" ".join,
)
def test_the_installed_client(arguments: tuple[str, ...], python: Path, run: Run) -> None:
    name, *rest = arguments
    values = settings(run)
    ran(python, HERE / "python_client.py", name, values["CAMS_URL"], *rest, cwd=HERE, PYTHONPATH=str(ROOT), **values)


def settings(run: Run) -> dict[str, str]:
    """Return the client's environment variables, with the key of a new workspace."""
    return {"CAMS_URL": f"http://127.0.0.1:{run.port}", "CAMS_API_KEY": new_key(run)}
