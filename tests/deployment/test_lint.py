"""`cfn-lint` finds no problem in the template or in the packaged application."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from infra.deploy import template
from tests.deployment import cloud
from tests.deployment.test_functions import OUTPUTS
from tests.selection import whole

_PREPARE = """
import sys
from pathlib import Path
from infra.deploy import stage
from infra.package import build
project, variables = Path("build/rehearsal"), stage.variables("cams-rehearsal", {outputs})
build.stage(project)
stage.generate(project, "rehearsal", "cams-rehearsal", dict(), {outputs}, variables)
"""


def lint(*paths: Path) -> str:
    command = [Path(sys.executable).with_name("cfn-lint"), *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@whole
def test_the_template_has_no_findings(tmp_path: Path) -> None:
    path = tmp_path / "template.json"
    path.write_text(template.body(template.build()), "utf-8")
    assert lint(path) == ""


@pytest.mark.long  # a second package; the rehearsal deploys the same resources
def test_the_packaged_application_has_no_findings(tmp_path: Path) -> None:
    project = cloud.copy_project(tmp_path / "project", {})
    here = cloud.Cloud(0, project, cloud.environment(tmp_path, 9))
    prepared = here.run("-c", _PREPARE.format(outputs=json.dumps(OUTPUTS)))
    assert prepared.returncode == 0, prepared.stderr
    out = tmp_path / "out"
    command = ["--project-dir", str(project / "build" / "rehearsal"), "package", "--stage", "rehearsal", str(out)]
    code = "import sys; from chalice.cli import main; sys.exit(main())"
    packaged = here.run("-c", code, *command, CAMS_DEPLOYER="1")
    assert packaged.returncode == 0, packaged.stdout + packaged.stderr
    assert lint(out / "sam.json") == ""
