"""Make Chalice's commands work in this project, or stop them with an error message.

`app.py` calls this module only in Chalice command-line processes. The deployment package omits it. `infra.deploy` takes
over `chalice deploy` and `chalice delete`. It creates the stack first, finds the resources that earlier runs created,
and runs Chalice in `build/<stage>`. Chalice alone would create an incomplete stage or a second API. Without the guard,
`chalice local` would use any AWS account that the shell has credentials for, and print request paths.

The user's `chalice` may be an older version that runs on another Python, without the project's packages.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

import click

if TYPE_CHECKING:
    from chalice.app import Chalice

_ROOT = Path(__file__).resolve().parent
_ENGINE = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB")
_USE_ENVIRONMENT = "run `set -a; . .local/environment; set +a` in this shell"
_SECONDS_TO_CONNECT = 5
_DEPLOYER = "CAMS_DEPLOYER"
_HANDED_OVER = {"deploy": "deploy", "delete": "destroy"}
_UNSUPPORTED = ("package", "dev plan")
# Credentials that take precedence over AWS_PROFILE.
_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_DEFAULT_PROFILE",
)
_LOCKS = ("requirements/run.lock", "requirements/dev.lock")
_PYTHON_VERSIONS = ((3, 10), (3, 14))


def hand_over() -> None:
    """Replace this process with `infra.deploy` if the command is `chalice deploy` or `chalice delete`.

    Call this function before the app's imports. A Chalice process that a deployment has started continues.
    """
    if _DEPLOYER in os.environ:
        return
    context = click.get_current_context(silent=True)
    if context is None:
        if "CHALICE_WORKER" in os.environ and (message := _packages_problem("local")):
            _end_worker(message)
        return
    command = context.command_path.partition(" ")[2]
    if command in _UNSUPPORTED:
        raise click.ClickException(
            f"`chalice {command}` omits a stage's tables, key, streams and permissions: use `chalice deploy`."
        )
    if command in _HANDED_OVER:
        if not (_ROOT / "infra" / "deploy").is_dir():
            raise click.ClickException(f"{_ROOT} is not a complete checkout of CAMS: run `chalice {command}` in one.")
        _require_supported_options(context)
        _execute(_HANDED_OVER[command], context)
    if message := _packages_problem(command):
        raise click.ClickException(message)


def require_stage(app: Chalice) -> None:
    """Prepare the app for Chalice's command, or stop the command with an error. Call it after all registrations."""
    context = click.get_current_context(silent=True)
    if context is None:
        if "CHALICE_WORKER" in os.environ:
            if message := _local_problem(app):
                _end_worker(message)
            _hide_values()
        return
    if context.info_name in ("deploy", "package"):
        declare_methods(app)
    if context.info_name == "local":
        if message := _local_problem(app):
            raise click.ClickException(message)
        _hide_values()


def declare_methods(app: Chalice) -> None:
    """Declare the methods that `literal_paths.Service` adds, because API Gateway rejects undeclared methods."""
    from chalice.app import RouteEntry

    from chalicelib.http import literal_paths

    for literal, path, method in [*literal_paths.missing_methods(app.routes)]:
        route = app.routes[path][method]
        app.routes[literal][method] = RouteEntry(
            route.view_function, route.view_name, literal, method, content_types=route.content_types, cors=route.cors
        )


def _packages_problem(command: str) -> str | None:
    if importlib.util.find_spec("pynamodb"):
        return None
    return f"`chalice {command}` needs the project's packages: run `make install`, then `.venv/bin/chalice`."


def _end_worker(message: str) -> NoReturn:
    """Print an error and exit the process.

    The reloader of `chalice local` imports the app in a thread, where an exception would not stop the process.
    """
    click.echo(f"Error: {message}", err=True)
    os._exit(1)


def _require_supported_options(context: click.Context) -> None:
    stage, gateway_stage = context.params["stage"], context.params.get("api_gateway_stage")
    if gateway_stage not in (None, stage):
        raise click.ClickException(f"The API stage is always called {stage}: omit --api-gateway-stage.")
    if context.params.get("autogen_policy"):
        raise click.ClickException("infra/deploy/functions.py declares the permissions: omit --autogen-policy.")
    if context.params.get("connection_timeout") is not None:
        raise click.ClickException("A deployment sets its own timeouts: omit --connection-timeout.")


def _execute(command: str, context: click.Context) -> NoReturn:
    """Replace this process with a command of `infra.deploy` in the environment `.venv`."""
    os.chdir(_ROOT)
    python = _prepare_environment()
    arguments = [str(python), "-m", "infra.deploy", command, "--stage", context.params["stage"]]
    sys.stdout.flush()
    os.execve(python, arguments, _environment(context))  # noqa: S606 - no shell


def _prepare_environment() -> Path:
    """Create or update `.venv`, and return its Python. Another Python version would recreate `.venv`."""
    python = _ROOT / ".venv" / "bin" / "python"
    creator = str(python) if python.exists() else _find_python()
    result = subprocess.run([creator, "-m", "infra.local.install", ".venv", *_LOCKS], check=False)  # noqa: S603
    if result.returncode:
        sys.exit(1)  # the setup has already printed the reason
    return python


def _find_python() -> str:
    lowest, highest = _PYTHON_VERSIONS
    names = ["python3", *(f"python3.{minor}" for minor in range(highest[1], lowest[1] - 1, -1))]
    check = f"import sys; sys.exit(not {lowest} <= sys.version_info[:2] <= {highest})"
    for python in (sys.executable, *filter(None, map(shutil.which, names))):
        if not subprocess.run([python, "-c", check], check=False).returncode:  # noqa: S603
            return python
    supported = "{}.{} to {}.{}".format(*lowest, *highest)
    raise click.ClickException(f"CAMS needs Python {supported}: install one, then run the command again.")


def _environment(context: click.Context) -> dict[str, str]:
    """Return the user's environment without the stage variables that Chalice has added."""
    stage, profile = context.params["stage"], context.params.get("profile")
    config = json.loads((_ROOT / ".chalice" / "config.json").read_text(encoding="utf-8"))
    levels = (config, config.get("stages", {}).get(stage, {}))
    added = {"AWS_CHALICE_CLI_MODE", *(name for level in levels for name in level.get("environment_variables", {}))}
    removed = {*added, *(_CREDENTIALS if profile else ())}
    environment = {name: value for name, value in os.environ.items() if name not in removed}
    return {**environment, "AWS_PROFILE": profile} if profile else environment


def _local_problem(app: Chalice) -> str | None:
    engines = [os.environ[name] for name in _ENGINE if os.environ.get(name)]
    if not engines and not _has_variables(app):
        return f"There is no local engine: start `make run`, then {_USE_ENVIRONMENT}."
    for engine in engines:
        if not _answers(engine):
            return f"The engine at {engine} does not respond: start `make run`, then {_USE_ENVIRONMENT}."
    return None


def _answers(url: str) -> bool:
    address = urlsplit(url)
    try:
        socket.create_connection((address.hostname, address.port or 443), _SECONDS_TO_CONNECT).close()
    except (OSError, ValueError):
        return False
    return True


def _hide_values() -> None:
    """Make the `chalice local` server print each request's route instead of its path."""
    from infra.local import request_log

    request_log.hide_values()


def _has_variables(app: Chalice) -> bool:
    """Return whether the environment that Chalice configures contains the stage's tables, key and streams."""
    from chalice.app import DynamoDBEventConfig

    streams = [source.stream_arn for source in app.event_sources if isinstance(source, DynamoDBEventConfig)]
    return all([*streams, os.environ.get("CAMS_TABLE_PREFIX"), os.environ.get("CAMS_ENCRYPTION_KEY")])
