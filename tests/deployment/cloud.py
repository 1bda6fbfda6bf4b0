"""An empty account for the rehearsal, emulated with IAM enforcement, and a copy of the project.

The rehearsal uses a copy of the project, because deployments write into the project (`.chalice`).
"""

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import botocore

from infra.local import children
from infra.package import interpreters
from tests.deployment import clones

ACCOUNT, REGION = "123456789012", "eu-west-1"
_SHIPPED = (
    "app.py",
    "chalice_guard.py",
    "chalicelib",
    "infra",
    "requirements",
    "requirements.txt",
)
_SERVICES = (
    "apigateway",
    "cloudformation",
    "dynamodb",
    "dynamodbstreams",
    "events",
    "iam",
    "kms",
    "lambda",
    "logs",
    "monitoring",
    "s3",
    "sns",
    "sqs",
    "sts",
)
_SECONDS_TO_START = 60
# The emulator runs functions of every runtime on its own Python, which has the same version as this process.
PYTHON_VERSION = interpreters.VERSION


@dataclass(frozen=True)
class Cloud:
    """A running emulator, the project to deploy, and environment variables that point to the emulator."""

    port: int
    project: Path
    environment: dict[str, str]

    def sdk(self, service: str) -> Any:
        """Return an SDK client for the emulator."""
        return _client(self.port, service)

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run `python …` in the project. `variables` are added to the environment."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.project,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            check=False,
        )


@contextmanager
def empty(directory: Path, stage: dict[str, Any]) -> Iterator[Cloud]:
    """Run an empty account inside the block. `stage` contains the operator's settings for the stage `rehearsal`."""
    port = _free_port()
    project = clones.clone(directory / "project", {"rehearsal": {"python_version": PYTHON_VERSION, **stage}})
    with _emulator(directory, port):
        yield Cloud(port, project, environment(directory, port))


def copy_project(project: Path, stage: dict[str, Any]) -> Path:
    """Copy the checkout, and configure the stages `local` (empty) and `rehearsal` (with these settings)."""
    project.mkdir()
    for name in _SHIPPED:
        source = children.ROOT / name
        if source.is_dir():
            shutil.copytree(source, project / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, project / name)
    # All copies share one uv installation.
    (project / ".uv").symlink_to(children.ROOT / ".uv")
    (project / ".chalice").mkdir()
    configure(project, {"local": {}, "rehearsal": {"python_version": PYTHON_VERSION, **stage}})
    return project


def forget_settings(project: Path) -> None:
    """Remove the operator's settings, which a new clone does not contain."""
    configure(project, {"local": {}})


def configure(project: Path, stages: dict[str, Any]) -> None:
    """Write the operator's settings for these stages."""
    config = {"version": "2.0", "app_name": "cams", "stages": stages}
    (project / ".chalice" / "config.json").write_text(json.dumps(config))


@contextmanager
def _emulator(directory: Path, port: int) -> Iterator[None]:
    temporary = directory / "tmp"
    temporary.mkdir()
    environment = {
        **children.clean_environment(),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "AUTH": "true",
        "SERVICES": ",".join(_SERVICES),
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "MINISTACK_REGION": REGION,
        "TMPDIR": str(temporary),
    }
    # The emulator runs in its own session, so that its child processes (the functions) are stopped with it.
    with (directory / "emulator.log").open("wb") as log:
        process = subprocess.Popen(
            [children.ENGINE_PYTHON, "-m", "tests.deployment.emulator"],
            cwd=children.ROOT,
            env=environment,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        _wait(port, process)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while True:
        try:
            urlopen(f"http://127.0.0.1:{port}/_ministack/health", timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def environment(directory: Path, port: int) -> dict[str, str]:
    """Return environment variables that point AWS SDKs to the emulator."""
    return {
        **children.clean_environment(),
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "CAMS_DEPLOY_TO_EMULATOR": "1",
        # The URL contains a host name, because webhook URLs must not contain an address of this machine.
        "CAMS_VERIFY_URL": f"http://localhost:{port}/_aws/execute-api/{{api}}/{{stage}}",
        "CAMS_VERIFY_PATIENCE": os.environ.get(
            "CAMS_VERIFY_PATIENCE", "180"
        ),  # in seconds; the emulator reads new streams at once
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_DATA_PATH": str(_fast_waiters(directory / "sdk")),
    }


def _fast_waiters(path: Path) -> Path:
    """Write SDK waiters for Lambda that poll every 0.02 s instead of every 5 s; return the SDK's data path."""
    plain = Path(botocore.__file__).parent / "data" / "lambda" / "2015-03-31" / "waiters-2.json"
    compressed = plain.with_name("waiters-2.json.gz")
    waiters = json.loads(plain.read_bytes() if plain.exists() else gzip.decompress(compressed.read_bytes()))
    for waiter in waiters["waiters"].values():
        waiter.update(delay=0.02, maxAttempts=15_000)
    target = path / "lambda" / "2015-03-31" / "waiters-2.json"
    target.parent.mkdir(parents=True)
    target.write_text(json.dumps(waiters))
    return path


@cache  # Cache clients, because creating a client takes longer than most calls.
def _client(port: int, service: str) -> Any:
    session = boto3.session.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)
    return session.client(service, endpoint_url=f"http://127.0.0.1:{port}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
