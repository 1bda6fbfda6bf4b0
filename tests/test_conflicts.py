"""Another write comes first: the view runs again on what is stored then, or refuses; with an `Idempotency-Key` too."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib import errors, storage
from chalicelib.agents import store as agents
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth
from chalicelib.storage import sequence
from chalicelib.storage.unit import Unit
from tests.api import Answer
from tests.evidence import stored
from tests.promises import Shown
from tests.repeating import KEY, REPLAYED, STATE, Case, World, each_case, named, others, refusal, same, turns, world
from tests.repeating import here as here
from tests.writes import before_each_commit

pytestmark = pytest.mark.promise("repeated")


@each_case
def test_a_view_that_runs_again_answers_as_if_it_had_run_once(
    case: Case, engine: None, monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:
    """Nine commits fail; each run draws alike, so whatever a run changes in its input shows in the tenth answer."""
    found = []
    for conflicts in (0, 9):
        with world(monkeypatch) as there, failing_commits(there, conflicts):
            there.draw_alike()
            answer = there.send(case, KEY)
            found.append((answer.status, answer.text, answer.headers.get("etag"), list(map(len, others().values()))))
            assert REPLAYED not in answer.headers
    assert found[0][0] == 200
    assert found[1] == found[0]
    shown(states=2, requests=2)


def test_after_ten_conflicts_the_caller_has_to_send_it_again(engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with world(monkeypatch) as there:
        with failing_commits(there, 10):
            assert refusal(there.send(named("agent change"), KEY)) == (409, "STALE")
        first = there.send(named("agent change"), KEY)
        assert (first.status, REPLAYED in first.headers) == (200, False)


@contextmanager
def failing_commits(there: World, conflicts: int) -> Iterator[None]:
    """Inside the block so many commits of several steps or one find that another write came first."""
    left, commit = [conflicts], Unit.commit

    def failing(self: Unit) -> None:
        if self._steps and left[0]:
            left[0] -= 1
            there.draw_alike()
            raise storage.ConditionFailed()
        commit(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Unit, "commit", failing)
        yield
    assert not left[0]


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@pytest.mark.parametrize("error", [errors.LimitReached("Full.", "tools", 1, 1), errors.Unavailable(), ValueError()])
def test_a_view_that_refuses_after_staging_has_written_nothing(
    error: Exception, key: str | None, here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: str) -> None:
        raise error

    tables = stored()
    with monkeypatch.context() as patch:
        patch.setattr(sequence, "require_agent", refuse)
        assert here.send(named("tool create"), key).status == getattr(error, "STATUS_CODE", 500)
    assert stored() == tables
    assert here.send(named("tool create"), key).status == 200


def test_a_change_that_another_write_overtakes_is_applied_to_what_it_wrote(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = iter([{"agent": {"description": "Theirs"}}])

    def overtake() -> None:
        if (body := next(theirs, None)) is not None:
            assert here.api.patch("/v3/agents/support", body).status == 200

    with monkeypatch.context() as patch:
        before_each_commit(patch, overtake)
        first = here.send(Case("", "PATCH /v3/agents/{agent_id}", {"agent": {"title": "Mine"}}), KEY)
    assert (first.data["title"], first.data["description"]) == ("Mine", "Theirs")
    assert here.api.get("/v3/agents/support").headers["etag"] == first.headers["etag"]


OVERTAKING: dict[str, Callable[[World], Answer]] = {
    "a replacement": lambda there: there.send(Case("", STATE, turns("Theirs")), None),
    "a description": lambda there: there.send(Case("", STATE, {"metadata": {"userName": "Theirs"}}), None),
    "a deletion": lambda there: there.api.delete("/v3/agents/support/convos/ann"),
}


@pytest.mark.parametrize("overtaking", OVERTAKING.values(), ids=OVERTAKING)
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
def test_a_replacement_does_not_undo_what_its_sender_has_not_seen(
    key: str | None, overtaking: Callable[[World], Answer], here: World, monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:
    mine = Case("", STATE, turns("Mine"))
    with overtaken(monkeypatch, lambda: overtaking(here)):
        refused = here.send(mine, key)
    assert refusal(refused) == (409, "STALE")
    after = here.send(Case("", STATE, {}), None)
    assert "Mine" not in after.text
    assert here.send(mine, key).status == 200
    shown(states=1)


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
def test_a_first_replacement_does_not_undo_the_creation_that_overtakes_it(
    key: str | None, here: World, monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:
    new = {"user_id": "new"}
    with overtaken(monkeypatch, lambda: here.send(Case("", STATE, turns("Theirs"), new), None)):
        assert refusal(here.send(Case("", STATE, turns("Mine"), new), key)) == (409, "STALE")
    assert "Theirs" in here.send(Case("", STATE, {}, new), None).text
    shown(states=1)


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
def test_a_merge_is_applied_to_what_overtakes_it(
    mine: Any, theirs: Any, key: str | None, here: World, monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:
    with overtaken(monkeypatch, lambda: here.send(Case("", STATE, theirs), None)):
        assert here.send(Case("", STATE, mine), key).status == 200
    after = here.send(Case("", STATE, {}), None).text
    assert "Theirs" in after
    assert "Mine" in after or '"turns":[]' in after
    shown(states=1)


@contextmanager
def overtaken(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Answer]) -> Iterator[None]:
    """Inside the block one write comes before the first commit."""
    acts = iter([act])

    def overtake() -> None:
        if (one := next(acts, None)) is not None:
            assert one().status == 200

    with monkeypatch.context() as patch:
        before_each_commit(patch, overtake)
        yield


@pytest.mark.parametrize("logins", [40, 41, 90])
def test_clearing_an_agents_key_ends_every_login_however_many(logins: int, here: World, shown: Shown) -> None:
    """A transaction has 100 items, and each login is two of them."""
    for _ in range(logins - 1):
        new = {"agent": {"SECRET_API_KEY": tokens.new(tokens.AGENT)}}
        assert here.api.patch("/v3/agents/support", new).status == 200
    workspace_id = here.workspace.workspace_id
    assert len(credentials.list_active(workspace_id, tokens.AGENT, "support")) == logins
    assert here.agent_key.get("/v2/agents/support").status == 200
    first = here.send(named("agent key clear"), KEY)
    assert first.status == 200
    assert credentials.list_active(workspace_id, tokens.AGENT, "support") == []
    auth.clear_cache()
    assert here.agent_key.get("/v2/agents/support").status == 401
    assert "SECRET_API_KEY" not in agents.read(workspace_id, "support").open()
    assert same(first, here.send(named("agent key clear"), KEY))
    shown(states=logins)
