"""An erasure removes the changes and versions that contain the person's data."""

import json

from chalicelib import storage
from chalicelib.extensions.history.rows import VersionRow
from tests import extensions
from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.history.conftest import History, by

extensions.require("erasures")

from chalicelib.extensions.erasures import functions as erasing
from tests.queues.messages import take

DAY = 24 * 60 * 60


def test_an_erasure_removes_the_versions_that_have_the_person(history: History, api: Api, pass_time: PassTime) -> None:
    pass_time(0)
    api.post("/v2/agents/support", {"title": "Support", "description": "ann@x.test"})
    api.patch("/v3/agents/support", {"agent": {"description": None}})
    api.post("/v2/clients/ann@x.test", {"name": "Ann", "email": "ann@x.test"})
    assert (len(history.versions("agents/support")), len(history.of("clients/ann@x.test"))) == (2, 1)
    erasure_id = api.post("/v3/erasures", {"erasure": {"email": "ANN@x.test"}}).data["id"]
    for _ in range(2):
        erasing.erase({"Records": take("erasures")}, None)
        pass_time(90)
    receipt = api.get(f"/v3/erasures/{erasure_id}").data["receipt"]
    assert receipt["counts"]["history"] == 2
    assert history.of("clients/ann@x.test") == []
    (left,) = history.versions("agents/support")
    assert left["changed"] == ["description"]
    found = [row.open() for row in storage.scan(VersionRow, VersionRow.document.exists())]
    assert "ann@x.test" not in json.dumps(found)


def test_a_change_long_after_an_erasure_does_not_bring_a_version_back(
    history: History, api: Api, pass_time: PassTime
) -> None:
    """An erasure keeps the agent itself. A later change extends the replaced version's retention if it still exists."""
    pass_time(0)
    api.post("/v2/agents/support", {"title": "Support", "description": "ann@x.test"})
    history.keep()
    api.post("/v3/erasures", {"erasure": {"email": "ann@x.test"}})
    for _ in range(2):
        erasing.erase({"Records": take("erasures")}, None)
        pass_time(90)
    pass_time(60 * DAY)
    api.post("/v2/agents/support", {"description": "Nobody"})
    (left,) = history.versions("agents/support")
    assert left["changed"] == ["description"]
    assert [row.open()["description"] for row in storage.scan(VersionRow, VersionRow.document.exists())] == ["Nobody"]


def test_an_erasure_removes_the_changes_of_a_member_with_the_name_of_the_person(
    history: History, api: Api, pass_time: PassTime
) -> None:
    """A newer client may use an email address as a member name.

    Credential names are kept to identify who made a change.
    """
    pass_time(0)
    token = api.post("/v3/tokens", {"token": {"name": "ann@x.test", "scopes": ["agents:write"]}}).data["token"]
    api.post("/v2/agents/support", {"title": "Support", "visitors": {"Ann@x.test": {"since": 1}}})
    api.patch("/v3/agents/support", {"agent": {"visitors": None}})
    Api(token).patch("/v3/agents/support", {"agent": {"title": "Help"}})
    # A creation's entry contains only top-level member names.
    assert "visitors.Ann@x.test" not in history.of("agents/support")[-1]["changed"]
    api.patch("/v3/agents/support", {"agent": {"visitors": {"ann@x.test": {"since": 1}}}})
    api.patch("/v3/agents/support", {"agent": {"visitors": {"ann@x.test": {"since": 2}}}})
    api.patch("/v3/agents/support", {"agent": {"visitors": {}}})
    assert any("ann@x.test" in path for path in history.of("agents/support")[0]["changed"])
    erasure = api.post("/v3/erasures", {"erasure": {"email": "ann@x.test"}}).data["id"]
    for _ in range(2):
        erasing.erase({"Records": take("erasures")}, None)
        pass_time(90)
    left = history.of("agents/support")
    assert [by(one)[1] for one in left if one["changed"] == ["title"]] == ["ann@x.test"]
    assert "ann@x.test" not in json.dumps([one["changed"] for one in left]).lower()
    documents = [row.open() for row in storage.scan(VersionRow, VersionRow.document.exists())]
    assert "ann@x.test" not in json.dumps(documents).lower()
    assert api.get(f"/v3/erasures/{erasure}").data["receipt"]["counts"]["history"] == 4
