"""The `deploy` command, which creates or updates a stage."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import click
from boto3.session import Session

from infra.deploy import (
    chalice_process,
    chalice_state,
    checks,
    concurrency,
    deployed_settings,
    event_sources,
    extension_data,
    extensions,
    gateway_responses,
    layouts,
    limits,
    operator_email,
    recursion,
    runtimes,
    stack,
    stage,
    stage_lock,
    streams,
    verification_record,
    verify_command,
)
from infra.deploy.command_line import stage_option, step
from infra.deploy.function import Function
from infra.deploy.functions import declared_functions
from infra.package import build, wheels


class Plan(NamedTuple):
    """The input to a deployment: the operator's settings, all settings, and the stage's concurrent executions."""

    own: stage.Settings
    settings: stage.Settings
    executions: int

    @property
    def extensions(self) -> tuple[str, ...]:
        """The stage's extensions."""
        return stage.extensions(self.settings)

    @property
    def functions(self) -> tuple[Function, ...]:
        """The stage's functions."""
        return declared_functions(self.extensions)


@click.command()
@stage_option
@click.option("--delete-data", multiple=True, metavar="EXTENSION", help="Delete the data of this disabled extension.")
def deploy(stage_name: str, delete_data: tuple[str, ...]) -> None:
    """Create or update a stage. The command is idempotent: after a failure, run it again."""
    if not run(stage_name, delete_data):
        click.echo("\nThe stage has not passed verification yet, so verification runs now:")
        verify_command.start(Session(), stage_name)


def run(stage_name: str, delete_data: Collection[str] = ()) -> bool:
    """Deploy a stage and print each step; return whether the stage has ever passed verification.

    `delete_data` lists the disabled extensions whose data is deleted.
    """
    session, name = Session(), checks.stack_name(stage_name)
    with step("checks"):
        checks.run_all(session, name, stage_name)
        deployed = deployed_settings.read(session.client, name)
        plan = _plan(session.client("lambda"), stage_name, deployed)
        extension_data.check(session.client, name, stage_name, plan.extensions, delete_data)
    cloudformation = session.client("cloudformation")
    parameters = {**deployed_settings.parameters(plan.own), **operator_email.parameters(cloudformation, name, plan.own)}
    if stack.status(cloudformation, name) in (None, *stack.NEVER_CREATED):
        with step("new stack"):
            stack.create(cloudformation, name, stage_name, parameters | stack.extensions_parameter(plan.extensions))
            deployed = deployed_settings.read(session.client, name)
    with stage_lock.hold(session.client, name, f"deploy --stage {stage_name}"):
        if deployed_settings.read(session.client, name) != deployed:
            raise checks.NotReady(f"Another command has just changed stage {stage_name}: run the command again.")
        return _deploy(session, name, stage_name, plan, parameters, delete_data)


def _deploy(
    session: Session,
    name: str,
    stage_name: str,
    plan: Plan,
    operator_parameters: Mapping[str, str],
    delete_data: Collection[str],
) -> bool:
    layout, settings = layouts.choose(session.client, name, stage_name), plan.settings
    with step("stack"):
        cloudformation, per_credential = session.client("cloudformation"), limits.requests_per_credential(settings)
        limited = {"RequestsPerCredential": str(per_credential)}
        parameters = {**limited, **operator_parameters, **layouts.parameters(layout)}
        # Until the deployed functions are replaced, they use the resources of disabled extensions.
        disabled = extension_data.disabled_extensions(cloudformation, name, plan.extensions)
        unused = stack.removed_resources(cloudformation, name, plan.extensions)
        extensions_of_both = stack.extensions_parameter([*plan.extensions, *disabled])
        outputs = stack.apply(cloudformation, name, stage_name, parameters | extensions_of_both, unused)
        outputs = streams.current_streams(session.client("dynamodb"), name, outputs, plan.extensions)
        variables = {**stage.variables(name, outputs, plan.extensions), **layouts.variables(layout)}
    with step("chalice state"):
        lines = chalice_state.reconcile(session.client, stage_name, name, outputs, plan.functions)
    for line in lines:
        click.echo(f"    {line}")
    with step("package"):
        python = runtimes.version(settings)
        project, has_bytecode = _stage_project(stage_name, settings, python)
        stage.generate(project, stage_name, name, settings, outputs, variables)
    if not has_bytecode:
        click.echo(
            f"    no Python {python} on this machine compiles the package: cold starts take longer "
            "(docs/operate.md, Settings)"
        )
    with step("functions"):
        child = {"CAMS_PACKAGES_BUCKET": outputs["PackagesBucket"], "CAMS_PYTHON_VERSION": python}
        updates = chalice_process.run(project, "deploy", stage_name, **child)
        chalice_state.copy_from_project(project, stage_name)
    click.echo(f"    {updates}")
    with step("event sources"):
        scaled = concurrency.mapping_settings(settings, plan.executions)
        recursion.allow(session.client("lambda"), name, plan.functions)
        event_sources.configure(session.client("lambda"), name, outputs, scaled, plan.functions)
    if disabled or unused:
        with step("removal"):
            extension_data.check(session.client, name, stage_name, plan.extensions, delete_data)
            for extension in disabled:
                extension_data.delete(session.client, name, extension)
            stack.apply(cloudformation, name, stage_name, limited | stack.extensions_parameter(plan.extensions))
    url = chalice_state.api_url(stage_name)
    with step("gateway responses"):
        api_id = url.removeprefix("https://").partition(".")[0]
        gateway_responses.put(session.client, api_id, stage_name)
    with step("limits"):
        limits.throttle(session.client("apigateway"), api_id, stage_name, settings)
        if per_credential:
            stack.apply(cloudformation, name, stage_name, {**limited, "ApiId": api_id})
    click.echo(f"\nStage {stage_name} is deployed at {url}")
    click.echo("The operator commands need these environment variables, for example to create the first workspace:\n")
    for key in ("CAMS_TABLE_PREFIX", "CAMS_ENCRYPTION_KEY", "CAMS_STORED_LAYOUT", "CAMS_EXTENSIONS"):
        click.echo(f"  export {key}={variables[key]}")
    click.echo(f"  export AWS_DEFAULT_REGION={checks.require_region(session)}")
    click.echo('  .venv/bin/python -m infra.cams workspace create --name "My company"')
    if sentence := layouts.next_step(layout, stage_name):
        click.echo(f"\n{sentence}")
    click.echo(f"\n{operator_email.notice(session.client, name)}")
    return verification_record.is_recorded(session.client("dynamodb"), name, api_id)


def _plan(awslambda: Any, stage_name: str, deployed: deployed_settings.DeployedSettings) -> Plan:
    """Return the input to the deployment; print the settings that are kept and those that change.

    Raise NotReady if the stage would not work with these settings or in this account.
    """
    configured = stage.read(stage_name)
    own = deployed_settings.combine(deployed, configured)
    # A stage keeps its first Python version, even if a later release has another default.
    own["python_version"] = runtimes.version(own)
    checks.check_settings(own, stage_name)
    chosen = stage.extensions(own)
    unknown = limits.unknown_functions(own, declared_functions(chosen))
    limited = {name: one for name, one in own.get("lambda_functions", {}).items() if name not in unknown}
    chosen_settings = {**own, "extensions": [*chosen], "lambda_functions": limited}
    executions = concurrency.available_executions(awslambda, deployed.current)
    if problem := concurrency.problem(chosen_settings, executions):
        raise checks.NotReady(problem)
    settings = {
        "lambda_architecture": stage.architecture(own),
        **concurrency.with_defaults(chosen_settings, executions),
    }
    for line in (*deployed_settings.describe(deployed, configured, settings), *extensions.describe_disabled(chosen)):
        click.echo(f"    {line}")
    warnings = [f"lambda_functions.{name} has no effect: the stage has no such function." for name in unknown]
    for warning in (*warnings, runtimes.warning(own, stage_name, date.today()), concurrency.warning(executions)):
        if warning:
            click.echo(f"    Warning: {warning}")
    return Plan(own, settings, executions)


def _stage_project(stage_name: str, settings: stage.Settings, python: str) -> tuple[Path, bool]:
    """Build the trimmed project with Chalice's record of the stage. Return the project, and whether it is compiled."""
    project = chalice_process.directory(stage_name)
    try:
        has_bytecode = build.stage(
            project, wheels.PLATFORMS[stage.architecture(settings)], python, stage.extensions(settings)
        )
    except build.BuildError as error:
        raise click.ClickException(str(error)) from error
    chalice_state.copy_to_project(project, stage_name)
    return project, has_bytecode
