"""Stops `chalice deploy`, `package` and `local` without what the stage needs. Not part of the deployment package.

Otherwise the first would create half of a stage, the second would write a template that cannot be deployed, and the
third would use whatever AWS account the shell has credentials for, and print the path of each request. `app.py` calls
it in processes of Chalice's command line only. The other commands, such as `delete` and `url`, need nothing.
"""

import os
from pathlib import Path

import click
from chalice.app import Chalice, DynamoDBEventConfig, RouteEntry

from chalicelib.http import literal_paths

_DIRECTORY = Path(__file__).resolve().with_name(".chalice")
_ENGINE = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB")


def require_stage(app: Chalice) -> None:
    """Stop Chalice's command with one sentence unless the stage is complete. Call it after the registration."""
    context = click.get_current_context(silent=True)
    if context is None:
        if "CHALICE_WORKER" in os.environ:
            if message := _local_problem(app):
                # The reloader of `chalice local` imports the app in a thread, where no exception ends the process.
                click.echo(f"Error: {message}", err=True)
                os._exit(1)
            _hide_values()
        return
    if context.info_name in ("deploy", "package"):
        if message := _stage_problem(app, context.params["stage"]):
            raise click.ClickException(message)
        declare_methods(app)
    if context.info_name == "local":
        if message := _local_problem(app):
            raise click.ClickException(message)
        _hide_values()


def declare_methods(app: Chalice) -> None:
    """Declare the methods that `literal_paths.Service` serves: API Gateway refuses what no path declares."""
    for literal, path, method in [*literal_paths.missing_methods(app.routes)]:
        route = app.routes[path][method]
        app.routes[literal][method] = RouteEntry(
            route.view_function, route.view_name, literal, method, content_types=route.content_types, cors=route.cors
        )


def _stage_problem(app: Chalice, stage: str) -> str | None:
    functions = ["api_handler", *(source.name for source in app.event_sources)]
    if _has_variables(app) and all((_DIRECTORY / f"policy-{stage}-{name}.json").exists() for name in functions):
        return None
    return (
        f"`.chalice` lacks tables, key, streams or policies of stage {stage}: run `make deploy STAGE={stage}`, which "
        f"puts them into build/{stage}."
    )


def _local_problem(app: Chalice) -> str | None:
    if _has_variables(app) or any(os.environ.get(name) for name in _ENGINE):
        return None
    return "There is no local engine: run `make run`, or `set -a; . .local/environment` while it runs."


def _hide_values() -> None:
    """Let the server of `chalice local` print the route of a request, not its path."""
    from infra.local import request_log

    request_log.hide_values()


def _has_variables(app: Chalice) -> bool:
    """Whether the environment names the stage's tables, key and streams. Chalice takes it from the configuration."""
    streams = [one.stream_arn for one in app.event_sources if isinstance(one, DynamoDBEventConfig)]
    return all([*streams, os.environ.get("CAMS_TABLE_PREFIX"), os.environ.get("CAMS_ENCRYPTION_KEY")])
