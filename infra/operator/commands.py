"""The commands. Each command calls a store in `chalicelib`, which enforces all rules, and prints the result."""

import os

import click

from chalicelib import extensions, storage
from chalicelib.agents import store as agents
from chalicelib.credentials import scopes, tokens
from chalicelib.credentials import store as credentials
from chalicelib.storage import keyring
from chalicelib.workspaces import store as workspaces
from infra import extension_parts
from infra.operator import options
from infra.operator.index import index
from infra.operator.output import (
    Commands,
    agent_key_record,
    credential_record,
    iso_time,
    issued_record,
    print_list,
    print_record,
    print_secret,
    printable,
)
from infra.operator.redrive import redrive_streams
from infra.operator.tallies import tallies
from infra.operator.workspaces import workspace

_REVOKED = "Revoked; the revocation takes effect within 30 seconds."


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def cams() -> None:
    """Operate CAMS: workspaces and their credentials.

    The commands use the account, region and endpoint from the SDK's environment variables: AWS_PROFILE,
    AWS_DEFAULT_REGION, AWS_ENDPOINT_URL and so on. For a local run:

    \b
        set -a; . .local/environment; set +a

    Each secret is shown only once, by the command that creates it. Durations are seconds, or values such as 30m, 24h
    and 7d.
    """
    is_local = os.environ.get("AWS_ENDPOINT_URL")
    if "CAMS_TABLE_PREFIX" in os.environ and "CAMS_EXTENSIONS" not in os.environ and not is_local:
        raise click.ClickException(
            "CAMS_EXTENSIONS is not set: use the environment variables that deploying the stage prints, because the "
            "commands write to the tables of its extensions."
        )
    author = storage.author_of("operator", "", "infra.cams")  # in the history
    click.get_current_context().with_resource(storage.written_by(author))


# ---- workspace keys -------------------------------------------------------------------------------


@cams.group()
def key() -> None:
    """Manage workspace keys, which have full access."""


@key.command("issue")
@options.workspace
@options.name
@click.option("--expires-in", type=options.Duration(never=True), default="365d", show_default=True, help="Or: never.")
@options.as_json
def issue_key(workspace_id: str, name: str, expires_in: int | None, as_json: bool) -> None:
    """Issue a new key."""
    issued = workspaces.issue(workspace_id, tokens.WORKSPACE, name, expires_in)
    print_secret(issued_record(issued), as_json)


@key.command("list")
@options.workspace
@options.as_json
def list_keys(workspace_id: str, as_json: bool) -> None:
    """List the active keys, oldest first.

    The time of last use is accurate to within ten minutes.
    """
    _list(tokens.WORKSPACE, workspace_id, as_json)


@key.command("rotate")
@click.argument("key_id", callback=options.printable_text)
@options.workspace
@options.overlap
@options.as_json
def rotate_key(key_id: str, workspace_id: str, overlap: int, as_json: bool) -> None:
    """Rotate a key; the old key works until its overlap ends.

    The new key has the same lifetime. For a leaked key, use --overlap 0.
    """
    _rotate(tokens.WORKSPACE, workspace_id, key_id, overlap, as_json)


@key.command("revoke")
@click.argument("key_id", callback=options.printable_text)
@options.workspace
@options.yes
def revoke_key(key_id: str, workspace_id: str, yes: bool) -> None:
    """Revoke a key.

    The revocation takes effect within 30 seconds. Credentials that were issued with the key stay valid.
    """
    _revoke(tokens.WORKSPACE, workspace_id, key_id, yes)


# ---- access tokens --------------------------------------------------------------------------------


@cams.group()
def token() -> None:
    """Manage access tokens, which give access to the v3 routes."""


@token.command("issue")
@options.workspace
@options.name
@click.option("--expires-in", type=options.Duration(), default="30d", show_default=True, help="At most a year.")
@click.option("--read-only", is_flag=True, help="Allow only reading: grant all read scopes.")
@click.option(
    "--scope", "granted", type=click.Choice(scopes.ALL), multiple=True, help="Allow only this scope; repeatable."
)
@options.as_json
def issue_token(
    workspace_id: str, name: str, expires_in: int, read_only: bool, granted: tuple[str, ...], as_json: bool
) -> None:
    """Issue a new token."""
    if read_only and granted:
        raise click.UsageError("Use --read-only or --scope, not both.")
    rights = {"read_only": read_only, "granted": granted or None}
    issued = workspaces.issue(workspace_id, tokens.ACCESS, name, expires_in, **rights)
    print_secret(issued_record(issued), as_json)


@token.command("list")
@options.workspace
@options.as_json
def list_tokens(workspace_id: str, as_json: bool) -> None:
    """List the active tokens, oldest first.

    The time of last use is accurate to within ten minutes.
    """
    _list(tokens.ACCESS, workspace_id, as_json)


@token.command("rotate")
@click.argument("token_id", callback=options.printable_text)
@options.workspace
@options.overlap
@options.as_json
def rotate_token(token_id: str, workspace_id: str, overlap: int, as_json: bool) -> None:
    """Rotate a token; the old token works until its overlap ends.

    The new token has the same rights and lifetime. For a leaked token, use --overlap 0.
    """
    _rotate(tokens.ACCESS, workspace_id, token_id, overlap, as_json)


@token.command("revoke")
@click.argument("token_id", callback=options.printable_text)
@options.workspace
@options.yes
def revoke_token(token_id: str, workspace_id: str, yes: bool) -> None:
    """Revoke a token.

    The revocation takes effect within 30 seconds.
    """
    _revoke(tokens.ACCESS, workspace_id, token_id, yes)


# ---- agent keys -----------------------------------------------------------------------------------


@cams.group("agent-key")
def agent_key() -> None:
    """Manage the keys of agents' edge routes.

    The agent record's member SECRET_API_KEY contains the key. Workspace keys and access tokens without scopes can read
    it.
    """


@agent_key.command("list")
@options.workspace
@options.as_json
def list_agent_keys(workspace_id: str, as_json: bool) -> None:
    """List the active keys, oldest first.

    A key with an expiry time has been rotated. The time of last use is accurate to within ten minutes.
    """
    workspaces.read(workspace_id)
    rows = credentials.list_active(workspace_id, tokens.AGENT)
    print_list([agent_key_record(row) for row in rows], as_json)


@agent_key.command("rotate")
@click.argument("agent_id", callback=options.printable_text)
@options.workspace
@options.overlap
@options.as_json
def rotate_agent_key(agent_id: str, workspace_id: str, overlap: int, as_json: bool) -> None:
    """Rotate a key; the old key works until its overlap ends.

    If a key has leaked, revoke it first, because rotation keeps the old key valid during the overlap.
    Rotate 30 seconds after revoking.
    """
    workspaces.require_active(workspace_id)
    new_key = agents.rotate_key(workspace_id, agent_id, overlap)
    print_record({"agent_id": agent_id, "agent_key": new_key}, as_json)


@agent_key.command("revoke")
@click.argument("agent_id", callback=options.printable_text)
@options.workspace
@options.yes
def revoke_agent_key(agent_id: str, workspace_id: str, yes: bool) -> None:
    """Revoke an agent's current key and its rotated keys.

    The revocation takes effect within 30 seconds. The agent has no key until `rotate` creates one.
    """
    agents.read(workspace_id, agent_id)
    if not yes:
        click.confirm(f"Revoke all keys of the agent {agent_id}?", abort=True)
    agents.revoke_keys(workspace_id, agent_id)
    click.echo(_REVOKED)


# ---- data key ---------------------------------------------------------------------------------


@cams.group("data-key")
def data_key() -> None:
    """Manage the data key, which encrypts the documents."""


@data_key.command("rotate")
def rotate_data_key() -> None:
    """Encrypt new documents with a new data key.

    Older documents stay readable. A running process uses the key that it has loaded until it exits.
    """
    keyring.rotate()
    click.echo("Rotated.")


def _refusing(command: click.Command, extension: str) -> click.Command:
    """Return a command that fails with an error message, to replace a command whose extension is disabled."""

    @click.command(command.name, context_settings={"ignore_unknown_options": True, "help_option_names": []})
    @click.argument("arguments", nargs=-1)
    def refuse(arguments: tuple[str, ...]) -> None:
        raise click.ClickException(f"This command needs the extension {extension}, which is disabled in this stage.")

    refuse.help = command.help
    return refuse


cams.add_command(workspace)
cams.add_command(index)
cams.add_command(tallies)
cams.add_command(redrive_streams)
for _extension in extensions.present():
    for _module in extension_parts.modules("commands", [_extension]):
        for _command in _module.COMMANDS:
            cams.add_command(_command if extensions.has(_extension) else _refusing(_command, _extension))


# ---- helpers --------------------------------------------------------------------------------------


def _list(kind: str, workspace_id: str, as_json: bool) -> None:
    workspaces.read(workspace_id)
    rows = credentials.list_active(workspace_id, kind)
    print_list([credential_record(row) for row in rows], as_json)


def _rotate(kind: str, workspace_id: str, credential_id: str, overlap: int, as_json: bool) -> None:
    workspaces.require_active(workspace_id)
    old = credentials.read(workspace_id, credential_id, kind)
    issued = credentials.rotate(old, overlap)
    print_secret({**issued_record(issued), "previous_expires_at": iso_time(old.ends_at)}, as_json)


def _revoke(kind: str, workspace_id: str, credential_id: str, yes: bool) -> None:
    row = credentials.read(workspace_id, credential_id, kind)
    if not yes:
        click.confirm(f'Revoke "{printable(row.name)}" ({row.credential_id})?', abort=True)
    credentials.revoke(row)
    click.echo(_REVOKED)
