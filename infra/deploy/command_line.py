"""Shared parts of the commands: the `--stage` option, and a line with the duration of each step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from infra.deploy import checks

stage_option = click.option(
    "--stage", "stage_name", required=True, callback=checks.validate_stage_name, metavar="STAGE", help="Such as prod."
)


@contextmanager
def step(label: str) -> Iterator[None]:
    """Print the block's duration when it ends."""
    started = time.monotonic()
    yield
    click.echo(f"  {label:<17} {time.monotonic() - started:6.1f} s")
