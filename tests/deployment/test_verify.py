"""`make verify`: it names each permission, mapping, queue and alarm that is missing, and removes its workspace."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import click
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from click.testing import CliRunner
from moto import mock_aws

from chalicelib import __version__, settings, storage
from chalicelib.conversations import listing
from chalicelib.extensions import present
from chalicelib.queues.tasks import RecountQuarter
from chalicelib.workspaces import store as workspaces
from infra import extension_parts, tables
from infra.deploy import deploy_command, deployed_settings, event_sources, stage, template, verification_record
from infra.deploy.function import API, Function
from infra.deploy.functions import declared_functions
from infra.deploy.policies import policy
from infra.verify import command, data, functions, gateway, monitoring, tour, visit
from infra.verify import workspace as temporary
from infra.verify.client import Client, Response
from infra.verify.deployment import Deployment, Note, locate
from tests import moto_tables
from tests.api import Api
from tests.conftest import PassTime
from tests.deployment.test_event_sources import MAPPED, Lambda
from tests.deployment.test_functions import OUTPUTS, each_function
from tests.reliability.test_readme import steps
from tests.selection import first_case

each_mapping = pytest.mark.parametrize("name", MAPPED)
QUEUES = [one["QueueName"]["Fn::Sub"].removeprefix("${Name}-") for one in tables.declared("AWS::SQS::Queue")]
SOURCES = [
    one["QueueName"]["Fn::Sub"].removeprefix("${Name}-")
    for one in tables.declared("AWS::SQS::Queue")
    if "RedrivePolicy" in one
]


def deployed(**clients: Any) -> Deployment:
    """The stage `prod` with these SDK clients, by service."""
    return Deployment(clients.__getitem__, "prod", "cams-prod", OUTPUTS, "api", "http://localhost", present())


def problems(check: Iterator[str]) -> list[str]:
    return [one for one in check if not isinstance(one, Note)]


# ---- permissions ----------------------------------------------------------------------------------


class Configured:
    """A fake Lambda client whose functions have no variables."""

    exceptions = type("Exceptions", (), {"ResourceNotFoundException": KeyError})

    def get_function_configuration(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803 - the parameter of boto3
        return {}


TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


@pytest.fixture
def iam(function: Function, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An account with the role of one function, which is then the only one that is checked."""
    monkeypatch.setattr(Deployment, "functions", (function,))
    with mock_aws():
        client = boto3.client("iam")
        client.create_role(RoleName=f"cams-prod-{function.name}", AssumeRolePolicyDocument=json.dumps(TRUST))
        put(client, function, policy(function, "cams-prod", OUTPUTS)["Statement"])
        yield client


def put(iam: Any, function: Function, statements: list[dict[str, Any]]) -> None:
    role = f"cams-prod-{function.name}"
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_role_policy(RoleName=role, PolicyName=role, PolicyDocument=document)


def check_permissions(iam: Any) -> list[str]:
    return problems(functions.check_permissions(deployed(iam=iam, **{"lambda": Configured()})))


@each_function
@first_case
def test_each_statement_that_a_role_lacks_is_named(function: Function, iam: Any) -> None:
    assert check_permissions(iam) == []
    statements = policy(function, "cams-prod", OUTPUTS)["Statement"]
    for missing in statements:
        rest = [one for one in statements if one != missing]
        if all(set(missing["Action"]) <= set(one["Action"]) for one in rest if one["Resource"] == missing["Resource"]):
            continue  # another statement permits the same
        put(iam, function, rest)
        found = check_permissions(iam)
        assert found
        assert all(f"cams-prod-{function.name} lacks the permission" in one for one in found)
        assert all(f"on {missing['Resource']}:" in one for one in found)


@pytest.mark.parametrize("function", declared_functions()[:1], ids=lambda one: one.name)
def test_a_permission_that_a_function_does_not_need_is_named(function: Function, iam: Any) -> None:
    put(iam, function, [*policy(function, "cams-prod", OUTPUTS)["Statement"], {**_EXTRA, "Resource": "*"}])
    assert check_permissions(iam) == [
        "The role cams-prod-api_handler has the permission s3:GetObject on *, which its function does not need: "
        "remove it."
    ]


_EXTRA = {"Effect": "Allow", "Action": "s3:GetObject"}


@pytest.mark.parametrize("function", declared_functions()[:1], ids=lambda one: one.name)
def test_a_missing_role_is_named(function: Function, iam: Any) -> None:
    role = f"cams-prod-{function.name}"
    iam.delete_role_policy(RoleName=role, PolicyName=role)
    iam.delete_role(RoleName=role)
    assert check_permissions(iam) == [f"The role {role} does not exist: run `chalice deploy`."]


@pytest.mark.parametrize("function", declared_functions()[:1], ids=lambda one: one.name)
def test_a_role_that_lambda_may_not_assume_is_named(function: Function, iam: Any) -> None:
    role = f"cams-prod-{function.name}"
    other = json.dumps(TRUST).replace("lambda.", "ec2.")
    iam.update_assume_role_policy(RoleName=role, PolicyDocument=other)
    (problem,) = check_permissions(iam)
    assert problem.startswith(f"Lambda may not assume the role {role}: ")


# ---- the settings of functions --------------------------------------------------------------------


class Functions(Configured):
    """A fake Lambda client with the functions of a deployment."""

    def __init__(self) -> None:
        variables = stage.variables("cams-prod", OUTPUTS)
        others = {"CAMS_STORED_LAYOUT": "3", "CAMS_CORS_ORIGIN": "https://example.com"}
        self.reserved: dict[str, int] = {}
        self.deployed: dict[str, dict[str, Any]] = {
            one.deployed_name("cams-prod"): {
                "FunctionName": one.deployed_name("cams-prod"),
                "MemorySize": one.memory_mb,
                "Timeout": one.timeout_seconds,
                "CodeSha256": "1",
                "Runtime": "python3.13",
                "Environment": {"Variables": {**variables, **others}},
            }
            for one in declared_functions()
        }

    def get_function_configuration(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803 - the parameter of boto3
        return self.deployed[FunctionName]

    def get_function_concurrency(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803 - the parameter of boto3
        value = self.reserved.get(FunctionName)
        return {} if value is None else {"ReservedConcurrentExecutions": value}

    def get_function_recursion_config(self, **_: str) -> dict[str, str]:
        return {"RecursiveLoop": "Allow"}


def check_functions(account: Functions) -> list[str]:
    return problems(functions.check_functions(deployed(**{"lambda": account})))


@pytest.mark.parametrize("name", ["CAMS_STORED_LAYOUT", "CAMS_CORS_ORIGIN", "CAMS_WEBHOOK_ALLOW_PRIVATE"])
def test_another_variable_of_one_function_is_named(name: str) -> None:
    account = Functions()
    assert check_functions(account) == []
    account.deployed["cams-prod-maintain"]["Environment"]["Variables"][name] = "another"
    assert check_functions(account) == [
        f"The function cams-prod-maintain has another value of {name}: run `chalice deploy`."
    ]


def test_a_function_that_cannot_run_is_named() -> None:
    account = Functions()
    account.reserved = {"cams-prod-maintain": 0, "cams-prod-deliver": 20}
    assert check_functions(account) == [
        "The reserved concurrency of cams-prod-maintain is 0, so Lambda never invokes it: run `chalice deploy`."
    ]


# ---- event source mappings ------------------------------------------------------------------------


class Mappings(Lambda):
    """A fake Lambda client with the mappings of a deployment."""

    def __init__(self) -> None:
        super().__init__()
        event_sources.configure(self, "cams-prod", OUTPUTS, {}, declared_functions())

    def get_function_concurrency(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803 - the parameter of boto3
        return {}

    def get_account_settings(self) -> dict[str, Any]:
        return {"AccountLimit": {"UnreservedConcurrentExecutions": 1_000}}


def check_mappings(account: Mappings) -> list[str]:
    return problems(functions.check_mappings(deployed(**{"lambda": account})))


def test_the_mappings_of_a_deployment_have_no_problem() -> None:
    assert check_mappings(Mappings()) == []


@each_mapping
@first_case
def test_each_missing_mapping_is_named(name: str) -> None:
    account = Mappings()
    del account.mappings[name]
    (problem,) = check_mappings(account)
    assert f" does not invoke {name}, because" in problem


@each_mapping
@first_case
def test_each_disabled_mapping_is_named(name: str) -> None:
    account = Mappings()
    account.mappings[name]["State"] = "Disabled"
    (problem,) = check_mappings(account)
    assert f" to {name} is Disabled: run `aws lambda update-event-source-mapping --uuid {name} --enabled`." in problem


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("cams-prod-fan_out_leads", "FilterCriteria"),
        ("cams-prod-fan_out_leads", "DestinationConfig"),
        ("cams-prod-maintain", "ScalingConfig"),
    ],
)
def test_another_setting_of_a_mapping_is_named(name: str, member: str) -> None:
    account = Mappings()
    account.mappings[name].pop(member)
    (problem,) = check_mappings(account)
    assert problem.endswith(f"to {name} has another {member}: run `chalice deploy`.")


# ---- queues, tables, logs and alarms --------------------------------------------------------------


@pytest.fixture
def sqs(engine: None) -> Iterator[Any]:
    """The queues of the template; those that the test deletes or changes are restored."""
    yield storage.sdk_client("sqs")
    tables.create_missing(storage.sdk_client, settings.table_prefix())


def check_queues(sqs: Any) -> list[str]:
    return problems(data.check_queues(deployed(sqs=sqs)._replace(name="cams")))


@pytest.mark.parametrize("queue", QUEUES)
@first_case
def test_each_missing_queue_is_named(queue: str, sqs: Any) -> None:
    assert check_queues(sqs) == []
    sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName=f"cams-{queue}")["QueueUrl"])
    assert check_queues(sqs) == [
        f"The queue cams-{queue} does not exist: create it as infra/template.yaml declares it."
    ]


@pytest.mark.parametrize("queue", SOURCES)
@first_case
def test_each_missing_redrive_policy_is_named(queue: str, sqs: Any) -> None:
    url = sqs.get_queue_url(QueueName=f"cams-{queue}")["QueueUrl"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": ""})
    (problem,) = check_queues(sqs)
    assert problem.startswith(f"The queue cams-{queue} does not move messages to cams-")


def test_each_queue_that_refuses_access_is_named(sqs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = ClientError({"Error": {"Code": "AccessDenied", "Message": "Denied."}}, "GetQueueUrl")
    find = sqs.get_queue_url

    def refuse(QueueName: str) -> Any:  # noqa: N803 - the parameter of boto3
        if QueueName in ("cams-deliveries", "cams-maintenance"):
            raise refused
        return find(QueueName=QueueName)

    monkeypatch.setattr(sqs, "get_queue_url", refuse)
    assert sorted(check_queues(sqs)) == [
        f"The queue cams-{one} cannot be read: {refused}" for one in ("deliveries", "maintenance")
    ]


def test_dead_letters_are_a_note(sqs: Any) -> None:
    url = sqs.get_queue_url(QueueName="cams-maintenance-dead")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="dead")
    notes = [*data.check_queues(deployed(sqs=sqs)._replace(name="cams"))]
    assert [(type(one), one) for one in notes] == [
        (Note, "cams-maintenance-dead has 1 dead letters (docs/operate.md, Dead letters)")
    ]


def test_tables_without_their_protection_are_named(engine: None) -> None:
    dynamodb = storage.sdk_client("dynamodb")
    sentences = problems(data.check_tables(deployed(dynamodb=dynamodb)._replace(name="cams")))
    command = "aws dynamodb update-table --table-name cams-agents --deletion-protection-enabled"
    assert f"The table cams-agents has no deletion protection: run `{command}`." in sentences
    assert (
        "The table cams-agents has no point-in-time recovery: enable it, because `make restore` needs it." in sentences
    )
    assert len(sentences) == 2 * len(tables.declared("AWS::DynamoDB::Table"))  # TTL, streams and indexes are complete


def test_a_missing_alarm_and_a_missing_log_group_are_named() -> None:
    with mock_aws():
        cloudwatch, logs, sns = boto3.client("cloudwatch"), boto3.client("logs"), boto3.client("sns")
        topic = sns.create_topic(Name="cams-prod-alarms")["TopicArn"]
        current = deployed(cloudwatch=cloudwatch, logs=logs, sns=sns, **check_clients())._replace(
            outputs={"AlarmsTopicArn": topic}
        )
        names = [one["AlarmName"]["Fn::Sub"] for one in template.declared("AWS::CloudWatch::Alarm")]
        *found, function, rule, note = monitoring.check_alarms(current)
        assert function.startswith("The function cams-prod-check does not exist. `chalice deploy` does not repair it")
        assert rule.startswith("The rule schedule, which invokes cams-prod-check, does not exist. ")
        assert [one.split()[2] for one in found] == [name.replace("${Name}", "cams-prod") for name in names]
        assert (type(note), note) == (
            Note,
            f"nobody receives the alarms: {topic} has no confirmed subscription (docs/operate.md, Deploy)",
        )
        groups = [one["LogGroupName"]["Fn::Sub"] for one in template.declared("AWS::Logs::LogGroup")]
        missing = [one.split()[3] for one in functions.check_logs(current)]
        assert missing == [group.replace("${Name}", "cams-prod") for group in groups]


def check_clients() -> dict[str, Any]:
    """The clients that the check of the function `check` needs, besides those of its alarm."""
    detail = {"StackResourceDetail": {"PhysicalResourceId": "schedule"}}
    cloudformation = SimpleNamespace(describe_stack_resource=lambda **_: detail)
    return {"lambda": boto3.client("lambda"), "events": boto3.client("events"), "cloudformation": cloudformation}


def alarms(topic: str) -> list[dict[str, Any]]:
    """The alarms of a deployment."""
    own = {"ActionsEnabled": True, "AlarmActions": [topic]}
    return [
        {**one, **own, "AlarmName": one["AlarmName"]["Fn::Sub"].replace("${Name}", "cams-prod")}
        for one in template.declared("AWS::CloudWatch::Alarm")
    ]


def test_an_alarm_with_another_threshold_a_disabled_check_and_a_closed_topic_are_named() -> None:
    with mock_aws():
        sns, clients = boto3.client("sns"), check_clients()
        topic = sns.create_topic(Name="cams-prod-alarms")["TopicArn"]
        page = {"MetricAlarms": alarms(topic)}
        paginator = SimpleNamespace(paginate=lambda **_: [page])
        cloudwatch = SimpleNamespace(get_paginator=lambda _: paginator)
        clients["lambda"] = Functions()
        clients["lambda"].deployed["cams-prod-check"] = {}
        clients["events"].put_rule(Name="schedule", ScheduleExpression="rate(5 minutes)")
        current = deployed(cloudwatch=cloudwatch, sns=sns, **clients)._replace(outputs={"AlarmsTopicArn": topic})
        assert problems(monitoring.check_alarms(current)) == []
        failing = next(one for one in page["MetricAlarms"] if one["AlarmName"] == "cams-prod-ApiFailing")
        failing["Threshold"] = 1e9
        clients["events"].disable_rule(Name="schedule")
        deny = {"Effect": "Deny", "Principal": "*", "Action": "sns:Publish", "Resource": topic}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [deny]})
        sns.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=policy)
        alarm, rule, closed = problems(monitoring.check_alarms(current))
    assert alarm.startswith("The alarm cams-prod-ApiFailing has another Threshold. `chalice deploy` does not repair it")
    assert rule.endswith(", is DISABLED: run `aws events enable-rule --name schedule`.")
    assert closed.startswith(f"The policy of the topic {topic} denies access")


# ---- the tour and its workspace -------------------------------------------------------------------


class InProcess(Client):
    """A client of the API in this process."""

    def send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Response:
        authorization = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        sent = {"Content-Type": "application/json", **authorization, **(headers or {})}
        answer = Api().call(method, path, body, sent)
        return Response(answer.status, answer.headers, answer.json)


def test_every_request_of_the_tour_is_answered_as_expected(workspace: workspaces.NewWorkspace) -> None:
    assert tour.take(InProcess("", workspace.workspace_key)) == []


def test_another_answer_is_named(engine: None) -> None:
    first, *_ = tour.take(InProcess(""))
    assert re.fullmatch(
        r"POST /v2/agents/support was answered with 401 UNAUTHORIZED A valid bearer token is required\. instead of 200 "
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
    """A new function needs a line in `infra/verify/visit.py`, or in `deploy/checks.py` of its extension."""
    checks = extension_parts.modules("checks")
    invoked = {
        name for each in (visit, *checks) for name in re.findall(r'\.invoke\("(\w+)"', Path(each.__file__).read_text())
    }
    caused = {*visit._EVENTS.values(), *(name for each in checks for name in getattr(each, "_FUNCTIONS", {}).values())}
    # The API, and the function to which `deliver` passes what is for a new host.
    assert invoked | caused | {API, "deliver_slow"} == {one.name for one in declared_functions()}


def rows() -> dict[str, int]:
    """The number of rows of each table that has any, without the data keys."""
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
    """Until then, each deployment verifies the stage. A stage that is created again has another API."""
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
    assert [*visit.check_tallies(current)][-1].startswith("cams-prod-maintain counted no conversation")
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
    with pytest.raises(OSError, match=r"GET /v3/\S+ was answered with 429 THROTTLED\."):
        [*check(current)]
    answers = [Response(429, {}, {"code": "THROTTLED"})]
    pauses.clear()
    assert [*check(current)]  # only missing changes, as the API then answered


# ---- the gateway ----------------------------------------------------------------------------------


ANSWERS = {
    path: Response(status, {"x-request-id": "1"}, {"success": False, "code": code})
    for _, path, status, code in gateway._ERRORS
}
ANSWERS["/openapi.json"] = Response(200, {}, {"info": {"version": __version__}})


class Gateway(Client):
    """A client of an API whose latest deployment arrives after `delay` seconds. Its pauses take no time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, delay: float, before: Response | OSError) -> None:
        super().__init__("http://localhost")
        self._delay, self._before, self.passed = delay, before, 0.0
        monkeypatch.setattr("time.monotonic", lambda: self.passed)
        monkeypatch.setattr("time.sleep", self._pause)

    def _pause(self, seconds: float) -> None:
        self.passed += seconds

    def send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Response:
        if self.passed >= self._delay:
            return ANSWERS[path]
        if isinstance(self._before, OSError):
            raise self._before
        return self._before


@pytest.mark.parametrize("before", [Response(403, {}, {"message": "Forbidden"}), OSError("unknown host")])
def test_a_deployment_of_the_gateway_is_awaited(before: Response | OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Gateway(monkeypatch, 40, before)
    assert gateway._await_responses(client) == []
    assert client.passed == 40


def test_a_gateway_that_stays_wrong_is_named_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Gateway(monkeypatch, 1000, Response(403, {}, {}))
    first, *others = gateway._await_responses(client)
    assert first == (
        f"The API at http://localhost has no document (403), and this checkout {__version__}: run `chalice deploy`."
    )
    assert len(others) == 2 * len(gateway._ERRORS)
    assert 60 < client.passed < 63
    with pytest.raises(OSError, match="unknown host"):
        gateway._await_responses(Gateway(monkeypatch, 1000, OSError("unknown host")))


def test_another_version_and_a_missing_throttle_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**ANSWERS, "/openapi.json": Response(200, {}, {"info": {"version": "0.1"}})}
    monkeypatch.setattr(Client, "send", lambda _, __, path: other[path])
    monkeypatch.setattr(gateway, "_PATIENCE_SECONDS", -1)
    with mock_aws():
        client = boto3.client("apigateway")
        api_id = client.create_rest_api(name="cams")["id"]
        root = client.get_resources(restApiId=api_id)["items"][0]["id"]
        place = {"restApiId": api_id, "resourceId": root, "httpMethod": "GET"}
        client.put_method(**place, authorizationType="NONE")
        client.put_integration(**place, type="MOCK")
        client.create_deployment(restApiId=api_id, stageName="prod")
        sentences = problems(gateway.check_gateway(deployed(apigateway=client)._replace(api_id=api_id)))
    assert (
        sentences[0]
        == f"The API at http://localhost has version 0.1, and this checkout {__version__}: run `chalice deploy`."
    )
    assert sentences[-2:] == [
        f"The stage prod of the API {api_id} has no {limit}: run `chalice deploy`."
        for limit in ("throttlingRateLimit", "throttlingBurstLimit")
    ]
    assert "The gateway response THROTTLED of the API is not the declared one: run `chalice deploy`." in sentences


@pytest.mark.parametrize(
    ("own", "rate", "is_named"),
    [({}, 1, True), ({}, 1_000, False), ({"throttle": {"rate": 50, "burst": 1_000}}, 1_000, True)],
)
def test_a_throttle_that_a_deployment_would_replace_is_named(
    own: dict[str, Any], rate: int, is_named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployed_settings, "read", lambda *_: deployed_settings.DeployedSettings({}, own))
    settings = {"throttlingRateLimit": float(rate), "throttlingBurstLimit": 1_000}
    found = [*gateway._throttle_problems(deployed(**{"lambda": Mappings()}), settings)]
    declared = own.get("throttle", {"rate": 1_000})["rate"]
    named = [f"The throttle of stage prod has the rate {rate}, not {declared}: run `chalice deploy`."]
    assert found == (named if is_named else [])


def test_a_stage_that_is_not_deployed_is_one_sentence() -> None:
    with mock_aws(), pytest.raises(click.ClickException, match="Stage prod is not deployed in this account and region"):
        locate(boto3.client, "prod", None)
