"""A recorded request is answered without the engine."""

from benchmarks.measure import replay
from tests import moto_tables
from tests.api import Api
from tests.direct_moto import over_http

AGENT = "/v3/agents/support"


def test_a_recorded_request_needs_no_engine(api: Api, agent_id: str) -> None:
    player = replay.Player()
    with over_http():
        with replay.recorded() as player.replies:
            shown = api.get(AGENT).data
        for table in moto_tables.tables().values():
            table.items.clear()
        with player.playing():
            assert api.get(AGENT).data == shown
        assert api.get(AGENT).status == 404


def test_a_request_that_was_not_recorded_fails(api: Api, agent_id: str) -> None:
    with over_http(), replay.Player().playing():
        assert api.get(AGENT).status == 500
