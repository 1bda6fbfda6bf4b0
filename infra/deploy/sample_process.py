"""Run the check that decrypts a sample of a stage's records (`sample`)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection

import click

from infra.deploy import stage


def run(name: str, key_arn: str, extensions: Collection[str]) -> None:
    """Decrypt a sample of each table, in a separate process, because it needs the stage's environment."""
    own = {"CAMS_TABLE_PREFIX": f"{name}-", "CAMS_ENCRYPTION_KEY": key_arn, "CAMS_EXTENSIONS": ",".join(extensions)}
    environment = {**os.environ, **own}
    command = [sys.executable, "-m", "infra.deploy.sample"]
    done = subprocess.run(command, cwd=stage.ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"The sample check exited with status {done.returncode}."]
        raise click.ClickException(lines[-1])  # the last line of a traceback is the error
    for line in done.stdout.splitlines():
        click.echo(f"    {line}")
