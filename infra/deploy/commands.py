"""The two commands, and what the person at the terminal reads. `make deploy` and `make destroy` call them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from boto3.session import Session
from botocore.exceptions import BotoCoreError, ClientError

from infra.deploy import answers, checks, data, recorded, stack, stage, streams, triggers
from infra.package import build

_chosen = click.option(
    "--stage", "chosen", required=True, callback=checks.stage_name, metavar="STAGE", help="Such as prod."
)


class Commands(click.Group):
    """What the cloud refuses is told in one line."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (BotoCoreError, ClientError) as error:
            raise click.ClickException(" ".join(str(error).split())) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def deployment() -> None:
    """Deploy CAMS to the account that the SDK's environment points at, or take it away again."""


@deployment.command()
@_chosen
def deploy(chosen: str) -> None:
    """Make a stage, or bring it up to date. May be repeated, after a failure too."""
    session, name = Session(), checks.name_of(chosen)
    with _step("checks"):
        checks.everything(session, name, chosen)
    with _step("stack"):
        outputs = stack.apply(session.client("cloudformation"), name, chosen)
        outputs = streams.living(session.client("dynamodb"), name, outputs)
        stage.record(chosen, name, outputs)
    with _step("account"):
        removed = recorded.agree(session.client, chosen, name, outputs)
    for line in removed:
        click.echo(f"             {line}")
    with _step("package"):
        project = _staged(chosen)
    with _step("functions"):
        _chalice(project, "deploy", chosen)
    with _step("triggers"):
        triggers.tune(session.client("lambda"), name, outputs)
    variables, address = stage.recorded(chosen)["environment_variables"], recorded.address(chosen)
    with _step("answers"):
        api_id = address.removeprefix("https://").partition(".")[0]
        answers.put(session.client, api_id, chosen, variables.get("CAMS_CORS_ORIGIN", "*"))
    click.echo(f"\nStage {chosen} answers at {address}")
    click.echo("An operator's command needs its environment, for example for a first workspace:\n")
    for key in ("CAMS_TABLE_PREFIX", "CAMS_ENCRYPTION_KEY"):
        click.echo(f"  export {key}={variables[key]}")
    click.echo(f"  export AWS_DEFAULT_REGION={checks.region(session)}")
    click.echo('  .venv/bin/python -m infra.cams workspace create --name "My company"')
    click.echo(f"\nAlarms go to {outputs['AlarmsTopicArn']}: subscribe an address to it (docs/operate.md).")


@deployment.command()
@_chosen
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--delete-data", is_flag=True, help="Tables and encryption key, too: nothing can be read again.")
def destroy(chosen: str, yes: bool, delete_data: bool) -> None:
    """Take away the API, the functions and their queues. Tables and key stay unless told otherwise."""
    session, name = Session(), checks.name_of(chosen)
    cloud = session.client("cloudformation")
    checks.region(session)
    if stack.status(cloud, name) is None:
        raise click.ClickException(f"There is no stack {name} in this account and region.")
    if not yes:
        what = "the API, its functions, queues, logs AND ALL DATA" if delete_data else "the API, its functions and logs"
        typed = click.prompt(f"This deletes {what} of stage {chosen}. Type the name of the stage to go on", default="")
        if typed != chosen:
            raise click.ClickException("Nothing has been changed.")
    with _step("functions"):
        recorded.agree(session.client, chosen, name, stack.outputs(cloud, name))
        _chalice(stage.ROOT, "delete", chosen)
    with _step("stack"):
        stack.shrink(cloud, name, chosen, protected=not delete_data)
        stage.forget(chosen)
    if delete_data:
        with _step("data"):
            data.delete(session.client, name)
        return
    click.echo(f"\nTables and key are kept in the stack {name}: `make deploy STAGE={chosen}` goes on with them.")


def _staged(chosen: str) -> Path:
    """The project as it ships, trimmed and compiled; what Chalice notes down about it stays beside the real one."""
    project = stage.ROOT / "build" / chosen
    try:
        build.stage(project)
    except build.BuildError as error:
        raise click.ClickException(str(error)) from error
    deployed = project / ".chalice" / "deployed"
    if not deployed.is_symlink():
        deployed.symlink_to(stage.CHALICE / "deployed")
    return project


def _chalice(project: Path, verb: str, chosen: str) -> None:
    """Chalice itself, in a process of its own: it imports the app with the environment of the stage."""
    command = [
        sys.executable,
        "-c",
        "import sys; from chalice.cli import main; sys.exit(main())",
        verb,
        "--stage",
        chosen,
    ]
    done = subprocess.run(
        command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise click.ClickException(
            f"`chalice {verb} --stage {chosen}` failed; repeat when that is mended:\n{done.stdout}"
        )


@contextmanager
def _step(what: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    click.echo(f"  {what:<10} {time.monotonic() - started:6.1f} s")
