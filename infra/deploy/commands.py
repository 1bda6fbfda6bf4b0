"""The commands `deploy`, `restore` and `destroy`, and their output. The targets of the Makefile call them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from boto3.session import Session
from botocore.exceptions import BotoCoreError, ClientError

from infra.deploy import (
    chalice_state,
    checks,
    event_sources,
    gateway_responses,
    layouts,
    limits,
    recovery,
    stack,
    stage,
    streams,
    teardown,
)
from infra.package import build, wheels

_stage_option = click.option(
    "--stage", "stage_name", required=True, callback=checks.validate_stage_name, metavar="STAGE", help="Such as prod."
)


class Commands(click.Group):
    """Reports an error of the SDK in one line instead of a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (BotoCoreError, ClientError) as error:
            raise click.ClickException(" ".join(str(error).split())) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def deployment() -> None:
    """Deploy CAMS to the account that the SDK's environment points at, or destroy a deployed stage."""


@deployment.command()
@_stage_option
def deploy(stage_name: str) -> None:
    """Create or update a stage. Idempotent: after a failure, run it again."""
    session, name = Session(), checks.stack_name(stage_name)
    with _step("checks"):
        checks.run_all(session, name, stage_name)
        layout = layouts.choose(session.client, name, stage_name)
    with _step("stack"):
        cloudformation, per_credential = session.client("cloudformation"), limits.requests_per_credential(stage_name)
        wanted = {"RequestsPerCredential": str(per_credential), **layouts.parameters(layout)}
        outputs = stack.apply(cloudformation, name, stage_name, wanted)
        outputs = streams.current_streams(session.client("dynamodb"), name, outputs)
        stage.record(stage_name, name, outputs)
        stage.set_variables(stage_name, layouts.variables(layout))
        limits.reserve(session.client("lambda"), stage_name)
    with _step("chalice state"):
        removed = chalice_state.reconcile(session.client, stage_name, name, outputs)
    for line in removed:
        click.echo(f"    {line}")
    with _step("package"):
        project = _stage_project(stage_name)
    with _step("functions"):
        _run_chalice(project, "deploy", stage_name)
    with _step("event sources"):
        event_sources.configure(session.client("lambda"), name, outputs, limits.reserved(stage_name))
    variables, url = stage.read(stage_name)["environment_variables"], chalice_state.api_url(stage_name)
    with _step("gateway responses"):
        api_id = url.removeprefix("https://").partition(".")[0]
        gateway_responses.put(session.client, api_id, stage_name)
    with _step("limits"):
        limits.throttle(session.client("apigateway"), api_id, stage_name)
        if per_credential:
            known = {"RequestsPerCredential": str(per_credential), "ApiId": api_id}
            stack.apply(cloudformation, name, stage_name, known)
    click.echo(f"\nStage {stage_name} is deployed at {url}")
    click.echo("The operator's commands need this environment, for example to create the first workspace:\n")
    for key in ("CAMS_TABLE_PREFIX", "CAMS_ENCRYPTION_KEY", "CAMS_STORED_LAYOUT"):
        click.echo(f"  export {key}={variables[key]}")
    click.echo(f"  export AWS_DEFAULT_REGION={checks.require_region(session)}")
    click.echo('  .venv/bin/python -m infra.cams workspace create --name "My company"')
    if sentence := layouts.next_step(layout, stage_name):
        click.echo(f"\n{sentence}")
    click.echo(f"\nAlarms go to {outputs['AlarmsTopicArn']}: subscribe an address to this topic (docs/operate.md).")


@deployment.command()
@_stage_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--delete-data", is_flag=True, help="Also delete tables, stack and, after 30 days, the key.")
def destroy(stage_name: str, yes: bool, delete_data: bool) -> None:
    """Delete the API, the functions and their queues. Keeps the tables and the key by default."""
    session, name = Session(), checks.stack_name(stage_name)
    checks.require_cloud(session)
    cloudformation = session.client("cloudformation")
    if stack.status(cloudformation, name) is None:
        raise click.ClickException(f"There is no stack {name} in this account and region.")
    if not yes:
        scope = "the API, its functions, queues, logs AND ALL DATA" if delete_data else "the API, functions and logs"
        typed = click.prompt(f"This deletes {scope} of stage {stage_name}. Type the stage name to confirm", default="")
        if typed != stage_name:
            raise click.ClickException("Not confirmed; nothing has been changed.")
    with _step("functions"):
        chalice_state.reconcile(session.client, stage_name, name, stack.outputs(cloudformation, name))
        _run_chalice(stage.ROOT, "delete", stage_name)
    with _step("stack"):
        stack.retain_data_only(cloudformation, name, stage_name, protected=not delete_data)
        stage.remove(stage_name)
    if delete_data:
        with _step("data"):
            teardown.delete_data(session.client, name)
        return
    click.echo(f"\nThe stack {name} keeps the tables and the key. `make deploy STAGE={stage_name}` reuses them.")


@deployment.command()
@_stage_option
@click.option("--at", required=True, metavar="TIME", help="A time with its time zone in ISO 8601, or `latest`.")
@click.option("--to", "target", required=True, callback=checks.validate_stage_name, metavar="STAGE", help="A new one.")
@click.pass_context
def restore(context: click.Context, stage_name: str, at: str, target: str) -> None:
    """Restore every table of a stage to one moment, as a new stage with the same key. The old one stays in service."""
    session, source, name = Session(), checks.stack_name(stage_name), checks.stack_name(target)
    checks.require_cloud(session)
    cloudformation, dynamodb = session.client("cloudformation"), session.client("dynamodb")
    with _step("checks"):
        checks.require_restorable(cloudformation, source, name)
        checks.require_settings(stage_name, target)
        when = recovery.moment(dynamodb, source, at)
    # First, because a stage can be deployed once its stack exists.
    stage.copy_settings(stage_name, target)
    click.echo(f"  Restores {source} as of {when.isoformat()}; if interrupted, repeat with this time.")
    with _step("tables"):
        for table in recovery.restore(dynamodb, source, name, when):
            click.echo(f"    {table}")
    with _step("settings"):
        recovery.apply_settings(dynamodb, name)
    with _step("stack"):
        if stack.status(cloudformation, name) in (None, *stack.NEVER_CREATED):
            key_arn = stack.outputs(cloudformation, source)["EncryptionKeyArn"]
            stack.import_tables(cloudformation, name, target, key_arn)
    with _step("sample"):
        _check_sample(name, stack.outputs(cloudformation, source)["EncryptionKeyArn"])
    context.invoke(deploy, stage_name=target)


def _check_sample(name: str, key_arn: str) -> None:
    """Decrypt a sample of each table, in a process of its own, because it needs the stage's environment."""
    environment = {**os.environ, "CAMS_TABLE_PREFIX": f"{name}-", "CAMS_ENCRYPTION_KEY": key_arn}
    command = [sys.executable, "-m", "infra.deploy.sample"]
    done = subprocess.run(command, cwd=stage.ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(done.stderr.strip() or done.stdout.strip())
    for line in done.stdout.splitlines():
        click.echo(f"    {line}")


def _stage_project(stage_name: str) -> Path:
    """Build the trimmed and compiled project, with Chalice's state file linked to the one of the checkout."""
    project = stage.ROOT / "build" / stage_name
    try:
        build.stage(project, wheels.PLATFORMS[stage.architecture(stage_name)])
    except build.BuildError as error:
        raise click.ClickException(str(error)) from error
    deployed = project / ".chalice" / "deployed"
    if not deployed.is_symlink():
        deployed.symlink_to(stage.CHALICE_DIRECTORY / "deployed")
    return project


def _run_chalice(project: Path, verb: str, stage_name: str) -> None:
    """Run Chalice in a process of its own, because it imports the app with the stage's environment variables."""
    command = [
        sys.executable,
        "-c",
        "import sys; from chalice.cli import main; sys.exit(main())",
        verb,
        "--stage",
        stage_name,
    ]
    completed = subprocess.run(
        command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if completed.returncode:
        raise click.ClickException(
            f"`chalice {verb} --stage {stage_name}` failed; fix the cause and run the command again:\n"
            f"{completed.stdout}"
        )


@contextmanager
def _step(label: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    click.echo(f"  {label:<17} {time.monotonic() - started:6.1f} s")
