"""Starts the engine of a run, and offers to cut a damaged journal.

Everything before the damage is served. Nothing after it can be, because each record is a change of the state before it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from infra.local import children, journal
from infra.local.children import Engine, RunError

OPTION = "--cut-damaged-journal"


def start_engine(directory: Path, port: int, agreed: bool) -> tuple[Engine, Path | None]:
    """The running engine, and the file with what was cut from its journal, if anything was. Raises RunError.

    Cuts only if the user has `agreed`, or agrees now, on a terminal.
    """
    path = directory / "engine.journal"
    try:
        return children.start_engine(directory, port), None
    except RunError:
        damage = journal.find_damage(path) if path.exists() else None
        if damage is None:
            raise
    if not agreed:
        _ask(path, damage)
    # The worker's positions may be beyond the cut. Without them, it reads the streams from their start.
    (directory / "positions.json").unlink(missing_ok=True)
    rest = path.with_name(f"{path.name}.cut-{time.strftime('%Y%m%d-%H%M%S')}")
    return children.start_engine(directory, port, "--move-damage-to", str(rest)), rest


def _ask(path: Path, damage: journal.Damage) -> None:
    """Return if the user agrees. Raises RunError otherwise."""
    found = (
        f"{path} is damaged at byte {damage.offset:,}: {damage.records_before:,} records before it are intact, "
        f"{damage.records_after:,} from there on ({damage.bytes_after:,} bytes) cannot be served"
    )
    if not sys.stdin.isatty():
        raise RunError(f"{found}; to cut them off, keep a copy and serve the rest, add `ARGS={OPTION}` to `make run`.")
    if not click.confirm(f"{found}.\nCut them off, keep a copy and serve the rest?"):
        raise RunError("Nothing has been changed.")
