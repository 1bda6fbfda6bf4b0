"""Ids that equal a literal word in another route. If the literal route lacks a method, the id's view is called."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chalice.app import Chalice
from chalice.deploy.swagger import SwaggerGenerator

import chalice_guard
from app import app
from chalicelib.http import literal_paths
from tests.api import Api
from tests.engine_requests import counted

SPECIFICATION = json.loads(Path("tests/contract/routes.json").read_text(encoding="utf-8"))["specification"]


def collisions() -> Iterator[tuple[str, str]]:
    """Yield each path with a literal word, and each path that contains a variable in its place."""
    for path in app.routes:
        pattern = re.compile(re.sub(r"\\{\w+\\}", r"(?:[^/{}]+|\\{\\w+\\})", re.escape(path)))
        yield from ((literal, path) for literal in app.routes if literal != path and pattern.fullmatch(literal))


def with_id(literal: str, path: str) -> str:
    """Return `path` with the word from `literal` as an id, and ordinary ids for the other variables."""
    pairs = zip(literal.split("/"), path.split("/"), strict=True)
    return "/".join(own if own == word else "no-word" for word, own in pairs)


def test_the_collisions_are_known() -> None:
    assert {("/v3/leads/export", "/v3/leads/{lead_id}")} < set(collisions())


def test_an_operation_of_the_specification_is_unreachable_only_for_an_id_that_no_agent_can_have(api: Api) -> None:
    """`GET /v3/agents/search` searches, so no agent can have the id `search`."""
    specified = {(one["method"], one["path"]) for one in SPECIFICATION}
    shadowed = {
        (method, path)
        for literal, path in collisions()
        for method in app.routes[literal].keys() & app.routes[path].keys()
    }
    assert shadowed & specified == {("GET", "/v3/agents/{agent_id}")}
    rejected = api.post("/v2/agents/search", {})
    assert (rejected.status, rejected.json["code"]) == (400, "INVALID")


@pytest.mark.parametrize(("literal", "path"), list(collisions()))
def test_every_other_method_reaches_the_view_of_the_id(
    api: Api, agent_id: str, literal: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The response and the database requests are the same as for an id that no route contains as a word."""
    for method in app.routes[path].keys() - app.routes[literal].keys():
        answers, costs = [], []
        for target in (literal, with_id(literal, path)):
            with counted() as sent:
                answer = api.call(method, target.replace("{agent_id}", agent_id), {} if method != "GET" else None)
            answers.append((answer.status, answer.json))
            costs.append(dict(sent))
        assert answers[0] == answers[1]
        assert answers[0][0] in (400, 404)
        assert costs[0] == costs[1]


@pytest.mark.parametrize("word", ["search", "export"])
def test_a_conversation_with_the_id_of_a_word_is_changed_and_deleted(api: Api, agent_id: str, word: str) -> None:
    api.post(f"/agents/support/interact/{word}/state", {"metadata": {"userName": "Ann"}})
    path = f"/v3/agents/support/convos/{word}"
    assert api.patch(path, {"conversation": {"title": "Changed"}}).data["title"] == "Changed"
    assert api.delete(path).status == 200
    assert api.delete(path).status == 404


def test_a_method_that_no_view_has_is_405(api: Api) -> None:
    assert api.call("PUT", "/v3/leads/export", {}).status == 405
    assert api.call("DELETE", "/v3/convos", None).status == 405


def test_the_deployment_declares_every_method_to_the_gateway() -> None:
    copy = Chalice(app_name="copy")
    for path, methods in app.routes.items():
        copy.routes[path] = dict(methods)
    chalice_guard.declare_methods(copy)
    document: dict[str, Any] = SwaggerGenerator(
        "eu-west-1", {"api_handler_arn": "arn:aws:lambda:eu-west-1:123456789012:function:api"}
    ).generate_swagger(copy)
    for literal, path in collisions():
        assert document["paths"][literal].keys() >= document["paths"][path].keys()
        for described in document["paths"][literal].values():
            named = [one["name"] for one in described.get("parameters", [])]
            assert named == [part[1:-1] for part in literal.split("/") if part.startswith("{")]
    assert list(literal_paths.missing_methods(copy.routes)) == []
