"""The rehearsal (`make rehearse`): from an empty account to a serving API and away again, with the real commands.

    python -m tests.deployment.rehearse [--break policy|stream]

Deploys, creates a workspace, calls every operation through the gateway, waits for webhooks that the deployed functions
send, deploys again, and destroys. Each line is a step with its seconds. What is broken on purpose must make it fail.
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
from urllib.parse import quote
from urllib.request import Request, urlopen

import click

from chalicelib import ids
from chalicelib.openapi.examples import EXAMPLES
from infra.local import children
from infra.package import wheels
from tests.deployment import cloud
from tests.described import Stand

_STAGE, _NAME = "rehearsal", "cams-rehearsal"
_PATIENCE = 20.0
_ORIGIN = "https://widgets.example"
# The operations' examples cause these, of every function on a stream at least one.
_TOLD = {
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
    """Why the rehearsal is red."""


class Receiver:
    """Somebody who is told: remembers the bodies that were posted."""

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
        """The types of events that it was told of."""
        return {one["type"] for one in self.received}


class Answered(NamedTuple):
    """An answer of any status; names of headers in small letters."""

    status: int
    headers: dict[str, str]
    body: bytes


class Gateway:
    """The API at its address, with one credential."""

    def __init__(self, address: str, token: str | None = None) -> None:
        self.address, self._token = address, token

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer with status 200; anything else ends the rehearsal."""
        answer = self.ask(method, path, body)
        if answer.status != 200:
            raise Failed(f"{method} {path} was answered with {answer.status}: {answer.body.decode()}")
        return json.loads(answer.body)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answered:
        """The answer, whatever it is."""
        raw = None if body is None else json.dumps(body).encode()
        own = {
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {self._token}"} if self._token else {}),
        }
        request = Request(self.address + path, raw, {**own, **(headers or {})}, method=method)
        try:
            answer = urlopen(request, timeout=40)
        except HTTPError as error:
            answer = error
        with answer:
            received = {name.lower(): value for name, value in answer.headers.items()}
            return Answered(answer.status, received, answer.read())


def main() -> None:
    """Runs everything; exits with 1 and a sentence at the first thing that is not as it should be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--break", dest="broken", choices=BREAKS, help="break something on purpose")
    parser.add_argument("--keep", action="store_true", help="leave the directory with the logs")
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
    """The whole story. Raises Failed."""
    with ExitStack() as stack:
        with _step("wheels"):
            _wheels()
        with _step("empty cloud"):
            settings = {"CAMS_WEBHOOK_ALLOW_PRIVATE": "1", "CAMS_CORS_ORIGIN": _ORIGIN}
            here = stack.enter_context(cloud.empty(directory, {"environment_variables": settings}))
        if broken:
            BREAKS[broken](here.project)
        with _step("deploy"):
            address = _deploy(here)
        with _step("workspace"):
            api = Gateway(address, _workspace(here)["workspace_key"])
        with _step("operations") as note:
            receiver = Receiver()
            webhook = {"url": receiver.url, "events": sorted(_TOLD - {"webhook_test"})}
            endpoint = api.call("POST", "/v3/webhooks", {"webhook": webhook})["data"]
            api.call("POST", f"/v3/webhooks/{endpoint['id']}/test")
            note(f"{_every_operation(api)} calls")
        with _step("gateway's answers") as note:
            note(f"{_answers(here, api)} cases")
        with _step("webhooks") as note:
            note(f"{_webhooks(receiver)} received")
        with _step("slow lane, sweep"):
            _other_queues(here, receiver)
        with _step("deploy again"):
            before = _mappings(here)
            if _deploy(here) != address:
                raise Failed("The API has another address after the second deployment.")
            if _mappings(here) != before:
                raise Failed("The second deployment has made event mappings anew.")
            api.call("GET", "/v3/agents")
            _answers(here, api)
        with _step("destroy"):
            _destroy(here)


def _wheels() -> None:
    """The only thing that a rehearsal needs from outside, once: what ships is built for another system than this."""
    try:
        for _ in wheels.of(children.ROOT / "requirements.txt", wheels.LAMBDA):
            pass
    except wheels.BuildError as error:
        raise Failed(f"{error} Can the package registry that pip is configured for be reached from here?") from error


def _deploy(here: cloud.Cloud) -> str:
    """`make deploy`; returns the address at which the emulator's gateway serves the API."""
    printed = _run(here, "-m", "infra.deploy", "deploy", "--stage", _STAGE)
    click.echo("\n".join(f"    {line}" for line in printed.partition("\n\n")[0].splitlines()))
    noted = json.loads((here.project / ".chalice" / "deployed" / f"{_STAGE}.json").read_text())["resources"]
    (api_id,) = {one["rest_api_id"] for one in noted if one["resource_type"] == "rest_api"}
    return f"http://127.0.0.1:{here.port}/_aws/execute-api/{api_id}/{_STAGE}"


def _workspace(here: cloud.Cloud) -> dict[str, str]:
    variables = _recorded(here)["environment_variables"]
    printed = _run(here, "-m", "infra.cams", "workspace", "create", "--name", "Rehearsal", "--json", **variables)
    created: dict[str, str] = json.loads(printed)
    return created


def _every_operation(api: Gateway) -> int:
    """Every example of every operation, in their order; returns how many calls that were."""
    document = Gateway(api.address).call("GET", "/openapi.json")
    operations = {
        description["operationId"]: (method.upper(), path, description)
        for path, item in document["paths"].items()
        for method, description in item.items()
    }
    left = {name for name, (_, _, description) in operations.items() if description["security"]} - EXAMPLES.keys()
    if left:
        raise Failed(f"No example calls {', '.join(sorted(left))}.")
    stand, calls = Stand(), 0
    for name, examples in EXAMPLES.items():
        method, path, description = operations[name]
        for example in examples.values():
            parameters = [_resolved(document, one) for one in description.get("parameters", ())]
            values = {one["name"]: one["example"] for one in parameters if one["in"] == "path"}
            address = path.format(**{key: quote(str(stand.real(value)), safe="") for key, value in values.items()})
            answer = api.call(method, address, stand.real(example.request))
            stand.meet(example.answer, answer)
            calls += 1
    return calls


def _resolved(document: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """What a reference of the document stands for."""
    for step in node["$ref"].split("/")[1:] if "$ref" in node else ():
        node = document if step == "components" else node
        node = node[step]
    return node


def _answers(here: cloud.Cloud, api: Gateway) -> int:
    """What never comes to a function is answered in our envelope, and what comes to one has its headers still.

    The emulator answers as the stage's deployment was told, so this shows that the answers are put and deployed, after
    a second deployment too. It has no limit to a request's size or time, so that it never answers 413 or 504. And it
    does not take a bearer token on an unknown route for a bad signature, as the cloud does (403).
    """
    nobody, origin = Gateway(api.address), {"Origin": _ORIGIN}
    no_route = "There is no such route, or it has no such method."
    for method, path in (("GET", "/nowhere"), ("DELETE", "/v3/agents"), ("GET", "/v3/agents/a/b/c/d")):
        _refused(nobody.ask(method, path, headers=origin), 404, "NOT_FOUND", no_route)
    with _throttled(here, "/openapi.json"):
        throttled = nobody.ask("GET", "/openapi.json", headers=origin)
    _refused(throttled, 429, "THROTTLED", "There are too many requests at once; try again.")
    if throttled.headers.get("retry-after") != "1":
        raise Failed(f"Who is throttled is not told when to try again: {throttled.headers}")
    _refused(nobody.ask("GET", "/v2/agents/nobody"), 401, "UNAUTHORIZED", "A valid bearer token is required.")
    _refused(api.ask("GET", "/v2/agents/nobody"), 404, "NOT_FOUND", "There is no such agent.")
    asks = {**origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    preflight = nobody.ask("OPTIONS", "/agents/a/interact/b/state", headers=asks)
    allowed = {name: preflight.headers.get(f"access-control-allow-{name}", "").lower() for name in _PREFLIGHT}
    if preflight.status != 200 or any(part not in allowed[name] for name, part in _PREFLIGHT.items()):
        raise Failed(f"The preflight of an edge route was answered with {preflight.status}: {preflight.headers}")
    return 7


_PREFLIGHT = {"origin": _ORIGIN, "methods": "post", "headers": "authorization"}


def _refused(answer: Answered, status: int, code: str, message: str) -> None:
    """Fail unless this is the envelope with these, and the headers that every refusal on an edge route has."""
    envelope = {"success": False, "message": message, "code": code}
    if answer.status != status or json.loads(answer.body) != envelope:
        raise Failed(f"Instead of {status} with {envelope}: {answer.status} with {answer.body.decode()}")
    wanted = {"content-type": "application/json", "access-control-allow-origin": _ORIGIN}
    if not answer.headers.get("x-request-id") or any(answer.headers.get(name) != wanted[name] for name in wanted):
        raise Failed(f"An answer with {status} has not the headers of a refusal: {answer.headers}")


@contextmanager
def _throttled(here: cloud.Cloud, path: str) -> Iterator[None]:
    """Inside the block, no call of GET `path` is let through."""
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


def _webhooks(receiver: Receiver) -> int:
    """Wait for what the deployed functions send."""
    _until(lambda: receiver.types() >= _TOLD, lambda: f"no webhook told of {sorted(_TOLD - receiver.types())}")
    seen = [one["id"] for one in receiver.received]
    if len(seen) != len(set(seen)):
        raise Failed("An event was delivered twice.")
    return len(seen)


def _other_queues(here: cloud.Cloud, receiver: Receiver) -> None:
    """The functions that the examples do not reach: one for slow receivers, one that sweeps."""
    sqs = here.sdk("sqs")
    known = len(receiver.received)
    sent = here.sdk("dynamodb").scan(TableName=f"{_NAME}-deliveries")["Items"][0]
    workspace_id, webhook_id = sent["webhook"]["S"].split("#")
    again = json.dumps([workspace_id, webhook_id, sent["event_id"]["S"], sent["type"]["S"], ids.new_id()])
    for queue, text in (("deliveries-slow", again), ("cascades", json.dumps([workspace_id, "nobody"]))):
        sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=f"{_NAME}-{queue}")["QueueUrl"], MessageBody=text)
    _until(lambda: len(receiver.received) > known, lambda: "the slow lane delivers nothing")
    for queue in ("deliveries", "deliveries-slow", "cascades"):
        _until_empty(sqs, queue)
    for queue in ("deliveries-dead", "cascades-dead"):
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
    """Every event mapping with its tuning."""
    found = here.sdk("lambda").list_event_source_mappings()["EventSourceMappings"]
    return {one["UUID"]: {key: value for key, value in one.items() if key not in _MOVES} for one in found}


_MOVES = {"LastModified", "LastProcessingResult", "StateTransitionReason"}


def _destroy(here: cloud.Cloud) -> None:
    _run(here, "-m", "infra.deploy", "destroy", "--stage", _STAGE, "--yes")
    tables = here.sdk("dynamodb").list_tables()["TableNames"]
    if f"{_NAME}-agents" not in tables:
        raise Failed("The data went with the stage.")
    _run(here, "-m", "infra.deploy", "destroy", "--stage", _STAGE, "--yes", "--delete-data")
    left = {
        "functions": here.sdk("lambda").list_functions()["Functions"],
        "event mappings": here.sdk("lambda").list_event_source_mappings()["EventSourceMappings"],
        "APIs": here.sdk("apigateway").get_rest_apis()["items"],
        "roles": here.sdk("iam").list_roles()["Roles"],
        "tables": here.sdk("dynamodb").list_tables()["TableNames"],
        "queues": here.sdk("sqs").list_queues().get("QueueUrls", []),
        "log groups": here.sdk("logs").describe_log_groups()["logGroups"],
        "alarms": here.sdk("cloudwatch").describe_alarms()["MetricAlarms"],
    }
    for what, found in left.items():
        if found:
            raise Failed(f"After the end there are {what} left: {found}")


def _recorded(here: cloud.Cloud) -> dict[str, Any]:
    config = json.loads((here.project / ".chalice" / "config.json").read_text())
    recorded: dict[str, Any] = config["stages"][_STAGE]
    return recorded


def _run(here: cloud.Cloud, *arguments: str, **variables: str) -> str:
    done = here.run(*arguments, **variables)
    if done.returncode:
        raise Failed(f"`python {' '.join(arguments)}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _until(holds: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise Failed(f"After {_PATIENCE:.0f} s {otherwise()}.")
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
    assert old in text, f"{path.name} does not say {old!r} any more"
    path.write_text(text.replace(old, new))


BREAKS: dict[str, Callable[[Path], None]] = {"policy": _break_policy, "stream": _break_stream}
"""What can be broken on purpose: a policy that names the wrong table, a stream that the stack does not tell."""


if __name__ == "__main__":
    main()
