"""The `destroy` command, which removes a stage."""

from __future__ import annotations

import click
from boto3.session import Session

from infra.deploy import chalice_process, chalice_state, checks, domains, stack, stage_lock, teardown
from infra.deploy.command_line import stage_option, step
from infra.deploy.functions import declared_functions


@click.command()
@stage_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--delete-data", is_flag=True, help="Also delete the tables, the stack and, after 30 days, the key.")
def destroy(stage_name: str, yes: bool, delete_data: bool) -> None:
    """Delete the API, the functions and their queues. Keep the tables and the key by default."""
    session, name = Session(), checks.stack_name(stage_name)
    checks.require_cloud(session)
    checks.require_own_region(session, name)
    cloudformation = session.client("cloudformation")
    if stack.status(cloudformation, name) is None:
        raise click.ClickException(f"There is no stack {name} in this account and region.")
    if not yes:
        scope = "the API, its functions, queues, logs AND ALL DATA" if delete_data else "the API, functions and logs"
        typed = click.prompt(f"This deletes {scope} of stage {stage_name}. Type the stage name to confirm", default="")
        if typed != stage_name:
            raise click.ClickException("Not confirmed; nothing has been changed.")
    with stage_lock.hold(session.client, name, f"delete --stage {stage_name}"):
        _destroy(session, name, stage_name, delete_data=delete_data)
    if not delete_data:
        click.echo(
            f"\nThe stack {name} keeps the tables, the key and the settings. "
            f"`chalice deploy --stage {stage_name}` reuses them."
        )


def _destroy(session: Session, name: str, stage_name: str, *, delete_data: bool) -> None:
    cloudformation = session.client("cloudformation")
    outputs = stack.outputs(cloudformation, name)
    with step("chalice state"):
        lines = chalice_state.reconcile(session.client, stage_name, name, outputs, declared_functions())
        if api_id := chalice_state.api_id(stage_name):
            domains.require_unmapped(session.client("apigateway"), api_id)
    for line in lines:
        click.echo(f"    {line}")
    with step("limits"):
        stack.disassociate_api(cloudformation, name)
    with step("functions"):
        project = chalice_process.prepare_deletion(stage_name)
        chalice_state.copy_to_project(project, stage_name)
        chalice_process.run(project, "delete", stage_name)
        chalice_state.copy_from_project(project, stage_name)
    with step("stack"):
        teardown.empty_packages(session.client, name)
        stack.retain_data_only(cloudformation, name, stage_name, protected=not delete_data)
    if delete_data:
        with step("data"):
            teardown.delete_data(session.client, name)
