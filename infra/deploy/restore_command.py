"""The `restore` command, which creates a new stage from another stage's data at a restore point."""

from __future__ import annotations

import click
from boto3.session import Session

from infra.deploy import checks, deploy_command, recovery, sample_process, stack, stack_import, stage_lock
from infra.deploy.command_line import stage_option, step


@click.command()
@stage_option
@click.option("--at", required=True, metavar="TIME", help="An ISO 8601 time with a time zone, or `latest`.")
@click.option("--to", "target", required=True, callback=checks.validate_stage_name, metavar="STAGE", help="A new one.")
def restore(stage_name: str, at: str, target: str) -> None:
    """Restore a stage to a point in time, as a new stage with the same key. The source keeps running."""
    session, source, name = Session(), checks.stack_name(stage_name), checks.stack_name(target)
    checks.require_cloud(session)
    checks.require_own_region(session, name)
    cloudformation, dynamodb = session.client("cloudformation"), session.client("dynamodb")
    with step("checks"):
        checks.require_restorable(cloudformation, source, name)
        extensions = stack.extensions(cloudformation, source)
        when = recovery.moment(dynamodb, source, at, extensions)
    click.echo(f"  Restores {source} as of {when.isoformat()}; if interrupted, repeat with this time.")
    with step("tables"):
        for table in recovery.restore(dynamodb, source, name, when, extensions):
            click.echo(f"    {table}")
    with stage_lock.hold(session.client, name, f"restore --to {target}"):
        with step("settings"):
            recovery.apply_settings(dynamodb, name, extensions)
        with step("stack"):
            if stack.status(cloudformation, name) in (None, *stack.NEVER_CREATED):
                key_arn = stack.outputs(cloudformation, source)["EncryptionKeyArn"]
                tables = stack_import.tables(dynamodb, name, extensions)
                parameters = {"KeyArn": key_arn, **stack.extensions_parameter(extensions)}
                stack.import_resources(cloudformation, name, target, parameters, tables)
        with step("sample"):
            sample_process.run(name, stack.outputs(cloudformation, source)["EncryptionKeyArn"], extensions)
    # The new stage inherits the source stage's deployed settings (`deployed_settings`).
    deploy_command.run(target)
    click.echo(f"Check the new stage with `make verify STAGE={target}`.")
