"""Invalid query values are refused: pages, limits, cursors, filters, times and formats; unknown parameters, too."""

import pytest

from tests import extensions
from tests.bad_input.service import CANARY, OPERATIONS, Operation, Service, assert_refused, every, harmless
from tests.operations import QUERIES, body_of
from tests.selection import first_case, one_of_each

PAGES = ["0", "-1", "x", "1.5", "1e1", "", "%2B1", "%201", "01", "1%0A", "1,2", "NaN", "1" * 10, "%D9%A3", "1&page=2"]
STATUSES = ["", "x", "Failed", "failed,pending", "failed ", "0", "null", "failed&status=failed"]
TEXTS = ["agentId", "orgId", "state", "tag", "origin", "assignedTo", "userID", "q"]
FLAGS = ["inbox", "starred", "deployed"]
TIMES = ["from", "to", "activeSince", "start_ts", "stop_ts"]
LIMITS = ["0", "-1", "101", "x", "1.5", "1e1", "", "05", "10000000000", "5&limit=5"]
CURSORS = {
    "other characters": "!!!",
    "a line break": "1%0A",
    "invalid UTF-8": "%ff",
    "a separator of keys": "a%23b",
    "a letter beyond ASCII": "%C3%A9",
    "too long": "9" * 129,
    "much too long": "9" * 5_000,
    "twice": "1&cursor=1",
}


def operations_with(name: str) -> list[Operation]:
    return [operation for operation in OPERATIONS if name in operation.query]


def test_every_query_parameter_is_tested() -> None:
    tested = {"page", "limit", "cursor", "status", "format", "sort", *FLAGS, *TEXTS, *TIMES}
    assert {name for operation in OPERATIONS for name in operation.query} - {
        *extensions.listed("TESTED_PARAMETERS")
    } == tested


@one_of_each(lambda operation: operation.method)
@every(OPERATIONS)
def test_an_unknown_query_parameter_is_refused_by_name(operation: Operation, service: Service) -> None:
    with harmless():
        path = f"{service.path(operation.route)}?unknown={CANARY}"
        answer = service.api.call(operation.method, path, body_of(operation.name))
    assert_refused(answer, operation, "unknown")


@one_of_each(lambda page: page.isascii())
@pytest.mark.parametrize("page", PAGES)
@every(operations_with("page"))
def test_a_page_that_is_not_a_positive_integer_is_refused(operation: Operation, page: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?page={page}")
    rule = "must be given once" if "&" in page else "must be a whole number from 1 to 999999999"
    assert assert_refused(answer, operation, "page") == f"page {rule}."


@every(operations_with("page"))
def test_a_page_is_checked_beside_a_cursor(operation: Operation, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?cursor=x&page=0")
    assert_refused(answer, operation, "page")


@every(operations_with("page"))
def test_a_page_after_the_last_one_is_empty(operation: Operation, service: Service) -> None:
    answer = service.api.get(f"{service.path(operation.route)}?page=999999999")
    assert (answer.data, "nextCursor" in answer.json) == ([], False)


@one_of_each(lambda limit: limit)
@pytest.mark.parametrize("limit", LIMITS)
@every(operations_with("limit"))
def test_a_limit_outside_one_to_a_hundred_is_refused(operation: Operation, limit: str, service: Service) -> None:
    if operation.is_bounded and limit == "101":
        return  # taken as 100
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?limit={limit}")
    most = "999999999" if operation.is_bounded else "100"
    rule = "must be given once" if "&" in limit else f"must be a whole number from 1 to {most}"
    assert assert_refused(answer, operation, "limit") == f"limit {rule}."


@every([operation for operation in operations_with("limit") if operation.is_bounded])
def test_a_bounded_list_takes_a_larger_limit_as_a_hundred(operation: Operation, service: Service) -> None:
    path = service.path(operation.route) + QUERIES.get(operation.name, "?")
    assert service.api.get(f"{path}&limit=101").text == service.api.get(f"{path}&limit=100").text


@one_of_each(lambda name: name)
@pytest.mark.parametrize("value", ["", "x" * 201, "x&{}=x"], ids=["empty", "too long", "twice"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_to_search_for_has_1_to_200_characters(name: str, value: str, service: Service) -> None:
    for operation in operations_with(name):
        with harmless():
            answer = service.api.get(f"{service.path(operation.route)}?{name}={value.format(name)}")
        rule = "must be given once" if "&" in value else "must have 1 to 200 characters"
        assert assert_refused(answer, operation, name) == f"{name} {rule}."


@one_of_each(lambda name: name)
@pytest.mark.parametrize("value", ["", "-1", "1.5", "1e9", "x", "%D9%A3", "01", "1" * 12])
@pytest.mark.parametrize("name", TIMES)
def test_a_time_that_is_not_in_seconds_is_refused(name: str, value: str, service: Service) -> None:
    for operation in operations_with(name):
        with harmless():
            answer = service.api.call(operation.method, f"{service.path(operation.route)}?{name}={value}")
        rule = "must be Unix seconds, a whole number from 0 to 99999999999"
        assert assert_refused(answer, operation, name) == f"{name} {rule}."


@one_of_each(lambda name: name)
@pytest.mark.parametrize("value", ["", "1", "True", "yes", "true&{}=true"])
@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_is_true_or_false(name: str, value: str, service: Service) -> None:
    for operation in operations_with(name):
        with harmless():
            answer = service.api.get(f"{service.path(operation.route)}?{name}={value.format(name)}")
        rule = "must be given once" if "&" in value else "must be true or false"
        assert assert_refused(answer, operation, name) == f"{name} {rule}."


@pytest.mark.parametrize(
    "value", ["", "id", "title", "LastModified", "lastModified,id", "lastModified&sort=lastModified"]
)
@every(operations_with("sort"))
def test_an_unknown_order_is_refused(operation: Operation, value: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?sort={value}")
    rule = "given once" if "&" in value else "lastModified"
    assert assert_refused(answer, operation, "sort") == f"sort must be {rule}."


@pytest.mark.parametrize("query", ["", "?inbox=false"])
def test_the_list_of_all_agents_is_an_inbox(query: str, service: Service) -> None:
    (operation,) = (one for one in OPERATIONS if one.route == "/v3/convos")
    with harmless():
        answer = service.api.get(f"/v3/convos{query}")
    assert assert_refused(answer, operation, "inbox") == "inbox must be true."


@pytest.mark.parametrize("query", ["", "?format=", "?format=xml", "?format=csv&format=csv"])
@every(operations_with("format"))
def test_an_export_has_a_known_format(operation: Operation, query: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}{query}")
    rule = "must be given once" if "&" in query else "must be ndjson or csv"
    assert assert_refused(answer, operation, "format") == f"format {rule}."


@first_case
@pytest.mark.parametrize("status", STATUSES)
@every(operations_with("status"))
def test_an_unknown_delivery_status_is_refused(operation: Operation, status: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?status={status}")
    rule = "given once" if "&" in status else "one of pending, delivered, failed, unknown, expired"
    assert assert_refused(answer, operation, "status") == f"status must be {rule}."


@one_of_each(lambda value: value)
@pytest.mark.parametrize("value", CURSORS.values(), ids=CURSORS.keys())
@every(operations_with("cursor"))
def test_a_malformed_cursor_is_refused(operation: Operation, value: str, service: Service) -> None:
    path = service.path(operation.route) + QUERIES.get(operation.name, "?")
    with harmless():
        answer = service.api.call(operation.method, f"{path}&cursor={value}")
    rule = "must be given once" if "&" in value else "must be the nextCursor of an earlier response"
    assert assert_refused(answer, operation, "cursor") == f"cursor {rule}."


@first_case
@every([operation for operation in operations_with("cursor") if operation.method == "GET"])
def test_an_empty_cursor_returns_the_first_page(operation: Operation, service: Service) -> None:
    path = service.path(operation.route) + QUERIES.get(operation.name, "?")
    first = service.api.get(path)
    assert service.api.get(f"{path}&cursor=").text == first.text
    assert first.json is None or first.data != []
