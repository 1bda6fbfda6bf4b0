"""The command that writes an agent's conversations to a file.

`FILE.progress` contains the export's position, so that an interrupted export can continue from there.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click

from chalicelib import errors
from chalicelib.agents import store as agents
from chalicelib.conversations import tallies
from chalicelib.conversations.rendering import render_whole
from chalicelib.extensions.transcripts import entries
from chalicelib.extensions.transcripts import export as exports
from chalicelib.http import files
from infra.operator import options

_PAGE = 100  # conversations

Progress = dict[str, Any]


@click.group()
def conversations() -> None:
    """Export conversations."""


@conversations.command()
@options.workspace
@click.option(
    "--agent", "agent_id", required=True, metavar="AGENT_ID", callback=options.printable_text, help="The agent."
)
@click.option(
    "--format",
    "form",
    type=click.Choice([*files.MEDIA]),
    default=files.NDJSON,
    show_default=True,
    help="Of the file.",
)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def export(workspace_id: str, agent_id: str, form: str, file: Path) -> None:
    """Write an agent's conversations to a file, newest first.

    In NDJSON, each line is a conversation with all of its messages. In CSV, for spreadsheets, each row is a
    conversation with the beginning of its transcript. Only the file's owner can read it. To continue an interrupted
    export, repeat the command.
    """
    agents.read(workspace_id, agent_id)
    start = {"workspace": workspace_id, "agent": agent_id, "format": form, "cursor": None, "size": 0, "count": 0}
    try:
        progress = _resume(file, start)
        _save(file, progress)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as output:
            output.truncate(progress["size"])
            output.seek(progress["size"])
            count = _write(output, file, progress)
    except OSError as error:
        raise click.FileError(str(file), error.strerror) from error
    click.echo(f"Exported {count:,} conversations.")


def _write(output: BinaryIO, file: Path, progress: Progress) -> int:
    """Write the pages that follow `progress`; return the number of conversations in the file."""
    months = tallies.list_months(progress["workspace"], progress["agent"])
    expected = sum(sum(days) for _, days in months)
    with click.progressbar(length=max(expected, progress["count"]), label="Exporting", file=sys.stderr) as bar:
        bar.update(progress["count"])
        for page in _pages(progress):
            output.write("".join(page.records).encode())
            output.flush()
            os.fsync(output.fileno())
            progress |= {
                "cursor": page.position,
                "size": output.tell(),
                "count": progress["count"] + page.conversations,
            }
            _save(file, progress)
            bar.update(page.conversations)
    _progress_of(file).unlink(missing_ok=True)
    return int(progress["count"])


def _pages(progress: Progress) -> Iterator[exports.ExportPage]:
    form, cursor = progress["format"], progress["cursor"]
    if cursor is None and form == files.CSV:
        yield exports.ExportPage([exports.heading()], 0, "")
    query = exports.ExportQuery(files.CSV if form == files.CSV else files.JSON, None, None, False, None, [])
    while listed := entries.newest_first(progress["workspace"], progress["agent"], None, None, cursor, _PAGE):
        page = exports.page(listed, query, render_whole)
        yield page if form == files.CSV else page._replace(records=[f"{record}\n" for record in page.records])
        cursor = page.position


def _resume(file: Path, start: Progress) -> Progress:
    """Return an earlier run's position in the file, or `start`. Raise Conflict for any other file."""
    progress = _progress_of(file)
    if progress.exists():
        saved: Progress = json.loads(progress.read_text("utf-8"))
        if all(saved[name] == start[name] for name in ("workspace", "agent", "format")):
            if (file.stat().st_size if file.exists() else 0) < saved["size"]:
                raise errors.Conflict(
                    f"The file is shorter than the interrupted export; delete {progress} to start again."
                )
            return saved
    elif not file.exists():
        return start
    raise errors.Conflict("The file is not an unfinished export of these conversations; name another file.")


def _save(file: Path, progress: Progress) -> None:
    written = file.with_name(f"{file.name}.progress.new")
    written.write_text(json.dumps(progress), "utf-8")
    written.replace(_progress_of(file))


def _progress_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.progress")
