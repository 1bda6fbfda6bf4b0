"""The Python client as a customer gets it: the wheel is installed in a new environment and used against a local run."""

import email
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from chalicelib import __version__
from infra import client, uv
from infra.local.children import ROOT
from tests.generated_clients.test_generators import needs_generator, new_key, ran
from tests.openapi.document import document, operations
from tests.reliability.test_local_run import Run, run  # noqa: F401 - the fixture
from tests.selection import whole

pytestmark = [pytest.mark.engine, whole, needs_generator]

HERE = Path(__file__).parent
PAGE = (ROOT / "docs" / "python-client.md").read_text(encoding="utf-8")
SCRIPT = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that `make client` builds."""
    return client.build(tmp_path_factory.mktemp("client"))


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


def test_the_wheel_has_every_operation_and_needs_two_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (email.message_from_bytes(archive.read(one)) for one in names if one.endswith("/METADATA"))
    assert wheel.name == f"cams_client-{__version__}-py3-none-any.whl"
    modules = {Path(name).stem for name in names if re.fullmatch(r"cams_client/api/\w+/[a-z]\w+\.py", name)}
    assert modules == {one.name for one in operations()}
    assert {"cams_client/py.typed", "cams_client/client.py"} < set(names)
    assert [re.match(r"\w+", one)[0] for one in metadata.get_all("Requires-Dist")] == ["httpx", "attrs"]
    assert (wheel.parent / f"cams_client-{__version__}.tar.gz").exists()


def test_two_builds_of_the_wheel_are_equal(wheel: Path, tmp_path: Path) -> None:
    assert client.build(tmp_path).read_bytes() == wheel.read_bytes()


def test_every_code_of_an_error_has_a_class(python: Path) -> None:
    code = "from cams_client import errors; print(*errors.BY_CODE)"
    known = document()["components"]["schemas"]["Error"]["properties"]["code"]["examples"]
    assert ran(python, "-c", code, cwd=HERE).split() == known


def test_the_modules_by_hand_and_the_operations_have_no_type_errors(wheel: Path) -> None:
    found = mypy("cams_client", cwd=wheel.parents[1])
    # Generated models contain redundant casts, and variables that have two types.
    assert not [line for line in found.splitlines() if "error:" in line and not line.startswith("cams_client/models/")]
    assert "checked" in found


def test_a_script_of_a_user_has_no_type_errors(python: Path, tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(SCRIPT.replace('title="Support"', "title=5"), encoding="utf-8")
    options = ("--python-executable", python, "--config-file=")
    assert "Success" in mypy(*options, "page.py", HERE / "python_client.py", cwd=tmp_path)
    assert "wrong.py:" in mypy(*options, "wrong.py", cwd=tmp_path)
    (tmp_path / "unknown.py").write_text("from cams_client import models\n\nprint(models.Agnet)\n", encoding="utf-8")
    assert "unknown.py:3:" in mypy(*options, "unknown.py", cwd=tmp_path)


@pytest.mark.parametrize("name", [".", ".."])
def test_a_segment_that_http_removes_from_a_path_is_refused(name: str, python: Path) -> None:
    """If the client sent `..`, deleting a conversation with this id would delete its agent."""
    code = f"""
from cams_client import Client
from cams_client.api.conversations import delete_conversation

try:
    delete_conversation.sync(Client("http://127.0.0.1:9", "x"), "support", "{name}")
except ValueError as error:
    print(error)
"""
    assert ran(python, "-c", code, cwd=HERE).strip() == "An id in a path cannot be '.' or '..'."


def test_a_filter_by_a_flag_takes_a_bool(python: Path, tmp_path: Path) -> None:
    lines = [
        "from cams_client import Client, iterate",
        "from cams_client.api.agents import list_agents",
        "list_agents.sync(Client('https://cams.example.com', 'x'), starred=True, deployed=False)",
        "",
    ]
    (tmp_path / "flags.py").write_text("\n".join(lines), encoding="utf-8")
    assert "Success" in mypy("--python-executable", python, "--config-file=", "flags.py", cwd=tmp_path)


def mypy(*arguments: object, cwd: Path) -> str:
    """Run mypy; return its output."""
    line = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11", *map(str, arguments)]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True).stdout


def test_an_import_of_the_client_loads_few_modules(python: Path) -> None:
    code = "import sys, cams_client; print(*(name for name in sys.modules if name.startswith('cams_client')))"
    assert len(ran(python, "-c", code, cwd=HERE).split()) <= 14


def test_the_page_prints_what_its_comments_say(python: Path, run: Run, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "page.py").write_text(SCRIPT, encoding="utf-8")
    variables = {"CAMS_URL": f"http://127.0.0.1:{run.port}", "CAMS_KEY": new_key(run)}
    expected = re.findall(r"^ *print\(.*\)  # (.+)$", SCRIPT, re.MULTILINE)
    assert ran(python, "page.py", cwd=tmp_path, **variables).splitlines() == expected
    assert len(expected) > 8


@pytest.mark.parametrize("used", ["pages", "retries", "webhooks"])
def test_the_installed_client(used: str, python: Path, run: Run) -> None:  # noqa: F811
    ran(python, HERE / "python_client.py", used, f"http://127.0.0.1:{run.port}", cwd=HERE, CAMS_KEY=new_key(run))
