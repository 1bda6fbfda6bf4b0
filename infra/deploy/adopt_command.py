"""The `adopt` command, which recreates a deleted stack around its tables and keys."""

from __future__ import annotations

import click
from boto3.session import Session

from infra.deploy import (
    checks,
    deployed_settings,
    recovery,
    sample_process,
    stack,
    stack_import,
    stage,
    stage_lock,
    template,
)
from infra.deploy.command_line import stage_option, step

_BEFORE_DEPLOYMENT = (*stack.NEVER_CREATED, "IMPORT_COMPLETE")


@click.command()
@stage_option
def adopt(stage_name: str) -> None:
    """Import the tables and keys of a stack that was deleted by hand. A deployment then completes the stage."""
    session, name = Session(), checks.stack_name(stage_name)
    checks.require_cloud(session)
    checks.require_own_region(session, name)
    state = stack.status(session.client("cloudformation"), name)
    if reason := stack.blocking_reason(state, name):
        raise checks.NotReady(reason)
    if state not in (None, *_BEFORE_DEPLOYMENT):
        raise checks.NotReady(f"The stack {name} exists ({state}): run `chalice deploy --stage {stage_name}`.")
    with step("checks"):
        deployed = deployed_settings.read(session.client, name)
        extensions = stage.extensions(deployed_settings.combine(deployed, stage.read(stage_name)))
        tables = stack_import.tables(session.client("dynamodb"), name, extensions)
        arns = stack_import.keys(session.client, name, extensions)
    for logical_id in template.key_ids(extensions):
        if logical_id not in arns:
            click.echo(
                f"    The key {logical_id} no longer exists, so the deployment creates a new key. "
                "If you have the old public key, keep it."
            )
    with stage_lock.hold(session.client, name, f"adopt --stage {stage_name}"):
        with step("settings"):  # tables that were restored from backups lack their settings
            recovery.apply_settings(session.client("dynamodb"), name, extensions)
        if state != "IMPORT_COMPLETE":
            with step("stack"):
                stack_import.import_stack(session.client, name, stage_name, arns, extensions)
        with step("sample"):
            sample_process.run(name, arns[stack_import.ENCRYPTION], extensions)
    click.echo(
        f"\nThe stack {name} has {len(tables)} tables and their keys: run `chalice deploy --stage {stage_name}`."
    )
