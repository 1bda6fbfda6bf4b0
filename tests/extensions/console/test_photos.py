"""A person's photo: people choose and remove their own, and only administrators and operators see those of others."""

import base64
import re

import pytest

from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import HOSTILE, PASSWORD

_PHOTO = f"data:image/jpeg;base64,{base64.b64encode(b'photo' * 20).decode()}"
_ADDRESS = re.compile(r'<img class="avatar" src="/console/[^"/]+(/photos/bo\?v=[0-9a-f]{12})" alt="">')


def choose(browser: Browser, photo: str, **fields: str) -> Answer:
    """Send the profile's form as the script `photo.js` completes it."""
    return browser.submit(browser.open("/account"), "/account", {"squarePhotoURL": photo, **fields})


def test_a_photo_is_shown_from_its_own_address(signed_in: Browser, workspace_api: Api) -> None:
    before = workspace_api.get("/v2/clients/bo").data
    page = choose(signed_in, _PHOTO)
    assert workspace_api.get("/v2/clients/bo").data == {**before, "squarePhotoURL": _PHOTO}
    addresses = _ADDRESS.findall(page.text)
    assert len(addresses) == 2 and _PHOTO not in page.text, "expected it in the navigation and the form"
    answer = signed_in.open(addresses[0])
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert f'href="{_PHOTO}"' in answer.text and "private" in answer.headers["cache-control"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert choose(signed_in, "", removePhoto="on").status == 200
    assert workspace_api.get("/v2/clients/bo").data == before
    assert signed_in.open(addresses[0]).status == 404


@pytest.mark.parametrize(
    "photo",
    [
        "C:\\fakepath\\notes.txt",
        "https://acme.test/bo.jpg",
        _PHOTO.replace("jpeg", "svg+xml"),
        _PHOTO + HOSTILE,
        _PHOTO + "A" * 12_000,
    ],
)
def test_a_photo_that_pages_cannot_show_is_rejected(photo: str, signed_in: Browser, workspace_api: Api) -> None:
    before = workspace_api.get("/v2/clients/bo").data
    page = choose(signed_in, photo)
    assert (page.status, 'id="wrong-squarePhotoURL"' in page.text) == (400, True)
    assert workspace_api.get("/v2/clients/bo").data == before
    workspace_api.post("/v2/clients/bo", {"squarePhotoURL": photo})  # the API stores any text
    page = signed_in.open("/account")
    assert page.text.count('<em class="avatar ') == 2 and signed_in.open("/photos/bo").status == 404


def test_a_photo_that_is_too_large_is_rejected_with_the_limit(signed_in: Browser) -> None:
    page = choose(signed_in, f"data:image/jpeg;base64,{'A' * 13_000}")
    assert (page.status, "it has 10 KB, and the limit is 9 KB" in page.text) == (400, True)


def test_a_chosen_photo_is_kept_if_another_field_is_invalid(signed_in: Browser, workspace_api: Api) -> None:
    page = choose(signed_in, _PHOTO, timezone="Mars/Base")
    assert (page.status, "The photo that you chose is saved with the form." in page.text) == (400, True)
    assert "squarePhotoURL" not in workspace_api.get("/v2/clients/bo").data
    assert "is saved with" not in signed_in.submit(page, "/account", {"timezone": "UTC"}).text
    assert workspace_api.get("/v2/clients/bo").data["squarePhotoURL"] == _PHOTO
    assert 'name="squarePhotoURL" value=""' in choose(signed_in, _PHOTO, timezone="Mars/Base", removePhoto="on").text


def test_a_form_without_a_new_photo_keeps_the_stored_one(signed_in: Browser, workspace_api: Api) -> None:
    choose(signed_in, _PHOTO)
    choose(signed_in, "", name="Bo V.")
    assert workspace_api.get("/v2/clients/bo").data["squarePhotoURL"] == _PHOTO


def test_a_photo_is_shown_to_administrators_of_the_organisation_and_operators(
    signed_in: Browser, operator: Browser, workspace_api: Api
) -> None:
    choose(signed_in, _PHOTO)
    admin = {"isOrgAdmin": True, "orgId": "acme"}
    people = {"ada": admin, "leo": {**admin, "canAccess": ["/convos"]}, "ann": {"orgId": "acme"}}
    people |= {"eve": {**admin, "orgId": "rival"}, "ida": {**admin, "orgId": None}}
    for client_id, members in people.items():
        client = {**members, "email": f"{client_id}@acme.test", "dashboardPassword": PASSWORD}
        workspace_api.post(f"/v2/clients/{client_id}", client)
    statuses = {}
    for client_id in people:
        other = signed_in.another()
        other.start_session(email=f"{client_id}@acme.test", password=PASSWORD)
        statuses[client_id] = other.open("/photos/bo").status
    assert statuses == {"ada": 200, "leo": 403, "ann": 403, "eve": 404, "ida": 404}
    assert _ADDRESS.search(operator.open("/settings/orgs/acme").text) and operator.open("/photos/bo").status == 200
