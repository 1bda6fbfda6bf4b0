"""Step: kill deployments at successively later steps, and continue each from another clone."""

import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from infra.deploy.functions import declared_functions
from tests.deployment import cloud
from tests.deployment.rehearsal import NAME, STAGE, Failed, until

_ATTEMPTS = 3  # on a busy machine, a deployment may be complete before it can be killed
_STEP = re.compile(r"  (\S.*?) +\d+\.\d s$")


class _Kill(NamedTuple):
    """When to kill a deployment: after it prints this step, as soon as `enough` returns true for the account."""

    step: str
    number: signal.Signals = signal.SIGKILL
    is_group: bool = False
    enough: Callable[[cloud.Cloud], bool] = lambda _: True


def _has_functions(here: cloud.Cloud) -> bool:
    return len(here.sdk("lambda").list_functions()["Functions"]) >= 5


def _has_api(here: cloud.Cloud) -> bool:
    return bool(here.sdk("apigateway").get_rest_apis()["items"])


# No deployment is killed after its functions, because a kill at each such step takes a complete deployment.
_KILLS = (
    _Kill("new stack", is_group=True),
    _Kill("chalice state"),
    _Kill("package", enough=_has_functions),
    _Kill("package", signal.SIGINT, is_group=True, enough=_has_api),
)


def chalice(here: cloud.Cloud, project: Path, *arguments: str) -> str:
    """Run the user's `chalice` in a clone; return the output. Raise Failed if the command fails."""
    done = subprocess.run(
        [_command(project), *arguments],
        cwd=project,
        env=here.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Failed(f"`chalice {' '.join(arguments)}` exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _command(project: Path) -> Path:
    """Return the `chalice` command of the Chalice-only environment next to the clones."""
    return project.parent / "chalice" / "bin" / "chalice"


def deploy_with_kills(here: cloud.Cloud, projects: Sequence[Path]) -> int:
    """Start deployments from alternating clones and kill each at its step; return the number of kills."""
    for index, kill in enumerate(_KILLS):
        project = projects[index % len(projects)]
        if not any(_deploy_and_kill(here, project, kill) for _ in range(_ATTEMPTS)):
            raise Failed(f"{_ATTEMPTS} deployments were complete before they could be killed after {kill.step!r}.")
        until(lambda project=project: not _is_running(project), lambda: "a killed deployment still runs")  # type: ignore[misc]
        if index:
            _release_lock(here)  # skip the wait for the lock, which the first kill already tests
    return len(_KILLS)


def check_account(here: cloud.Cloud) -> None:
    """Check that the account has one API, each function once, and one mapping per event source."""
    apis = here.sdk("apigateway").get_rest_apis()["items"]
    own = {one.deployed_name(NAME) for one in declared_functions()}
    functions = own.intersection(one["FunctionName"] for one in here.sdk("lambda").list_functions()["Functions"])
    mappings = Counter(
        one["FunctionArn"] for one in here.sdk("lambda").list_event_source_mappings()["EventSourceMappings"]
    )
    found = (len(apis), len(functions), len(mappings), max(mappings.values()))
    sources = sum(bool(one.stream or one.queue) for one in declared_functions())
    if found != (1, len(declared_functions()), sources, 1):
        raise Failed(f"The account has (APIs, functions, functions with a mapping, mappings per function) {found}.")


def _deploy_and_kill(here: cloud.Cloud, project: Path, kill: _Kill) -> bool:
    """Start a deployment and kill it. Return false if it was complete before. Raise Failed if it failed."""
    process = subprocess.Popen(
        [_command(project), "deploy", "--stage", STAGE],
        cwd=project,
        env={**here.environment, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if (found := _STEP.match(line)) and found[1] == kill.step:
            break
    while process.poll() is None and not kill.enough(here):
        time.sleep(0.05)  # each check takes the emulator tens of milliseconds
    if process.poll() is not None:
        lines += process.stdout
        if process.returncode:
            raise Failed(f"The deployment to be killed after {kill.step!r} failed:\n{''.join(lines)}")
        return False
    (os.killpg if kill.is_group else os.kill)(process.pid, kill.number)
    process.stdout.close()
    process.wait()
    return True


def _is_running(project: Path) -> bool:
    """Return whether a process, such as Chalice, has the project's path in its command line."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return f"{project}/" in listed.stdout


def _release_lock(here: cloud.Cloud) -> None:
    key: dict[str, Any] = {"request": {"S": f"deployment#{NAME}"}, "part": {"S": "lock"}}
    here.sdk("dynamodb").delete_item(TableName=f"{NAME}-idempotency", Key=key)
