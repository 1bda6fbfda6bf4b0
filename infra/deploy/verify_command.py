"""The `verify` command, which runs `infra.verify` in a deployed stage's environment."""

from __future__ import annotations

import os
import sys

import click
from boto3.session import Session

from infra.deploy import checks, layouts, sdk_errors, stack, stage
from infra.deploy.command_line import stage_option


@click.command()
@stage_option
@click.option("--only", multiple=True, metavar="CHECK", help="Run only this check, such as mappings; repeatable.")
@click.option("--url", metavar="URL", help="The address of the API behind a custom domain.")
@click.option("--patience", metavar="SECONDS", help="Seconds to wait for the functions, 600 by default.")
def verify(stage_name: str, only: tuple[str, ...], url: str | None, patience: str | None) -> None:
    """Check a deployed stage, and use it in a temporary workspace, which is removed. Exit with 1 if a check fails."""
    session = Session()
    checks.require_cloud(session)
    options = [text for check in only for text in ("--only", check)]
    for option, value in (("--url", url), ("--patience", patience)):
        options += [option, value] if value else []
    start(session, stage_name, *options)


def start(session: Session, stage_name: str, *options: str) -> None:
    """Replace this process with the checks, so that the command exits with their status and handles Ctrl-C as they do.

    Raise ClickException if the stage is not deployed.
    """
    name = checks.stack_name(stage_name)
    outputs = stack.outputs(session.client("cloudformation"), name)
    configuration = sdk_errors.unless_missing(session.client("lambda").get_function_configuration, FunctionName=name)
    if configuration is None:
        raise click.ClickException(f"Stage {stage_name} is not deployed in this account and region.")
    deployed = configuration.get("Environment", {}).get("Variables", {})
    environment = {
        **os.environ,
        "CAMS_TABLE_PREFIX": f"{name}-",
        "CAMS_ENCRYPTION_KEY": outputs["EncryptionKeyArn"],
        "CAMS_EXTENSIONS": ",".join(stack.extensions(session.client("cloudformation"), name)),
        layouts.VARIABLE: deployed.get(layouts.VARIABLE, ""),
    }
    sys.stdout.flush()
    os.chdir(stage.ROOT)
    command = [sys.executable, "-m", "infra.verify", "--stage", stage_name, *options]
    os.execve(sys.executable, command, environment)  # noqa: S606 - the command has no shell
