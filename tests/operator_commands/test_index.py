"""The command `index` adds records from version 1.0 to the indexes of later versions. `test_lead_lists` tests leads."""

from click.testing import CliRunner

from chalicelib import storage
from chalicelib.conversations.store import ConversationRow
from infra.operator.commands import cams
from tests.api import Api

_WAITING = "/v3/convos?inbox=true"


def test_waiting_conversations_of_version_1_0_are_listed_once_they_are_indexed(api: Api) -> None:
    api.post("/v2/agents/support", {"title": "Support"})
    for conversation_id, state in (("a", "requested_chat"), ("b", "AI"), ("c", "human-chatting")):
        api.post(f"/agents/support/interact/{conversation_id}/state", {"metadata": {"state": state}})
    before = api.get(_WAITING).data
    assert [one["ID"] for one in before] == ["c", "a"]
    for row in [*storage.scan(ConversationRow, ConversationRow.turns.exists())]:
        row.waiting = row.activity = None
        storage.save_many([row])
    assert api.get(_WAITING).data == []
    assert CliRunner().invoke(cams, ["index"]).output == "Indexed 0 leads and 2 waiting conversations.\n"
    assert api.get(_WAITING).data == before
    assert CliRunner().invoke(cams, ["index"]).output == "Indexed 0 leads and 0 waiting conversations.\n"
