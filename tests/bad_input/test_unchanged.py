"""Refused input leaves every table as it was."""

import re

from tests.assertions import stored
from tests.bad_input.malformed_requests import CONTENT_TYPES, INVALID_IDENTIFIERS, MALFORMED
from tests.bad_input.service import WITH_BODY, Operation, Service, every
from tests.bad_input.wrong_members import WRONG
from tests.operations import body_of
from tests.selection import one_of_each


@one_of_each(lambda operation: operation.method)
@every(WITH_BODY)
def test_refused_input_changes_no_byte_of_any_table(operation: Operation, service: Service) -> None:
    before = stored()
    for raw, _ in MALFORMED.values():
        service.send(operation, raw)
    for body, _, _ in WRONG[operation.name]:
        service.send(operation, body)
    for headers in CONTENT_TYPES.values():
        service.send(operation, body_of(operation.name), headers)
    for name in re.findall(r"\{(\w+)\}", operation.route):
        for value in INVALID_IDENTIFIERS.values():
            service.send(operation, body_of(operation.name), **{name: value})
    assert stored() == before
