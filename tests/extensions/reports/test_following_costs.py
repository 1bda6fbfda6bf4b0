"""The table of docs/benchmarks.md with what follows a write: counting it, and keeping its history, behind the streams.

Capacity is computed from the sizes of items by DynamoDB's published rules.
"""

from collections.abc import Callable, Iterator

import pytest

from chalicelib import clock, ids, queues, storage
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.workspaces.store import NewWorkspace
from infra.operator import prices
from tests import extensions, generated_docs
from tests.api import Api
from tests.builders import webhook_body
from tests.capacity import Meter, metered
from tests.old_agents import create_old_agent

extensions.require("history")

from tests.extensions.history.conftest import History, history  # noqa: F401 - the fixture
from tests.extensions.reports.test_counting_costs import HOUR, START, changes_of_an_hour, cost_of_an_hour

KILOBYTE = "".join(f"{number * 7_919 % 9_973:04}" for number in range(250))
DELIVERIES = 300


def test_the_table_has_what_follows_a_write(
    workspace: NewWorkspace,
    history: History,  # noqa: F811
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create_old_agent(api)
    rows = [_cells(f"history: {name}", meter, 1) for name, meter in _kept(api, history)]
    agent, wanted = storage.join_key(workspace.workspace_id, "support"), list[str]()
    monkeypatch.setattr(queues, "send", lambda queue, texts, *rest: wanted.extend(texts))
    for day, number in enumerate((20, 100, 300)):
        counted = changes_of_an_hour(agent, number, day)
        meter = cost_of_an_hour(agent, counted, day, _clock(monkeypatch), wanted)
        rows.append(_cells(f"reports and usage: one of {number} changes in an hour", meter, number))
    times = (START + 3 * 86_400 + number * HOUR // DELIVERIES for number in range(DELIVERIES))
    sent = [CountedChange(agent, ids.id_at(time * 1000, time), {"deliveries": 1}, {}) for time in times]
    meter = cost_of_an_hour(agent, sent, 3, _clock(monkeypatch), wanted)
    rows.append(_cells(f"usage: one of {DELIVERIES} deliveries in an hour", meter, DELIVERIES))
    heading = ["What follows", "Requests", "Read units", "Write units", "Dollars per million"]
    generated_docs.check("docs/benchmarks.md", "following", generated_docs.table(heading, rows))


def _kept(api: Api, history: History) -> Iterator[tuple[str, Meter]]:  # noqa: F811
    """What it costs to keep a change of a record of a kilobyte, for each resource."""
    agent, tool = {"agent": {"description": KILOBYTE}}, {"tool": {"name": "Find", "description": KILOBYTE}}
    api.post("/v2/agents/support", {"title": "Support"})
    api.patch("/v3/agents/support", agent)
    tool_id = api.post("/v3/agents/support/tools", tool).data["id"]
    webhook_id = api.post("/v3/webhooks", webhook_body()).data["id"]
    api.post("/v2/clients/ann", {"name": "Ann", "email": "ann@x.test"})
    api.post("/v2/orgs/acme", {"name": "Acme"})
    history.keep()
    changes: dict[str, Callable[[], object]] = {
        "a change of an agent": lambda: api.patch("/v3/agents/support", {"agent": {"title": "Help"}}),
        "a change of a tool": lambda: api.patch(f"/v3/tools/{tool_id}", {"tool": {"name": "Look up"}}),
        "a change of a client": lambda: api.post("/v2/clients/ann", {"name": "Bo"}),
        "a change of an organisation": lambda: api.post("/v2/orgs/acme", {"name": "Bo"}),
        "a change of a webhook": lambda: api.patch(f"/v3/webhooks/{webhook_id}", {"webhook": {"enabled": False}}),
        "a token": lambda: api.post("/v3/tokens", {"token": {"name": "CI"}}),
    }
    for name, change in changes.items():
        change()
        with metered() as meter:
            history.keep()
        assert meter.writes, name
        yield name, meter


def _cells(name: str, meter: Meter, number: int) -> list[str]:
    figures = [f"{one / number:.2f}".removesuffix(".00") for one in (meter.total, meter.reads, meter.writes)]
    dollars = prices.units(meter.reads, meter.writes) / number * 1e6
    return [name, *figures, f"{dollars:.2f}"]


def _clock(patch: pytest.MonkeyPatch) -> Callable[[int], None]:
    return lambda seconds: patch.setattr(clock, "milliseconds", lambda: (START + seconds) * 1000)
