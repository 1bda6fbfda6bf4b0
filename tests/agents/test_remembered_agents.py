"""Processes that have cached an agent and miss its latest change.

After the agent's deletion, their writes are rejected, or the cascade's second run deletes what they wrote. They also
find an agent that was just created.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import clock, queues
from chalicelib.agents import store as agents
from chalicelib.storage.unit import Unit
from tests.api import Answer, Api
from tests.builders import lead_body
from tests.conftest import PassTime
from tests.deletion.cascades import HUMAN, STATE, as_record, cascade_messages, fill, items, maintain, records


def paused_at_commit(
    monkeypatch: pytest.MonkeyPatch, send: Callable[[], Answer], in_between: Callable[[], object]
) -> Answer:
    """Send a request whose process pauses before its first commit until `in_between` returns."""
    commit, pauses = Unit.commit, iter([1])

    def pausing(unit: Unit) -> None:
        if unit._steps:
            for _ in pauses:
                in_between()
        commit(unit)

    with monkeypatch.context() as patch:
        patch.setattr(Unit, "commit", pausing)
        return send()


GHOSTS: dict[str, Callable[[Api], Answer]] = {
    "conversation": lambda api: api.post("/v3/agents/support/convos", {"conversation": {}}),
    "first state": lambda api: api.post("/agents/support/interact/bo/state", {"turns": HUMAN}),
    "long state": lambda api: api.post(
        "/agents/support/interact/bo/state", {"turns": [{"messages": [{"text": os.urandom(300_000).hex()}]}]}
    ),
    "tool": lambda api: api.post("/v3/agents/support/tools", {"tool": {"name": "t"}}),
    "lead": lambda api: api.post("/v3/leads", lead_body()),
    "analytics": lambda api: api.post("/v2/agents/support/analytics/ann", {"record": "load"}),
}


@pytest.mark.parametrize("ghost", GHOSTS.values(), ids=GHOSTS)
@pytest.mark.usefixtures("fast_path")
def test_a_write_that_the_first_run_misses_is_deleted_by_the_second(
    ghost: Callable[[Api], Answer], api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer reads the agent before its deletion, and writes after the cascade's first run."""
    pass_time(0)
    before = items()
    api.post("/v2/agents/support", {})
    fill(api)

    def delete_the_agent() -> None:
        assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
        pass_time(29)

    assert paused_at_commit(monkeypatch, lambda: ghost(api), delete_the_agent).status == 200
    assert records("agents", "conversations", "leads", "analytics") != []
    pass_time(61)
    maintain(cascade_messages())
    assert cascade_messages() == []
    left = [item for item in items() if item not in before and "last_used_at" not in item]
    assert {item["record"]["S"].split("#")[1] for item in left} <= {"keys", "tools"}, "only the history is left"


def test_a_state_that_changes_after_the_first_run_is_refused(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.post(STATE, {"turns": HUMAN})
    answer = paused_at_commit(
        monkeypatch,
        lambda: api.post(STATE, {"metadata": {"userName": "Ann"}}),
        lambda: api.delete("/v3/agents/support"),
    )
    assert answer.status == 404
    assert items("conversations") == []


def test_analytics_of_a_remembered_agent_are_deleted_within_two_minutes(
    api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process caches the agent for 30 seconds."""
    pass_time(0)
    analytics_path = "/v2/agents/support/analytics"
    assert api.post(f"{analytics_path}/first", {"record": "load"}).status == 200
    remembered = dict(agents._known_agents)
    api.delete("/v3/agents/support")
    agents._known_agents.update(remembered)
    statuses = []
    for second in range(0, 35, 5):
        statuses.append(api.post(f"{analytics_path}/{second}", {"record": "load"}).status)
        pass_time(5)
    assert statuses == [200] * 6 + [404]
    pass_time(55)
    maintain(cascade_messages())
    assert items("agents", "analytics") == []


@pytest.mark.parametrize("commit", [0, 27], ids=["at once", "after all attempts"])
@pytest.mark.usefixtures("fast_path")
def test_nothing_is_left_two_minutes_after_a_deletion_whatever_a_process_remembers(
    commit: int, api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the slowest case, the deletion takes effect late, the agent is cached for 30 s, and a request takes 29 s."""
    pass_time(0)
    due: list[tuple[int, str]] = []
    monkeypatch.setattr(
        queues, "send", lambda _, texts, group, delay: due.extend((clock.seconds() + delay, text) for text in texts)
    )

    def wait(seconds: int) -> None:
        for _ in range(seconds):
            pass_time(1)
            for message in [one for one in due if one[0] <= clock.seconds()]:
                due.remove(message)
                maintain([as_record(message[1])])

    path = "/v2/agents/support/analytics/ann"
    known: dict[tuple[str, str], int] = {}

    def read_just_before() -> None:
        wait(commit)
        assert api.post(path, {"record": "load"}).status == 200
        known.update(agents._known_agents)

    start = clock.seconds()
    deletion = paused_at_commit(monkeypatch, lambda: api.delete("/v3/agents/support"), read_just_before)
    assert deletion.json["message"] == "Agent deleted successfully"
    assert items("analytics") == []
    wait(29)
    agents._known_agents.update(known)
    ghost = paused_at_commit(monkeypatch, lambda: api.post(path, {"record": "load"}), lambda: wait(29))
    assert (ghost.status, len(items("analytics"))) == (200, 1)
    wait(start + 120 - clock.seconds())
    assert (items("agents", "analytics"), due) == ([], [])


def test_a_read_that_misses_a_new_agent_is_repeated(api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An eventually consistent read may miss an agent that was just created."""
    from_raw_data = agents.AgentRow.from_raw_data
    missed = iter([1])

    def miss_once(data: Any) -> Any:
        return next((None for _ in missed), from_raw_data(data))

    monkeypatch.setattr(agents.AgentRow, "from_raw_data", miss_once)
    assert api.post(STATE, {"turns": HUMAN}).status == 200
