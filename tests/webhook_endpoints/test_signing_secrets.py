"""An endpoint's signing secret: it is shown once, and after a rotation, the old secret also signs until it expires."""

import re
from base64 import b64decode

import pytest

from chalicelib import clock
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.webhook_endpoints.endpoints import DAY, NOW, change, create, overtaken, read, rotate, signing, without_secret


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
    moment = [NOW]
    monkeypatch.setattr(clock, "milliseconds", lambda: moment[0])
    made = create(api)
    first = made["signingSecret"]
    second = rotate(api, made)
    moment[0] += DAY // 2
    third = rotate(api, made)
    assert signing(workspace, made) == [third, second, first]
    moment[0] += DAY // 2
    assert signing(workspace, made) == [third, second]
    moment[0] += DAY // 2
    assert signing(workspace, made) == [third]
    fourth = rotate(api, made)
    assert signing(workspace, made) == [fourth, third]


def test_at_most_the_eight_newest_secrets_sign(api: Api, workspace: NewWorkspace) -> None:
    made = create(api)
    secrets = [rotate(api, made) for _ in range(10)]
    assert signing(workspace, made) == secrets[:1:-1]


def test_concurrent_rotations_both_return_a_secret_that_signs(api: Api, workspace: NewWorkspace) -> None:
    made, answered = create(api), []
    with overtaken("save", lambda: answered.append(rotate(api, made))):
        answered.append(rotate(api, made))
    assert signing(workspace, made) == [*answered[::-1], made["signingSecret"]]


def test_a_change_does_not_undo_a_concurrent_rotation(api: Api, workspace: NewWorkspace) -> None:
    made, rotated = create(api), []
    with overtaken("save", lambda: rotated.append(rotate(api, made))):
        change(api, made, enabled=False)
    assert signing(workspace, made) == [*rotated, made["signingSecret"]]
