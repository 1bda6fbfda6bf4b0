"""docs/costs.csv contains the measured costs, and docs/costs.md those of the most common operations."""

from pathlib import Path

import pytest

from chalicelib import clock
from tests import costs, extensions, generated_docs
from tests.capacity import metered
from tests.operation_cases import CASES, Service, path_of, service  # noqa: F401 - the fixture

# Case in operation_cases -> the operation's name in the file. `test_full_page_costs` counts the lists.
DOCUMENTED = {
    "agent read": "read an agent",
    "agent save": "change an agent",
    "agent create": "create an agent",
    "agent search of none": "search agents without a match",
    "agent clone": "clone an agent with two tools",
    "template read": "read a template with two tools",
    "agent import": "import a template with a tool",
    "tool create": "create a tool",
    "tool save": "change a tool",
    "tool test": "test a tool",
    "state read": "read a state",
    "state replace": "replace a state",
    "state of a new conversation": "first state of a conversation",
    "state read, large": "read an incompressible state of 600 KB",
    "state replace, large": "replace an incompressible state of 600 KB",
    "message add": "add a message",
    "message change": "change a message",
    "conversation list with filters": "search 41 conversations without a match",
    "conversation read": "read a conversation with its newest messages",
    "conversation change": "change a conversation",
    "conversation assign": "assign a conversation",
    "analytics write": "write analytics",
    "analytics read": "read analytics",
    "analytics list": "list analytics",
    "analytics delete v3": "delete the analytics of three conversations",
    "client list": "list all clients (v2)",
    "client save": "save a client",
    "organisation save": "save an organisation",
    "client create v3 with an email": "create a client",
    "organisation save with agents": "save an organisation with two agents and an admin",
    "organisation create v3": "create an organisation",
    "lead create": "create a lead",
    "lead change": "change a lead",
    "leads of an agent": "list leads of an agent with filters",
    "leads of all agents": "list leads of all agents with filters",
    "lead export": "export leads of an agent",
    "webhook create": "create a webhook",
    "webhook save": "change a webhook",
    "delivery read": "read a delivery",
    "redeliver": "redeliver",
    "tool delete": "delete a tool",
    "conversation delete": "delete a conversation",
    "client delete": "delete a client",
    "organisation delete": "delete an organisation",
    "visitor token create": "issue a visitor token",
    "token create": "issue a token",
    "history of an agent": "list the history of an agent",
    "version read": "read a version of an agent",
    "version restore": "restore a version of an agent",
    "erasure create": "create an erasure",
    "erasure read": "read an erasure",
}


@pytest.mark.skipif(not extensions.are_all_on(), reason="the file contains the costs with all extensions")
def test_the_file_has_the_counted_costs(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    # A change in the same second as the previous change would not update the times in the index.
    milliseconds = clock.milliseconds
    monkeypatch.setattr(clock, "milliseconds", lambda: milliseconds() + 5_000)
    for case in CASES:
        if case.id in DOCUMENTED:
            method, path = case.operation.split()[0], path_of(case, service)
            service.api.get("/v2/clients")
            with metered() as meter:
                assert service.api.call(method, path, case.body).status == 200
            costs.check(DOCUMENTED[case.id], meter)


def test_the_page_shows_the_costs_of_common_operations() -> None:
    generated_docs.check(costs.PAGE, costs.PART, costs.common())


def test_every_row_of_the_file_is_asserted_by_a_test() -> None:
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("*.py")]
    assert [name for name in costs.table() if not any(f'"{name}"' in text for text in texts)] == []
