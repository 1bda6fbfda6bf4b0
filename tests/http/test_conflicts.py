"""After a conflict, the view reruns on the current record or raises an error, whether or not the request has a key."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib import errors, storage
from chalicelib.agents import store as agents
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth, etag
from chalicelib.storage.unit import Unit
from tests.api import Answer
from tests.assertions import stored
from tests.direct_writes import before_each_commit
from tests.guarantees import CaseCounter
from tests.http.replay_cases import (
    KEY,
    REPLAYED,
    STATE,
    Case,
    World,
    case_named,
    each_case,
    error_of,
    is_replay,
    new_world,
    stored_records,
    turns,
)
from tests.http.replay_cases import world as world
from tests.selection import first_case

pytestmark = pytest.mark.guarantee("repeated")


@each_case
@first_case
def test_a_retried_view_answers_like_a_view_that_ran_once(
    case: Case, engine: None, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    """19 commits fail. Every run gets the same random values, so the response differs if a run changes its input."""
    results = []
    for conflicts in (0, 19):
        with new_world(monkeypatch) as world, failing_commits(world, conflicts):
            world.reseed()
            answer = world.send(case, KEY)
            results.append(
                (answer.status, answer.text, answer.headers.get("etag"), list(map(len, stored_records().values())))
            )
            assert REPLAYED not in answer.headers
    assert results[0][0] == case.status
    assert results[1] == results[0]
    count_cases(states=2, requests=2)


def test_twenty_conflicts_are_a_409_and_the_caller_retries(engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with new_world(monkeypatch) as world:
        with failing_commits(world, 20):
            assert error_of(world.send(case_named("agent change"), KEY)) == (409, "STALE")
        first = world.send(case_named("agent change"), KEY)
        assert (first.status, REPLAYED in first.headers) == (200, False)


@contextmanager
def failing_commits(world: World, conflicts: int) -> Iterator[None]:
    """Let the first `conflicts` commits inside the block fail their conditions."""
    left, commit = [conflicts], Unit.commit

    def failing(self: Unit) -> None:
        if self._steps and left[0]:
            left[0] -= 1
            world.reseed()
            raise storage.ConditionFailed()
        commit(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Unit, "commit", failing)
        yield
    assert not left[0]


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@pytest.mark.parametrize("error", [errors.LimitReached("Full.", "tools", 1, 1), errors.Unavailable(), ValueError()])
def test_a_view_that_refuses_after_staging_writes_nothing(
    error: Exception, key: str | None, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: str) -> None:
        raise error

    tables = stored()
    with monkeypatch.context() as patch:
        patch.setattr(etag, "tagged", refuse)
        assert world.send(case_named("tool create"), key).status == getattr(error, "STATUS_CODE", 500)
    assert stored() == tables
    assert world.send(case_named("tool create"), key).status == 200


def test_a_change_is_applied_to_the_write_that_came_first(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = iter([{"agent": {"description": "Theirs"}}])

    def overtake() -> None:
        if (body := next(theirs, None)) is not None:
            assert world.api.patch("/v3/agents/support", body).status == 200

    with monkeypatch.context() as patch:
        before_each_commit(patch, overtake)
        first = world.send(Case("", "PATCH /v3/agents/{agent_id}", {"agent": {"title": "Mine"}}), KEY)
    assert (first.data["title"], first.data["description"]) == ("Mine", "Theirs")
    assert world.api.get("/v3/agents/support").headers["etag"] == first.headers["etag"]


OVERTAKING: dict[str, Callable[[World], Answer]] = {
    "a replacement": lambda world: world.send(Case("", STATE, turns("Theirs")), None),
    "a description": lambda world: world.send(Case("", STATE, {"metadata": {"userName": "Theirs"}}), None),
    "a deletion": lambda world: world.api.delete("/v3/agents/support/convos/ann"),
}


@pytest.mark.parametrize("overtaking", OVERTAKING.values(), ids=OVERTAKING)
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
def test_a_replacement_does_not_undo_a_concurrent_change(
    key: str | None,
    overtaking: Callable[[World], Answer],
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    count_cases: CaseCounter,
) -> None:
    mine = Case("", STATE, turns("Mine"))
    with overtaken(monkeypatch, lambda: overtaking(world)):
        refused = world.send(mine, key)
    assert error_of(refused) == (409, "STALE")
    after = world.send(Case("", STATE, {}), None)
    assert "Mine" not in after.text
    assert world.send(mine, key).status == 200
    count_cases(states=1)


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
def test_a_first_replacement_does_not_undo_a_concurrent_creation(
    key: str | None, world: World, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    new = {"user_id": "new"}
    with overtaken(monkeypatch, lambda: world.send(Case("", STATE, turns("Theirs"), new), None)):
        assert error_of(world.send(Case("", STATE, turns("Mine"), new), key)) == (409, "STALE")
    assert "Theirs" in world.send(Case("", STATE, {}, new), None).text
    count_cases(states=1)


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ({"metadata": {"userName": "Mine"}}, {"metadata": {"userPhone": "Theirs"}}),
        ({"delete": {"mids": ["m1"]}}, {"metadata": {"userPhone": "Theirs"}}),
        ({"metadata": {"userName": "Mine"}}, turns("Theirs")),
    ],
    ids=["description", "deletion of messages", "description and a replacement"],
)
@first_case
def test_a_merge_is_applied_to_the_write_that_came_first(
    mine: Any, theirs: Any, key: str | None, world: World, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    with overtaken(monkeypatch, lambda: world.send(Case("", STATE, theirs), None)):
        assert world.send(Case("", STATE, mine), key).status == 200
    after = world.send(Case("", STATE, {}), None).text
    assert "Theirs" in after
    assert "Mine" in after or '"turns":[]' in after
    count_cases(states=1)


@contextmanager
def overtaken(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Answer]) -> Iterator[None]:
    """Run another write before the first commit inside the block."""
    acts = iter([act])

    def overtake() -> None:
        if (one := next(acts, None)) is not None:
            assert one().status == 200

    with monkeypatch.context() as patch:
        before_each_commit(patch, overtake)
        yield


@pytest.mark.parametrize("logins", [40, 41, 90])
@first_case
def test_clearing_an_agent_s_key_revokes_any_number_of_logins(
    logins: int, world: World, count_cases: CaseCounter
) -> None:
    """A transaction contains at most 100 items, and each login takes two items."""
    for _ in range(logins - 1):
        new = {"agent": {"SECRET_API_KEY": tokens.new(tokens.AGENT)}}
        assert world.api.patch("/v3/agents/support", new).status == 200
    workspace_id = world.workspace.workspace_id
    assert len(credentials.list_active(workspace_id, tokens.AGENT, "support")) == logins
    assert world.agent_key.get("/v2/agents/support").status == 200
    first = world.send(case_named("agent key clear"), KEY)
    assert first.status == 200
    assert credentials.list_active(workspace_id, tokens.AGENT, "support") == []
    auth.clear_cache()
    assert world.agent_key.get("/v2/agents/support").status == 401
    assert "SECRET_API_KEY" not in agents.read(workspace_id, "support").open()
    assert is_replay(first, world.send(case_named("agent key clear"), KEY))
    count_cases(states=logins)
