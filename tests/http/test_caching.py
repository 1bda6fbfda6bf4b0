"""Browsers and proxies store no response that may contain a secret.

The tests cover every route, JSON, CSV, pages and errors.
"""

from app import app
from chalicelib.http import auth
from tests.api import Answer, Api
from tests.moto_tables import restore, snapshot
from tests.operations import GUARDED, populate, send

# The `Cache-Control` value in a public response.
PUBLIC = {
    "/": "no-store",
    "/openapi.json": "no-cache",
    "/docs": "no-cache",
    "/docs/{asset}": "max-age=86400",
}
ALSO = ({}, {"Accept": "text/csv"}, {"Authorization": "Bearer nobody"})


def stored_as(answer: Answer) -> str | None:
    return answer.headers.get("cache-control")


def test_each_route_is_in_one_of_these_tests() -> None:
    tested = {tuple(one.split()) for one in GUARDED} | {("GET", path) for path in PUBLIC}
    served = {(method, path) for path, views in app.routes.items() for method in views}
    # Each extension with pages tests its own pages.
    assert {(method, path) for method, path in served if path in PUBLIC or not auth.is_open(path)} == tested
    assert PUBLIC.keys() == auth.OPEN_ROUTES


def test_no_response_of_the_api_may_be_stored(api: Api) -> None:
    ids = populate(api._headers, "one", dict.fromkeys(("agent_id", "user_id", "client_id", "org_id"), "one"))
    before, wrong, statuses = snapshot(), [], set()
    for name in GUARDED:
        for headers in ALSO:
            answer = send(name, {**api._headers, **headers}, ids)
            statuses.add(answer.status)
            if stored_as(answer) != "no-store":
                wrong.append((name, answer.status, stored_as(answer)))
            restore(before)
    assert not wrong
    assert statuses >= {200, 401}


def test_public_responses_keep_what_they_declare(engine: None) -> None:
    known = {"/docs/{asset}": "/docs/page.css"}
    assert {path: stored_as(Api().get(known.get(path, path))) for path in PUBLIC} == PUBLIC
    assert stored_as(Api().get("/docs/unknown")) == "no-store"


def test_errors_of_the_framework_may_not_be_stored(api: Api) -> None:
    wrong_type = api.call("POST", "/v2/agents/one", b"x", {**api._headers, "Content-Type": "text/plain"})
    wrong_method = api.delete("/v2/clients")
    assert (wrong_type.status, wrong_method.status) == (415, 405)
    assert stored_as(wrong_type) == stored_as(wrong_method) == "no-store"


def test_a_known_tag_is_still_answered_without_a_body(api: Api, agent_id: str) -> None:
    path = f"/v3/agents/{agent_id}"
    tag = api.get(path).headers["etag"]
    again = api.call("GET", path, None, {**api._headers, "If-None-Match": tag})
    assert (again.status, again.text, again.headers["etag"], stored_as(again)) == (304, "", tag, "no-store")


def test_a_password_is_not_stored_with_the_client(api: Api) -> None:
    api.post("/v2/clients/bo", {"email": "bo@acme.test", "dashboardPassword": "correct horse"})
    answer = api.get("/v2/clients/bo")
    assert (answer.data["dashboardPassword"], stored_as(answer)) == ("correct horse", "no-store")
