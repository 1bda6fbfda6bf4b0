"""The demonstration: fill the workspace of the local run, then hold conversations while a webhook receiver prints.

    python -m infra.demo --state .local

`make demo` installs everything first. If no run uses the state directory, it starts one until its end.
"""

import json
import math
import os
import shlex
import signal
import sys
import time
from functools import partial
from pathlib import Path

import click

from infra.demo import running
from infra.demo.service import Service
from infra.local import children, state
from infra.local.children import RunError


@click.command(help="Fill the local run with demonstration data, and show live webhooks until Ctrl-C.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535), help="Of a run to start.")
@click.option("--state", "directory", default=".local", show_default=True, type=click.Path(path_type=Path))
@click.option("--conversations", default=2_000, show_default=True, type=click.IntRange(1, 20_000))
@click.option("--seconds", type=click.FloatRange(0), help="Of live conversations; until Ctrl-C by default.")
def main(port: int, directory: Path, conversations: int, seconds: float | None) -> None:
    """Fill the workspace once, then show webhooks. On failure, print one line and exit with 1."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with running.service_of(directory, port) as service:
            _use_engine(directory)
            _fill(service, directory, conversations)
            _show(service, directory, math.inf if seconds is None else seconds)
    except (RunError, OSError) as reason:
        sys.exit(str(reason))
    except KeyboardInterrupt:
        print("\nThe demonstration has ended; its data stays.", flush=True)


def _use_engine(directory: Path) -> None:
    """Give this process the environment of the run. The modules of the service read it when they are imported."""
    lines = (directory / "environment").read_text("utf-8").splitlines()
    kept = children.clean_environment()
    os.environ.clear()
    os.environ.update(kept | dict("".join(shlex.split(line)).split("=", 1) for line in lines))


def _fill(service: Service, directory: Path, conversations: int) -> None:
    from infra.demo import fill

    if fill.is_filled(service):
        _let_sign_in(service, directory)
        print("The demonstration data is there already; nothing was added.", flush=True)
        return
    started = time.monotonic()
    bar = partial(click.progressbar, label="Writing 90 days")
    visits = fill.fill(service, conversations, lambda length: bar(length=length))
    _let_sign_in(service, directory)
    print(
        f"Two agents with {conversations:,} conversations, {len(visits):,} visitors and their leads, "
        f"in {time.monotonic() - started:.0f} s.",
        flush=True,
    )


def _let_sign_in(service: Service, directory: Path) -> None:
    """Write the email and the password of a client for the console to `credentials.json`, once per start of the run."""
    from infra.demo import fill

    path = directory / "credentials.json"
    members = json.loads(path.read_text("utf-8"))
    if "client" not in members:
        state.write(path, json.dumps({**members, "client": fill.let_sign_in(service)}, indent=2) + "\n")


def _show(service: Service, directory: Path, seconds: float) -> None:
    from infra.demo import live, receiver, texts

    print(
        f"\n  In a browser: http://{service.address}/console/{service.workspace_id}\n"
        f"                Sign in as a client, with the email and password in {directory / 'credentials.json'},\n"
        f"                or as an operator, with the workspace_key there\n"
        f"  A report:     set -a; . {directory / 'environment'}; set +a\n"
        f"                .venv/bin/python -m infra.cams analytics --agent {texts.HOTEL}\n",
        flush=True,
    )
    if seconds:
        print("Two visitors talk to the agents now. Their webhooks, until Ctrl-C:\n", flush=True)
        with receiver.receiving(service, partial(print, flush=True)):
            live.converse(service, seconds)


if __name__ == "__main__":
    main()
