"""Changes to an endpoint: which members they merge, clear or leave unchanged, and concurrent writers."""

from typing import Any

import pytest

from tests.api import Api
from tests.assertions import refused, stored
from tests.builders import webhook_body
from tests.engine_requests import counted, lose_first_answer
from tests.selection import first_case
from tests.webhook_endpoints.endpoints import URL, change, create, overtaken, read, without_secret


@pytest.mark.parametrize(
    "members",
    [
        {"url": "https://example.org/other"},
        {"events": ["agent_deleted", "message_received"]},
        {"enabled": False},
        {"description": "Other 🐑"},
        {"url": "https://example.org", "events": ["webhook_test"], "enabled": False, "description": ""},
    ],
    ids=lambda members: " ".join(members),
)
@first_case
def test_a_change_is_returned_and_stored_and_other_members_stay(members: dict[str, Any], api: Api) -> None:
    made = create(api, description="Ours")
    untouched = create(api)
    answer = api.patch(f"/v3/webhooks/{made['id']}", {"webhook": members})
    assert answer.json["message"] == "Webhook updated successfully"
    assert answer.data == read(api, made) == {**without_secret(made), **members}
    assert read(api, untouched) == without_secret(untouched)


@pytest.mark.parametrize(("name", "kind"), [("url", "a string"), ("events", "an array"), ("enabled", "a boolean")])
@first_case
def test_a_required_member_cannot_be_cleared(name: str, kind: str, api: Api) -> None:
    made = create(api)
    before = stored()
    body = webhook_body(**{"url": URL, "events": ["webhook_test"], "description": "Other", name: None})
    for answer in (api.patch(f"/v3/webhooks/{made['id']}", body), api.post("/v3/webhooks", body)):
        assert refused(answer, 400, f"webhook.{name}") == f"webhook.{name} must be {kind}."
    assert stored() == before


def test_null_clears_the_description(api: Api) -> None:
    made = create(api, description="Ours")
    assert change(api, made, description=None)["description"] is None
    assert read(api, made) == {**without_secret(made), "description": None}
    assert create(api, description=None)["description"] is None


@pytest.mark.parametrize(
    "members",
    [{}, {"url": URL, "events": ["lead_captured"], "enabled": True}, {"events": ["lead_captured"] * 2}],
    ids=["nothing", "the same", "the same twice"],
)
@first_case
def test_a_change_without_effect_writes_nothing(members: dict[str, Any], api: Api) -> None:
    made = create(api)
    before = stored()
    with counted() as requests:
        assert change(api, made, **members) == without_secret(made)
    assert requests == {"GetItem": 1}
    assert stored() == before


def test_clearing_an_absent_description_writes_nothing(api: Api) -> None:
    made = create(api)
    with counted() as requests:
        change(api, made, description=None)
    assert requests == {"GetItem": 1}


def test_a_change_is_applied_to_the_version_of_a_concurrent_writer(api: Api) -> None:
    made = create(api)
    with overtaken("save", lambda: change(api, made, description="Theirs")):
        assert change(api, made, enabled=False)["enabled"] is False
    assert read(api, made) == {**without_secret(made), "enabled": False, "description": "Theirs"}


def test_a_change_does_not_recreate_an_endpoint_that_is_deleted_concurrently(api: Api) -> None:
    made = create(api)
    with overtaken("save", lambda: api.delete(f"/v3/webhooks/{made['id']}")):
        refused(api.patch(f"/v3/webhooks/{made['id']}", {"webhook": {"enabled": False}}), 404)
    assert api.get("/v3/webhooks").data == []


def test_a_lost_response_of_the_database_is_no_conflict(api: Api) -> None:
    with lose_first_answer("TransactWriteItems"):
        made = create(api)
    with lose_first_answer("PutItem"):
        assert change(api, made, description="Other")["description"] == "Other"
    assert len(api.get("/v3/webhooks").data) == 1
