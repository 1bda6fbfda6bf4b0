"""The commands. Each asks a store and prints what it says; every rule is in `chalicelib`."""

import click

from chalicelib.agents import store as agents
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.storage import keyring
from chalicelib.workspaces import store as workspaces
from infra.cams import options
from infra.cams.output import (
    Commands,
    agent_key_record,
    issued_record,
    listed_record,
    moment,
    print_list,
    print_record,
    print_secret,
    shown,
    workspace_record,
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def cams() -> None:
    """Operate CAMS: workspaces, and the keys and tokens that open them.

    The SDK's environment says which tables, and with which rights: AWS_PROFILE, AWS_DEFAULT_REGION,
    AWS_ENDPOINT_URL and the like. For a local run:

    \b
        set -a; . .local/environment; set +a

    A secret is shown once, by the command that makes it. A duration is in seconds, or like 30m, 24h, 7d.
    """


# ---- workspaces -----------------------------------------------------------------------------------


@cams.group()
def workspace() -> None:
    """Tenants: each has agents and clients of its own."""


@workspace.command("create")
@options.name
@options.as_json
def create_workspace(name: str, as_json: bool) -> None:
    """Create a workspace.

    It comes with a first key, for a year, and a first access token, for 30 days. The workspace secret goes
    out with every webhook, so that its receiver knows who sends it; it opens nothing.
    """
    print_secret(workspaces.create(name)._asdict(), as_json)


@workspace.command("show")
@click.argument("workspace_id", callback=options.text)
@options.as_json
def show_workspace(workspace_id: str, as_json: bool) -> None:
    """Show a workspace, without its secrets."""
    print_record(workspace_record(workspace_id, workspaces.read(workspace_id)), as_json)


@workspace.command("list")
@options.as_json
def list_workspaces(as_json: bool) -> None:
    """List all workspaces, oldest first.

    Reads the whole table of workspaces and of what each has issued, and pays for it.
    """
    print_list([workspace_record(*one) for one in workspaces.list_all().items()], as_json)


# ---- workspace keys -------------------------------------------------------------------------------


@cams.group()
def key() -> None:
    """Keys of a workspace: they open all of it."""


@key.command("issue")
@options.workspace
@options.name
@click.option("--expires-in", type=options.Duration(never=True), default="365d", show_default=True, help="Or: never.")
@options.as_json
def issue_key(workspace_id: str, name: str, expires_in: int | None, as_json: bool) -> None:
    """Issue another key."""
    issued = workspaces.issue(workspace_id, tokens.WORKSPACE, name, expires_in)
    print_secret(issued_record(issued), as_json)


@key.command("list")
@options.workspace
@options.as_json
def list_keys(workspace_id: str, as_json: bool) -> None:
    """List the keys that have not ended, oldest first.

    The use of a key is noted every ten minutes at most.
    """
    _list(tokens.WORKSPACE, workspace_id, as_json)


@key.command("rotate")
@click.argument("key_id", callback=options.text)
@options.workspace
@options.overlap
@options.as_json
def rotate_key(key_id: str, workspace_id: str, overlap: int, as_json: bool) -> None:
    """Replace a key; the old one goes on for a while.

    The successor has the same lifetime. A leaked key: --overlap 0.
    """
    _rotate(tokens.WORKSPACE, workspace_id, key_id, overlap, as_json)


@key.command("revoke")
@click.argument("key_id", callback=options.text)
@options.workspace
@options.yes
def revoke_key(key_id: str, workspace_id: str, yes: bool) -> None:
    """End a key now.

    It opens nothing after 30 seconds at most. What was issued with it goes on.
    """
    _revoke(tokens.WORKSPACE, workspace_id, key_id, yes)


# ---- access tokens --------------------------------------------------------------------------------


@cams.group()
def token() -> None:
    """Access tokens: they open the v3 routes."""


@token.command("issue")
@options.workspace
@options.name
@click.option("--expires-in", type=options.Duration(), default="30d", show_default=True, help="A year at most.")
@click.option("--read-only", is_flag=True, help="It reads and changes nothing.")
@options.as_json
def issue_token(workspace_id: str, name: str, expires_in: int, read_only: bool, as_json: bool) -> None:
    """Issue another token."""
    issued = workspaces.issue(workspace_id, tokens.ACCESS, name, expires_in, read_only=read_only)
    print_secret(issued_record(issued), as_json)


@token.command("list")
@options.workspace
@options.as_json
def list_tokens(workspace_id: str, as_json: bool) -> None:
    """List the tokens that have not ended, oldest first.

    The use of a token is noted every ten minutes at most.
    """
    _list(tokens.ACCESS, workspace_id, as_json)


@token.command("rotate")
@click.argument("token_id", callback=options.text)
@options.workspace
@options.overlap
@options.as_json
def rotate_token(token_id: str, workspace_id: str, overlap: int, as_json: bool) -> None:
    """Replace a token; the old one goes on for a while.

    The successor has the same rights and lifetime. A leaked token: --overlap 0.
    """
    _rotate(tokens.ACCESS, workspace_id, token_id, overlap, as_json)


@token.command("revoke")
@click.argument("token_id", callback=options.text)
@options.workspace
@options.yes
def revoke_token(token_id: str, workspace_id: str, yes: bool) -> None:
    """End a token now.

    It opens nothing after 30 seconds at most.
    """
    _revoke(tokens.ACCESS, workspace_id, token_id, yes)


# ---- agent keys -----------------------------------------------------------------------------------


@cams.group("agent-key")
def agent_key() -> None:
    """Keys of agents: they open one agent's edge routes.

    An agent's key is the SECRET_API_KEY of its record, where those who may read the record find it.
    """


@agent_key.command("list")
@options.workspace
@options.as_json
def list_agent_keys(workspace_id: str, as_json: bool) -> None:
    """List the keys that have not ended, oldest first.

    One that expires was replaced. The use of a key is noted every ten minutes at most.
    """
    workspaces.read(workspace_id)
    rows = credentials.list_active(workspace_id, tokens.AGENT)
    print_list([agent_key_record(row) for row in rows], as_json)


@agent_key.command("rotate")
@click.argument("agent_id", callback=options.text)
@options.workspace
@options.overlap
@options.as_json
def rotate_agent_key(agent_id: str, workspace_id: str, overlap: int, as_json: bool) -> None:
    """Replace an agent's key; the old one goes on for a while.

    Not enough for a leaked key: as long as the old one goes on, whoever has it reads the new one in the
    agent's record. Revoke it, and rotate 30 seconds later.
    """
    made = agents.rotate_key(workspace_id, agent_id, overlap)
    print_record({"agent_id": agent_id, "agent_key": made}, as_json)


@agent_key.command("revoke")
@click.argument("agent_id", callback=options.text)
@options.workspace
@options.yes
def revoke_agent_key(agent_id: str, workspace_id: str, yes: bool) -> None:
    """End an agent's key now, and those it replaced.

    They open nothing after 30 seconds at most. The agent is without a key until one is made by rotate.
    """
    agents.read(workspace_id, agent_id)
    if not yes:
        click.confirm(f"Revoke every key of the agent {agent_id}?", abort=True)
    agents.revoke_keys(workspace_id, agent_id)
    click.echo("Revoked; nothing is opened any more after 30 seconds at most.")


# ---- the data key ---------------------------------------------------------------------------------


@cams.group("data-key")
def data_key() -> None:
    """The key that documents are sealed with."""


@data_key.command("rotate")
def rotate_data_key() -> None:
    """Seal with a new key from now on.

    What older ones sealed stays readable. Processes that already run go on with the key they know until they end.
    """
    keyring.rotate()
    click.echo("Rotated.")


# ---- below ----------------------------------------------------------------------------------------


def _list(kind: str, workspace_id: str, as_json: bool) -> None:
    workspaces.read(workspace_id)
    rows = credentials.list_active(workspace_id, kind)
    print_list([listed_record(row) for row in rows], as_json)


def _rotate(kind: str, workspace_id: str, credential_id: str, overlap: int, as_json: bool) -> None:
    old = credentials.credential(workspace_id, credential_id, kind)
    issued = credentials.rotate(old, overlap)
    print_secret({**issued_record(issued), "previous_expires_at": moment(old.ends_at)}, as_json)


def _revoke(kind: str, workspace_id: str, credential_id: str, yes: bool) -> None:
    row = credentials.credential(workspace_id, credential_id, kind)
    if not yes:
        click.confirm(f'Revoke "{shown(row.name)}" ({row.credential_id})?', abort=True)
    credentials.revoke(row)
    click.echo("Revoked; nothing is opened any more after 30 seconds at most.")
