"""Labels: names and values on conversations, and the list's filter."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.api import Api
from tests.assertions import refused

CONVOS = "/v3/agents/support/convos"
EDGE, V3 = "/agents/support/interact/ann", f"{CONVOS}/ann"
FULL = {f"{number:02}" + "n" * 62: "é" * 512 for number in range(16)}


def label(api: Api, user: str, labels: dict[str, str] | None) -> None:
    answer = api.post(f"/agents/support/interact/{user}/state", {"metadata": {"labels": labels}})
    assert answer.status == 200, answer.text


def listed(api: Api, text: str) -> set[str]:
    return {one["ID"] for one in api.get(f"{CONVOS}?label={quote(text)}").data}


def test_an_agent_key_sets_labels_and_both_forms_return_them(api: Api) -> None:
    adapter = Api(api.get("/v2/agents/support").json["SECRET_API_KEY"])
    label(adapter, "ann", {"project": "shop", "scope": ""})
    assert api.get(V3).data["labels"] == {"project": "shop", "scope": ""}
    assert api.post(f"{EDGE}/state").json["chatState"]["labels"] == {"project": "shop", "scope": ""}
    assert api.get("/v2/agents/support/convos").data[0]["labels"] == {"project": "shop", "scope": ""}
    label(adapter, "ann", {"project": "other"})
    assert api.get(V3).data["labels"] == {"project": "other"}
    label(adapter, "ann", None)
    assert "labels" not in api.get(V3).data


def test_the_filter_finds_the_conversations_with_a_label(api: Api) -> None:
    label(api, "ann", {"project": "shop", "scope": "a:b"})
    label(api, "bob", {"project": "shop"})
    label(api, "cem", {"project": "Shop", "other": "shop", "empty": ""})
    label(api, "dee", None)
    assert listed(api, "project:shop") == {"ann", "bob"}
    assert listed(api, "scope:a:b") == {"ann"}
    assert listed(api, "empty:") == {"cem"}
    assert listed(api, "project:") == listed(api, "project:sho") == listed(api, ":shop") == set()
    assert {one["ID"] for one in api.get(f"{CONVOS}?label=project:shop&userID=bob").data} == {"bob"}


def test_the_longest_labels_can_be_stored_and_found(api: Api) -> None:
    label(api, "ann", FULL)
    for name, value in FULL.items():
        assert listed(api, f"{name}:{value}") == {"ann"}


@pytest.mark.parametrize(
    ("labels", "path"),
    [
        ({**FULL, "more": "x"}, "labels"),
        ({"n": "x" * 513}, "labels.n"),
        ({"n" * 65: "x"}, "labels"),
        ({"": "x"}, "labels"),
        ({"n": None}, "labels.n"),
        ({"n": 5}, "labels.n"),
        ({"n": {}}, "labels.n"),
        (["n"], "labels"),
    ],
)
def test_invalid_labels_are_refused_without_their_values(api: Api, labels: Any, path: str) -> None:
    answer = api.post(f"{EDGE}/state", {"metadata": {"labels": labels}})
    assert answer.status == 400
    assert answer.json["issues"][0]["path"].startswith(f"metadata.{path}"), answer.text
    assert "x" * 99 not in answer.text
    assert api.post(CONVOS, {"conversation": {"labels": labels}}).status == 400


def test_the_number_of_labels_has_a_plain_rule(api: Api) -> None:
    answer = api.post(f"{EDGE}/state", {"metadata": {"labels": {**FULL, "more": "x"}}})
    assert answer.json["message"] == "metadata.labels must have at most 16 items."


@pytest.mark.parametrize("value", ["", "name", "x:" + "y" * 576, "a:b&label=a:b"])
def test_an_invalid_filter_is_refused(api: Api, value: str) -> None:
    refused(api.get(f"{CONVOS}?label={value}"), 400, "label")
    refused(api.get(f"/v3/convos?inbox=true&label={value}"), 400, "label")


def test_a_visitor_cannot_read_or_change_labels(api: Api) -> None:
    label(api, "ann", {"project": "shop"})
    visitor = Api(api.post(f"{EDGE}/visitor-tokens", {"token": {}}).data["token"])
    assert "labels" not in visitor.post(f"{EDGE}/state").json["chatState"]
    assert visitor.post(f"{EDGE}/state", {"metadata": {"labels": {}}}).status == 403
