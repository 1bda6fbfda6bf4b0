"""Helpers that create, run and read a person's erasure."""

import re
from typing import Any

from chalicelib import extensions
from chalicelib.extensions.erasures import functions, kinds
from tests import decrypted_items
from tests.api import Api
from tests.conftest import PassTime
from tests.queues.messages import take


def work(pass_time: PassTime) -> None:
    """Run the erasure function until its queue is empty."""
    while taken := take("erasures"):
        functions.erase({"Records": taken}, None)
        pass_time(90)


def begin(api: Api, **person: str) -> str:
    """Create an erasure; return its id."""
    made = api.post("/v3/erasures", {"erasure": person}).data
    assert made["status"] == "running"
    erasure_id: str = made["id"]
    return erasure_id


def read(api: Api, erasure_id: str) -> dict[str, Any]:
    """Return an erasure from the API."""
    found: dict[str, Any] = api.get(f"/v3/erasures/{erasure_id}").data
    return found


def erase(api: Api, pass_time: PassTime, **person: str) -> dict[str, Any]:
    """Erase a person; return the completed erasure."""
    erasure_id = begin(api, **person)
    work(pass_time)
    found = read(api, erasure_id)
    assert found["status"] == "complete"
    return found


def delete_entries_of_erasures(workspace_id: str) -> None:
    """Delete what the history keeps after erasures, and check that it is only that they were requested."""
    for history in extensions.hooks("erasable"):
        keys = [one.key for one in history.list_page(workspace_id, None, 100)]
        assert all(record.startswith(f"{workspace_id}#erasures#") for record, _ in keys)
        history.delete(keys)


COUNTS = {
    **dict.fromkeys(kinds.by_name(), 0),
    "conversations": 2,
    "analytics": 1,
    "leads": 1,
    "events": 1,
    "answers": 1,
}
NOTHING = dict.fromkeys(COUNTS, 0)


def items_containing(text: str) -> list[decrypted_items.DecryptedItem]:
    """Return the items that contain a text, except inside random ids and Base64."""
    found = re.compile(rf"(?<![0-9A-Za-z+/]){re.escape(text)}")
    return [one for one in decrypted_items.items() if found.search(one.text)]
