"""`make verify` takes the tour in a temporary workspace, and deletes the workspace."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import click
import pytest
from botocore.exceptions import EndpointConnectionError
from click.testing import CliRunner
from moto import mock_aws

from chalicelib import storage
from chalicelib.conversations import listing
from chalicelib.queues.tasks import RecountQuarter
from chalicelib.workspaces import store as workspaces
from infra import extension_parts
from infra.deploy import deploy_command, verification_record
from infra.deploy.function import API
from infra.deploy.functions import declared_functions
from infra.verify import command, tour, visit
from infra.verify import workspace as temporary
from infra.verify.client import Client, Response
from infra.verify.deployment import Note, locate
from tests import moto_tables
from tests.conftest import PassTime
from tests.deployment.verification import InProcess, deployed
from tests.reliability.test_readme import steps


def test_every_request_of_the_tour_is_answered_as_expected(workspace: workspaces.NewWorkspace) -> None:
    assert tour.take(InProcess("", workspace.workspace_key)) == []


def test_another_answer_is_named(engine: None) -> None:
    first, *_ = tour.take(InProcess(""))
    assert re.fullmatch(
        r"POST /v2/agents/support returned 401 UNAUTHORIZED A valid bearer token is required\. instead of 200 "
        r"\(X-Request-Id .+\)\.",
        first,
    )


def test_the_tour_has_each_route_and_error_of_the_readme() -> None:
    _, commands = steps()
    paths = {path for text, _ in commands for path in re.findall(r"api (/\S+)", text)}
    codes = {answer["code"] for _, answer in commands if answer and "code" in answer}
    assert paths <= {one.path for one in tour.TOUR}
    assert codes | {"EMAIL_TAKEN", "IDEMPOTENCY_KEY_REUSED"} == {one.code for one in tour.TOUR if one.code}


def test_every_function_is_invoked() -> None:
    """Require a line for each new function in `infra/verify/visit.py`, or in its extension's `deploy/checks.py`."""
    checks = extension_parts.modules("checks")
    invoked = {
        name for each in (visit, *checks) for name in re.findall(r'\.invoke\("(\w+)"', Path(each.__file__).read_text())
    }
    caused = {*visit._EVENTS.values(), *(name for each in checks for name in getattr(each, "_FUNCTIONS", {}).values())}
    # The exceptions are the API, and the function that `deliver` passes deliveries for new hosts to.
    assert invoked | caused | {API, "deliver_slow"} == {one.name for one in declared_functions()}


def rows() -> dict[str, int]:
    """Return the row count of each table that is not empty, without the data keys."""
    found = {name: len([*table.all_items()]) for name, table in moto_tables.tables().items()}
    return {name: number for name, number in found.items() if number and name != "cams-keyring"}


def test_the_temporary_workspace_is_removed_with_all_records_of_the_tour(engine: None) -> None:
    created = temporary.create()
    tour.take(InProcess("", created.workspace_key))
    assert len(rows()) > 6
    assert temporary.remove(created.workspace_id) > 10
    assert rows() == {}
    assert temporary.remove(created.workspace_id) == 0


def test_only_the_workspace_of_a_run_that_was_killed_is_removed_later(engine: None, pass_time: PassTime) -> None:
    killed = temporary.create()
    pass_time(31 * 60)
    own, other = workspaces.create("Customer"), temporary.create()
    notes = [*command._remove_abandoned()]
    assert [type(one) for one in notes] == [Note]
    assert {one.workspace for one in workspaces.list_all()} == {own.workspace_id, other.workspace_id}
    assert killed.workspace_id in notes[0]
    assert [*command._remove_abandoned()] == []


def test_the_workspace_is_removed_if_a_check_is_interrupted(engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("infra.verify.visit.begin", interrupted)
    with pytest.raises(KeyboardInterrupt):
        command._run(deployed(), ["tour"], 0)
    assert rows() == {}


@pytest.mark.parametrize(
    ("problems", "options", "recorded"), [(0, (), True), (1, (), False), (0, ("--only", "tour"), False)]
)
def test_only_a_whole_verification_without_problems_is_recorded(
    problems: int, options: tuple[str, ...], recorded: bool, engine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check the record, because deployments verify a stage until a verification is recorded for its API."""
    dynamodb = storage.sdk_client("dynamodb")
    stage = deployed(dynamodb=dynamodb)._replace(name="cams")
    monkeypatch.setattr(command, "locate", lambda *_: stage)
    monkeypatch.setattr(command, "_run", lambda *_: problems)
    assert not verification_record.is_recorded(dynamodb, "cams", "api")
    CliRunner().invoke(command.verify, ["--stage", "prod", *options])
    assert verification_record.is_recorded(dynamodb, "cams", "api") is recorded
    assert not verification_record.is_recorded(dynamodb, "cams", "another")


@pytest.mark.parametrize("passed", [False, True])
def test_a_deployment_verifies_a_stage_that_has_not_passed_yet(passed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr(deploy_command, "run", lambda *_: passed)
    monkeypatch.setattr("infra.deploy.verify_command.start", lambda _, stage: started.append(stage))
    CliRunner().invoke(deploy_command.deploy, ["--stage", "prod"])
    assert started == ([] if passed else ["prod"])


def test_a_check_that_cannot_finish_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    def unreachable() -> Iterator[str]:
        yield "The first problem."
        raise EndpointConnectionError(endpoint_url="https://api.example")

    assert command._check("gateway", unreachable) == 2
    printed = capsys.readouterr()
    assert re.fullmatch(r"  gateway +0\.0 s  2 problems\n", printed.out)
    assert printed.err.splitlines() == [
        "    The first problem.",
        "    The check `gateway` could not finish: EndpointConnectionError: "
        'Could not connect to the endpoint URL: "https://api.example"',
    ]


def test_the_quarter_hour_of_the_tour_is_counted_although_another_one_has_begun(
    engine: None, monkeypatch: pytest.MonkeyPatch, pass_time: PassTime
) -> None:
    workspace = workspaces.create("Customer")
    tour.take(InProcess("", workspace.workspace_key))
    quarters = dict.fromkeys(listing.list_quarters(workspace.workspace_id, tour.AGENT), "maintain")
    assert quarters
    pass_time(15 * 60)
    invoked: dict[Any, str] = {}
    monkeypatch.setattr(
        visit.Visit, "invoke", lambda _, name, *messages: invoked.update(dict.fromkeys(messages, name)) or []
    )
    current = visit.Visit(deployed(), workspace, InProcess(""), "", 0.0)
    assert [*visit.check_tallies(current)][-1].startswith("cams-prod-maintain did not count the tour")
    assert {(one.day, one.number): name for one, name in invoked.items() if isinstance(one, RecountQuarter)} == quarters


@pytest.mark.parametrize("seconds", [400, None])
def test_the_wait_for_functions_ends_with_their_result_or_after_ten_minutes(
    seconds: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    monkeypatch.setattr("time.monotonic", lambda: sum(pauses))
    monkeypatch.setattr(Client, "send", lambda *_: Response(200, {}, {"data": {"id": "1"}}))
    monkeypatch.setattr(tour, "take", lambda _: [])
    new = workspaces.NewWorkspace(*[""] * len(workspaces.NewWorkspace._fields))
    current, _ = visit.begin(deployed(), new, visit.PATIENCE_SECONDS)
    missing = [*current.wait_for({"a": "f"}, lambda: {"a"} if seconds and sum(pauses) >= seconds else set())]
    assert (sum(pauses), missing) == ((400, []) if seconds else (600, [("a", "f")]))


@pytest.mark.parametrize(
    "check",
    [
        visit.check_webhooks,
        *(module.check_history for module in extension_parts.modules("checks") if hasattr(module, "check_history")),
    ],
)
def test_a_refused_list_is_no_missing_change(
    check: Callable[[visit.Visit], Iterator[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [Response(429, {}, {"code": "THROTTLED"})] * 2
    monkeypatch.setattr(Client, "send", lambda *_: answers.pop() if answers else Response(200, {}, {"data": []}))
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    monkeypatch.setattr("time.monotonic", lambda: sum(pauses))
    current = visit.Visit(deployed(), None, Client("http://localhost"), "1", 1.0)  # type: ignore[arg-type]
    with pytest.raises(OSError, match=r"GET /v3/\S+ returned 429 THROTTLED\."):
        [*check(current)]
    answers = [Response(429, {}, {"code": "THROTTLED"})]
    pauses.clear()
    assert [*check(current)]  # the API has responded, so only missing changes are reported


def test_a_stage_that_is_not_deployed_is_one_sentence() -> None:
    with mock_aws(), pytest.raises(click.ClickException, match="Stage prod is not deployed in this account and region"):
        locate(boto3.client, "prod", None)
