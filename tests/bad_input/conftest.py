"""The API with one record of each kind."""

from collections.abc import Iterator

import pytest

from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.bad_input.service import WITH_BODY, Service
from tests.engines import new_engine
from tests.operations import BODIES, CHOSEN, body_of
from tests.webhooks import pipeline


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """Return one service for all tests, which never change it; assert that it accepts every valid body."""
    with new_engine():
        api, stream = Api(workspaces.create("Test").workspace_key), pipeline.Stream()
        names = {"agent_id": "support", "user_id": "user-1", "convo_id": "user-1", "client_id": "ann", "org_id": "acme"}
        names["message_id"] = CHOSEN["message_id"]
        service = Service(api, names)
        api.post("/v2/agents/support", {})
        tool = api.post("/v3/agents/support/tools", body_of("POST /v3/agents/{agent_id}/tools")).data
        names["tool_id"] = tool["id"]
        made = api.post("/v3/webhooks", body_of("POST /v3/webhooks")).data["id"]
        names["webhook_id"], names["lead_id"] = made, api.post("/v3/leads", body_of("POST /v3/leads")).data["id"]
        names["delivery_id"] = api.post(f"/v3/webhooks/{made}/test").data["id"]
        names["token_id"] = api.post("/v3/tokens", {"token": {"name": "x"}}).data["id"]
        for operation in WITH_BODY:
            if operation.name in BODIES:
                assert service.send(operation, body_of(operation.name)).status == 200, operation.name
        pipeline.follow(stream.read("agents"))
        yield service
