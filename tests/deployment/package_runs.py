"""Builds the package, zips it with Chalice, unzips it, and runs all functions.

The API runs first. The stream functions then receive the records of the API's writes, and the queue functions receive
the messages that the stream functions have sent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from chalice.local import LambdaEventConverter, RouteMatcher

from app import app
from chalicelib import ids, queues, settings
from chalicelib.queues import messages, tasks
from chalicelib.webhooks import queue
from infra import lambda_events, tables
from infra.local import children
from infra.local.children import Engine
from infra.package import build, wheels
from infra.package.__main__ import build_zip
from tests import extensions
from tests.builders import state_body
from tests.reliability.engine_fixture import client
from tests.sending.receivers import OK, answers, receiver

API = "app"
MAINTENANCE, FOLLOWING, WEBHOOKS = "chalicelib.maintenance", "chalicelib.followers", "chalicelib.webhooks.functions"
# Stream or queue function -> its module.
MODULES = {source.name: source.handler_string.rpartition(".")[0] for source in app.event_sources}
# One console page per view module.
PAGES = (
    "/overview",
    "/convos",
    "/convos/support/ann",
    "/convos/support/ann/delete",
    "/convos/support/ann/messages/first",
    "/convos.csv",
    "/analytics",
    "/organisation",
    "/leads",
    "/agents",
    "/agents/support",
    "/agents/support/replies",
    "/agents/support/new-tool",
    "/agents/support/try",
    "/agents/support/site",
    "/agents/support/versions",
    "/new-agent",
    "/settings",
    "/settings/audit",
    "/settings/erasures",
    "/settings/new-org",
    "/settings/new-webhook",
    "/settings/usage",
    "/settings/workspace",
    "/account",
    "/forgot-password",
)
_PROCESS = Path(__file__).with_name("package_process.py")
Event = dict[str, Any]


class Ran(NamedTuple):
    """The results of a process: responses, the state at the start and after each event, and the files that it read."""

    answers: list[Any]
    at_start: dict[str, Any]
    after_each: list[dict[str, Any]]
    files: list[str]


class Package(NamedTuple):
    """The zip file, its unzipped contents, and the runs of its functions by name."""

    zip: Path
    directory: Path
    runs: dict[str, Ran]


def build_and_run(directory: Path, engine: Engine) -> Package:
    """Build the package for this machine without downloads, and run its functions on an engine."""
    build.stage(directory / "staged", wheels.THIS_MACHINE)
    package = build_zip(directory / "staged")
    unzipped = unzip(package, directory / "unzipped")
    return Package(package, unzipped, _runs(unzipped, engine))


def unzip(package: Path, directory: Path) -> Path:
    """Unzip a package; return the new directory."""
    with zipfile.ZipFile(package) as archive:
        archive.extractall(directory)
    return directory


def run(
    package: Path,
    module: str,
    events: list[tuple[str, Event]],
    variables: dict[str, str],
    python: str = sys.executable,
) -> Ran:
    """Pass events to a module's handlers in an isolated interpreter whose environment is `variables`."""
    completed = subprocess.run(
        [python, "-I", "-S", "-B", str(_PROCESS), str(package), module],
        input=json.dumps(events),
        env=variables,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    return Ran(**json.loads(completed.stdout.splitlines()[-1]))


def request(token: str, method: str, path: str, body: Any = None) -> tuple[str, Event]:
    """Return the handler and the API Gateway event for a request."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    event = _gateway.create_lambda_event(method, path, headers, b"")
    query = parse_qs(urlsplit(path).query) or None
    return "app", {**event, "body": body and json.dumps(body), "multiValueQueryStringParameters": query}


def _form(path: str, fields: dict[str, str]) -> tuple[str, Event]:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    event = _gateway.create_lambda_event("POST", path, headers, b"")
    return "app", {**event, "body": urlencode(fields), "multiValueQueryStringParameters": None}


def _page(path: str, cookie: str) -> tuple[str, Event]:
    event = _gateway.create_lambda_event("GET", path, {"Cookie": cookie}, b"")
    return "app", {**event, "body": None, "multiValueQueryStringParameters": None}


_gateway = LambdaEventConverter(RouteMatcher(list(app.routes)), app.api.binary_types)


def _runs(package: Path, engine: Engine) -> dict[str, Ran]:
    tables.create_missing(lambda service: client(engine, service))
    where = {**engine.environment, "CAMS_WEBHOOK_ALLOW_PRIVATE": "1"}
    workspace_id, token = new_workspace(where)
    with receiver(answers(OK)) as listening:
        webhook = {"url": listening.url, "events": ["agent_created", "message_received"]}
        prepared = run(package, API, [request(token, *one) for one in _preparing(webhook)], where)
        served = run(package, API, [request(token, *one) for one in _SERVED], where)
        signed_in = run(package, API, [_form(f"/console/{workspace_id}", {"key": token})], where)
        cookie = signed_in.answers[0]["headers"]["Set-Cookie"].partition(";")[0]
        pages = run(package, API, [_page(f"/console/{workspace_id}{one}", cookie) for one in PAGES], where)
        stream_events = [(f"fan_out_{table}", _records(engine, table)) for table in ("agents", "conversations")]
        fanned_out = run(package, WEBHOOKS, stream_events, where)
        delivered = run(package, WEBHOOKS, [("deliver_slow", _messages(engine))], where)
        assert len(listening.requests) == 3, "expected events of two new agents and a received message"
    agent = f"{workspace_id}#support"
    done = [
        tasks.RecountQuarter(agent, "2026-11-22", 0),
        tasks.ContinueFanOut(workspace_id, "agent_created", ((ids.new_id(),),)),
        tasks.ClearLeftovers(f"{agent}#gone"),
        tasks.ResumeCascade(workspace_id, "other"),
        tasks.ApplyRetention(workspace_id),
    ]
    maintained = run(package, MAINTENANCE, [("maintain", _message(messages.pack(task))) for task in done], where)
    counted = run(package, FOLLOWING, [("follow_conversations", _records(engine, "conversations"))], where)
    watched = ("agents", "webhooks", "credentials", "analytics", "leads")
    followed = run(package, FOLLOWING, [(f"follow_{table}", _records(engine, table)) for table in watched], where)
    mail = {"CAMS_MAIL_SENDER": "CAMS <cams@example.com>", "CAMS_CONSOLE_URL": "https://example.com/console"}
    of_extensions = {
        name: run(package, MODULES[name], [(name, _message(text)) for text in texts], where | mail)
        for name, (_, texts) in extensions.queue_functions(workspace_id, "support", "bo").items()
    }
    return {
        "preparing": prepared,
        "serving": served,
        "signing in": signed_in,
        "showing pages": pages,
        "fanning out": fanned_out,
        "delivering": delivered,
        "maintaining": maintained,
        "counting": counted,
        "following": followed,
        **of_extensions,
    }


def new_workspace(where: dict[str, str]) -> tuple[str, str]:
    """Create a workspace with the operator command; return the workspace's id and key."""
    command = [sys.executable, "-m", "infra.cams", "workspace", "create", "--name", "Package", "--json"]
    completed = subprocess.run(
        command, cwd=build.ROOT, env={**os.environ, **where}, capture_output=True, text=True, check=True
    )
    created = json.loads(completed.stdout)
    return created["workspace_id"], created["workspace_key"]


def _records(engine: Engine, table: str) -> Event:
    streams = client(engine, "dynamodbstreams")
    (stream,) = streams.list_streams(TableName=settings.table_prefix() + table)["Streams"]
    (shard,) = streams.describe_stream(StreamArn=stream["StreamArn"])["StreamDescription"]["Shards"]
    place = {"StreamArn": stream["StreamArn"], "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    found = streams.get_records(ShardIterator=streams.get_shard_iterator(**place)["ShardIterator"], Limit=100)
    return lambda_events.from_records(found["Records"], stream["StreamArn"])


def _message(text: str) -> Event:
    return {"Records": [{"body": text, "messageId": "1", "receiptHandle": "1"}]}


def _messages(engine: Engine) -> Event:
    sqs = client(engine, "sqs")
    url = sqs.get_queue_url(QueueName=queues.name(queue.SLOW))["QueueUrl"]
    arn = f"arn:aws:sqs:{children.REGION}:000000000000:{queue.SLOW}"  # new hosts count as slow
    return lambda_events.from_messages(sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"], arn)


_NOTIFY = {"notifyThrough": "email", "notifyIf": "all"}


def _preparing(webhook: Event) -> list[tuple[Any, ...]]:
    return [
        ("POST", "/v3/webhooks", {"webhook": webhook}),
        ("POST", "/v2/agents/support", {"title": "Support"}),
        ("POST", "/v2/agents/other", {"title": "Other"}),
        ("POST", "/v3/agents/support/tools", {"tool": {"name": "weather"}}),
        ("POST", "/agents/support/interact/ann/state", state_body("Hello", mid="first", ts=1, **{"from": "human"})),
        ("POST", "/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support"]}),
        ("POST", "/v2/clients/bo", {"orgId": "acme", "email": "bo@example.com", "notificationsSettings": _NOTIFY}),
        ("POST", "/agents/support/interact/bo/state", {"metadata": {"state": "requested_chat"}}),
    ]


# The benchmarks measure cold starts with the first request. The last request is invalid.
_SERVED: list[tuple[Any, ...]] = [
    ("GET", "/v3/agents/support"),
    ("GET", "/v3/agents"),
    ("GET", "/v3/agents/support/tools"),
    ("GET", "/v2/agents/support/convos?page=1"),
    ("POST", "/agents/support/interact/ann/state"),
    ("GET", "/v3/webhooks"),
    ("GET", "/v2/agents/support"),
    ("GET", "/v3/agents/support/analytics?tz=Europe/Amsterdam"),
    ("PATCH", "/v3/agents/support", {"agent": {"limits": {"maxInteractionsPerUserId": 2}}}),
    ("POST", "/v3/tokens", {"token": {"name": "laptop"}}),
    ("DELETE", "/v3/agents/other"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/docs/swagger_bundle.js"),
    ("GET", "/docs/swagger_style.css"),
    ("POST", "/v3/tokens", {"token": {"name": 5}}),
]
