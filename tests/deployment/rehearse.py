"""The rehearsal (`make rehearse`): deploys into an empty emulated account and destroys it, with the real commands.

    python -m tests.deployment.rehearse [--break policy|stream]

Deploys, creates a workspace, calls every operation through the gateway, waits for the webhooks of the deployed
functions, deploys again, restores into a second stage, and destroys. Prints each step with its duration. With
`--break`, the rehearsal must fail.
"""

import argparse
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import click

from chalicelib import ids
from chalicelib.openapi.examples import EXAMPLES
from chalicelib.storage import layouts
from infra.deploy.functions import FUNCTIONS
from infra.local import children
from infra.package import wheels
from tests.deployment import cloud, restored, upgraded
from tests.described import ExampleValues, path_value

_STAGE, _NAME = "rehearsal", "cams-rehearsal"
_TIMEOUT_SECONDS = 60.0
_ORIGIN = "https://widgets.example"
# The events that the examples of the operations cause: at least one for each function that reads a stream.
_EVENT_TYPES = {
    "agent_created",
    "agent_updated",
    "agent_deleted",
    "client_created",
    "client_deleted",
    "lead_captured",
    "message_received",
    "organisation_created",
    "organisation_deleted",
    "webhook_test",
}


class Failed(Exception):
    """The rehearsal failed, for this reason."""


class Receiver:
    """A webhook receiver that keeps the posted bodies."""

    def __init__(self) -> None:
        received = self.received = list[dict[str, Any]]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                received.append({"id": self.headers.get("webhook-id"), **body})
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}/hook"

    def types(self) -> set[str]:
        """The types of the received events."""
        return {one["type"] for one in self.received}


class Response(NamedTuple):
    """A response with any status; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Gateway:
    """A client of the deployed API with one credential, or none."""

    def __init__(self, address: str, token: str | None = None) -> None:
        self.address, self.token = address, token

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        """The JSON of a response with status 200. Raises Failed on any other status."""
        answer = self.ask(method, path, body, headers)
        if answer.status != 200:
            raise Failed(f"{method} {path} was answered with {answer.status}: {answer.body.decode()}")
        return json.loads(answer.body)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Response:
        """The response, with any status."""
        raw = None if body is None else json.dumps(body).encode()
        defaults = {
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {self.token}"} if self.token else {}),
        }
        request = Request(self.address + path, raw, {**defaults, **(headers or {})}, method=method)
        try:
            answer = urlopen(request, timeout=40)
        except HTTPError as error:
            answer = error
        with answer:
            received = {name.lower(): value for name, value in answer.headers.items()}
            return Response(answer.status, received, answer.read())


def main() -> None:
    """Run the rehearsal; exits with 1 and a message at the first failure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--break", dest="broken", choices=BREAKS, help="break something on purpose")
    parser.add_argument("--keep", action="store_true", help="keep the directory with the logs")
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="cams-rehearsal-"))
    started = time.monotonic()
    try:
        rehearse(directory, arguments.broken)
    except Failed as reason:
        sys.exit(f"\nThe rehearsal failed after {time.monotonic() - started:.1f} s: {reason}")
    finally:
        if arguments.keep:
            click.echo(f"The logs are in {directory}.")
        else:
            shutil.rmtree(directory, ignore_errors=True)
    click.echo(f"\nThe rehearsal took {time.monotonic() - started:.1f} s.")


def rehearse(directory: Path, broken: str | None = None) -> None:
    """Run all steps in `directory`, with the part `broken` broken. Raises Failed."""
    with ExitStack() as stack:
        with _step("wheels"):
            _download_wheels()
        with _step("empty cloud"):
            settings = {"CAMS_WEBHOOK_ALLOW_PRIVATE": "1", "CAMS_CORS_ORIGIN": _ORIGIN}
            here = stack.enter_context(cloud.empty(directory, {**_LIMITS, "environment_variables": settings}))
        with _step("half a stage"):
            _deploy_half(here)
        if broken:
            BREAKS[broken](here.project)
        with _step("deploy"):
            address = _deploy(here)
            _check_functions(here)
        with _step("workspace"):
            api = Gateway(address, _create_workspace(here)["workspace_key"])
        with _step("operations") as note:
            receiver = Receiver()
            webhook = {"url": receiver.url, "events": sorted(_EVENT_TYPES - {"webhook_test"})}
            endpoint = api.call("POST", "/v3/webhooks", {"webhook": webhook})["data"]
            api.call("POST", f"/v3/webhooks/{endpoint['id']}/test")
            note(f"{_call_every_operation(api)} calls")
        with _step("gateway responses") as note:
            note(f"{_check_gateway_responses(here, api)} cases")
        with _step("limits"):
            _check_limits(here)
        with _step("webhooks") as note:
            note(f"{_await_webhooks(receiver)} received")
        with _step("other queues"):
            _check_other_queues(here, receiver)
        with _step("deploy again"):
            before = _mappings(here)
            upgraded.release_next_layout(here.project)
            if _deploy(here) != address:
                raise Failed("The second deployment changed the URL of the API.")
            if _mappings(here) != before:
                raise Failed("The second deployment replaced or changed event source mappings.")
            api.call("GET", "/v3/agents")
            _check_gateway_responses(here, api)
            upgraded.check_written(here, _NAME, layouts.CURRENT)
        with _step("switch layout"):
            _deploy(here)
            upgraded.check_written(here, _NAME, layouts.CURRENT + 1)
            api.call("GET", "/v3/agents")
            upgraded.check_refusal(here, _STAGE)
        with _step("restore") as note:
            note(f"{_restore(here, api, receiver)} records")
        with _step("destroy"):
            _destroy(here)


def _download_wheels() -> None:
    """Download the wheels of Lambda's platform. This is the only network access, and only without cached wheels."""
    try:
        for _ in wheels.of(children.ROOT / "requirements.txt", wheels.LAMBDA):
            pass
    except wheels.BuildError as error:
        raise Failed(f"{error} Check that pip can reach its package index.") from error


def _deploy(here: cloud.Cloud) -> str:
    """Run `make deploy`; returns the URL at which the emulator serves the API."""
    _print_steps(_run(here, "-m", "infra.deploy", "deploy", "--stage", _STAGE))
    return _address(here, _STAGE)


def _print_steps(printed: str) -> None:
    click.echo("\n".join(f"    {line}" for line in printed.partition("\n\n")[0].splitlines()))


def _address(here: cloud.Cloud, stage: str) -> str:
    resources = json.loads((here.project / ".chalice" / "deployed" / f"{stage}.json").read_text())["resources"]
    (api_id,) = {one["rest_api_id"] for one in resources if one["resource_type"] == "rest_api"}
    return f"http://127.0.0.1:{here.port}/_aws/execute-api/{api_id}/{stage}"


def _deploy_half(here: cloud.Cloud) -> None:
    """Run a plain `chalice deploy` as an older version would: without the guard, and with another function."""
    functions, requirements = here.project / "chalicelib/webhooks/functions.py", here.project / "requirements.txt"
    originals = {path: path.read_text() for path in (functions, requirements)}
    _replace(functions, '"fan_out_agents")', '"fan_out_retired")')
    requirements.write_text("")
    code = f"""
import sys, chalice_guard
chalice_guard.require_stage = lambda app: None
from chalice.cli import main
sys.argv = ["chalice", "deploy", "--stage", "{_STAGE}"]
sys.exit(main())
"""
    ran = here.run("-c", code)
    for path, text in originals.items():
        path.write_text(text)
    roles, functions_left = _names(here)
    if not ran.returncode or (roles, functions_left) != ({_NAME}, {f"{_NAME}-fan_out_retired"}):
        raise Failed(f"Expected half a stage, not {roles | functions_left}:\n{ran.stdout}{ran.stderr}")


def _check_functions(here: cloud.Cloud) -> None:
    """Check that the account has the functions and roles of the application, and no others."""
    roles, functions = _names(here)
    if functions != {one.deployed_name(_NAME) for one in FUNCTIONS}:
        raise Failed(f"The account has other functions: {functions}")
    if roles != {f"{_NAME}-{one.name}" for one in FUNCTIONS}:
        raise Failed(f"The account has other roles: {roles}")


def _names(here: cloud.Cloud) -> tuple[set[str], set[str]]:
    """The names of the account's roles and functions."""
    roles = here.sdk("iam").list_roles()["Roles"]
    functions = here.sdk("lambda").list_functions()["Functions"]
    return {one["RoleName"] for one in roles}, {one["FunctionName"] for one in functions}


def _create_workspace(here: cloud.Cloud) -> dict[str, str]:
    variables = _stage_settings(here)["environment_variables"]
    printed = _run(here, "-m", "infra.cams", "workspace", "create", "--name", "Rehearsal", "--json", **variables)
    created: dict[str, str] = json.loads(printed)
    return created


def _call_every_operation(api: Gateway) -> int:
    """Call every example of every operation, in order; returns the number of calls.

    An operation without examples of its own shares those of another one, or answers a file. It comes before deletions.
    """
    document = Gateway(api.address).call("GET", "/openapi.json")
    operations = {
        description["operationId"]: (method.upper(), path, description)
        for path, item in document["paths"].items()
        for method, description in item.items()
    }
    known, calls = ExampleValues(), 0
    names = [*EXAMPLES, *sorted(operations.keys() - EXAMPLES.keys())]
    for name in sorted(names, key=lambda one: (one.startswith("delete_"), one == "delete_agent")):
        method, path, description = operations[name]
        if "{number}" in path:  # a version, which a stream brings later
            continue
        parameters = [_resolved(document, one) for one in description.get("parameters", ())]
        query = {one["name"]: one["example"] for one in parameters if one["in"] == "query" and one.get("required")}
        for request, expected in _examples(name, description):
            values = {one["name"]: str(known.substitute(path_value(one))) for one in parameters if one["in"] == "path"}
            address = path.format(**{key: quote(value, safe="") for key, value in values.items()})
            if name in _TWINS:
                api.call("POST", address, {"name": "Created again"})
            answer = api.ask(method, f"{address}?{urlencode(query)}" if query else address, known.substitute(request))
            if answer.status != 200:
                raise Failed(f"{name} was answered with {answer.status}: {answer.body.decode()}")
            if expected is not None:
                known.learn(expected, json.loads(answer.body))
            calls += 1
    return calls


# Deletions of what the v3 form has just deleted.
_TWINS = {"delete_client_v2", "delete_organisation_v2"}


def _examples(name: str, description: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The requests of the examples of an operation, each with its answer; None for an answer from which none learns."""
    if name in EXAMPLES:
        return [(example.request, example.answer) for example in EXAMPLES[name].values()]
    bodies = description.get("requestBody", {}).get("content", {}).get("application/json", {}).get("examples", {})
    return [(one["value"], None) for one in bodies.values()] or [(None, None)]


def _resolved(document: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """The node itself, or the node that its reference points at."""
    for step in node["$ref"].split("/")[1:] if "$ref" in node else ():
        node = document if step == "components" else node
        node = node[step]
    return node


def _check_gateway_responses(here: cloud.Cloud, api: Gateway) -> int:
    """Check gateway responses and responses of the function; returns the number of cases.

    The emulator sends the gateway responses of the stage's deployment, so this checks that they are put and deployed.
    It does not limit the size or duration of a request, so it never sends 413 or 504. Unlike AWS, it does not parse
    the bearer token of a request to an unknown route as a signature (403).
    """
    anonymous, origin = Gateway(api.address), {"Origin": _ORIGIN}
    no_route = "There is no such route, or the route does not support this method."
    for method, path in (("GET", "/nowhere"), ("DELETE", "/v3/agents"), ("GET", "/v3/agents/a/b/c/d")):
        _check_error(anonymous.ask(method, path, headers=origin), 404, "NOT_FOUND", no_route)
    with _throttled(here, "/openapi.json"):
        throttled = anonymous.ask("GET", "/openapi.json", headers=origin)
    _check_error(throttled, 429, "THROTTLED", "Too many requests; try again after the seconds in Retry-After.")
    if throttled.headers.get("retry-after") != "1":
        raise Failed(f"The response with 429 has no Retry-After: {throttled.headers}")
    unauthorized, unknown = anonymous.ask("GET", "/v2/agents/unknown"), api.ask("GET", "/v2/agents/unknown")
    _check_error(unauthorized, 401, "UNAUTHORIZED", "A valid bearer token is required.", _ORIGIN)
    _check_error(unknown, 404, "NOT_FOUND", "There is no such agent.", _ORIGIN)
    page = anonymous.ask("GET", "/")  # follows the redirect
    if b"<title>CAMS API" not in page.body:
        raise Failed(f"The root does not lead to the documentation page: {page}")
    for path, allowed in (("/v2/agents/a", _ORIGIN), ("/agents/a/interact/b/state", "*")):  # a visitor's route
        _check_preflight(anonymous, path, allowed)
    return 9


def _check_preflight(anonymous: Gateway, path: str, origin: str) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    preflight = anonymous.ask("OPTIONS", path, headers={"Origin": _ORIGIN, **asked})
    wanted = {"origin": origin, "methods": "post", "headers": "authorization"}
    allowed = {name: preflight.headers.get(f"access-control-allow-{name}", "").lower() for name in wanted}
    if preflight.status != 200 or any(part not in allowed[name] for name, part in wanted.items()):
        raise Failed(f"The preflight of {path} was answered with {preflight.status}: {preflight.headers}")


# The operator's settings of the stage. The emulator's account may be too small for the defaults.
_LIMITS: dict[str, dict[str, Any]] = {
    "throttle": {"rate": 500, "burst": 200},
    "lambda_functions": {"deliver": {"reserved_concurrency": 5}, "deliver_slow": {"reserved_concurrency": 2}},
}


def _check_error(answer: Response, status: int, code: str, message: str, origin: str = "*") -> None:
    """Check the envelope and the headers. Pages of `origin` can read it: any page, if the gateway itself answers."""
    envelope = {"success": False, "message": message, "code": code}
    if answer.status != status or json.loads(answer.body) != envelope:
        raise Failed(f"Expected {status} with {envelope}, got {answer.status} with {answer.body.decode()}")
    wanted = {"content-type": "application/json", "access-control-allow-origin": origin}
    if not answer.headers.get("x-request-id") or any(answer.headers.get(name) != wanted[name] for name in wanted):
        raise Failed(f"A response with {status} lacks the headers of an error response: {answer.headers}")


@contextmanager
def _throttled(here: cloud.Cloud, path: str) -> Iterator[None]:
    """Throttle every GET of `path` inside the block."""
    gateway, place = here.sdk("apigateway"), path.replace("/", "~1")
    (api,) = gateway.get_rest_apis()["items"]
    changes = [
        {"op": "replace", "path": f"/{place}/GET/throttling/{limit}", "value": "0"}
        for limit in ("rateLimit", "burstLimit")
    ]
    gateway.update_stage(restApiId=api["id"], stageName=_STAGE, patchOperations=changes)
    yield
    gateway.update_stage(
        restApiId=api["id"], stageName=_STAGE, patchOperations=[{"op": "remove", "path": f"/{place}/GET"}]
    )


def _check_limits(here: cloud.Cloud) -> None:
    """Check the throttle and the reserved concurrency."""
    (api,) = here.sdk("apigateway").get_rest_apis()["items"]
    settings = here.sdk("apigateway").get_stage(restApiId=api["id"], stageName=_STAGE)["methodSettings"]["*/*"]
    if {name: settings[f"throttling{name.title()}Limit"] for name in _LIMITS["throttle"]} != _LIMITS["throttle"]:
        raise Failed(f"The stage has another throttle: {settings}")
    for name, wanted in _LIMITS["lambda_functions"].items():
        found = here.sdk("lambda").get_function_concurrency(FunctionName=f"{_NAME}-{name}")
        if found.get("ReservedConcurrentExecutions") != wanted["reserved_concurrency"]:
            raise Failed(f"The reserved concurrency of {name} is not {wanted}: {found}")


def _await_webhooks(receiver: Receiver) -> int:
    """Wait for one webhook of each event type; returns the number of received webhooks."""
    _until(
        lambda: receiver.types() >= _EVENT_TYPES,
        lambda: f"no webhook arrived for {sorted(_EVENT_TYPES - receiver.types())}",
    )
    seen = [one["id"] for one in receiver.received]
    if len(seen) != len(set(seen)):
        raise Failed("An event was delivered twice.")
    return len(seen)


def _check_other_queues(here: cloud.Cloud, receiver: Receiver) -> None:
    """Check the functions that the examples do not invoke: those of the other queues."""
    sqs = here.sdk("sqs")
    received = len(receiver.received)
    sent = here.sdk("dynamodb").scan(TableName=f"{_NAME}-deliveries")["Items"][0]
    workspace_id, webhook_id, _ = sent["webhook"]["S"].split("#")
    again = json.dumps([workspace_id, webhook_id, sent["type"]["S"], [sent["event_id"]["S"]], ids.new_id()])
    others = {
        "deliveries-slow": again,
        "fan-out": json.dumps([workspace_id, sent["type"]["S"], [[sent["event_id"]["S"]]]]),  # sent already
        "cascades": json.dumps([workspace_id, "unknown"]),
        "erasures": json.dumps(["erase", workspace_id, "unknown"]),
        "tallies": json.dumps([f"{workspace_id}#support", "2026-11-22", 0]),
    }
    for queue, text in others.items():
        sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=f"{_NAME}-{queue}")["QueueUrl"], MessageBody=text)
    _until(lambda: len(receiver.received) > received, lambda: "the slow queue has delivered nothing")
    for queue in ("fan-out", "deliveries", "deliveries-slow", "cascades", "erasures", "tallies"):
        _until_empty(sqs, queue)
    for queue in ("deliveries-dead", "cascades-dead", "erasures-dead", "tallies-dead", "notifications-dead"):
        if _waiting(sqs, queue):
            raise Failed(f"There are messages on {queue}.")


def _until_empty(sqs: Any, queue: str) -> None:
    _until(lambda: _waiting(sqs, queue) == 0, lambda: f"messages stay on {queue}")


def _waiting(sqs: Any, queue: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    url = sqs.get_queue_url(QueueName=f"{_NAME}-{queue}")["QueueUrl"]
    return sum(
        int(number) for number in sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"].values()
    )


def _mappings(here: cloud.Cloud) -> dict[str, Any]:
    """Every event source mapping with its settings."""
    found = here.sdk("lambda").list_event_source_mappings()["EventSourceMappings"]
    return {one["UUID"]: {key: value for key, value in one.items() if key not in _VOLATILE} for one in found}


_VOLATILE = {"LastModified", "LastProcessingResult", "StateTransitionReason"}


def _restore(here: cloud.Cloud, api: Gateway, receiver: Receiver) -> int:
    """Finish an interrupted `make restore`, compare and use the stages, destroy the new one; returns the records."""
    restored.enable_recovery(here, _NAME)
    for path, body in restored.RECORDS.items():
        api.call("POST", path, body, {"Idempotency-Key": path.replace("/", "-")})  # so that an answer is kept
    keys = _enabled_keys(here)
    try:
        before = restored.read_settled_tables(here, _NAME)
        moment = restored.begin(here, _NAME)
        restore = ["restore", "--stage", _STAGE, "--at", moment, "--to", restored.STAGE]
        _print_steps(_run(here, "-m", "infra.deploy", *restore))
        found = restored.read_tables(here, restored.NAME)
        records = restored.check_records(before, found, restored.read_tables(here, _NAME))
        restored.check_settings(here, _NAME)
    except AssertionError as error:
        raise Failed(str(error)) from error
    copy = Gateway(_address(here, restored.STAGE), api.token)
    for stage in (api, copy):
        received = len(receiver.received)
        stage.call("POST", "/v2/agents/restored", {"title": "Created after the restore"})
        _until(lambda before=received: len(receiver.received) > before, lambda: "no webhook after the restore")  # type: ignore[misc]
    _run(here, "-m", "infra.deploy", "destroy", "--stage", restored.STAGE, "--yes", "--delete-data")
    if _enabled_keys(here) != keys:
        raise Failed("Destroying the restored stage deleted a key of the first one, or left its own.")
    api.call("GET", "/v3/agents")
    return records


def _enabled_keys(here: cloud.Cloud) -> set[str]:
    """The ids of the account's keys that are not being deleted."""
    kms = here.sdk("kms")
    described = [kms.describe_key(KeyId=one["KeyId"])["KeyMetadata"] for one in kms.list_keys()["Keys"]]
    return {one["KeyId"] for one in described if one["KeyState"] == "Enabled"}


def _destroy(here: cloud.Cloud) -> None:
    _run(here, "-m", "infra.deploy", "destroy", "--stage", _STAGE, "--yes")
    tables = here.sdk("dynamodb").list_tables()["TableNames"]
    if f"{_NAME}-agents" not in tables:
        raise Failed("`destroy` without --delete-data deleted the data.")
    _run(here, "-m", "infra.deploy", "destroy", "--stage", _STAGE, "--yes", "--delete-data")
    remaining = {
        "functions": here.sdk("lambda").list_functions()["Functions"],
        "event source mappings": here.sdk("lambda").list_event_source_mappings()["EventSourceMappings"],
        "APIs": here.sdk("apigateway").get_rest_apis()["items"],
        "roles": here.sdk("iam").list_roles()["Roles"],
        "tables": here.sdk("dynamodb").list_tables()["TableNames"],
        "queues": here.sdk("sqs").list_queues().get("QueueUrls", []),
        "log groups": here.sdk("logs").describe_log_groups()["logGroups"],
        "alarms": here.sdk("cloudwatch").describe_alarms()["MetricAlarms"],
    }
    for kind, found in remaining.items():
        if found:
            raise Failed(f"`destroy` left {kind}: {found}")


def _stage_settings(here: cloud.Cloud) -> dict[str, Any]:
    config = json.loads((here.project / ".chalice" / "config.json").read_text())
    settings: dict[str, Any] = config["stages"][_STAGE]
    return settings


def _run(here: cloud.Cloud, *arguments: str, **variables: str) -> str:
    done = here.run(*arguments, **variables)
    if done.returncode:
        raise Failed(f"`python {' '.join(arguments)}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _until(holds: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise Failed(f"After {_TIMEOUT_SECONDS:.0f} s {otherwise()}.")
        time.sleep(0.05)


@contextmanager
def _step(what: str) -> Iterator[Callable[[str], None]]:
    started, notes = time.monotonic(), list[str]()
    yield notes.append
    click.echo(f"  {what:<18} {time.monotonic() - started:5.1f} s  {' '.join(notes)}")


def _break_policy(project: Path) -> None:
    _replace(
        project / "infra" / "deploy" / "functions.py", '"webhooks": "Query", "events"', '"webhook": "Query", "events"'
    )


def _break_stream(project: Path) -> None:
    template = project / "infra" / "template.yaml"
    _replace(template, "  LeadsStream:\n    Value:\n      Fn::GetAtt: [LeadsTable, StreamArn]\n", "")


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, f"{path.name} no longer contains {old!r}"
    path.write_text(text.replace(old, new))


BREAKS: dict[str, Callable[[Path], None]] = {"policy": _break_policy, "stream": _break_stream}
"""The choices of `--break`: a policy with the wrong table, and a stream without a stack output."""


if __name__ == "__main__":
    main()
