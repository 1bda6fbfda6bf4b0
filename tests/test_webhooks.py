"""The routes of webhook endpoints: their members, valid URLs, the signing secret, and access.

The routes of deliveries are tested in `test_webhook_deliveries.py`, and the pipeline in `webhooks/`.
"""

import re
from base64 import b64decode
from typing import Any, get_args

import pytest

from chalicelib import clock, storage
from chalicelib.webhooks import endpoints
from chalicelib.webhooks.events import Type
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import webhook_body
from tests.evidence import refused, stored
from tests.requests import counted, lose_first_answer
from tests.selection import one_of_each
from tests.writes import before_each_commit

NOW = 1_793_611_800_123
URL = "https://example.com/hooks/cams"
MEMBERS = {"id", "url", "events", "enabled", "description", "createdAt"}
DAY = 24 * 60 * 60 * 1000


@pytest.fixture(autouse=True)
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call of the clock returns a later time, so that the order of creation is unambiguous."""
    real, last = clock.milliseconds, [0]

    def tick() -> int:
        last[0] = max(real(), last[0] + 1)
        return last[0]

    monkeypatch.setattr(clock, "milliseconds", tick)


def create(api: Api, **members: Any) -> Any:
    return api.post("/v3/webhooks", webhook_body(**{"url": URL, **members})).data


def read(api: Api, made: Any) -> Any:
    return api.get(f"/v3/webhooks/{made['id']}").data


def change(api: Api, made: Any, **members: Any) -> Any:
    return api.patch(f"/v3/webhooks/{made['id']}", {"webhook": members}).data


def without_secret(made: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in made.items() if name != "signingSecret"}


def signing(workspace: NewWorkspace, made: Any) -> list[str]:
    """Return the secrets that sign deliveries now."""
    return endpoints.active_secrets(endpoints.read(workspace.workspace_id, made["id"]).open())


# ---- create and read ------------------------------------------------------------------------------


def test_an_endpoint_is_returned_when_it_is_created_and_read(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "milliseconds", lambda: NOW)
    given = {"url": URL, "events": ["agent_deleted", "lead_captured"], "description": "Ours", "enabled": False}
    answer = api.post("/v3/webhooks", {"webhook": given})
    made = answer.data
    assert answer.json["message"] == "Webhook created successfully"
    assert made == {**given, "id": made["id"], "createdAt": NOW, "signingSecret": made["signingSecret"]}
    answer = api.get(f"/v3/webhooks/{made['id']}")
    assert (answer.json["message"], answer.data) == ("Webhook retrieved successfully", without_secret(made))


def test_an_endpoint_is_enabled_and_has_no_description_by_default(api: Api) -> None:
    made = create(api)
    assert (made["enabled"], made["description"]) == (True, None)
    assert made.keys() == MEMBERS | {"signingSecret"}
    assert read(api, made).keys() == MEMBERS


def test_the_list_has_all_endpoints_oldest_first_without_secrets(api: Api) -> None:
    assert api.get("/v3/webhooks").data == []
    made = [create(api, url=f"{URL}/{number}") for number in range(5)]
    answer = api.get("/v3/webhooks")
    assert answer.json["message"] == "Webhooks retrieved successfully"
    assert answer.data == [without_secret(one) for one in made]


def test_two_endpoints_may_have_the_same_url(api: Api) -> None:
    assert create(api)["id"] != create(api)["id"]
    assert len(api.get("/v3/webhooks").data) == 2


def test_an_unknown_endpoint_is_not_found(api: Api) -> None:
    path = "/v3/webhooks/unknown"
    sent = api.post(f"/v3/webhooks/{create(api)['id']}/test").data
    delivery = f"{path}/deliveries/{sent['id']}"
    for method, where, body in (
        ("GET", path, None),
        ("PATCH", path, {"webhook": {}}),
        ("DELETE", path, None),
        ("POST", f"{path}/test", None),
        ("POST", f"{path}/rotate", None),
        ("GET", f"{path}/deliveries", None),
        ("GET", delivery, None),
        ("POST", f"{delivery}/redeliver", None),
    ):
        assert refused(api.call(method, where, body), 404) == "There is no such webhook."


def test_read_only_members_of_a_request_are_ignored(api: Api) -> None:
    made = create(api, id="mine", createdAt=5)
    assert made["id"] != "mine"
    assert made["createdAt"] > 1_700_000_000_000
    shown = read(api, made)
    assert api.patch(f"/v3/webhooks/{made['id']}", {"webhook": shown}).data == shown


# ---- events ---------------------------------------------------------------------------------------


def test_every_event_type_can_be_subscribed_to_and_no_other(api: Api) -> None:
    types = list(get_args(Type))
    assert create(api, events=types)["events"] == types
    for wrong in ("agent", "*", "Agent_created", "", "lead_updated", None, 5):
        answer = api.post("/v3/webhooks", webhook_body(URL, "lead_captured", wrong))
        refused(answer, 400, "webhook.events.1")


def test_duplicate_events_are_removed_in_order(api: Api) -> None:
    twice = ["lead_captured", "agent_created", "lead_captured", "agent_created", "agent_deleted"]
    made = create(api, events=twice)
    assert made["events"] == read(api, made)["events"] == ["lead_captured", "agent_created", "agent_deleted"]
    changed = change(api, made, events=["client_created", "client_created"])
    assert changed["events"] == read(api, made)["events"] == ["client_created"]


def test_an_endpoint_must_have_at_least_one_type_of_event(api: Api) -> None:
    made = create(api)
    wrong = webhook_body(URL, events=[])
    for answer in (api.post("/v3/webhooks", wrong), api.patch(f"/v3/webhooks/{made['id']}", wrong)):
        assert refused(answer, 400, "webhook.events") == "webhook.events must have at least 1 item."


# ---- the URL --------------------------------------------------------------------------------------

PUBLIC = [
    "https://example.com",
    "https://example.com/",
    "HTTPS://Example.COM:8443/a/b?c=d&e=%20",
    "https://bücher.example/ärger?ü=1",
    "https://8.8.8.8/hook",
    "https://[2606:4700::1111]:443/hook",
    "https://example.com/?to=http://127.0.0.1/",
    "https://localhost.example.com/",
    "https://example.com/" + "a" * 2028,
]


@one_of_each(lambda: None)
@pytest.mark.parametrize("url", PUBLIC, ids=lambda url: url[:40])
def test_a_public_https_url_is_accepted_and_returned_unchanged(url: str, api: Api) -> None:
    made = create(api, url=url)
    assert made["url"] == read(api, made)["url"] == url
    assert change(api, create(api), url=url)["url"] == url


PRIVATE = "must have a public address"
REFUSED = {
    "http://example.com/secret-path": "must begin with https://",
    "example.com/secret-path": "must begin with https://",
    "javascript:secret-path": "must begin with https://",
    "https://127.0.0.1/secret-path": PRIVATE,
    "https://10.1.2.3/secret-path": PRIVATE,
    "https://172.16.0.1/secret-path": PRIVATE,
    "https://192.168.1.1/secret-path": PRIVATE,
    "https://169.254.169.254/secret-path": PRIVATE,
    "https://0x7f.1/secret-path": PRIVATE,
    "https://0/secret-path": PRIVATE,
    "https://[::1]/secret-path": PRIVATE,
    "https://[fe80::1]/secret-path": PRIVATE,
    "https://[::ffff:192.168.0.1]/secret-path": PRIVATE,
    "https://[64:ff9b::a00:1]/secret-path": PRIVATE,
    "https://user@example.com/secret-path": "must not have a user name or password",
    "https://user:secret-path@example.com/": "must not have a user name or password",
    "https://@example.com/secret-path": "must not have a user name or password",
    "https://example.com/secret-path#": "must not have a fragment",
    "https://example.com/#secret-path": "must not have a fragment",
    "https:///secret-path": "must have a valid host",
    "https://example.com:99999/secret-path": "must have a port from 1 to 65535",
    "https://example.com/secret-path\n": "must not have spaces, control characters or backslashes",
    " https://example.com/secret-path": "must not have spaces, control characters or backslashes",
    "https://example.com/secret-path" + "a" * 2018: "must have at most 2048 characters",
}


@one_of_each(lambda rule: rule)
@pytest.mark.parametrize(("url", "rule"), REFUSED.items(), ids=[url[:40] for url in REFUSED])
def test_any_other_url_is_refused_with_its_rule_and_not_echoed(url: str, rule: str, api: Api) -> None:
    made = create(api)
    before = stored()
    body = webhook_body(url)
    for answer in (api.post("/v3/webhooks", body), api.patch(f"/v3/webhooks/{made['id']}", body)):
        assert refused(answer, 400, "webhook.url") == f"webhook.url {rule}."
        assert "secret-path" not in answer.text
    assert stored() == before


def test_the_url_is_checked_before_the_endpoint(api: Api) -> None:
    refused(api.patch("/v3/webhooks/nothing", webhook_body("http://example.com")), 400, "webhook.url")


def test_private_addresses_and_http_are_allowed_only_with_the_setting(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in ("0", "true", ""):
        monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", value)
        refused(api.post("/v3/webhooks", {"webhook": {"url": "https://10.0.0.1", "events": ["webhook_test"]}}), 400,
                "webhook.url")  # fmt: skip
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    made = create(api, url="http://127.0.0.1:8080/hook")
    monkeypatch.delenv("CAMS_WEBHOOK_ALLOW_PRIVATE")
    # A change of other members is still allowed, because the URL is not part of the request.
    assert change(api, made, enabled=False)["url"] == "http://127.0.0.1:8080/hook"


# ---- change ---------------------------------------------------------------------------------------


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
@one_of_each(lambda: None)
def test_a_change_is_returned_and_stored_and_other_members_stay(members: dict[str, Any], api: Api) -> None:
    made = create(api, description="Ours")
    untouched = create(api)
    answer = api.patch(f"/v3/webhooks/{made['id']}", {"webhook": members})
    assert answer.json["message"] == "Webhook updated successfully"
    assert answer.data == read(api, made) == {**without_secret(made), **members}
    assert read(api, untouched) == without_secret(untouched)


@pytest.mark.parametrize(("name", "kind"), [("url", "a string"), ("events", "an array"), ("enabled", "a boolean")])
@one_of_each(lambda: None)
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
@one_of_each(lambda: None)
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


def test_a_change_is_applied_to_the_version_of_a_concurrent_writer(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    made, save = create(api), endpoints.save

    def overtaken(*saved: Any) -> None:
        monkeypatch.setattr(endpoints, "save", save)
        change(api, made, description="Theirs")
        save(*saved)

    monkeypatch.setattr(endpoints, "save", overtaken)
    assert change(api, made, enabled=False)["enabled"] is False
    assert read(api, made) == {**without_secret(made), "enabled": False, "description": "Theirs"}


def test_a_change_does_not_recreate_an_endpoint_that_is_deleted_concurrently(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, save = create(api), endpoints.save

    def overtaken(*saved: Any) -> None:
        monkeypatch.setattr(endpoints, "save", save)
        api.delete(f"/v3/webhooks/{made['id']}")
        save(*saved)

    monkeypatch.setattr(endpoints, "save", overtaken)
    refused(api.patch(f"/v3/webhooks/{made['id']}", {"webhook": {"enabled": False}}), 404)
    assert api.get("/v3/webhooks").data == []


def test_a_lost_response_of_the_database_is_no_conflict(api: Api) -> None:
    with lose_first_answer("TransactWriteItems"):
        made = create(api)
    with lose_first_answer("PutItem"):
        assert change(api, made, description="Other")["description"] == "Other"
    assert len(api.get("/v3/webhooks").data) == 1


def test_a_change_does_not_undo_a_concurrent_rotation(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, save = create(api), endpoints.save
    rotated = []

    def overtaken(*saved: Any) -> None:
        monkeypatch.setattr(endpoints, "save", save)
        rotated.append(api.post(f"/v3/webhooks/{made['id']}/rotate").data["signingSecret"])
        save(*saved)

    monkeypatch.setattr(endpoints, "save", overtaken)
    change(api, made, enabled=False)
    assert signing(workspace, made) == [*rotated, made["signingSecret"]]


# ---- delete ---------------------------------------------------------------------------------------


def test_a_deleted_endpoint_is_gone_and_the_others_stay(api: Api) -> None:
    first, second = create(api), create(api)
    answer = api.delete(f"/v3/webhooks/{first['id']}")
    assert answer.json == {"success": True, "message": "Webhook deleted successfully"}
    refused(api.get(f"/v3/webhooks/{first['id']}"), 404)
    refused(api.delete(f"/v3/webhooks/{first['id']}"), 404)
    assert api.get("/v3/webhooks").data == [without_secret(second)]


def test_a_deletion_is_retried_after_a_concurrent_change(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    made, delete = create(api), endpoints.delete

    def overtaken(row: endpoints.WebhookRow) -> None:
        monkeypatch.setattr(endpoints, "delete", delete)
        change(api, made, description="Theirs")
        delete(row)

    monkeypatch.setattr(endpoints, "delete", overtaken)
    assert api.delete(f"/v3/webhooks/{made['id']}").status == 200
    assert api.get("/v3/webhooks").data == []


# ---- the signing secret ---------------------------------------------------------------------------


def test_a_signing_secret_is_32_unique_bytes_in_the_format_of_the_standard(api: Api) -> None:
    secrets = [create(api)["signingSecret"] for _ in range(3)]
    assert len(set(secrets)) == 3
    for secret in secrets:
        assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", secret)
        assert len(b64decode(secret.removeprefix("whsec_"), validate=True)) == 32


def test_the_signing_secret_is_shown_only_at_creation(api: Api, workspace: NewWorkspace) -> None:
    made = create(api)
    delivery = api.post(f"/v3/webhooks/{made['id']}/test")
    later = [
        api.get(f"/v3/webhooks/{made['id']}"),
        api.get("/v3/webhooks"),
        api.patch(f"/v3/webhooks/{made['id']}", {"webhook": {"enabled": False}}),
        api.patch(f"/v3/webhooks/{made['id']}", {"webhook": {}}),
        delivery,
        api.get(f"/v3/webhooks/{made['id']}/deliveries"),
        api.get(f"/v3/webhooks/{made['id']}/deliveries/{delivery.data['id']}"),
        api.delete(f"/v3/webhooks/{made['id']}"),
    ]
    assert {answer.status for answer in later} == {200}
    assert not [answer.text for answer in later if "signingSecret" in answer.text or "whsec_" in answer.text]
    assert signing(workspace, create(api)) != [made["signingSecret"]]


def test_after_a_rotation_the_old_secret_signs_for_a_day(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = create(api, description="Ours")
    now = clock.milliseconds()
    answer = api.post(f"/v3/webhooks/{made['id']}/rotate")
    new, old = answer.data["signingSecret"], made["signingSecret"]
    assert answer.json["message"] == "Webhook secret rotated successfully"
    assert without_secret(answer.data) == without_secret(made)
    assert new != old
    assert read(api, made) == without_secret(made)
    assert signing(workspace, made) == [new, old]
    monkeypatch.setattr(clock, "milliseconds", lambda: now + DAY)
    assert signing(workspace, made) == [new, old]
    monkeypatch.setattr(clock, "milliseconds", lambda: now + DAY + 60_000)
    assert signing(workspace, made) == [new]


def test_after_two_rotations_each_old_secret_signs_for_a_day(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, moment = "/v3/webhooks/{}/rotate", [NOW]
    monkeypatch.setattr(clock, "milliseconds", lambda: moment[0])
    made = create(api)
    first = made["signingSecret"]
    second = api.post(path.format(made["id"])).data["signingSecret"]
    moment[0] += DAY // 2
    third = api.post(path.format(made["id"])).data["signingSecret"]
    assert signing(workspace, made) == [third, second, first]
    moment[0] += DAY // 2
    assert signing(workspace, made) == [third, second]
    moment[0] += DAY // 2
    assert signing(workspace, made) == [third]
    fourth = api.post(path.format(made["id"])).data["signingSecret"]
    assert signing(workspace, made) == [fourth, third]


def test_at_most_the_eight_newest_secrets_sign(api: Api, workspace: NewWorkspace) -> None:
    made = create(api)
    secrets = [api.post(f"/v3/webhooks/{made['id']}/rotate").data["signingSecret"] for _ in range(10)]
    assert signing(workspace, made) == secrets[:1:-1]


def test_concurrent_rotations_both_return_a_secret_that_signs(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, save, answered = create(api), endpoints.save, []

    def overtaken(*saved: Any) -> None:
        monkeypatch.setattr(endpoints, "save", save)
        answered.append(api.post(f"/v3/webhooks/{made['id']}/rotate").data["signingSecret"])
        save(*saved)

    monkeypatch.setattr(endpoints, "save", overtaken)
    answered.append(api.post(f"/v3/webhooks/{made['id']}/rotate").data["signingSecret"])
    assert signing(workspace, made) == [*answered[::-1], made["signingSecret"]]


# ---- access --------------------------------------------------------------------------------------


def everything(made: Any, delivery: Any) -> list[tuple[str, str, Any]]:
    """Return a valid request for every webhook operation; the deletion is last."""
    path = f"/v3/webhooks/{made['id']}"
    return [
        ("GET", "/v3/webhooks", None),
        ("GET", path, None),
        ("GET", f"{path}/deliveries", None),
        ("GET", f"{path}/deliveries/{delivery['id']}", None),
        ("POST", "/v3/webhooks", webhook_body(URL)),
        ("PATCH", path, {"webhook": {"enabled": False}}),
        ("POST", f"{path}/test", None),
        ("POST", f"{path}/rotate", None),
        ("POST", f"{path}/deliveries/{delivery['id']}/redeliver", None),
        ("DELETE", path, None),
    ]


@pytest.fixture
def asked(api: Api) -> list[tuple[str, str, Any]]:
    """Valid requests for every webhook operation."""
    made = create(api)
    return everything(made, api.post(f"/v3/webhooks/{made['id']}/test").data)


def test_the_operations_are_404_for_another_workspace(
    asked: list[tuple[str, str, Any]], api: Api, other_workspace: NewWorkspace
) -> None:
    other = Api(other_workspace.workspace_key)
    assert other.get("/v3/webhooks").data == []
    before = stored()
    for method, path, body in asked:
        if path != "/v3/webhooks":
            refused(other.call(method, path, body), 404)
    assert stored() == before


def test_a_delivery_is_not_found_under_another_endpoint(api: Api) -> None:
    first, second = create(api), create(api)
    delivery = api.post(f"/v3/webhooks/{first['id']}/test").data
    path = f"/v3/webhooks/{second['id']}/deliveries"
    assert refused(api.get(f"{path}/{delivery['id']}"), 404) == "There is no such delivery."
    assert refused(api.post(f"{path}/{delivery['id']}/redeliver"), 404) == "There is no such delivery."
    assert api.get(path).data == []


def test_an_access_token_opens_every_operation(asked: list[tuple[str, str, Any]], workspace: NewWorkspace) -> None:
    token = Api(workspace.access_token)
    assert {token.call(method, path, body).status for method, path, body in asked} == {200}


def test_a_read_only_access_token_opens_only_get(asked: list[tuple[str, str, Any]], api: Api) -> None:
    reader = Api(api.post("/v3/tokens", {"token": {"name": "reader", "readOnly": True}}).data["token"])
    assert reader.get("/v3/webhooks").status == 200  # records its first use
    before = stored()
    for method, path, body in asked:
        answer = reader.call(method, path, body)
        if method == "GET":
            assert answer.data
        else:
            refused(answer, 403)
    assert stored() == before


def test_an_agent_key_opens_no_webhook_operation(asked: list[tuple[str, str, Any]], api: Api, agent_id: str) -> None:
    agent = Api(api.get("/v2/agents/support").json["SECRET_API_KEY"])
    for method, path, body in asked:
        refused(agent.call(method, path, body), 403)


def test_the_workspace_secret_opens_no_webhook_operation(
    asked: list[tuple[str, str, Any]], workspace: NewWorkspace
) -> None:
    for method, path, body in asked:
        refused(Api(workspace.workspace_secret).call(method, path, body), 401)


# ---- storage and limits ------------------------------------------------------------------------------


def test_an_endpoint_is_encrypted_in_the_database(api: Api) -> None:
    made = create(api, description="Ours")
    lock, item = sorted(stored()["cams-webhooks"], key=len)
    assert lock.keys() == {"workspace", "webhook_id", "version_tag"}
    assert item.keys() == {"workspace", "webhook_id", "document", "version_tag", "changed_by"}
    for secret in (URL, "Ours", "lead_captured", made["signingSecret"]):
        assert secret not in str(item)


def test_a_document_copied_to_another_endpoint_cannot_be_decrypted(api: Api) -> None:
    first, second = create(api), create(api)
    dynamodb = storage.sdk_client("dynamodb")
    items = {item["webhook_id"]["S"]: item for item in stored()["cams-webhooks"]}
    moved = {**items[second["id"]], "document": items[first["id"]]["document"]}
    dynamodb.put_item(TableName="cams-webhooks", Item=moved)
    assert api.get(f"/v3/webhooks/{second['id']}").status == 500
    assert read(api, first) == without_secret(first)


def test_the_number_of_endpoints_is_limited(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "MAX_ENDPOINTS", 2)
    body = {"webhook": {"url": "https://example.com/hook", "events": ["agent_created"]}}
    assert [api.post("/v3/webhooks", body).status for _ in range(3)] == [200, 200, 429]
    first = api.get("/v3/webhooks").data[0]["id"]
    api.delete(f"/v3/webhooks/{first}")
    assert api.post("/v3/webhooks", body).status == 200


def test_concurrent_creations_do_not_exceed_the_limit(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "MAX_ENDPOINTS", 2)
    body = {"webhook": {"url": "https://example.com/hook", "events": ["agent_created"]}}
    statuses: list[int] = []
    others = iter(range(2))
    before_each_commit(monkeypatch, lambda: statuses.extend(api.post("/v3/webhooks", body).status for _ in others))
    refused(api.post("/v3/webhooks", body), 429)
    assert statuses == [200, 200]
    assert len(api.get("/v3/webhooks").data) == 2
