"""The sessions of agent frameworks, with the real frameworks, the built client, an agent key and a local run.

The frameworks are in their own environment, which `make install-frameworks` creates.
"""

import re
import sys
import uuid
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from infra.client import build
from infra.local.children import ROOT
from tests.generated_clients.test_generators import new_key, ran
from tests.reliability.runs import Run, ask
from tests.selection import whole
from tests.test_locks import required

PYTHON = ROOT / ".venv-frameworks" / "bin" / "python"
PROGRAMS = Path(__file__).parent / "sessions"
FRAMEWORKS = ["claude_agent_sdk", "openai_agents", "pydantic_ai", "strands_agents"]
# The documentation has a recipe for LangChain, so the client has no adapter.
RECIPES = ["langchain"]

pytestmark = [
    pytest.mark.engine,
    whole,
    pytest.mark.skipif(
        sys.version_info < (3, 11) or not PYTHON.exists(),
        reason="NOT TESTED: the sessions of agent frameworks need Python 3.11 and `make install-frameworks`.",
    ),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that contains the client's package."""
    folder = tmp_path_factory.mktemp("client")
    build.build(folder)
    return folder


@pytest.mark.parametrize("framework", [*FRAMEWORKS, *RECIPES, "openai_conversations"])
def test_a_framework_stores_its_sessions_with_an_agent_key(framework: str, client: Path, run: Run) -> None:
    workspace_key, key = new_key(run), uuid.uuid4().hex
    status, _ = ask(run, "POST", "/v2/agents/support", workspace_key, {"title": "Support", "SECRET_API_KEY": key})
    assert status in (200, 201)
    settings = {"CAMS_URL": f"http://127.0.0.1:{run.port}", "CAMS_API_KEY": key, "PYTHONPATH": f"{client}:{ROOT}"}
    settings["CAMS_WORKSPACE_KEY"] = workspace_key  # Claude's program creates agents
    ran(PYTHON, "-m", f"tests.generated_clients.sessions.{framework}", cwd=client, **settings)


@pytest.mark.long  # mypy reads four frameworks
def test_the_adapters_and_their_programs_have_no_type_errors(client: Path) -> None:
    line = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11", "--python-executable", PYTHON]
    assert "Success" in ran(*line, "--config-file=", "cams/sessions", PROGRAMS, cwd=client, MYPYPATH=f"{client}:{ROOT}")


def test_the_extras_accept_the_tested_versions(client: Path) -> None:
    (wheel,) = (client / "dist").glob("*.whl")
    (distribution,) = metadata.distributions(path=[str(wheel)])
    ranges = {one.name: one.specifier for one in map(Requirement, distribution.requires or ()) if one.marker}
    pins = {one.name: str(one.specifier).removeprefix("==") for one in required(ROOT / "requirements/frameworks.txt")}
    assert ranges.keys() == pins.keys() - {"httpx", "langchain-core"}
    assert all(len(specifier) == 2 and specifier.contains(pins[name]) for name, specifier in ranges.items())


def test_an_adapter_has_at_most_120_lines() -> None:
    modules = [*(build.SOURCE / "cams/sessions").glob("*.py"), build.SOURCE / "cams/_async/transcript.py"]
    lines = {module.name: len(re.findall("\n", module.read_text(encoding="utf-8"))) for module in modules}
    assert len(lines) == len(FRAMEWORKS) + 3
    assert max(lines.values()) <= 120, lines
