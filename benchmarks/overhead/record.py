"""Fills an engine with the records of the cases, and records what it answers to each stack. A process of its own:

python -m benchmarks.overhead.record DIRECTORY LONGEST STORE…

Once for each way to store: ours, our encoding on bare botocore, native maps. They are asked the same, one after the
other, each finds the records as they were at first, and they must answer the same JSON. The other stacks use one of the
three; whoever measures checks their answers against the ones that are recorded here.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import botocore.handlers
from botocore.awsrequest import AWSPreparedRequest
from moto import mock_aws

from benchmarks.overhead import cases, recorded
from benchmarks.overhead.cases import AGENT, CONVERSATIONS, FURTHER, LONG, SMALL, user
from benchmarks.overhead.stacks import NATIVE, RECORDED, Context, handler

ENVIRONMENT = {
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_SESSION_TOKEN": "testing",
    "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",
}


_CONVERSATIONS = "cams-conversations"


class Recorder:
    """Listens to every client that is made from now on."""

    def __init__(self) -> None:
        self.replies: dict[Any, Any] = {}
        self._asked: Any = None
        botocore.handlers.BUILTIN_HANDLERS.append(("before-send", self._ask))
        botocore.handlers.BUILTIN_HANDLERS.append(("before-parse", self._answer))

    def _ask(self, request: AWSPreparedRequest, **_: Any) -> None:
        self._asked = recorded.wanted(request)

    def _answer(self, response_dict: dict[str, Any], **_: Any) -> None:
        reply = response_dict["status_code"], dict(response_dict["headers"]), response_dict["body"]
        self.replies[self._asked] = reply


def main(directory: Path, longest: int, stores: list[str]) -> None:
    """Writes a recording for each way to store, by its name; of states with up to `longest` messages."""
    os.environ.update(ENVIRONMENT)
    recorder = Recorder()
    with mock_aws():
        token = _fill(longest, NATIVE in stores)
        environment = {**ENVIRONMENT, "WORKSPACE_ID": os.environ["WORKSPACE_ID"]}
        requests = [(case, case.event(token)) for case in cases.cases(longest)]
        events = {case.name: event for case, event in requests}
        expected: dict[str, Any] = {}
        for store in stores:
            _forget()
            answer = handler(RECORDED[store])
            recorder.replies = {}
            answered: dict[str, Any] = {}
            for case, event in requests:
                if store == NATIVE and case.values.get("user_id") == user(FURTHER):
                    continue  # moto takes very long over a thousand maps
                before = _stored(case)
                answered[case.name] = cases.normal(answer(json.loads(event), Context()))
                _put_back(before)
            expected = expected or answered
            if not answered.items() <= expected.items() or {status for status, _ in answered.values()} != {200}:
                raise ValueError(f"{RECORDED[store]} answers otherwise")
            recorded.save(directory / store, recorded.Recording(environment, events, expected, recorder.replies))


def _fill(longest: int, native: bool) -> str:
    """Creates the records through ours, and copies them to the native tables if wanted; a token that opens them."""
    from benchmarks.peers import native_store
    from chalicelib import settings, storage
    from chalicelib.credentials import tokens
    from chalicelib.workspaces import store as workspaces
    from infra import tables
    from tests.api import Api

    tables.create_missing(storage.sdk_client, settings.table_prefix())
    made = workspaces.create("Benchmark")
    os.environ["WORKSPACE_ID"] = made.workspace_id
    api = Api(made.workspace_key)
    api.post(f"/v2/agents/{AGENT}", {"title": "Support"})
    document = api.patch(f"/v3/agents/{AGENT}", {"agent": cases.agent()}).data
    if native:
        native_store.create_tables()
        native_store.put_agent(AGENT, {name: value for name, value in document.items() if name not in ("ID", "id")})
    lengths = dict(enumerate((length for length in (SMALL, LONG, FURTHER) if length <= longest), start=1))
    for number in range(1, CONVERSATIONS + 1):
        user_id = user(lengths[number]) if number in lengths else f"visitor-{number}"
        # What there is before a write: all but its last two messages.
        turns = cases.turns(lengths.get(number, SMALL))[:-2]
        body = {"turns": turns, "metadata": cases.metadata(number)}
        answer = api.post(f"/agents/{AGENT}/interact/{user_id}/state", body).json
        if native and lengths.get(number) != FURTHER:
            native_store.put_conversation(AGENT, user_id, number, answer["chatState"], answer["turns"])
    # One that nobody has used: that its use is noted is recorded as well.
    return workspaces.issue(made.workspace_id, tokens.WORKSPACE, "benchmark", None).token


def _stored(case: cases.Case) -> dict[str, Any] | None:
    """The item of ours that a case writes; the native one is written once."""
    if case.method == "GET":
        return None
    conversation = "#".join((os.environ["WORKSPACE_ID"], *case.values.values()))
    key = {"conversation": {"S": conversation}, "item": {"S": "conversation"}}
    item: dict[str, Any] = _dynamodb().get_item(TableName=_CONVERSATIONS, Key=key)["Item"]
    return item


def _put_back(item: dict[str, Any] | None) -> None:
    if item is not None:
        _dynamodb().put_item(TableName=_CONVERSATIONS, Item=item)


def _dynamodb() -> Any:
    from chalicelib import storage

    return storage.sdk_client("dynamodb")


def _forget() -> None:
    """What a process keeps between requests: a stack's own process will ask for it, once."""
    from chalicelib.http import auth
    from chalicelib.storage import keyring

    auth.clear_cache()
    keyring.current.cache_clear()
    keyring.find.cache_clear()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
