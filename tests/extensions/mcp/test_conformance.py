"""The official conformance suite, against the server on a local port.

`conformance.yaml` lists the scenarios that fail, with reasons. The suite exits with an error if another scenario fails,
or if a listed scenario passes.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.extensions.mcp.assistant import serving
from tests.selection import whole

pytestmark = whole

_SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
_BASELINE = Path(__file__).with_name("conformance.yaml")


def node_version() -> int:
    """Return the major version of Node.js, or 0 if it is missing."""
    if shutil.which("npx") is None:
        return 0
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    return int(version.lstrip("v").partition(".")[0])


@pytest.mark.skipif(node_version() < 22, reason="NOT TESTED with the conformance suite: it needs Node.js 22.")
@pytest.mark.parametrize(("revision", "passed"), [("2026-07-28", 96), ("2025-11-25", 35)])
def test_only_the_listed_scenarios_fail(workspace: NewWorkspace, revision: str, passed: int) -> None:
    with serving(workspace.access_token) as address:
        command = ["npx", "--yes", "--package", _SUITE, "conformance", "server", "--url", f"{address}/mcp"]
        done = subprocess.run(
            [*command, "--requirements", revision, "--expected-failures", str(_BASELINE)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-1_000:]
    total = re.search(r"Total: (\d+) passed", done.stdout)
    assert total is not None
    assert int(total[1]) >= passed
