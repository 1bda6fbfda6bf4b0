"""Fill an engine with the records of the cases, and record its answers. Runs in its own process:

python -m benchmarks.overhead.record DIRECTORY LONGEST STORE…

There is one recording for each store: CAMS, our encoding on bare botocore, and native maps. Each store gets the same
requests on the same initial records, and all must return the same JSON. The other stacks use one of the three
recordings; the measurement compares their answers with it.
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
    """Records the answers to every client created from now on."""

    def __init__(self) -> None:
        self.replies: dict[Any, Any] = {}
        self._request: Any = None
        botocore.handlers.BUILTIN_HANDLERS.append(("before-send", self._note_request))
        botocore.handlers.BUILTIN_HANDLERS.append(("before-parse", self._note_answer))

    def _note_request(self, request: AWSPreparedRequest, **_: Any) -> None:
        self._request = recorded.request_key(request)

    def _note_answer(self, response_dict: dict[str, Any], **_: Any) -> None:
        reply = response_dict["status_code"], dict(response_dict["headers"]), response_dict["body"]
        self.replies[self._request] = reply


def main(directory: Path, longest: int, stores: list[str]) -> None:
    """Write a recording for each store, of states with up to `longest` messages."""
    os.environ.update(ENVIRONMENT)
    recorder = Recorder()
    with mock_aws():
        token = _fill(longest, NATIVE in stores)
        environment = {**ENVIRONMENT, "WORKSPACE_ID": os.environ["WORKSPACE_ID"]}
        requests = [(case, case.event(token)) for case in cases.cases(longest)]
        events = {case.name: event for case, event in requests}
        expected: dict[str, Any] = {}
        for store in stores:
            _clear_caches()
            answer = handler(RECORDED[store])
            recorder.replies = {}
            answered: dict[str, Any] = {}
            for case, event in requests:
                if store == NATIVE and case.values.get("user_id") == user(FURTHER):
                    continue  # moto is very slow with a thousand maps
                before = _stored(case)
                answered[case.name] = cases.normalize(answer(json.loads(event), Context()))
                _restore(before)
            expected = expected or answered
            if not answered.items() <= expected.items() or {status for status, _ in answered.values()} != {200}:
                raise ValueError(f"{RECORDED[store]} gives a different answer")
            recorded.save(directory / store, recorded.Recording(environment, events, expected, recorder.replies))


def _fill(longest: int, native: bool) -> str:
    """Create the records through CAMS, copy them to the native tables if wanted, and return a token."""
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
        shown = ("ID", "id", "tools")  # not stored
        native_store.put_agent(AGENT, {name: value for name, value in document.items() if name not in shown})
    lengths = dict(enumerate((length for length in (SMALL, LONG, FURTHER) if length <= longest), start=1))
    for number in range(1, CONVERSATIONS + 1):
        user_id = user(lengths[number]) if number in lengths else f"visitor-{number}"
        # A write then adds the last two messages.
        turns = cases.turns(lengths.get(number, SMALL))[:-2]
        body = {"turns": turns, "metadata": cases.metadata(number)}
        answer = api.post(f"/agents/{AGENT}/interact/{user_id}/state", body).json
        if native and lengths.get(number) != FURTHER:
            created = _item(user_id)["created"]["S"]
            native_store.put_conversation(AGENT, user_id, created, answer["chatState"], answer["turns"])
    # An unused token, so that the recording includes the update of `lastUsedAt`.
    return workspaces.issue(made.workspace_id, tokens.WORKSPACE, "benchmark", None).token


def _stored(case: cases.Case) -> dict[str, Any] | None:
    """Return the CAMS item that a case writes. The native item is written only once."""
    if case.method == "GET":
        return None
    return _item(case.values["user_id"])


def _item(user_id: str) -> dict[str, Any]:
    conversation = "#".join((os.environ["WORKSPACE_ID"], AGENT, user_id))
    key = {"conversation": {"S": conversation}, "item": {"S": "conversation"}}
    item: dict[str, Any] = _dynamodb().get_item(TableName=_CONVERSATIONS, Key=key)["Item"]
    return item


def _restore(item: dict[str, Any] | None) -> None:
    if item is not None:
        _dynamodb().put_item(TableName=_CONVERSATIONS, Item=item)


def _dynamodb() -> Any:
    from chalicelib import storage

    return storage.sdk_client("dynamodb")


def _clear_caches() -> None:
    """Clear the process's caches, so the recording has the requests that fill them."""
    from chalicelib.http import auth
    from chalicelib.storage import keyring

    auth.clear_cache()
    keyring.current.cache_clear()
    keyring.find.cache_clear()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
