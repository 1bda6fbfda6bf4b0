"""A workspace to which the document's example requests were sent, for tests of the errors in the document."""

import secrets
from typing import Any, NamedTuple

import pytest

from chalicelib.openapi.examples import EXAMPLES
from chalicelib.workspaces import store as workspaces
from tests import extensions
from tests.api import Answer, Api
from tests.fast_moto import restore_or_create
from tests.openapi.document import ExampleValues, Operation, operations
from tests.openapi.examples import IDS
from tests.operations import body_of

OPERATIONS = {one.name: one for one in operations()}
WITH_BODY = {name: one for name, one in OPERATIONS.items() if one.body}

DELETIONS = {name for name in OPERATIONS if name.startswith("delete_")}

# A value that is too large for one item, even when compressed.
LONG = secrets.token_urlsafe(500_000)
TOO_LARGE: dict[str, Any] = {name: body_of(one.route, LONG) for name, one in WITH_BODY.items()}
# A value that fits in a request, but not in a response, in which each character takes six bytes.
for _name in ("add_messages", "add_conversation_messages", "replace_messages", "change_message"):
    TOO_LARGE[_name] = body_of(WITH_BODY[_name].route, "\u00e9" * 960_000)
TOO_LARGE["change_message"] = {"message": {"item": {"text": "\u00e9" * 960_000}}}
TOO_LARGE["exchange_state"] = {"metadata": {"userName": LONG}}
TOO_LARGE["test_tool"] = {"arguments": {}}  # this request stores nothing
TOO_LARGE |= extensions.joined("TOO_LARGE")
TOO_LARGE["assign_conversation"] = {"assignToUserId": None, "state": LONG}
VERSIONED = {"agent_id": "support", "tool_id": IDS["tool_id"]}


class Stage(NamedTuple):
    """The API of a workspace to which all examples except the deletions were sent."""

    api: Api
    known: ExampleValues

    def send(
        self,
        operation: Operation,
        body: Any = None,
        query: str = "",
        headers: dict[str, str] | None = None,
        **values: str,
    ) -> Answer:
        """Send a request. `values` defaults to the example ids, and `body` defaults to the first example."""
        if body is None and operation.body:
            examples = operation.body.get("examples", {"": {"value": body_of(operation.route)}})
            body = self.known.substitute(next(iter(examples.values()))["value"])
        known = self.known.substitute(operation.path_values)
        address = operation.address(**{**known, **extensions.joined("CHOSEN"), **values})
        sent = {**self.api._headers, "Content-Type": "application/json", **headers} if headers else None
        return self.api.call(operation.method, address + query, body, sent)


@pytest.fixture
def stage(engine: None) -> Stage:
    made, _ = restore_or_create("examples", send_examples)
    return made


def send_examples() -> Stage:
    new = workspaces.create("Stage")
    stage = Stage(Api(new.workspace_key), ExampleValues())
    for name, examples in EXAMPLES.items():
        for example in examples.values() if name not in DELETIONS else ():
            stage.known.learn(example.answer, stage.send(OPERATIONS[name], example.request).json)
    extensions.populate(new.workspace_id, stage.known.substitute(VERSIONED), "Kept")
    return stage
