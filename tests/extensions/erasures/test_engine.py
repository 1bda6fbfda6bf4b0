"""An erasure on the local engine, whose transactions, scans and indexes differ from moto's."""

import pytest

from chalicelib import clock
from chalicelib.extensions.erasures import functions
from chalicelib.extensions.erasures.queue import Erase
from chalicelib.queues import messages
from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.deletion.cascades import as_record
from tests.extensions.erasures.person_erasure import COUNTS, delete_entries_of_erasures
from tests.person_records import ZARA, fill
from tests.reliability.test_expiry_engine import all_items
from tests.reliability.test_expiry_engine import stream as stream
from tests.selection import whole
from tests.webhooks import pipeline

pytestmark = [pytest.mark.engine, whole]


def erase(workspace_id: str, erasure_id: str) -> None:
    functions.erase({"Records": [as_record(messages.pack(Erase(workspace_id, erasure_id)))]}, None)


def test_a_person_is_erased(stream: pipeline.Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    new = workspaces.create("Erased")
    api, now = Api(new.workspace_key), clock.milliseconds()
    assert api.post("/v2/agents/support", {}).status == 200
    before = len(all_items(new.workspace_id))
    fill(api, new.workspace_id, "zara")
    assert len(all_items(new.workspace_id)) > before + 6
    erasure_id = api.post("/v3/erasures", {"erasure": ZARA}).data["id"]
    for later in (0, 90_000):
        monkeypatch.setattr(clock, "milliseconds", lambda later=later: now + later)
        erase(new.workspace_id, erasure_id)
    found = api.get(f"/v3/erasures/{erasure_id}").data
    assert (found["status"], found["receipt"]["counts"]) == ("complete", COUNTS)
    delete_entries_of_erasures(new.workspace_id)
    assert len(all_items(new.workspace_id)) == before + 1  # the erasure itself
    assert "zara" not in repr(all_items(new.workspace_id))
