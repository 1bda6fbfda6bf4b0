"""Commands that manage workspaces, from creation to deletion."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from chalicelib import clock
from chalicelib.credentials import store as credentials
from chalicelib.workspaces import store as workspaces
from infra.operator import exports, imports, options, removal
from infra.operator.output import print_list, print_record, print_secret, printable, workspace_record

# A process accepts a cached credential for 30 seconds, and a request lasts at most 29.
_LAST_REQUEST_SECONDS = 60


@click.group()
def workspace() -> None:
    """Manage workspaces, the tenants of the service."""


_workspace_id = click.argument("workspace_id", callback=options.printable_text)


@workspace.command()
@options.name
@options.as_json
def create(name: str, as_json: bool) -> None:
    """Create a workspace.

    Create a first key, valid for a year, and a first access token, valid for 30 days. Every webhook contains
    the workspace secret, which identifies the sender to the receiver; it is not a credential.
    """
    print_secret(workspaces.create(name)._asdict(), as_json)


@workspace.command()
@_workspace_id
@options.as_json
def show(workspace_id: str, as_json: bool) -> None:
    """Show a workspace without its secrets."""
    print_record(workspace_record(workspaces.read(workspace_id)), as_json)


@workspace.command("list")
@options.as_json
def list_workspaces(as_json: bool) -> None:
    """List all workspaces, oldest first.

    The command scans the whole table of workspaces and credentials, which consumes read units.
    """
    print_list([workspace_record(row) for row in workspaces.list_all()], as_json)


@workspace.command("rotate-secret")
@_workspace_id
@options.as_json
def rotate_secret(workspace_id: str, as_json: bool) -> None:
    """Replace the workspace secret, which every webhook contains.

    The change takes effect immediately: every later delivery contains the new secret.
    """
    print_secret({"workspace_id": workspace_id, "workspace_secret": workspaces.rotate_secret(workspace_id)}, as_json)


@workspace.command()
@_workspace_id
@options.yes
def suspend(workspace_id: str, yes: bool) -> None:
    """Suspend a workspace: its credentials stop working.

    Requests get 403 WORKSPACE_SUSPENDED within 30 seconds. Its records stay. Webhooks for earlier changes are still
    sent. No credentials can be issued or rotated. The command waits another minute until requests that began before the
    suspension have finished. It can be interrupted and repeated.
    """
    row = workspaces.read(workspace_id)
    if not yes:
        click.confirm(f'Suspend "{printable(row.open()["name"])}"?', abort=True)
    workspaces.change_status(workspace_id, (None, workspaces.SUSPENDING, workspaces.SUSPENDED), workspaces.SUSPENDING)
    _each_credential("Suspending credentials", workspace_id, credentials.suspend)
    click.echo("Waiting for the last requests to finish …", err=True)
    clock.sleep(_LAST_REQUEST_SECONDS)
    workspaces.change_status(workspace_id, (workspaces.SUSPENDING,), workspaces.SUSPENDING)  # unless it was resumed
    # Suspend the credentials that a late request has issued or overwritten with an outdated copy.
    _each_credential("Suspending credentials", workspace_id, credentials.suspend)
    workspaces.change_status(workspace_id, (workspaces.SUSPENDING,), workspaces.SUSPENDED)
    click.echo("Suspended.")


@workspace.command()
@_workspace_id
def resume(workspace_id: str) -> None:
    """Resume a suspended workspace. Its credentials work again immediately."""
    workspaces.change_status(workspace_id, (workspaces.SUSPENDING, workspaces.SUSPENDED), workspaces.SUSPENDING)
    _each_credential("Resuming credentials", workspace_id, credentials.resume)
    workspaces.change_status(workspace_id, (workspaces.SUSPENDING,), None)
    click.echo("Resumed.")


@workspace.command()
@_workspace_id
@options.yes
@options.as_json
def delete(workspace_id: str, yes: bool, as_json: bool) -> None:
    """Delete a suspended workspace and all of its records.

    Print a receipt with the number of deleted records of each kind. The deletion cannot be undone and sends no
    webhooks. An interrupted deletion can be repeated; the receipt then counts only the records of the last run. Table
    backups keep the records until the backups expire.
    """
    row = workspaces.read(workspace_id)
    if not yes:
        click.echo(f'Deletes "{printable(row.open()["name"])}" and all of its records permanently.', err=True)
        if click.prompt("Type the workspace id to confirm", err=True) != workspace_id:
            raise click.Abort
    print_record({"workspace_id": workspace_id, **removal.delete(workspace_id)}, as_json)


@workspace.command()
@_workspace_id
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def export(workspace_id: str, file: Path) -> None:
    """Write all records of a workspace to a file.

    The file has one decrypted JSON object per line (NDJSON). It contains secrets: passwords, agent and platform keys,
    the workspace secret, and webhook signing secrets. Only its owner can read it. It contains credential hashes, so
    that the credentials keep working after an import, but not the tokens themselves. It omits events, deliveries,
    stored responses, tallies, history, visitor tokens and erasures.

    Suspend the workspace first: otherwise the file may mix records from before and after a change. An interrupted
    export continues where it stopped.
    """
    status = workspaces.read(workspace_id).status
    if status in (workspaces.IMPORTING, workspaces.DELETING):
        raise workspaces.WrongStatus(f"The workspace is {status}; an export would miss changes to its records.")
    click.echo("The file will contain secrets in plain text.", err=True)
    try:
        click.echo(f"Exported {exports.export(workspace_id, file):,} records.")
    except OSError as error:
        raise click.FileError(str(file), error.strerror) from error


@workspace.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def import_(file: Path) -> None:
    """Import a workspace from a file that `export` wrote.

    The workspace keeps its id and is suspended. Its credentials work after `resume`. No webhooks are sent for imported
    records. The import fails if the workspace exists. To continue an interrupted import, repeat it with the same file.
    """
    click.echo(f"Imported {imports.import_file(file):,} records; the workspace is suspended until you resume it.")


def _each_credential(label: str, workspace_id: str, act: Callable[[credentials.CredentialEntry], None]) -> None:
    with click.progressbar(credentials.list_entries(workspace_id), label=label, file=sys.stderr) as bar:
        for entry in bar:
            act(entry)
