"""The command, which runs the checks, prints each check's duration, and removes the temporary workspace."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import click
from boto3.session import Session
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib import storage
from chalicelib.workspaces.store import NewWorkspace
from infra import extension_parts
from infra.deploy import verification_record
from infra.verify import data, functions, gateway, monitoring, visit, workspace
from infra.verify.deployment import Deployment, Note, locate

_LEFTOVERS, _TOUR, _REMOVAL = "leftovers", "tour", "removal"
RESOURCES: dict[str, Callable[[Deployment], Iterator[str]]] = {
    "keys": data.check_keys,
    "tables": data.check_tables,
    "queues": data.check_queues,
    "functions": functions.check_functions,
    "permissions": functions.check_permissions,
    "mappings": functions.check_mappings,
    "logs": functions.check_logs,
    "alarms": monitoring.check_alarms,
    "gateway": gateway.check_gateway,
}
"""The read-only checks, keyed by name."""


def _visit_checks(extensions: Iterable[str] | None = None) -> dict[str, visit.Check]:
    """Return the checks of a visit by name, in this order: core, extensions, and checks that delete records."""
    of_extensions = [module.CHECKS for module in extension_parts.modules("checks", extensions)]
    return {**visit.CHECKS, **{name: one for each in of_extensions for name, one in each.items()}, **visit.DELETIONS}


CHECKS = (*RESOURCES, _TOUR, *_visit_checks())


@click.command()
@click.option("--stage", "stage_name", required=True, metavar="STAGE")
@click.option("--only", multiple=True, type=click.Choice(CHECKS), help="Run only this check; repeatable.")
@click.option(
    "--url",
    envvar="CAMS_VERIFY_URL",
    metavar="URL",
    help="The address of the API behind a custom domain. {api} and {stage} are replaced.",
)
@click.option(
    "--patience",
    envvar="CAMS_VERIFY_PATIENCE",
    type=click.IntRange(0, 1_200),
    default=visit.PATIENCE_SECONDS,
    metavar="SECONDS",
    help="How long to wait for the functions after the tour.",
)
def verify(stage_name: str, only: tuple[str, ...], url: str | None, patience: int) -> None:
    """Check a deployed stage, and test it in a temporary workspace. Exit with status 1 if a check fails."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    author = storage.author_of("operator", "", "infra.verify")  # in the history
    try:
        stage = locate(Session().client, stage_name, url)
        with storage.written_by(author):
            problems = _run(stage, only or CHECKS, patience)
    except (BotoCoreError, ClientError) as error:
        raise click.ClickException(_in_a_line(error)) from error
    if problems:
        click.echo(f"\nStage {stage_name} is deployed, but the checks found {_count(problems)}.", err=True)
        sys.exit(1)
    if not only:
        verification_record.record(stage.sdk("dynamodb"), stage.name, stage.api_id)
    click.echo(f"\nStage {stage_name} passed every check.")


def _run(stage: Deployment, names: Iterable[str], patience: float) -> int:
    """Run the checks with these names; return the number of problems. `visit.begin` describes `patience`."""
    problems = sum(_check(name, partial(check, stage)) for name, check in RESOURCES.items() if name in names)
    if not {_TOUR, *_visit_checks(stage.extensions)} & {*names}:
        return problems
    problems += _check(_LEFTOVERS, _remove_abandoned)
    temporary = workspace.create()
    try:
        problems += _visit(stage, temporary, names, patience)
    finally:
        problems += _check(_REMOVAL, lambda: _remove(temporary.workspace_id))
    return problems


def _visit(stage: Deployment, temporary: NewWorkspace, names: Iterable[str], patience: float) -> int:
    """Take the tour, and run the named checks that depend on the tour; return the number of problems."""
    visits: list[visit.Visit] = []

    def take() -> Iterator[str]:
        current, sentences = visit.begin(stage, temporary, patience)
        visits.append(current)
        yield from sentences

    problems = _check(_TOUR, take)
    for current in visits:
        problems += sum(
            _check(name, partial(check, current))
            for name, check in _visit_checks(stage.extensions).items()
            if name in names
        )
    return problems


def _check(name: str, check: Callable[[], Iterable[str]]) -> int:
    """Run a check and print its line, its problems and its notes; return the number of problems."""
    started, problems, notes = time.monotonic(), list[str](), list[str]()
    try:
        for text in check():
            (notes if isinstance(text, Note) else problems).append(text)
    except Exception as error:  # so that all other checks still run
        problems.append(f"The check `{name}` could not finish: {type(error).__name__}: {_in_a_line(error)}")
    state = f"  {_count(len(problems))}" if problems else ""
    click.echo(f"  {name:<17} {time.monotonic() - started:6.1f} s{state}")
    for text in problems:
        click.echo(f"    {text}", err=True)
    for text in notes:
        click.echo(f"    note: {text}")
    return len(problems)


def _remove_abandoned() -> Iterator[str]:
    for workspace_id in [*workspace.list_abandoned()]:
        rows = workspace.remove(workspace_id)
        yield Note(f"removed the workspace {workspace_id} from an earlier run, with {rows} records")


def _remove(workspace_id: str) -> Iterator[str]:
    yield Note(f"{workspace.remove(workspace_id)} records deleted")


def _count(problems: int) -> str:
    return "1 problem" if problems == 1 else f"{problems} problems"


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split())
