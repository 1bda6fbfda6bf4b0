"""The table of costs in docs/benchmarks.md has the counted requests, and capacity by DynamoDB's rules."""

import pytest

from chalicelib import clock
from tests import extensions, generated_docs
from tests.capacity import metered
from tests.test_requests_per_operation import CASES, Service, path_of, service  # noqa: F401 - the fixture

# Case of test_requests_per_operation -> the operation's name in the table.
SHOWN = {
    "agent read": "read an agent",
    "agent save": "change an agent",
    "agent create": "create an agent",
    "agent list page": "list agents, a page",
    "agent list with filters": "list agents with filters that none matches",
    "agent list sorted": "list agents by their last change",
    "agent clone": "clone an agent with two tools",
    "template read": "read the template of an agent with two tools",
    "agent import": "import a template with a tool",
    "tool create": "create a tool",
    "tool list": "list tools",
    "tool save": "change a tool",
    "tool test": "test a tool (and one call of its server)",
    "state read": "read a state",
    "state replace": "replace a state",
    "state of a new conversation": "first state of a conversation",
    "state read, large": "read a state of 600 KB that does not compress",
    "state replace, large": "replace it",
    "message add": "add a message",
    "message change": "change a message",
    "conversation list": "list conversations, page 1",
    "conversation list by cursor": "list conversations by cursor",
    "conversation list v3": "list conversations with v3, a page",
    "conversation list with filters": "search 41 conversations for what none has",
    "inbox": "list the inbox",
    "conversation read": "read a conversation and its newest messages",
    "message list": "list messages, a page",
    "conversation change": "change the metadata of a conversation",
    "conversation assign": "assign a conversation",
    "analytics write": "write analytics",
    "analytics read": "read analytics",
    "analytics list": "list analytics, a page",
    "analytics delete v3": "delete the analytics of three conversations",
    "usage": "usage of four agents: a month by days",
    "report of an agent": "report of an agent: a month by days",
    "client list": "list clients",
    "client save": "save a client",
    "organisation save": "save an organisation",
    "client list v3": "list clients with v3, a page",
    "client create v3 with an email": "create a client",
    "organisation list v3": "list organisations, a page",
    "organisation save with agents": "save an organisation with two agents and an admin",
    "organisation's agents": "list the agents of an organisation, a page",
    "organisation's clients": "list the clients of an organisation, a page",
    "organisation create v3": "create an organisation",
    "lead create": "create a lead",
    "lead change": "change a lead",
    "leads of an agent": "list leads of an agent with filters, a page",
    "leads of all agents": "list the leads of eight agents with filters, a page",
    "lead export": "export the leads of an agent, a page",
    "lead list": "list leads",
    "webhook create": "create a webhook",
    "webhook save": "change a webhook",
    "delivery list": "list deliveries",
    "delivery read": "read a delivery",
    "redeliver": "deliver again",
    "tool delete": "delete a tool",
    "conversation delete": "delete a conversation",
    "client delete": "delete a client",
    "organisation delete": "delete an organisation",
    "visitor token create": "issue a visitor token",
    "token create": "issue a token",
    "history of an agent": "history of an agent, a page",
    "version read": "read a version of an agent",
    "version restore": "restore a version of an agent",
    "erasure create": "ask for an erasure",
    "erasure read": "read an erasure",
}


@pytest.mark.skipif(not extensions.are_all_on(), reason="the table has the costs with all extensions")
def test_the_table_has_the_counted_costs(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    # A change in the second of the previous one would not change the times in the index.
    milliseconds = clock.milliseconds
    monkeypatch.setattr(clock, "milliseconds", lambda: milliseconds() + 5_000)
    rows = []
    for case in CASES:
        if case.id in SHOWN:
            method, path = case.operation.split()[0], path_of(case, service)
            service.api.get("/v2/clients")
            with metered() as meter:
                assert service.api.call(method, path, case.body).status == 200
            rows.append([SHOWN[case.id], str(meter.total), f"{meter.reads:g}", f"{meter.writes:g}"])
    table = generated_docs.table(["Operation", "Requests", "Read units", "Write units"], rows)
    generated_docs.check("docs/benchmarks.md", "costs", table)
