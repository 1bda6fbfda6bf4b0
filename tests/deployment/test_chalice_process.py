"""Chalice runs in a child process, which exits with its parent and reports errors in one sentence."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from botocore.exceptions import ClientError

from infra.deploy import chalice_process, stage_lock
from infra.local import children
from tests.selection import first_case, whole

# A program that writes its process id and runs for ten minutes.
_ENDLESS_APP = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
_NOWHERE = {
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    "AWS_MAX_ATTEMPTS": "1",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Prepare and return the directory of the stage `dev` for a deletion."""
    monkeypatch.setattr(chalice_process, "directory", lambda stage: tmp_path / stage)
    for name, value in _NOWHERE.items():
        monkeypatch.setenv(name, value)
    return chalice_process.prepare_deletion("dev")


def record(project: Path) -> None:
    """Add a function to Chalice's state file, so that `chalice delete` calls Lambda."""
    function = {"name": "deliver", "resource_type": "lambda_function", "lambda_arn": "arn"}
    (project / ".chalice" / "deployed").mkdir()
    content = {"resources": [function], "schema_version": "2.0", "backend": "api"}
    (project / ".chalice" / "deployed" / "dev.json").write_text(json.dumps(content))


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # In a container without an init process, an orphaned process becomes a zombie when it exits.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_stage_without_resources_is_deleted_without_the_app_of_the_checkout(project: Path) -> None:
    chalice_process.run(project, "delete", "dev")
    assert json.loads((project / ".chalice" / "deployed" / "dev.json").read_text())["resources"] == []


def test_a_failure_is_one_sentence_and_the_log_has_the_rest(project: Path) -> None:
    record(project)
    with pytest.raises(click.ClickException) as failed:
        chalice_process.run(project, "delete", "dev")
    assert failed.value.message == (
        "`chalice delete` failed: AWS cannot be reached: check the network, the region and AWS_ENDPOINT_URL. "
        '(Could not connect to the endpoint URL: "http://127.0.0.1:9/2015-03-31/functions/arn") Run the command again; '
        f"see {project}/chalice.log for details."
    )
    assert "Traceback" in (project / "chalice.log").read_text()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
@first_case
def test_chalice_ends_when_the_deployment_is_killed_or_stopped(project: Path, end: signal.Signals) -> None:
    """Check that Chalice exits within five seconds, because the next command then takes over the lock."""
    (project / "app.py").write_text(_ENDLESS_APP)
    code = f"""
from pathlib import Path
from infra.deploy import chalice_process
chalice_process.run(Path({str(project)!r}), "delete", "dev")
"""
    deployment = subprocess.Popen([sys.executable, "-c", code], cwd=children.ROOT)
    deadline = time.monotonic() + 60
    while not (project / "pid").exists() or not (project / "pid").read_text():
        assert deployment.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    chalice = int((project / "pid").read_text())
    deployment.send_signal(end)
    stopped = time.monotonic()
    try:
        while exists(chalice):
            assert time.monotonic() < stopped + stage_lock._WATCH_SECONDS - stage_lock._RENEWAL_SECONDS
            time.sleep(0.05)
    finally:
        deployment.kill()
        deployment.wait()


@whole
def test_chalice_works_longer_than_the_longest_silence(project: Path) -> None:
    seconds = chalice_process._LONGEST_SILENCE_SECONDS + 2 * chalice_process._BEAT_SECONDS
    with (project / "app.py").open("a") as app:
        app.write(f"import time\ntime.sleep({seconds})\n")
    chalice_process.run(project, "delete", "dev")


def test_the_error_of_the_sdk_is_inside_the_errors_of_chalice() -> None:
    class Wrapped(Exception):
        def __init__(self, original: Exception) -> None:
            super().__init__("ERROR - While sending your chalice handler code")
            self.original_error = original

    error = Wrapped(Wrapped(ClientError({"Error": {"Code": "AccessDeniedException", "Message": "Denied."}}, "Create")))
    assert chalice_process._sentence(error) == (
        "The credentials lack a permission: add it, then try again. (An error occurred (AccessDeniedException) when "
        "calling the Create operation: Denied)"
    )
