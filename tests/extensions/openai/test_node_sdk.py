"""The unmodified `openai` package for Node.js uses a local run with only an agent key and the address."""

import shutil
import uuid
from pathlib import Path

import pytest

from tests import extensions
from tests.generated_clients.test_generators import install_packages, new_key, ran
from tests.reliability.runs import ask
from tests.reliability.test_local_run import Run, run  # noqa: F401 - the fixture
from tests.selection import whole

extensions.require("openai")

pytestmark = [
    pytest.mark.engine,
    whole,
    pytest.mark.skipif(shutil.which("npm") is None, reason="NOT TESTED: the OpenAI SDK needs Node.js 20.19 or newer."),
]

PROGRAM = Path(__file__).with_name("node_sdk.mjs")
PACKAGES = Path(__file__).parents[2] / "generated_clients/sessions"


def test_all_operations_with_an_agent_key(run: Run, tmp_path: Path) -> None:  # noqa: F811
    install_packages(PACKAGES, "--omit=optional")
    shutil.copy(PROGRAM, tmp_path)
    (tmp_path / "node_modules").symlink_to(PACKAGES / "node_modules")
    key = uuid.uuid4().hex
    ask(run, "POST", "/v2/agents/support", new_key(run), {"title": "Support", "SECRET_API_KEY": key})
    settings = {"CAMS_URL": f"http://127.0.0.1:{run.port}", "CAMS_API_KEY": key}
    ran("node", PROGRAM.name, cwd=tmp_path, **settings)
