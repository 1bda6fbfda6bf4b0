"""What the commands print: records and lists, for people or as JSON, and the one line of a failure.

A secret is in `issued_record` and in what `print_secret` is given, nowhere else.
"""

import json
from typing import Any

import click
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib import clock, errors
from chalicelib.credentials import tokens
from chalicelib.credentials.store import CredentialRow, Issued
from chalicelib.storage import Document

Record = dict[str, Any]

# What the id and the secret of a credential are called.
_ID = {tokens.WORKSPACE: "key_id", tokens.ACCESS: "token_id"}
_SECRET = {tokens.WORKSPACE: "workspace_key", tokens.ACCESS: "access_token"}


class Commands(click.Group):
    """The outermost group: what is in the operator's way is told in one line, only our own mistakes in a traceback."""

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
    """What the SDK says when it cannot even ask is clearest; then our own sentence; then the cloud's refusal."""
    chain: list[BaseException] = [error]
    while following := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(following)
    for one in chain:
        if isinstance(one, BotoCoreError):
            return str(one)
    if isinstance(error, errors.ApiError):
        return error.message
    return next((str(one) for one in chain if isinstance(one, ClientError)), None)


def workspace_record(workspace_id: str, document: Document) -> Record:
    """A workspace as it is shown and listed."""
    return {"workspace_id": workspace_id, "name": document["name"], "created_at": moment(document["createdAt"])}


def issued_record(issued: Issued) -> Record:
    """A new key or token, with its secret."""
    row = issued.credential
    return {_ID[row.kind]: row.credential_id, _SECRET[row.kind]: issued.token, **_described(row)}


def listed_record(row: CredentialRow) -> Record:
    """A key or token as it is listed."""
    return {_ID[row.kind]: row.credential_id, **_described(row), **_use(row)}


def agent_key_record(row: CredentialRow) -> Record:
    """An agent's key as it is listed."""
    return {"agent_id": row.agent_id, **_times(row), **_use(row)}


def _described(row: CredentialRow) -> Record:
    rights = {"read_only": row.read_only} if row.kind == tokens.ACCESS else {}
    return {"name": row.name, **rights, **_times(row)}


def _times(row: CredentialRow) -> Record:
    return {"created_at": moment(row.created_at), "expires_at": moment(row.ends_at)}


def _use(row: CredentialRow) -> Record:
    return {"last_used_at": moment(row.last_used_at)}


def moment(unix_seconds: float | None) -> str | None:
    """A time in ISO 8601; None for never."""
    return None if unix_seconds is None else clock.iso(int(unix_seconds))


def print_secret(record: Record, as_json: bool) -> None:
    """Print what is shown this once."""
    print_record(record, as_json)
    if not as_json:
        click.echo("\nSecrets are shown this once: keep them now.", err=True)


def print_record(record: Record, as_json: bool) -> None:
    """Print one record: a line for each member."""
    if as_json:
        click.echo(json.dumps(record, indent=2))
        return
    width = max(map(len, record))
    for member, value in record.items():
        click.echo(f"{_label(member):<{width}}  {shown(value)}")


def print_list(records: list[Record], as_json: bool) -> None:
    """Print records of one kind: a line for each, below the names of their members."""
    if as_json:
        click.echo(json.dumps(records, indent=2))
    elif not records:
        click.echo("There are none.")
    else:
        lines = [[_label(member) for member in records[0]]]
        lines += [[shown(value) for value in record.values()] for record in records]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            click.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())


def _label(member: str) -> str:
    return member.replace("_", " ")


def shown(value: Any) -> str:
    """A value for the terminal. A name came over HTTP: it must not be able to steer the terminal."""
    if value is None:
        return "never"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "".join(character if character.isprintable() else "?" for character in str(value))
