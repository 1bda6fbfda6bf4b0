"""Requests with invalid query values or unknown parameters fail.

All routes share one parser per parameter, so each route is sent one invalid value, and each value is sent once.
"""

from typing import Any

import pytest

from tests import extensions
from tests.bad_input.service import CANARY, OPERATIONS, Operation, Service, assert_refused, harmless
from tests.operations import QUERIES, body_of
from tests.selection import one_of_each, zip_cycled

PAGES = ["0", "-1", "x", "1.5", "1e1", "", "%2B1", "%201", "01", "1%0A", "1,2", "NaN", "1" * 10, "%D9%A3", "1&page=2"]
STATUSES = ["", "x", "Failed", "failed,pending", "failed ", "0", "null", "failed&status=failed"]
TEXTS = ["agentId", "orgId", "state", "tag", "origin", "assignedTo", "userID", "q", "workspaceId"]
OPTIONAL_TEXTS = ["search", "searchTerm"]
FLAGS = ["inbox", "starredOnly", "deployed"]
TIMES = ["from", "to", "activeSince", "fromTs", "toTs", *extensions.listed("TIMES")]
LIMITS = ["0", "-1", "101", "x", "1.5", "1e1", "", "05", "10000000000", "5&limit=5"]
# Other characters, a line break, invalid UTF-8, a key separator, a non-ASCII letter, two long values, two values.
CURSORS = ["!!!", "1%0A", "%ff", "a%23b", "%C3%A9", "9" * 129, "9" * 5_000, "1&cursor=1"]
POSITIONS = [
    "x",
    "1",
    "1-",
    f"-{'0' * 16}",
    f"1-{'0' * 15}",
    f"1-{'A' * 16}",
    f"1-{'0' * 16}%0A",
    "9" * 5_000,
    "&after=",
]
VERSIONS = ["x", ".a", "a.", "a.B", "%C3%A9.a", "a.a%0A", "9" * 5_000, "&version="]
ORDERS = ["id", "Newest", "newest,oldest", "newest&{}=newest"]
FORMATS = ["?format=xml", "?format=ndjson%0A", "?format=csv&format=csv"]


def operations_with(name: str) -> list[Operation]:
    others = extensions.joined("OWN_PARAMETERS")
    return [one for one in OPERATIONS if name in one.query and name not in others.get(one.name, ())]


def each_once(name: str, values: list[str]) -> Any:
    """Parametrise a test with each operation that takes the query parameter, and each value."""
    pairs = zip_cycled(operations_with(name), values)
    cases = [pytest.param(operation, value, id=f"{operation.name} {value[:10]}") for operation, value in pairs]
    return pytest.mark.parametrize(("operation", "value"), cases)


def test_every_query_parameter_is_tested() -> None:
    tested = {"page", "limit", "pageSize", "cursor", "status", "format", "sort", "sortBy", "order", "label"}
    tested |= {"after", "version", "convoIds", *FLAGS, *TEXTS, *OPTIONAL_TEXTS, *TIMES}
    assert {name for operation in OPERATIONS for name in operation.query} - {
        *extensions.listed("TESTED_PARAMETERS")
    } == tested


def test_an_unknown_query_parameter_is_refused_by_name(service: Service) -> None:
    for operation in OPERATIONS:
        path = f"{service.path(operation.route)}?unknown={CANARY}"
        with harmless():
            answer = service.api.call(operation.method, path, body_of(operation.name))
        assert_refused(answer, operation, "unknown")


@each_once("after", POSITIONS)
def test_a_malformed_position_is_refused(operation: Operation, value: str, service: Service) -> None:
    assert_a_value_of_an_earlier_response(operation, "after", value, service)


@each_once("version", VERSIONS)
def test_a_malformed_version_is_refused(operation: Operation, value: str, service: Service) -> None:
    assert_a_value_of_an_earlier_response(operation, "version", value, service)


def assert_a_value_of_an_earlier_response(operation: Operation, name: str, value: str, service: Service) -> None:
    """Check that the operation refuses the malformed value by the parameter's name."""
    with harmless():
        path = f"{service.path(operation.route)}?{name}={value}"
        answer = service.api.call(operation.method, path, body_of(operation.name))
    rule = "must not be repeated" if "&" in value else "must be empty, or the value in an earlier response"
    assert assert_refused(answer, operation, name) == f"{name} {rule}."


@each_once("page", PAGES)
def test_a_page_that_is_not_a_positive_integer_is_refused(operation: Operation, value: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?page={value}")
    rule = "must not be repeated" if "&" in value else "must be a whole number from 1 to 999999999"
    assert assert_refused(answer, operation, "page") == f"page {rule}."


def test_a_page_is_also_checked_if_there_is_a_cursor(service: Service) -> None:
    for operation in operations_with("page"):
        with harmless():
            answer = service.api.get(f"{service.path(operation.route)}?cursor={'0' * 26}&page=0")
        assert_refused(answer, operation, "page")


def test_a_page_after_the_last_one_is_empty(service: Service) -> None:
    for operation in operations_with("page"):
        answer = service.api.get(f"{service.path(operation.route)}?page=999999999")
        if operation.route == "/v3/agents/{agent_id}/convos":
            rule = "page must be 1; pass nextCursor as cursor to continue."
            assert assert_refused(answer, operation, "page") == rule
            continue
        records = answer.json.get("agents") or answer.json.get("data", [])
        assert (records, "nextCursor" in answer.json) == ([], False)


@each_once("limit", LIMITS)
def test_a_limit_outside_one_to_a_hundred_is_refused(operation: Operation, value: str, service: Service) -> None:
    value = "0" if operation.is_bounded and value == "101" else value  # a bounded list reads 101 as 100
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?limit={value}")
    most = "999999999" if operation.is_bounded else "100"
    rule = "must not be repeated" if "&" in value else f"must be a whole number from 1 to {most}"
    assert assert_refused(answer, operation, "limit") == f"limit {rule}."


def test_a_bounded_list_takes_a_larger_limit_as_a_hundred(service: Service) -> None:
    for operation in operations_with("limit"):
        if operation.is_bounded:
            path = service.path(operation.route) + QUERIES.get(operation.name, "?")
            assert service.api.get(f"{path}&limit=101").text == service.api.get(f"{path}&limit=100").text


@each_once("pageSize", LIMITS)
def test_a_page_size_outside_one_to_a_hundred_is_refused(operation: Operation, value: str, service: Service) -> None:
    value = "0" if value == "101" else value.replace("limit", "pageSize")
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?pageSize={value}")
    rule = "must not be repeated" if "&" in value else "must be a whole number from 1 to 999999999"
    assert assert_refused(answer, operation, "pageSize") == f"pageSize {rule}."


@pytest.mark.parametrize("name", OPTIONAL_TEXTS)
def test_a_text_to_search_for_may_be_empty_and_has_at_most_200_characters(name: str, service: Service) -> None:
    for operation in operations_with(name):
        path = service.path(operation.route) + QUERIES.get(operation.name, "?")
        assert service.api.get(f"{path}&{name}=").text == service.api.get(path).text
        with harmless():
            answer = service.api.get(f"{path}&{name}={'x' * 201}")
        assert assert_refused(answer, operation, name) == f"{name} must have 1 to 200 characters."


@pytest.mark.parametrize("value", ["", "a%23b", "&convoIds=".join(map(str, range(101)))])
def test_ids_of_conversations_are_at_most_100(value: str, service: Service) -> None:
    for operation in operations_with("convoIds"):
        with harmless():
            answer = service.api.get(f"{service.path(operation.route)}?convoIds={value}")
        assert assert_refused(answer, operation, "convoIds") == "convoIds must be at most 100 conversation ids."


@pytest.mark.parametrize(("name", "value"), zip_cycled(TEXTS, ["", "x" * 201, "x&{}=x"]))
def test_a_text_to_search_for_has_1_to_200_characters(name: str, value: str, service: Service) -> None:
    for operation in operations_with(name):
        with harmless():
            answer = service.api.get(f"{service.path(operation.route)}?{name}={value.format(name)}")
        rule = "must not be repeated" if "&" in value else "must have 1 to 200 characters"
        assert assert_refused(answer, operation, name) == f"{name} {rule}."


@pytest.mark.parametrize(("name", "value"), zip_cycled(TIMES, ["", "-1", "1.5", "1e9", "x", "%D9%A3", "01", "1" * 12]))
def test_a_time_that_is_not_in_seconds_is_refused(name: str, value: str, service: Service) -> None:
    for operation in operations_with(name):
        with harmless():
            answer = service.api.call(operation.method, f"{service.path(operation.route)}?{name}={value}")
        rule = "must be Unix seconds, a whole number from 0 to 99999999999"
        assert assert_refused(answer, operation, name) == f"{name} {rule}."


@pytest.mark.parametrize(("name", "value"), zip_cycled(FLAGS, ["", "1", "True", "yes", "true&{}=true"]))
def test_a_flag_is_true_or_false(name: str, value: str, service: Service) -> None:
    for operation in operations_with(name):
        with harmless():
            answer = service.api.get(f"{service.path(operation.route)}?{name}={value.format(name)}")
        rule = "must not be repeated" if "&" in value else "must be true or false"
        assert assert_refused(answer, operation, name) == f"{name} {rule}."


@pytest.mark.parametrize("value", ORDERS)
@pytest.mark.parametrize(
    ("name", "values"),
    [("sort", "newest or oldest"), ("sortBy", "newest, oldest, firstCreated, lastCreated or alphabetical")],
)
def test_an_unknown_order_is_refused(name: str, values: str, value: str, service: Service) -> None:
    for operation in operations_with(name):
        with harmless():
            answer = service.api.get(f"{service.path(operation.route)}?{name}={value.format(name)}")
        rule = "not be repeated" if "&" in value else f"be {values}"
        assert assert_refused(answer, operation, name) == f"{name} must {rule}."


@each_once("order", ["", "DESC", "newest", "asc,desc", "asc&order=asc"])
def test_messages_are_listed_in_a_known_order(operation: Operation, value: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?order={value}")
    rule = "not be repeated" if "&" in value else "be asc or desc"
    assert assert_refused(answer, operation, "order") == f"order must {rule}."


@each_once("label", ["", "name", "a:" + "x" * 576, "a:b&label=a:b"])
def test_a_label_has_a_name_and_a_value(operation: Operation, value: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?label={value}")
    rules = {"": "have 1 to 577 characters", "name": "be a name and a value, separated by a colon"}
    rule = "not be repeated" if "&" in value else rules.get(value, rules[""])
    assert assert_refused(answer, operation, "label") == f"label must {rule}."


@pytest.mark.parametrize("query", ["", "?inbox=false"])
def test_the_list_of_all_agents_is_an_inbox(query: str, service: Service) -> None:
    (operation,) = (one for one in OPERATIONS if one.route == "/v3/convos")
    with harmless():
        answer = service.api.get(f"/v3/convos{query}")
    assert assert_refused(answer, operation, "inbox") == "inbox must be true."


@each_once("format", FORMATS)
def test_an_export_has_a_known_format(operation: Operation, value: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}{value}")
    forms = "ndjson or csv" if operation.route == "/v3/leads/export" else "json or csv"
    rule = "must not be repeated" if "&" in value else f"must be {forms}"
    assert assert_refused(answer, operation, "format") == f"format {rule}."


@each_once("status", STATUSES)
def test_an_unknown_delivery_status_is_refused(operation: Operation, value: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?status={value}")
    rule = "not be repeated" if "&" in value else "be one of pending, delivered, failed, unknown, expired"
    assert assert_refused(answer, operation, "status") == f"status must {rule}."


@one_of_each(lambda value: value)
@each_once("cursor", CURSORS)
def test_a_malformed_cursor_is_refused(operation: Operation, value: str, service: Service) -> None:
    path = service.path(operation.route) + QUERIES.get(operation.name, "?")
    with harmless():
        answer = service.api.call(operation.method, f"{path}&cursor={value}")
    rule = "must not be repeated" if "&" in value else "must be the nextCursor of an earlier response"
    assert assert_refused(answer, operation, "cursor") == f"cursor {rule}."


def test_an_empty_cursor_returns_the_first_page(service: Service) -> None:
    for operation in operations_with("cursor"):
        if operation.method == "GET":
            path = service.path(operation.route) + QUERIES.get(operation.name, "?")
            first = service.api.get(path)
            assert service.api.get(f"{path}&cursor=").text == first.text
            assert first.json is None or (first.json.get("agents") or first.data)
