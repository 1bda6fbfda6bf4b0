"""Linters, generators and schemathesis find no errors in the OpenAPI document.

The generated Python client runs the README tour.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.local.children import ROOT
from tests.openapi.document import document
from tests.reliability.runs import Run
from tests.selection import whole

pytestmark = [pytest.mark.engine, whole]

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
SCRIPTS = Path(sys.executable).parent
# The exact number of models that openapi-python-client generates, with envelopes and bodies. The limit for the
# models of our own client is in `test_client_records`. An additional model is an unnamed component or a copy. Twelve
# records have a form in requests; `TurnMessage` and `ConversationStatus` are the other two. The total consists of 117
# models for all operations not in this list; v3 operations on conversations (9), messages (6), rejected replies
# (1), visitor tokens (4) and erasures (5); listing and creating clients and organisations, and listing and changing
# leads (9); templates of agents (2); the test of a tool (6); reports (3); the list and deletion of analytics (4);
# usage (3); history and versions (6); the enumerations of query parameters (4); and two differences between schemas: a
# tool's name is never null in a change (1), and the list of channels is closed (1). Deltas and feeds have 5 models,
# labels and the order of messages 2, the existing client's requests and responses 7, and OpenAI's bodies and errors 4.
MOST_MODELS = 12 + 2 + 117 + 9 + 6 + 1 + 4 + 5 + 9 + 2 + 6 + 3 + 4 + 3 + 6 + 4 + 2 + 5 + 2 + 7 + 4

needs_generator = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="NOT TESTED: openapi-python-client needs Python 3.11."
)


def ran(*command: Any, cwd: Path, **environment: str) -> str:
    """Run a command that must succeed; return its output."""
    done = subprocess.run(
        [str(one) for one in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}", **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def new_key(run: Run) -> str:
    """Create a workspace in the run; return its key."""
    code = "from chalicelib.workspaces import store; print(store.create('Clients').workspace_key)"
    return ran(sys.executable, "-c", code, cwd=ROOT, **run.environment).strip()


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the OpenAPI document to a file in a new folder; return the file."""
    file = tmp_path_factory.mktemp("document") / "openapi.json"
    file.write_text(json.dumps(document()), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def node() -> None:
    """Install the locked Node.js packages; skip the test if Node.js is missing."""
    if shutil.which("npm") is None:
        pytest.skip("NOT TESTED with redocly and spectral: Node.js 20.19 or newer is missing.")
    install_packages(HERE)


def install_packages(folder: Path, *options: str) -> None:
    """Install the locked Node.js packages of a folder with `npm ci`, unless they are installed."""
    installed = folder / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < (folder / "package-lock.json").stat().st_mtime:
        ran("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", *options, cwd=folder)


@pytest.fixture(scope="module")
def python_client(described: Path) -> Path:
    """Generate the client with openapi-python-client, which must print no warning; return the package's folder."""
    folder = described.parent / "python"
    ran(
        *("openapi-python-client", "generate", "--fail-on-warning", "--path", described, "--output-path", folder),
        cwd=described.parent,
    )
    return folder


@needs_generator
def test_the_python_generator_makes_no_more_models_than_before(python_client: Path) -> None:
    made = {file.stem for file in (python_client / "cams_client" / "models").glob("*.py")} - {"__init__"}
    assert "agent_v3" in made
    assert len(made) <= MOST_MODELS


@needs_generator
def test_the_generated_python_client_runs_the_tour(python_client: Path, run: Run) -> None:
    address = f"http://127.0.0.1:{run.port}"
    ran(sys.executable, HERE / "tour.py", address, cwd=HERE, PYTHONPATH=str(python_client), CAMS_KEY=new_key(run))


def test_redocly_finds_nothing(described: Path, node: None) -> None:
    options = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    found = ran(MODULES / ".bin/redocly", "lint", described, "--format=json", cwd=described.parent, **options)
    assert json.loads(found[found.index("{") : found.rindex("}") + 1])["totals"] == {
        "errors": 0,
        "warnings": 0,
        "ignored": 0,
    }


def test_spectral_finds_nothing(described: Path, node: None) -> None:
    options = ("--fail-severity=hint", "--format=json", "--ruleset", HERE / "spectral.yaml")
    assert "[]" in ran(MODULES / ".bin/spectral", "lint", *options, described, cwd=described.parent)


@pytest.mark.long
def test_schemathesis_finds_nothing_in_a_run(run: Run, tmp_path: Path) -> None:
    """Schemathesis runs with its default settings, except that its cases are the same in every run."""
    headers = ("--header", f"Authorization: Bearer {new_key(run)}")
    output = ran(
        *(
            SCRIPTS / "schemathesis",
            "--config-file",
            HERE / "schemathesis.toml",
            "run",
            f"http://127.0.0.1:{run.port}/openapi.json",
            *headers,
        ),
        "--generation-deterministic",
        cwd=tmp_path,
        SCHEMATHESIS_HOOKS=str(HERE / "hooks.py"),
    )
    assert re.search(r"(\d+) generated, \1 passed", re.sub(r", \d+ skipped", "", output)), output
    assert "returned only 401/403" not in output, "the key was not accepted"
