"""The work of the clients who answer and end conversations is counted by client, exactly once."""

import random
from collections.abc import Iterator

import pytest

from chalicelib import followers, ids, queues, storage
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.reports import counts, hours, recent_counts
from chalicelib.http import auth
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.deletion.cascades import second_run
from tests.extensions.reports.test_durations import START, At, change, write
from tests.extensions.reports.test_durations import at as at
from tests.followers import follow
from tests.old_agents import create_old_agent
from tests.webhooks.pipeline import Stream

Work = dict[str, tuple[int, int, int]]
"""The first answers, milliseconds to these, and ends, by client id."""
_NAMES = ("firstAnswers", "firstAnswerMilliseconds", "ends")
_END = START + 3 * 3_600


@pytest.fixture
def stream(at: At, monkeypatch: pytest.MonkeyPatch, api: Api) -> Iterator[Stream]:
    """Return the stream of conversations of an agent with two clients. No function recounts hours."""
    create_old_agent(api)
    for client_id in ("noor", "sam"):
        assert api.post(f"/v2/clients/{client_id}", {"name": client_id}).status == 200
    monkeypatch.setattr(queues, "send", lambda *_: None)
    monkeypatch.setattr(followers, "PATIENCE_SECONDS", 24 * 3_600)
    return Stream("conversations")


def work(workspace: NewWorkspace, agent_id: str = "support") -> Work:
    recent = recent_counts.read(workspace.workspace_id, [agent_id], START, _END)
    sums: dict[str, list[int]] = {}
    for hour in recent.read(agent_id, START, _END, hours.PERSON):
        hours.add(sums.setdefault(hour.value, [0] * len(hours.NAMES)), hour.counts)
    indexes = [hours.NAMES.index(name) for name in _NAMES]
    return {client_id: tuple(numbers[index] for index in indexes) for client_id, numbers in sums.items()}  # type: ignore[misc]


def rows() -> list[str]:
    kinds = {row.period.split("#")[0] for row in storage.scan(counts.DayRow, counts.DayRow.document.exists())}
    return sorted(kinds & {"counts", "groups", "people"})


def as_client(patch: pytest.MonkeyPatch, client_id: str) -> None:
    """Make a client's session in the console the author of the next changes."""
    patch.setattr(auth, "author", lambda: storage.author_of("session", "1", client_id))


def _handled(api: Api, at: At, patch: pytest.MonkeyPatch) -> Work:
    """Handle twelve conversations in two hours. Return the expected work."""
    for number in range(12):
        start, visitor = number * 500, f"v{number}"
        at(start)
        with patch.context() as own:
            write(api, "human", visitor, state="requested_chat")
            at(start + 30)
            write(api, "bot", visitor, assignToUserId=("noor", "sam")[number % 2])
            write(api, "human", visitor)
            write(api, "bot", visitor)
            as_client(own, "sam")
            api.patch(f"/v3/agents/support/convos/{visitor}", {"conversation": {"state": "ended_chat"}})
    return {"noor": (6, 180_000, 0), "sam": (6, 180_000, 12)}


def test_work_counts_once_for_its_author_or_the_assignee(
    api: Api, stream: Stream, at: At, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _handled(api, at, monkeypatch)
    records, chance = stream.read("conversations"), random.Random(1)
    repeated = records + chance.sample(records, len(records) // 2)
    chance.shuffle(repeated)
    at(6_600)
    for begin in range(0, len(repeated), 7):
        follow("conversations", repeated[begin : begin + 7])
    assert work(workspace) == expected
    for _ in range(2):
        counts.recount_all(workspace.workspace_id, "support")
    at(4 * 3_600)  # reports read the stored counts
    assert work(workspace) == expected


def test_messages_and_ends_by_other_credentials_are_no_work_of_the_assignee(
    api: Api, stream: Stream, at: At, workspace: NewWorkspace
) -> None:
    write(api, "human")
    write(api, "bot", assignToUserId="noor")
    write(api, "human")
    write(api, "bot")
    change(api, state="ended_chat")
    follow("conversations", stream.read("conversations"))
    assert work(workspace) == {}


def test_the_first_answer_to_a_colleagues_conversation_is_the_authors(
    api: Api, stream: Stream, at: At, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(api, "human", state="requested_chat", assignToUserId="noor")
    at(30)
    with monkeypatch.context() as own:
        as_client(own, "sam")
        write(api, "bot", state="human-chatting")
    follow("conversations", stream.read("conversations"))
    assert work(workspace) == {"sam": (1, 30_000, 0)}


@pytest.mark.parametrize("name", ["Main key", "", "x" * 129])
def test_a_name_that_is_no_client_id_is_no_client(
    api: Api, stream: Stream, at: At, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write(api, "human")
    with monkeypatch.context() as own:
        as_client(own, name)
        change(api, state="ended_chat", chatAssignedTo="not an id")
    follow("conversations", stream.read("conversations"))
    assert work(workspace) == {}


def test_the_clients_of_an_hour_with_the_most_work_are_kept() -> None:
    ends = [0] * len(hours.NAMES)
    ends[hours.NAMES.index("ends")] = 1
    work = {f"c{number:02}": [(number + 1) * one for one in ends] for number in range(30)}
    sums = hours.add_up((own, [""] * len(hours.DIMENSIONS), {name: own}) for name, own in work.items())
    kept = sums.groups[hours.PERSON]
    assert [*kept] == [*(f"c{number}" for number in range(10, 30)), hours.OTHER]
    assert kept[hours.OTHER][hours.NAMES.index("ends")] == sum(range(1, 11))


def test_only_days_with_work_have_a_row_for_it(api: Api, stream: Stream, at: At, workspace: NewWorkspace) -> None:
    write(api, "human")
    follow("conversations", stream.read("conversations"))
    counts.recount_all(workspace.workspace_id, "support")
    assert rows() == ["counts", "groups"]
    write(api, "human", state="requested_chat")
    write(api, "bot", assignToUserId="noor")
    follow("conversations", stream.read("conversations"))
    counts.recount_all(workspace.workspace_id, "support")
    assert rows() == ["counts", "groups", "people"]


def test_work_is_deleted_with_the_agent(
    api: Api, workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_old_agent(api)
    work_of_noor = CountedChange(
        storage.join_key(workspace.workspace_id, "support"),
        ids.new_id(),
        {"ends": 1},
        {hours.PERSON: {"noor": {"ends": 1}}},
    )
    with monkeypatch.context() as own:
        own.setattr(queues, "send", lambda *_: None)
        counts.record_changes([work_of_noor])
    counts.recount_all(workspace.workspace_id, "support")
    assert rows() == ["counts", "groups", "people"]
    assert api.delete("/v3/agents/support").status == 200
    second_run(pass_time)
    assert rows() == []


def test_counts_of_an_earlier_release_have_no_work(api: Api, stream: Stream, at: At, workspace: NewWorkspace) -> None:
    """An earlier release stores changes without work, and ignores the work in changes and the row for it."""
    write(api, "human", state="requested_chat")
    at(30)
    write(api, "bot", assignToUserId="noor")
    follow("conversations", stream.read("conversations"))
    changes = storage.scan(counts.ChangeRow, counts.ChangeRow.period.startswith("change#"))
    (row,) = [one for one in changes if "work" in one.open()]
    document = row.open()
    assert {*document.pop("work")} == {"noor"}
    assert set(document) == {"counts", "values"}
    row.seal(document)
    storage.save_many([row])
    counts.recount_all(workspace.workspace_id, "support")
    assert work(workspace) == {}
