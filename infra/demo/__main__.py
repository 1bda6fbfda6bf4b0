"""`make demo`: fill the workspace of the local run that uses this state directory.

    python -m infra.demo --state .local

`make demo` installs everything first, and then starts the bot (`infra.demo.bot`).
"""

import json
import time
from pathlib import Path

import click

from infra.demo.service import connect
from infra.local import state

# The console shows the data, and the reports count it.
_EXTENSIONS = ("console", "reports")


@click.command(help="Fill the local run that uses the state directory with demonstration data, once.")
@click.option("--state", "directory", default=".local", show_default=True, type=click.Path(path_type=Path))
@click.option("--conversations", default=2_000, show_default=True, type=click.IntRange(1, 20_000))
def main(directory: Path, conversations: int) -> None:
    """Fill the workspace, and print where to see the data."""
    service = connect(directory, *_EXTENSIONS)
    # These modules read the environment when they are imported.
    from infra.demo import fill, texts

    if fill.is_filled(service):
        print("The demonstration data already exists; nothing was added.", flush=True)
    else:
        started = time.monotonic()
        print("Writing 90 days of data for two agents", flush=True)
        visits = fill.fill(service, conversations)
        seconds = time.monotonic() - started
        print(f"Two agents with {conversations:,} conversations and {len(visits):,} visitors in {seconds:.0f} s.")
    path = directory / "credentials.json"
    members = json.loads(path.read_text("utf-8"))
    if "client" not in members:  # the run rewrites the file on every start
        state.write(path, json.dumps({**members, "client": fill.let_sign_in(service)}, indent=2) + "\n")
    print(
        f"\n  In a browser: http://{service.address}/console/{service.workspace_id}\n"
        f"                Sign in as a client, with the email and password in {path},\n"
        f"                or as an operator, with the workspace_key there\n"
        f"  A report:     set -a; . {directory / 'environment'}; set +a\n"
        f"                .venv/bin/python -m infra.cams analytics --agent {texts.HOTEL}"
    )


if __name__ == "__main__":
    main()
