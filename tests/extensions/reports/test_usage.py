"""Usage: each agent's activity per day, read from the tallies, and the workspace's webhook deliveries."""

import csv
import io
from typing import Any

import pytest

from chalicelib import clock, queues
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.reports import usage
from chalicelib.extensions.reports.counts import record_changes
from chalicelib.extensions.reports.extension import QUEUE
from chalicelib.extensions.reports.functions import count_hours
from chalicelib.ids import id_at
from chalicelib.storage import join_key
from chalicelib.webhooks import delivery, ledger
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import lead_body, state_body, webhook_body
from tests.engine_requests import counted
from tests.followers import follow
from tests.listed_pages import flatten, read_pages
from tests.old_agents import create_old_agent
from tests.webhooks.pipeline import Inbox, Stream, drain, fan_out

NONE = dict.fromkeys(usage.NAMES, 0)
DAY = 24 * 60 * 60


class Counting:
    """Captures count requests, and processes them later."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.requests: list[str] = []
        send = queues.send

        def capture(queue: str, texts: Any, *rest: Any) -> None:
            if queue == QUEUE:
                self.requests += texts
            else:
                send(queue, texts, *rest)

        patch.setattr(queues, "send", capture)

    def run(self) -> None:
        for text in dict.fromkeys(self.requests):
            message = {"messageId": "1", "body": text}
            assert count_hours({"Records": [message]}, None) == {"batchItemFailures": []}
        self.requests.clear()


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    return Counting(monkeypatch)


@pytest.fixture
def two_days(workspace: NewWorkspace, agent_id: str, api: Api, counting: Counting) -> int:
    """Store usage on two days for two of three agents; return the second day's start in Unix seconds."""
    for name in ("a", "z"):
        create_old_agent(api, name)
    today = clock.seconds() // DAY * DAY
    for agent, second, numbers in (
        ("a", today - 1, {"conversations": 1, "messages": 3}),
        ("a", today, {"messages": 2}),
        ("z", today, {"leads": 1}),
        ("", today, {"deliveries": 2}),
    ):
        record_changes(
            [CountedChange(join_key(workspace.workspace_id, agent), id_at(second * 1000, second), numbers, {})]
        )
    counting.run()
    return today


def test_everything_that_is_used_is_counted_once_on_its_day(
    api: Api, agent_id: str, stream: Stream, inbox: Inbox, counting: Counting
) -> None:
    types = ("message_received", "lead_captured", "organisation_created")
    assert api.post("/v3/webhooks", webhook_body(inbox.url(), *types)).status == 200
    assert api.post("/agents/support/interact/ann/state", state_body("Hello")).status == 200
    assert api.post("/v3/leads", lead_body(name="Ann")).status == 200
    assert api.post("/v2/orgs/acme", {"name": "Acme"}).status == 200
    records = stream.read()
    fan_out(records)
    drain()
    sent = stream.read("deliveries")
    for batch in (sent, sent[2:], sent[:4]):  # at-least-once delivery
        follow("deliveries", batch)
    for table in ("conversations", "leads"):
        follow(table, [one for one in records if f"cams-{table}/" in one["eventSourceARN"]])
    counting.run()
    entries = api.get("/v3/usage").data
    assert [one.get("agentId") for one in entries] == ["support", None]
    expected = {**NONE, "conversations": 1, "messages": 1, "interactions": 1, "deliveries": 2, "leads": 1}
    today = clock.seconds() // DAY * DAY
    assert entries[0] == {"agentId": "support", "days": [{"from": today, **expected}], "totals": expected}
    assert entries[1]["totals"] == {**NONE, "deliveries": 1}
    # Reports do not include deliveries.
    report = api.get("/v3/agents/support/analytics?by=origin").data
    assert "deliveries" not in report["totals"]
    assert [one["value"] for one in report["groups"]] == ["unknown", "web-chat"]


def test_the_usage_of_an_agent_equals_its_entry_in_the_list(api: Api, two_days: int, agent_id: str) -> None:
    whole = {"from": two_days - DAY, "to": two_days + DAY}
    for agent in ("a", "z", agent_id):
        path = f"/v3/agents/{agent}/usage"
        (entry,) = [one for one in api.get("/v3/usage").data if one.get("agentId") == agent]
        for body in (None, {}, {"range": None}, {"range": whole}, {"range": {"from": clock.iso(two_days - DAY)}}):
            answer = api.post(path, body)
            assert answer.data == entry
            assert answer.json["countedUntil"] <= clock.seconds()
    second = {"from": clock.iso(two_days).replace("Z", "+00:00"), "to": two_days + 1.5}
    (day,) = api.post("/v3/agents/a/usage", {"range": second}).data["days"]
    assert (day["from"], day["messages"]) == (two_days, 2)
    assert api.post("/v3/agents/unknown/usage", {}).status == 404


def test_what_is_not_sent_is_not_counted(
    api: Api, agent_id: str, stream: Stream, inbox: Inbox, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert api.post("/v3/webhooks", webhook_body(inbox.url(), "lead_captured")).status == 200
    assert api.post("/v3/leads", lead_body(name="Ann")).status == 200
    fan_out(stream.read())
    monkeypatch.setattr(delivery._ReadyDelivery, "event", None)
    drain()
    (*_, last) = sent = stream.read("deliveries")
    assert last["dynamodb"]["NewImage"]["outcome"]["S"] == ledger.EXPIRED
    follow("deliveries", sent)
    assert counting.requests == []


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_pages_have_every_agent_and_what_belongs_to_none(api: Api, two_days: int, limit: int) -> None:
    pages = read_pages(api, "/v3/usage", limit)
    assert max(map(len, pages)) <= limit
    entries = flatten(pages)
    days = [(one.get("agentId"), len(one["days"])) for one in entries]
    assert days == [("a", 2), ("support", 0), ("z", 1), (None, 1)]
    assert entries[0]["totals"] == {**NONE, "conversations": 1, "messages": 5}
    assert entries[1]["totals"] == NONE


def test_a_period_is_of_whole_days(api: Api, two_days: int) -> None:
    for period in (f"from={two_days}", f"from={two_days + 5}&to={two_days + 6}"):
        (first, *_) = api.get(f"/v3/usage?{period}").data
        assert first["days"] == [{"from": two_days, **NONE, "messages": 2}]
    assert api.get(f"/v3/usage?from={two_days}&to={two_days}").status == 400
    assert api.get(f"/v3/usage?from=0&to={two_days}").status == 400


def test_a_page_has_a_bounded_number_of_agents_whatever_the_limit(api: Api, two_days: int) -> None:
    for number in range(30):
        assert api.post(f"/v2/agents/b{number:02}", {}).status == 200
    with counted() as requests:
        answer = api.get("/v3/usage?limit=100")
    assert (len(answer.data), answer.json["hasMore"]) == (usage.MAX_AGENTS, True)
    assert requests["Query"] == 1 + 2 * usage.MAX_AGENTS


def test_a_table_has_a_row_for_each_agent_and_day(api: Api, two_days: int) -> None:
    lines, path = [], "/v3/usage"
    while path:
        answer = api.call("GET", path, None, {**api._headers, "Accept": "text/csv"})
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        lines.append(answer.text)
        link = answer.headers.get("link", "")
        path = f"/v3/usage{link[1:].partition('>')[0]}" if link else ""
    rows = list(csv.reader(io.StringIO("".join(lines))))
    days = [clock.iso(second)[:10] for second in (two_days - 1, two_days)]
    assert rows == [
        ["agentId", "day", "conversations", "messages", "interactions", "deliveries", "leads"],
        ["a", days[0], "1", "3", "0", "0", "0"],
        ["a", days[1], "0", "2", "0", "0", "0"],
        ["z", days[1], "0", "0", "0", "0", "1"],
        ["", days[1], "0", "0", "0", "2", "0"],
    ]
