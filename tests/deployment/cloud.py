"""An empty cloud for a rehearsal: the emulator with rights enforced, the gateway proxy, and a copy of the project.

Deployments write into the project (`.chalice`), so the rehearsal has one of its own. Nothing outlives the block.
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
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import botocore

from infra.local import children
from tests.deployment.gateway import proxied

ACCOUNT, REGION = "123456789012", "eu-west-1"
_SHIPPED = ("app.py", "chalicelib", "infra", "requirements.txt", "requirements-dev.lock", "requirements-uv.lock")
_SERVICES = (
    "apigateway",
    "cloudformation",
    "dynamodb",
    "dynamodbstreams",
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


@dataclass(frozen=True)
class Cloud:
    """A running emulator, the project that is deployed to it, and the environment that points there."""

    port: int
    project: Path
    environment: dict[str, str]

    def sdk(self, service: str) -> Any:
        """A client of the emulator, past the proxy."""
        return _session().client(service, endpoint_url=f"http://127.0.0.1:{self.port}")

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """`python ...` in the project."""
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
    """An account with nothing in it; `stage` is what an operator has put into the stage `rehearsal` beforehand."""
    port = _free_port()
    project = copy_project(directory / "project", stage)
    with _emulator(directory, port):
        cloud = Cloud(port, project, environment(directory, port))
        with proxied(port, cloud.sdk) as gateway:
            cloud.environment["AWS_ENDPOINT_URL_API_GATEWAY"] = gateway
            yield cloud


def copy_project(project: Path, stage: dict[str, Any]) -> Path:
    """The project as it is checked out, but for its stages: `local`, and `rehearsal` as an operator would begin it."""
    project.mkdir()
    for name in _SHIPPED:
        source = children.ROOT / name
        if source.is_dir():
            shutil.copytree(source, project / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, project / name)
    # uv is installed once.
    (project / ".uv").symlink_to(children.ROOT / ".uv")
    config = {"version": "2.0", "app_name": "cams", "stages": {"local": {}, "rehearsal": stage}}
    (project / ".chalice").mkdir()
    (project / ".chalice" / "config.json").write_text(json.dumps(config))
    return project


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
    # A session of its own: its functions are processes, too, and end with it.
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
    """What points any SDK at the emulator."""
    return {
        **children.clean_environment(),
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_DATA_PATH": str(_impatient(directory / "sdk")),
    }


def _impatient(path: Path) -> Path:
    """The SDK's own description of how to wait for a function, but looking ten times a second, not every 5 seconds."""
    found = Path(botocore.__file__).parent / "data" / "lambda" / "2015-03-31" / "waiters-2.json"
    packed = found.with_name("waiters-2.json.gz")
    waiters = json.loads(found.read_bytes() if found.exists() else gzip.decompress(packed.read_bytes()))
    for waiter in waiters["waiters"].values():
        waiter.update(delay=0.1, maxAttempts=3000)
    target = path / "lambda" / "2015-03-31" / "waiters-2.json"
    target.parent.mkdir(parents=True)
    target.write_text(json.dumps(waiters))
    return path


def _session() -> Any:
    return boto3.session.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
