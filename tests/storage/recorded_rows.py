"""A stored layout's recorded rows: one record of every kind, as written by a version that uses this layout.

Each file in `layouts` contains the items of all tables, their data key, and the responses and events that the recording
version derived from the items.
"""

import base64
import hashlib
import json
import random
import string
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chalicelib import clock, storage
from chalicelib.storage import keyring
from chalicelib.workspaces import store as workspaces
from infra.operator.commands import cams
from tests.api import Api
from tests.engines import new_engine
from tests.moto_tables import items, tables
from tests.operations import CHOSEN, GUARDED, STATE, populate
from tests.webhooks import pipeline

DIRECTORY = Path(__file__).parent / "layouts"
_CONTEXT = {"service": "cams"}
_READS = [name for name in GUARDED if name.startswith("GET ")]
# Requests that are replayed from stored responses. The second response is stored in several pieces.
_KEYED = {"short": {"metadata": {"userName": "Ann"}}, "long": {"metadata": {"origin": "web-chat"}}}
_LONGEST = 20_000
_INCOMPRESSIBLE = "".join(random.Random(0).choices(string.ascii_letters, k=3_000))
_LONG = "/agents/support/interact/long/state"


def path_of(layout: int) -> Path:
    """Return a layout's file."""
    return DIRECTORY / f"{layout}.json"


def write(layout: int) -> None:
    """Write a layout's recording to its file."""
    with new_engine(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAMS_STORED_LAYOUT", str(layout))
        patch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
        path_of(layout).write_text(json.dumps(_record()) + "\n", encoding="utf-8")


def _record() -> dict[str, Any]:
    """Create a record of each kind in an empty engine; return the recording."""
    new = workspaces.create("Recorded")
    api, stream = Api(new.workspace_key), pipeline.Stream()
    with pipeline.inbox() as inbox:
        ids = populate(api._headers, inbox.host, CHOSEN)
        api.patch(f"/v3/webhooks/{ids['webhook_id']}", {"webhook": {"url": inbox.url(), "events": ["client_created"]}})
        api.post("/v2/clients/bo", {"email": "bo@example.com", "name": "Bo"})
        # The turns are large enough for chunks and for several items of received messages.
        turns = [{"from": "human", "messages": [{"item": {"text": f"{number} {'x' * 150}"}}]} for number in range(500)]
        assert api.post(_LONG, {"turns": turns, "metadata": {"userName": _INCOMPRESSIBLE}}).status == 200
        api.post("/v2/agents/deleted", {})
        api.delete("/v3/agents/deleted")
        for record in ("load", "convo"):
            assert api.post("/v2/agents/support/analytics/ann", {"record": record}).status == 200
        pipeline.fan_out(stream.read())
        pipeline.drain()
    assert CliRunner().invoke(cams, ["tallies", "recount"]).exit_code == 0
    for name in _KEYED:
        answer = _keyed(api, name)
        assert answer.status == 200, answer.text[:500]
    data_key = keyring.current()
    recorded = {
        "milliseconds": clock.milliseconds(),
        "data_key": base64.b64encode(data_key.secret).decode(),
        "workspace_key": new.workspace_key,
        "tables": {name.removeprefix(storage.table("")): _texts(found) for name, found in sorted(items().items())},
    }
    paths = [name.split()[1].format(**ids) for name in (*_READS, STATE)]
    return {**recorded, "read": read(api, [*paths, _LONG])}


def read(api: Api, paths: Iterable[str]) -> dict[str, Any]:
    """Return the responses at these paths, the replayed responses, and the events from the stored items."""
    answers = {path: (api.post(path, {}) if "/interact/" in path else api.get(path)).json for path in paths}
    replays = {name: _digest(_keyed(api, name).text) for name in _KEYED}
    events_by_type: dict[str, list[Any]] = defaultdict(list)
    for table in pipeline.WATCHED:
        for item in items()[storage.table(table)]:
            for event in pipeline.events_of([_inserted(table, item)]):
                events_by_type[event.type].append(event._asdict())
    events = {
        type_: min(events_of_type, key=lambda event: str(event["id"]))
        for type_, events_of_type in events_by_type.items()
    }
    counts = {type_: len(events_of_type) for type_, events_of_type in events_by_type.items()}
    return {"answers": _without_long(answers), "replays": replays, "events": events, "counts": counts}


def _without_long(value: Any) -> Any:
    """Return the value, in which a digest replaces each long list."""
    if isinstance(value, dict):
        return {name: _without_long(inner) for name, inner in value.items()}
    if isinstance(value, list) and len(text := json.dumps(value, sort_keys=True)) > _LONGEST:
        return _digest(text)
    return value


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def check_shown(then: Any, now: Any) -> None:
    """Check that a response still contains all members and values from the recorded response.

    New members are allowed.
    """
    if isinstance(then, dict):
        assert not (missing := then.keys() - now.keys()), missing
        for name, value in then.items():
            check_shown(value, now[name])
    elif isinstance(then, list):
        assert len(now) == len(then)
        for one, other in zip(then, now, strict=True):
            check_shown(one, other)
    else:
        assert now == then


@contextmanager
def restored(recorded: Mapping[str, Any]) -> Iterator[Api]:
    """Load recorded items into an empty engine at the recorded time; yield a client with the workspace key."""
    with new_engine(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "milliseconds", lambda: recorded["milliseconds"])
        plain = base64.b64decode(recorded["data_key"])
        wrapped = storage.sdk_client("kms").encrypt(KeyId="alias/cams", Plaintext=plain, EncryptionContext=_CONTEXT)[
            "CiphertextBlob"
        ]
        for table, found in recorded["tables"].items():
            for item in _bytes(found):
                if table == "keyring":
                    item["wrapped"] = {"B": wrapped}
                storage.sdk_client("dynamodb").put_item(TableName=storage.table(table), Item=item)
        yield Api(recorded["workspace_key"])


def _keyed(api: Api, name: str) -> Any:
    path = _LONG if name == "long" else "/agents/support/interact/keyed/state"
    headers = {**api._headers, "Content-Type": "application/json", "Idempotency-Key": name}
    return api.call("POST", path, _KEYED[name], headers)


def _inserted(table: str, item: dict[str, Any]) -> pipeline.Record:
    """Return the stream record for an item's insertion."""
    name = storage.table(table)
    schema = tables()[name]
    change = {
        "Keys": {key: item[key] for key in (schema.hash_key_attr, schema.range_key_attr) if key},
        "NewImage": item,
        "ApproximateCreationDateTime": 1.0,
    }
    return pipeline.as_in_an_event({"eventName": "INSERT", "dynamodb": change}, f"arn:table/{name}/stream")


def _texts(value: Any) -> Any:
    """Return the items, with binary values encoded as Base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _texts(inner) for name, inner in value.items()}
    return [_texts(inner) for inner in value] if isinstance(value, list) else value


def _bytes(values: list[dict[str, dict[str, Any]]]) -> Iterator[dict[str, dict[str, Any]]]:
    for item in values:
        yield {name: {"B": base64.b64decode(value["B"])} if "B" in value else value for name, value in item.items()}
