"""The maintenance queue: its tasks' order, time limits, continuations and failures."""

from itertools import count
from typing import Any

import pytest

from chalicelib import clock, errors, maintenance, queues, storage
from chalicelib.conversations import leftovers
from chalicelib.conversations.follower import RECOUNT_DELAY_SECONDS
from chalicelib.conversations.rows import MessageIndexRow
from chalicelib.queues.messages import pack, parse
from chalicelib.queues.tasks import ApplyRetention, ClearLeftovers, ContinueFanOut, RecountQuarter, ResumeCascade
from chalicelib.workspaces.store import NewWorkspace
from infra.deploy.functions import declared_functions
from tests.deletion.cascades import as_record, maintain, task_messages
from tests.engine_requests import refuse_operation
from tests.webhooks import pipeline
from tests.webhooks.conftest import stream as stream

TASKS = (
    RecountQuarter("w#support", "2026-11-22", 95),
    ContinueFanOut("w", "lead_captured", (("one", "two"), ("three",))),
    ClearLeftovers("w#support#ann"),
    ResumeCascade("w", "support"),
    ApplyRetention("w", None, False, "after"),
)


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_read_as_it_was_packed(task: Any) -> None:
    assert parse(pack(task), maintenance._HANDLERS) == task


@pytest.mark.parametrize(
    "text",
    ['{"w": 1}', '"text"', "[]", '["Unknown", "w"]', '["ResumeCascade", "w"]', '["ResumeCascade", "w", "a", "b"]',
     '["ResumeCascade", "w", 7]', '["ResumeCascade", "w", null]', '["ClearLeftovers", "w#a#c", 7]',
     '["RecountQuarter", "w#a", "2026-11-22", true]', '["ContinueFanOut", "w", "t", []]',
     '["ContinueFanOut", "w", "t", "text"]', '["ContinueFanOut", "w", "t", [["a"], [7]]]',
     '["ApplyRetention", "w", null, 0]'],
)  # fmt: skip
def test_an_invalid_task_is_refused(text: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        parse(text, maintenance._HANDLERS)


def test_no_count_is_written_after_a_newer_one() -> None:
    (function,) = (one for one in declared_functions() if one.name == "maintain")
    assert maintenance._SECONDS < function.timeout_seconds < RECOUNT_DELAY_SECONDS


@pytest.fixture
def run_tasks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, float]]:
    """Record each task and its time limit instead of running the task.

    Each reading advances the clock by half a second.
    """
    tasks: list[tuple[Any, float]] = []
    moments = count(step=0.5)
    monkeypatch.setattr(clock, "monotonic", lambda: next(moments))
    runs = dict.fromkeys(maintenance._HANDLERS, lambda task, seconds: tasks.append((task, seconds)))
    monkeypatch.setattr(maintenance, "_HANDLERS", runs)
    return tasks


def test_short_tasks_precede_the_long_ones_of_another_workspace(run_tasks: list[tuple[Any, float]]) -> None:
    maintain([as_record(pack(task)) for task in (*TASKS[::-1], *TASKS)])
    assert [task for task, _ in run_tasks] == [*TASKS]


def test_the_tasks_of_a_batch_share_its_time(run_tasks: list[tuple[Any, float]]) -> None:
    maintain([as_record(pack(task)) for task in TASKS])
    assert [seconds for _, seconds in run_tasks] == [2.3, 2.75, 3.5, 5.0, 9.5]


def test_a_task_whose_turn_comes_too_late_is_sent_again_for_its_workspace(
    engine: None, run_tasks: list[tuple[Any, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[Any, ...]] = []
    monkeypatch.setattr(maintenance, "_SECONDS", 1.0)
    monkeypatch.setattr(queues, "send", lambda *arguments: sent.append(arguments))
    maintain([as_record(pack(task)) for task in TASKS])
    assert [task for task, _ in run_tasks] == [TASKS[0]]
    assert sent == [(queues.MAINTENANCE, [pack(task)], "w", 0) for task in TASKS[1:]]


def test_a_conversation_with_many_parts_is_cleared_in_several_tasks(
    workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = storage.join_key(workspace.workspace_id, "support", "ann")
    storage.save_many(
        [MessageIndexRow(conversation, f"mid#{number}", writing="w", start=0, length=1) for number in range(9)]
    )
    monkeypatch.setattr(leftovers, "_BATCH", 2)
    moments = count()
    monkeypatch.setattr(clock, "monotonic", lambda: next(moments))
    left = []
    for _ in range(3):
        leftovers.resume(ClearLeftovers(conversation) if not left else left[-1], 1.5)
        left += [parse(one["body"], [ClearLeftovers]) for one in task_messages(ClearLeftovers)]
    assert left == [ClearLeftovers(conversation, f"mid#{number}") for number in (3, 7)]
    assert storage.query(leftovers.ConversationPartRow, conversation) == []


@pytest.mark.parametrize("body", ["junk", pack(ContinueFanOut("w", "t", (("e",),)))])
def test_a_task_that_always_fails_goes_to_the_dead_letter_queue_after_ten_attempts(
    stream: pipeline.Stream,
    body: str,
) -> None:
    queues.send(queues.MAINTENANCE, [body], "w")
    attempts = 0
    with refuse_operation("Query", "ThrottlingException"):
        while (held := pipeline.take(queues.MAINTENANCE)).messages:
            failures = [{"itemIdentifier": one["messageId"]} for one in held.records]
            assert maintenance.maintain({"Records": held.records}, None) == {"batchItemFailures": failures}
            held.give_back()
            attempts += 1
    assert attempts == 10
    assert pipeline.waiting("maintenance-dead") == [body]


def test_a_failed_task_does_not_stop_the_others_of_its_batch(
    engine: None, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise errors.Unavailable

    resumed: list[Any] = []
    runs = {RecountQuarter: fail, ResumeCascade: lambda task, _: resumed.append(task)}
    monkeypatch.setattr(maintenance, "_HANDLERS", runs)
    records = [as_record(pack(task)) for task in (TASKS[0], TASKS[3])]
    assert maintenance.maintain({"Records": records}, None) == {
        "batchItemFailures": [{"itemIdentifier": pack(TASKS[0])}]
    }
    assert resumed == [TASKS[3]]
