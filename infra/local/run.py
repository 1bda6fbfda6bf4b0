"""The local run: engine, tables, demonstration workspace, `chalice local` and webhook worker, until Ctrl-C.

    python -m infra.local.run --port 8000 --state .local

`make run` installs everything first. Responsible for the order of things and for what the person at the
terminal reads; the processes are `children`'s, the files are `state`'s, the workspace is `demonstration`'s.
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
from typing import IO

import click

from infra.local import children, demonstration, state
from infra.local.children import Child, RunError
from infra.local.demonstration import Credentials

# What a killed predecessor's processes need to notice that they are alone and to let go of the port.
_SECONDS_FOR_PREDECESSOR = 1.0
# Receivers of webhooks are on this machine, most of the time. Whoever wants to try the refusal sets it to 0.
_SETTINGS = {"CAMS_WEBHOOK_ALLOW_PRIVATE": "1"}
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command(help="Run the service on this machine.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535))
@click.option("--state", "directory", default=".local", show_default=True, type=click.Path())
def main(port: int, directory: str) -> None:
    """Runs until a signal or the end of one of its processes; exits with 1 and one line when it cannot."""
    for number in _ENDINGS:
        signal.signal(number, signal.default_int_handler)
    try:
        held = _lock(directory)
        _refuse_busy(port)
        with held:
            _run(port, Path(directory).resolve())
    except RunError as reason:
        sys.exit(str(reason))
    except KeyboardInterrupt:
        print("\nStopped. The data is kept.", flush=True)


def _run(port: int, directory: Path) -> None:
    started = time.monotonic()
    # From here on this file means that this run is ready.
    (directory / "credentials.json").unlink(missing_ok=True)
    if not (directory / "engine.journal").exists():
        demonstration.forget(directory)
    running: list[Child] = []
    try:
        engine = children.start_engine(directory, _free_or_any(state.last_engine_port(directory)))
        running.append(engine)
        _say("engine", f"{engine.url}, {engine.records} writes repeated in {engine.seconds} s")
        settings = _SETTINGS | {name: value for name, value in os.environ.items() if name.startswith("CAMS_")}
        address = children.address_of(engine.url)
        state.write_environment(directory, address | settings)
        environment = children.clean_environment() | settings | address
        # Their imports take longer than everything else; meanwhile they get their tables.
        worker = children.start_worker(directory, environment)
        running.append(worker)
        server = children.start("server", [sys.executable, "-m", "infra.local.server", str(port)], environment)
        running.append(server)
        _create_tables(engine.url)
        demonstration.find_or_create(directory, environment)
        _wait_until_it_answers(server, port)
        _say("worker", children.wait_until_ready(worker).decode().strip())
        credentials = demonstration.renew(directory, port, environment)
        _say("workspace", f"{credentials.workspace_id} (demonstration)")
        _announce(port, directory, credentials, time.monotonic() - started)
        _wait_for_an_end(running)
    finally:
        for number in _ENDINGS:
            signal.signal(number, signal.SIG_IGN)
        # The other way round: nothing that writes may outlive the engine.
        children.stop(reversed(running))


def _wait_until_it_answers(server: Child, port: int) -> None:
    while not _answers(port):
        if server.process.poll() is not None:
            raise RunError(f"The server ended before it was ready ({server.how_it_ended()}).")
        time.sleep(0.02)


def _create_tables(engine_url: str) -> None:
    # Imported here, while the server starts: the SDK alone takes as long to import as the engine to be ready.
    import boto3

    from chalicelib import settings
    from infra import tables

    variables = children.address_of(engine_url)
    session = boto3.session.Session(
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
        region_name=variables["AWS_DEFAULT_REGION"],
    )
    tables.create_missing(lambda service: session.client(service, endpoint_url=engine_url), settings.table_prefix())


def _announce(port: int, directory: Path, credentials: Credentials, seconds: float) -> None:
    url = f"http://127.0.0.1:{port}"
    # A file of options, so that no key stands in a shell's history, in the list of processes or in this
    # output.
    state.write(directory / "curlrc", f'header = "Authorization: Bearer {credentials.workspace_key}"\n')
    members = {"base_url": url, "edge_url": url, **credentials._asdict()}
    state.write(directory / "credentials.json", json.dumps(members, indent=2) + "\n")
    print(
        f"\nCAMS is ready at {url} ({seconds:.1f} s). Documentation: {url}/docs\n"
        f"  credentials {directory / 'credentials.json'}\n"
        f"  environment {directory / 'environment'}\n"
        f"  try         curl -K {shlex.quote(str(directory / 'curlrc'))} {url}/v3/agents\n"
        "Ctrl-C stops everything; the data is kept.\n",
        flush=True,
    )


def _wait_for_an_end(running: list[Child]) -> None:
    while True:
        for child in running:
            if child.process.poll() is not None:
                raise RunError(f"The {child.name} ended ({child.how_it_ended()}), so the run ends too.")
        time.sleep(0.1)


def _lock(directory: str) -> IO[str]:
    try:
        held = state.lock(Path(directory))
    except OSError as error:
        raise RunError(f"{directory} cannot be used as STATE: {error.strerror}.") from None
    if held is None:
        raise RunError(f"Another run works on {directory}: stop it, or choose another STATE.")
    return held


def _refuse_busy(port: int) -> None:
    deadline = time.monotonic() + _SECONDS_FOR_PREDECESSOR
    while not _is_free(port):
        if time.monotonic() > deadline:
            raise RunError(f"Port {port} is in use: stop what uses it, or choose another PORT.")
        time.sleep(0.05)


def _free_or_any(port: int) -> int:
    """The same engine port as last time, so that a shell that has read `environment` goes on working."""
    return port if port and _is_free(port) else 0


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as error:
        if error.errno == errno.EACCES:
            raise RunError(f"Port {port} is not for ordinary users: choose another PORT.") from None
        return False
    return True


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _say(what: str, text: str) -> None:
    print(f"  {what:<10} {text}", flush=True)


if __name__ == "__main__":
    main()
