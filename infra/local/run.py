"""The local run: engine, tables, demonstration workspace, `chalice local` and webhook worker, until Ctrl-C.

    python -m infra.local.run --port 8000 --state .local [--extensions none]

`make run` installs everything first. This module is the supervisor: it starts the processes in order and prints the
address. `children` manages the processes, `state` the files, `demonstration` the workspace.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import socket
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import IO

import click

from chalicelib import extensions as registry
from infra import extension_parts
from infra.local import children, demonstration, state
from infra.local.children import Child, Engine, RunError
from infra.local.demonstration import Credentials

# Seconds that the processes of a killed run may need to stop and release the port.
_SECONDS_TO_RELEASE_PORT = 1.0
# Webhook receivers are usually on this machine. Set the variable to 0 to try the SSRF protection.
_DEFAULT_SETTINGS = {"CAMS_WEBHOOK_ALLOW_PRIVATE": "1"}
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command(help="Run the service on this machine.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535))
@click.option("--state", "directory", default=".local", show_default=True, type=click.Path())
@click.option(
    "--extensions", metavar="NAMES", help="Extensions to enable, separated by commas, or `none`.  [default: all]"
)
def main(port: int, directory: str, extensions: str | None) -> None:
    """Run until a signal arrives or one of the processes exits. On failure, print one line and exit with status 1."""
    if extensions is not None:
        os.environ["CAMS_EXTENSIONS"] = _parse_extensions(extensions)
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.default_int_handler)
    try:
        lock = _lock(directory)
        _require_free(port)
        with lock:
            _run(port, Path(directory).resolve())
    except RunError as reason:
        sys.exit(str(reason))
    except KeyboardInterrupt:
        print("\nStopped. The data is kept.", flush=True)


def _run(port: int, directory: Path) -> None:
    started = time.monotonic()
    print("Starting CAMS ...", flush=True)
    # The presence of this file indicates that the run is ready.
    (directory / "credentials.json").unlink(missing_ok=True)
    running: list[Child] = []
    try:
        engine = children.start_engine(directory, _reuse_port(state.last_engine_port(directory)))
        running.append(engine)
        own = {name: value for name, value in os.environ.items() if name.startswith("CAMS_")}
        settings = _DEFAULT_SETTINGS | _extension_variables(port) | own
        log = directory / "requests.log"
        state.write_environment(directory, engine.environment | settings | {"CAMS_REQUEST_LOG": str(log)})
        environment = children.clean_environment() | settings | engine.environment
        # Imports in these processes take the longest, so the tables are created in parallel.
        worker = children.start_worker(directory, environment)
        running.append(worker)
        server = children.start(
            "server",
            [sys.executable, "-m", "infra.local.server", str(port), str(log)],
            environment,
        )
        running.append(server)
        _create_tables(engine)
        demonstration.find_or_create(directory, environment)
        _wait_for_server(server, port)
        children.wait_until_ready(worker)
        credentials = demonstration.renew(directory, port, environment)
        _publish(port, directory, credentials, time.monotonic() - started)
        _supervise(running)
    finally:
        for number in _STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        # The processes stop in reverse order, so that the engine stops last, after every writer.
        children.stop(reversed(running))


def _parse_extensions(text: str) -> str:
    """Return the CAMS_EXTENSIONS value for the option `--extensions`. Raise BadParameter for an unknown name."""
    names = [] if text == "none" else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in registry.present():
            known = ", ".join(["none", *registry.present()])
            raise click.BadParameter(f"there is no extension {name!r}: use {known}.", param_hint="--extensions")
    return ",".join(names)


def _extension_modules() -> list[ModuleType]:
    """Return the `local` modules of the enabled extensions."""
    return extension_parts.modules("local", [extension.name for extension in registry.enabled()])


def _extension_variables(port: int) -> dict[str, str]:
    """Return the environment variables that the extensions need in a local run."""
    modules = _extension_modules()
    return {name: text for module in modules for name, text in module.variables(f"http://127.0.0.1:{port}").items()}


def _wait_for_server(server: Child, port: int) -> None:
    while not _answers(port):
        if server.process.poll() is not None:
            raise RunError(f"The server exited before it was ready ({server.exit_reason()}).")
        time.sleep(0.02)


def _create_tables(engine: Engine) -> None:
    # Imported here, while the server starts: importing the SDK takes as long as starting the engine.
    import boto3

    from chalicelib import settings
    from infra import tables

    session = boto3.session.Session(
        aws_access_key_id=engine.access_key,
        aws_secret_access_key=engine.secret_key,
        region_name=children.REGION,
    )
    tables.create_missing(lambda service: session.client(service, endpoint_url=engine.url), settings.table_prefix())


def _publish(port: int, directory: Path, credentials: Credentials, seconds: float) -> None:
    url = f"http://127.0.0.1:{port}"
    # A curl configuration file keeps the key out of the shell history, the process list and this output.
    state.write(directory / "curlrc", f'header = "Authorization: Bearer {credentials.workspace_key}"\n')
    members = {"base_url": url, "edge_url": url, **credentials._asdict()}
    state.write(directory / "credentials.json", json.dumps(members, indent=2) + "\n")
    modules = _extension_modules()
    folders = {what: name for module in modules for what, name in module.FOLDERS.items()}
    for name in folders.values():
        (directory / name).mkdir(mode=0o700, exist_ok=True)  # create the folder before the first file
    folder = directory.relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory
    pages = [f"{url}{path}" for module in modules for path in module.paths(credentials.workspace_id)]
    lines = [
        f"CAMS is ready at {url} ({seconds:.1f} s).\n",
        f"  In a browser: {url}/docs",
        *(f"                {page}" for page in pages),
        f"                Authorize{', or sign in,' if pages else ''} with the workspace_key in "
        f"{folder / 'credentials.json'}",
        f"  In a shell:   curl -K {shlex.quote(str(folder / 'curlrc'))} {url}/v3/agents",
        *(f"  {f'{what}:':<13} {folder / name}" for what, name in folders.items()),
        f"\nPress Ctrl-C to stop the service. The data stays in {folder}.\n",
    ]
    print("\n".join(lines), flush=True)


def _supervise(running: list[Child]) -> None:
    while True:
        for child in running:
            if child.process.poll() is not None:
                raise RunError(f"The {child.name} exited ({child.exit_reason()}), so the run stops.")
        time.sleep(0.1)


def _lock(directory: str) -> IO[str]:
    try:
        lock = state.lock(Path(directory))
    except OSError as error:
        raise RunError(f"{directory} cannot be used as STATE: {error.strerror}.") from None
    if lock is None:
        raise RunError(f"Another run uses {directory}: stop it, or choose another STATE.")
    return lock


def _require_free(port: int) -> None:
    deadline = time.monotonic() + _SECONDS_TO_RELEASE_PORT
    while not _is_free(port):
        if time.monotonic() > deadline:
            raise RunError(f"Port {port} is in use: stop the program that uses it, or choose another PORT.")
        time.sleep(0.05)


def _reuse_port(port: int) -> int:
    """Return the engine's previous port if it is free, so that shells with the old `environment` keep working."""
    return port if port and _is_free(port) else 0


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as error:
        if error.errno == errno.EACCES:
            raise RunError(f"Port {port} needs administrator rights: choose another PORT.") from None
        return False
    return True


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    main()
