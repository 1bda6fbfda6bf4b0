"""Command output: records and lists as text or JSON, and errors as one line.

Only the result of `issued_record` and the argument of `print_secret` contain secrets.
"""

import json
from typing import Any

import click
from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError, NoCredentialsError, NoRegionError

from chalicelib import clock, errors
from chalicelib.credentials import tokens
from chalicelib.credentials.store import CredentialRow, NewCredential
from chalicelib.workspaces.store import WorkspaceRow

Record = dict[str, Any]

_LOCAL = "set -a; . .local/environment; set +a"

# Names of a credential's id and secret in the output, keyed by kind.
_ID = {tokens.WORKSPACE: "key_id", tokens.ACCESS: "token_id"}
_SECRET = {tokens.WORKSPACE: "workspace_key", tokens.ACCESS: "access_token"}


class Commands(click.Group):
    """The top-level command group. It prints expected errors as one line; only bugs show a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            reason = _reason(error)
            if reason is None:
                raise
            raise click.ClickException(" ".join(reason.split())) from error


def _reason(error: BaseException) -> str | None:
    """Return the clearest message of an exception chain, or None for a bug.

    An SDK error without a response has priority, followed by a message from CAMS and an AWS error response.
    """
    chain: list[BaseException] = [error]
    while following := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(following)
    for cause in chain:
        if isinstance(cause, BotoCoreError):
            return f"{str(cause).rstrip('.')}.{_hint(cause)}"
    if isinstance(error, errors.ApiError):
        return error.message
    return next((str(cause) for cause in chain if isinstance(cause, ClientError)), None)


def _hint(error: BotoCoreError) -> str:
    """Return a hint for an environment without a database."""
    if isinstance(error, EndpointConnectionError) and "//127.0.0.1:" in str(error):
        return f" Start `make run`, then `{_LOCAL}`."
    if isinstance(error, (NoCredentialsError, NoRegionError)):
        return f" Use the environment that the stage's deployment prints, or `{_LOCAL}` for `make run`."
    return ""


def workspace_record(row: WorkspaceRow) -> Record:
    """Return a workspace's record without secrets."""
    document = row.open()
    return {
        "workspace_id": row.workspace,
        "name": document["name"],
        "status": row.status or "active",
        "created_at": iso_time(document["createdAt"]),
    }


def issued_record(issued: NewCredential) -> Record:
    """Return the record of a new key or token, including its secret."""
    row = issued.credential
    return {_ID[row.kind]: row.credential_id, _SECRET[row.kind]: issued.token, **_described(row)}


def credential_record(row: CredentialRow) -> Record:
    """Return the record of a key or token, without its secret."""
    return {_ID[row.kind]: row.credential_id, **_described(row), **_use(row)}


def agent_key_record(row: CredentialRow) -> Record:
    """Return an agent key's record without the key itself."""
    return {"agent_id": row.agent_id, **_times(row), **_use(row)}


def _described(row: CredentialRow) -> Record:
    granted = "all" if row.granted is None else " ".join(sorted(row.granted))
    rights = {"read_only": row.only_reads, "scopes": granted} if row.kind == tokens.ACCESS else {}
    return {"name": row.name, **rights, **_times(row)}


def _times(row: CredentialRow) -> Record:
    return {"created_at": iso_time(row.created_at), "expires_at": iso_time(row.ends_at)}


def _use(row: CredentialRow) -> Record:
    return {"last_used_at": iso_time(row.last_used_at)}


def iso_time(unix_seconds: float | None) -> str | None:
    """Return a Unix time as ISO 8601; None stays None."""
    return None if unix_seconds is None else clock.iso(int(unix_seconds))


def print_secret(record: Record, as_json: bool) -> None:
    """Print a record with secrets and, in text output, a note to store them."""
    print_record(record, as_json)
    if not as_json:
        click.echo("\nSecrets are shown only this once: store them now.", err=True)


def print_record(record: Record, as_json: bool) -> None:
    """Print one record as JSON, or one line per member."""
    if as_json:
        click.echo(json.dumps(record, indent=2))
        return
    width = max(map(len, record))
    for member, value in record.items():
        click.echo(f"{_label(member):<{width}}  {printable(value)}")


def print_list(records: list[Record], as_json: bool) -> None:
    """Print records of the same kind as JSON or as a table."""
    if as_json:
        click.echo(json.dumps(records, indent=2))
    elif not records:
        click.echo("There are none.")
    else:
        lines = [[_label(member) for member in records[0]]]
        lines += [[printable(value) for value in record.values()] for record in records]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            click.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())


def _label(member: str) -> str:
    return member.replace("_", " ")


def printable(value: Any) -> str:
    """Return a value as text without control characters, because API names could contain terminal escape sequences."""
    if value is None:
        return "never"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "".join(character if character.isprintable() else "?" for character in str(value))
