"""The process that `benchmarks.overhead` counts: one stack on recorded responses of the engine.

python -m benchmarks.stack_process MODULE:FUNCTION CASE=LENGTH…

The process fills moto with the records through CAMS and records the engine's answers to each case once. Then the
answers are played back below all code of the stack: the SDK builds and signs requests and parses answers as usual.
"""

import gc
import importlib
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.handlers import BUILTIN_HANDLERS
from moto import mock_aws

from benchmarks import instructions

AGENT = "support"
READ, LIST = "agent read", "list page"
STATES = {"state of 4": 4, "state of 100": 100, "state of 300": 300}
_ENVIRONMENT = {
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_SESSION_TOKEN": "testing",
    "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",
}
_CONVERSATIONS = 24  # more than a page
_STATE = "/agents/{agent_id}/interact/{user_id}/state"
# The calls before counting: they fill the caches of the process.
_WARM_UP = 3
_WRITES = (b"PutItem", b"UpdateItem", b"TransactWriteItems")
_VOCABULARY = (
    "the a to of and is your for it order delivery please thank you can help with account we I my have not was this "
    "that when where tomorrow address refund invoice number email phone card change cancel size colour Tuesday ready"
)
_WORDS = _VOCABULARY.split()


Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


class RecordedEngine:
    """An engine for all clients that are created later. At first, moto responds; then `replies` are played back."""

    def __init__(self) -> None:
        self.replies: dict[tuple[bytes, bytes], AWSResponse] | None = None
        BUILTIN_HANDLERS.insert(
            0, ("before-send", self._reply)
        )  # the SDK uses the first reply, so this handler must precede moto's
        BUILTIN_HANDLERS.append(("before-parse", self._record))

    def _reply(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
        operation: bytes = request.headers["X-Amz-Target"].rpartition(b".")[2]
        # The body of a write differs in every call (ciphertext, time), so only its operation selects the response.
        self._key = operation, b"" if operation in _WRITES else request.body
        return None if self.replies is None else self.replies.get(self._key)

    def _record(self, response_dict: dict[str, Any], **_: Any) -> None:
        if self.replies is not None and self._key not in self.replies:
            reply = AWSResponse("", response_dict["status_code"], dict(response_dict["headers"]), None)
            reply._content = response_dict["body"]
            self.replies[self._key] = reply


class Case(NamedTuple):
    """A request: route, path values and JSON body."""

    method: str
    resource: str
    values: dict[str, str]
    body: Any = None

    def event(self, token: str) -> str:
        """Return the gateway's event as the JSON text that the runtime of a function receives."""
        path, host = self.resource.format(**self.values), "abc123.execute-api.eu-west-1.amazonaws.com"
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Host": host,
            "User-Agent": "python-requests/2.32.5",
            "X-Amzn-Trace-Id": "Root=1-6920b6c0-1f2e3d4c5b6a798812345678",
            "X-Forwarded-For": "203.0.113.7",
        }
        context = {
            "accountId": "123456789012",
            "apiId": "abc123",
            "domainName": host,
            "httpMethod": self.method,
            "identity": {"sourceIp": "203.0.113.7", "userAgent": headers["User-Agent"]},
            "path": f"/api{path}",
            "protocol": "HTTP/1.1",
            "requestId": "5d2c1f0e-3b4a-4c5d-8e6f-7a8b9c0d1e2f",
            "requestTimeEpoch": 1_795_287_600_000,
            "resourcePath": self.resource,
            "stage": "api",
        }
        event = {
            "resource": self.resource,
            "path": path,
            "httpMethod": self.method,
            "headers": headers,
            "multiValueHeaders": {name: [value] for name, value in headers.items()},
            "queryStringParameters": None,
            "multiValueQueryStringParameters": None,
            "pathParameters": self.values,
            "stageVariables": None,
            "requestContext": context,
            "body": None if self.body is None else json.dumps(self.body),
            "isBase64Encoded": False,
        }
        return json.dumps(event)


class Context:
    """The second argument that a runtime passes to a function."""

    function_name = "api"
    function_version = "1"
    invoked_function_arn = "arn:aws:lambda:eu-west-1:123456789012:function:api"
    memory_limit_in_mb = 512
    aws_request_id = "0b0a6a3c-59a5-4a0e-9a43-2f1f6f7c8d9e"


def main(stack: str, lengths: dict[str, int]) -> None:
    """Count a stack's instructions for each case; `lengths` are the operations per run."""
    os.environ.update(_ENVIRONMENT)
    engine = RecordedEngine()
    with mock_aws():
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for the logs, until the end
        token = _fill()
        module, _, function = stack.partition(":")
        answer: Handler = getattr(importlib.import_module(module), function)
        prepared = [(_prepare(engine, answer, case(name), token), length) for name, length in lengths.items()]
    gc.freeze()
    instructions.count(prepared)  # end moto first, because the SDK calls every handler of an event


def _prepare(engine: RecordedEngine, answer: Handler, request: Case, token: str) -> instructions.Prepare:
    """Record the engine, warm up, and return the case as an operation. The response must equal that of CAMS."""
    from app import app

    event, replies = request.event(token), dict[tuple[bytes, bytes], AWSResponse]()
    engine.replies, before = None, _read_conversation(request)
    expected = _without_times(app(json.loads(event), Context()))
    _restore(before)
    engine.replies = replies
    for _ in range(1 + _WARM_UP):
        if _without_times(answer(json.loads(event), Context())) != expected or expected[0] != 200:
            raise ValueError(f"an unexpected response: {request.method} {request.resource}")

    def prepare() -> instructions.Operation:
        parsed, context = json.loads(event), Context()  # as the runtime does before the call

        def operation() -> object:
            engine.replies = replies
            return answer(parsed, context)

        return operation

    return prepare


def case(name: str) -> Case:
    """Return the case with this name."""
    if name == READ:
        return Case("GET", "/v3/agents/{agent_id}", {"agent_id": AGENT})
    if name == LIST:
        return Case("GET", "/v2/agents/{agent_id}/convos", {"agent_id": AGENT})
    return Case("POST", _STATE, {"agent_id": AGENT, "user_id": _user_id(name)}, {"turns": _turns(STATES[name])})


def _fill() -> str:
    """Create the records through CAMS, and return the workspace's key."""
    from chalicelib import settings, storage
    from chalicelib.http import auth
    from chalicelib.storage import client
    from chalicelib.workspaces import store as workspaces
    from infra import tables
    from tests.api import Api

    # Counting slows the process down fifty times.
    auth.CACHE_SECONDS = client._DEADLINE_SECONDS = 3_600
    tables.create_missing(storage.sdk_client, settings.table_prefix())
    workspace = workspaces.create("Benchmark")
    os.environ["WORKSPACE_ID"] = workspace.workspace_id
    api = Api(workspace.workspace_key)
    api.post(f"/v2/agents/{AGENT}", {"title": "Support"})
    assert api.patch(f"/v3/agents/{AGENT}", {"agent": _agent()}).status == 200  # noqa: S101
    lengths = {_user_id(name): length for name, length in STATES.items()}
    for number, user_id in enumerate([*lengths, *(f"visitor-{number}" for number in range(_CONVERSATIONS))]):
        metadata = {"userName": f"User {number}", "userEmail": f"{number}@example.com", "origin": "web-chat"}
        # The request of a case adds the last two messages.
        body = {"turns": _turns(lengths.get(user_id, 4))[:-2], "metadata": metadata}
        assert api.post(f"/agents/{AGENT}/interact/{user_id}/state", body).status == 200  # noqa: S101
    return workspace.workspace_key


def _user_id(state: str) -> str:
    return state.replace(" ", "-")


def _turns(length: int) -> list[Any]:
    """Return a transcript with ids. Messages from the user and the agent alternate."""
    chance = random.Random(length)
    turns = []
    for place in range(length):
        text = " ".join(chance.choices(_WORDS, k=chance.randint(4, 50)))
        message = {
            "mid": f"{chance.getrandbits(72):018x}",
            "from": ("human", "assistant")[place % 2],
            "type": "text",
            "item": {"type": "text", "payload": {"message": text}},
            "ts": 1_795_287_000 + 7 * place,
        }
        turns.append({"from": message["from"], "messages": [message], "ts": message["ts"]})
    return turns


def _agent() -> dict[str, Any]:
    """Return an agent with every member of the record (§2.4), as a dashboard saves it: 12 KB of JSON.

    It omits the members that the service sets, those that differ between v2 and v3, and `retention`, which peers lack.
    """
    from chalicelib.agents.record import AgentV3

    chance = random.Random(0)
    agent: dict[str, Any] = _example(AgentV3, chance)
    for name in ("SECRET_API_KEY", "customThemeJSONString", "UIhandoffTitle", "UIhandoffSubtitle", "retention"):
        agent.pop(name)
    agent["nodes"] = [{**agent["nodes"][0], "id": f"node-{place}"} for place in range(2)]
    prompt = " ".join(chance.choices(_WORDS, k=300))
    limits = {"maxInteractionsPerUserId": 5_000}
    return {**agent, "agentPlatform": "vg", "vg_systemPrompt": prompt, "messagesLimit": 10_000, "limits": limits}


def _example(kind: Any, chance: random.Random) -> Any:
    """Return a value of the type: every writable member of a model, one element of a list."""
    if get_origin(kind) is Annotated:
        return 3 if "StrictNumber" in str(kind) else _example(get_args(kind)[0], chance)
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) is list:
        return [_example(get_args(kind)[0], chance)]
    if get_args(kind):  # the type of a member, without null
        return _example(get_args(kind)[0], chance)
    if hasattr(kind, "model_fields"):
        # Omit members that the service sets, and members that refer to other records.
        return {
            name: _example(field.annotation, chance)
            for name, field in kind.model_fields.items()
            if not {"readOnly", "x-own-id"} & {*(field.json_schema_extra or ())}
        }
    text = " ".join(chance.choices(_WORDS, k=4))
    return {str: text, bool: True, int: 3, dict: {"text": text}, Any: {"text": text}}[kind]


def _without_times(answer: dict[str, Any]) -> tuple[int, Any]:
    """Return the status and JSON of a response without the time of the write. All stacks must agree on the rest."""
    body = json.loads(answer["body"])
    if "chatState" in body:
        body["chatState"].pop("lastModified")
    return answer["statusCode"], body


def _read_conversation(request: Case) -> dict[str, Any] | None:
    """Return the conversation that a request writes."""
    if request.method == "GET":
        return None
    conversation = "#".join((os.environ["WORKSPACE_ID"], AGENT, request.values["user_id"]))
    key = {"conversation": {"S": conversation}, "item": {"S": "conversation"}}
    item: dict[str, Any] = _dynamodb().get_item(TableName="cams-conversations", Key=key)["Item"]
    return item


def _restore(item: dict[str, Any] | None) -> None:
    if item is not None:
        _dynamodb().put_item(TableName="cams-conversations", Item=item)


def _dynamodb() -> Any:
    from chalicelib import storage

    return storage.sdk_client("dynamodb")


if __name__ == "__main__":
    main(sys.argv[1], {case: int(length) for case, length in (argument.split("=") for argument in sys.argv[2:])})
