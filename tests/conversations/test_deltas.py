"""Delta reads: the messages after a position, resets, versions, credentials and costs."""

import random
from hashlib import blake2b

import pytest

from chalicelib.conversations import listing, store
from chalicelib.conversations.transcript import turns
from chalicelib.http import auth
from chalicelib.workspaces.store import NewWorkspace
from tests import costs
from tests.api import Answer, Api
from tests.assertions import refused
from tests.builders import message, state_body
from tests.capacity import metered
from tests.conftest import PassTime
from tests.selection import whole

EDGE, V3 = "/agents/support/interact/ann", "/v3/agents/support/convos/ann"
READS = (f"{EDGE}/messages", f"{V3}/messages")


def add(api: Api, *mids: str, query: str = "") -> Answer:
    return api.post(f"{EDGE}/messages{query}", {"messages": [message(mid, mid=mid, ts=1) for mid in mids]})


def mids(answer: Answer) -> list[str]:
    return [one["mid"] for one in answer.data]


def pull(api: Api, last: Answer | None = None, path: str = READS[0], *, version: bool = False) -> Answer:
    """Read the messages after those of the last response."""
    after = last.json["after"] if last else ""
    return api.get(f"{path}?after={after}" + (f"&version={last.json['version']}" if last and version else ""))


@pytest.fixture
def first(api: Api) -> Answer:
    """Create the conversation with two messages, and return its first delta read."""
    add(api, "m1", "m2")
    return pull(api)


@pytest.fixture
def visitor(api: Api, first: Answer) -> Api:
    """Return a client with a visitor token for the conversation."""
    return Api(api.post(f"{V3}/visitor-tokens", {"token": {}}).data["token"])


@pytest.mark.parametrize("path", READS)
def test_a_read_returns_only_the_messages_after_a_position(api: Api, first: Answer, path: str) -> None:
    opened = pull(api, path=path)
    assert (mids(opened), opened.json["reset"], opened.json["hasMore"]) == (["m1", "m2"], True, False)
    unchanged = pull(api, opened, path)
    assert unchanged.json | {"data": opened.data, "reset": True} == opened.json
    add(api, "m3", "m4")
    after = pull(api, opened, path)
    assert (mids(after), after.json["reset"]) == (["m3", "m4"], False)
    assert after.data[0] == message("m3", mid="m3", ts=1)
    assert mids(pull(api, after, path)) == []
    assert after.headers["etag"] == api.get(V3).headers["etag"] != opened.headers["etag"]


@pytest.mark.parametrize("path", READS)
def test_without_a_position_both_routes_list_messages(api: Api, first: Answer, path: str) -> None:
    assert (mids(api.get(path)), "reset" in api.get(path).json) == (["m2", "m1"], False)


def test_an_empty_conversation_has_a_position(api: Api) -> None:
    api.post(f"{EDGE}/state", {"turns": []})
    opened = pull(api)
    assert (opened.data, opened.json["reset"]) == ([], True)
    add(api, "m1")
    assert (mids(pull(api, opened)), pull(api, opened).json["reset"]) == (["m1"], False)


def test_a_reset_contains_the_newest_50_messages(api: Api, first: Answer) -> None:
    add(api, *(f"n{number}" for number in range(50)))
    add(api, "last")
    assert mids(pull(api)) == [*(f"n{number}" for number in range(1, 50)), "last"]
    assert len(pull(api, first).data) == 51


CHANGES = {
    "edit": lambda api: api.patch(f"{V3}/messages/m2", {"message": {"type": "new"}}),
    "edit of the same length": lambda api: api.patch(f"{V3}/messages/m1", {"message": {"item": {"text": "mx"}}}),
    "deletion": lambda api: api.delete(f"{V3}/messages/m1"),
    "deletion of the newest message": lambda api: api.delete(f"{V3}/messages/m2"),
    "replacement": lambda api: api.patch(f"{V3}/messages", {"turns": [{"messages": [message("only", mid="m9")]}]}),
    "state": lambda api: api.post(f"{EDGE}/state", state_body("one")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_before_the_position_resets(api: Api, first: Answer, change: str) -> None:
    assert CHANGES[change](api).status == 200
    answer = pull(api, first)
    assert answer.json["reset"] is True
    assert answer.data == api.get(READS[1]).data[::-1]


def test_metadata_changes_only_the_version_and_the_conversation(api: Api, first: Answer) -> None:
    api.post("/v2/clients/bo", {"name": "Bo"})
    api.post(f"{V3}/assign", {"assignToUserId": "bo"})
    answer = pull(api, first)
    assert (answer.data, answer.json["reset"], answer.json["after"]) == ([], False, first.json["after"])
    assert answer.json["version"] != first.json["version"]
    assert first.json["conversation"] == {"state": None, "chatAssignedTo": None}
    assert answer.json["conversation"] == {"state": "human-chatting", "chatAssignedTo": "bo"}


def test_a_message_that_moves_into_a_chunk_resets(api: Api, first: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_CHUNK_BYTES", 600)
    monkeypatch.setattr(turns, "_TAIL_BYTES", 100)
    sent = add(api, *(f"n{number}" for number in range(20)), query=f"?after={first.json['after']}")
    assert sent.json["reset"] is True
    assert mids(sent) == mids(pull(api)) == ["m1", "m2", *(f"n{number}" for number in range(20))]
    assert sent.json["after"] == pull(api).json["after"]
    assert mids(add(api, "last", query=f"?after={sent.json['after']}")) == ["last"]


# ---- positions and versions ------------------------------------------------------------------------


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize("query", ["after=1", "after=2-zz", f"after=-{'0' * 16}", "after=&version=x", "after=&after="])
def test_malformed_values_are_rejected(api: Api, first: Answer, path: str, query: str) -> None:
    refused(api.get(f"{path}?{query}"), 400, "version" if "version" in query else "after")


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize("query", ["limit=1", "cursor=", "order=asc"])
def test_a_position_excludes_the_parameters_of_pages(api: Api, first: Answer, path: str, query: str) -> None:
    refused(api.get(f"{path}?after=&{query}"), 400, "after")


@pytest.mark.parametrize("length", [0, 1, 5, 100, 9_999_999])
def test_an_unknown_position_resets(api: Api, first: Answer, length: int) -> None:
    answer = api.get(f"{READS[0]}?after={length}-{'0' * 16}")
    assert (mids(answer), answer.json["reset"]) == (["m1", "m2"], True)


def test_a_forged_position_inside_a_message_resets(api: Api, first: Answer, workspace: NewWorkspace) -> None:
    """The digest has no key, so a caller who knows the transcript can compute it for any length."""
    row = store.find(f"{workspace.workspace_id}#support#ann")
    assert row is not None
    text = turns.read_last(row)
    answers = [
        api.get(f"{READS[0]}?after={length}-{blake2b(text[:length], digest_size=8).hexdigest()}")
        for length in range(len(text))
    ]
    second, end = text.index(b",{"), len(text) - 1
    valid = {0: ["m1", "m2"], 1: ["m1", "m2"], second: ["m2"], second + 1: ["m2"], end - 1: [], end: []}
    assert {at: mids(answer) for at, answer in enumerate(answers) if not answer.json["reset"]} == valid


def test_the_index_answers_a_current_version(api: Api, first: Answer) -> None:
    with metered() as meter:
        answer = pull(api, first, version=True)
    assert answer.json == first.json | {"data": [], "reset": False}
    assert (dict(meter.requests), meter.reads) == ({"Query": 1}, 0.5)
    assert "etag" not in answer.headers
    add(api, "m3")
    assert mids(pull(api, first, version=True)) == ["m3"]


@pytest.mark.parametrize("version", ["x.a", "..a", ".x.a"])
def test_an_unknown_version_is_not_current(api: Api, first: Answer, version: str) -> None:
    answer = api.get(f"{READS[0]}?after={first.json['after']}&version={version}")
    assert answer.json == first.json | {"data": [], "reset": False}


def test_a_version_of_another_conversation_is_not_current(api: Api, first: Answer) -> None:
    api.post("/agents/support/interact/bob/messages", {"messages": [message("Hi", mid="b1")]})
    answer = pull(api, first, "/agents/support/interact/bob/messages", version=True)
    assert (mids(answer), answer.json["reset"]) == (["b1"], True)


def test_long_metadata_has_a_version_that_the_index_never_answers(api: Api, first: Answer) -> None:
    api.post(f"{EDGE}/state", {"metadata": {"tags": [f"tag {number}" for number in range(999)]}})
    opened = pull(api)
    with metered() as meter:
        answer = pull(api, opened, version=True)
    assert (answer.data, answer.json["version"]) == ([], opened.json["version"])
    assert dict(meter.requests) == {"Query": 1, "BatchGetItem": 1}


def test_an_index_entry_that_lags_delays_a_message_but_does_not_lose_it(
    api: Api, first: Answer, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = listing.find_unchanged(workspace.workspace_id, "support", "ann", first.json["version"])
    add(api, "m3")
    monkeypatch.setattr(listing, "find_unchanged", lambda *_: entry)
    late = pull(api, first, version=True)
    assert (late.data, late.json["after"], late.json["version"]) == ([], first.json["after"], first.json["version"])
    monkeypatch.undo()
    assert mids(pull(api, late, version=True)) == ["m3"]


def test_a_second_conversation_with_the_same_id_has_another_version(api: Api, first: Answer) -> None:
    api.delete(V3)
    refused(pull(api, first, version=True), 404, interaction=False)
    add(api, "m1", "m2")
    answer = pull(api, first, version=True)
    assert answer.json["version"] != first.json["version"]


def test_an_expired_conversation_is_missing(api: Api, pass_time: PassTime) -> None:
    assert api.patch("/v3/agents/support", {"agent": {"retention": {"days": 1}}}).status == 200
    add(api, "m1")
    opened = pull(api)
    pass_time(86_400)
    for version in (False, True):
        assert pull(api, opened, version=version).status == 404
    assert api.get(f"{READS[1]}?after=").status == 404


@pytest.mark.parametrize("path", ["/agents/none/interact/ann/messages", "/agents/support/interact/none/messages"])
def test_a_missing_record_is_404(api: Api, first: Answer, path: str) -> None:
    assert api.get(path).status == 404


# ---- appends ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", READS)
def test_an_append_with_a_position_returns_the_delta(api: Api, first: Answer, path: str) -> None:
    add(api, "bot")
    body = {"messages": [message("mine", mid="mine", ts=1)]}
    sent = api.post(f"{path}?after={first.json['after']}", body)
    assert (mids(sent), sent.json["reset"]) == (["bot", "mine"], False)
    expected = pull(api, first)
    assert sent.json == {name: value for name, value in expected.json.items() if name != "hasMore"} | {
        "message": "Messages added successfully"
    }
    assert sent.headers["etag"] == expected.headers["etag"]
    again = api.post(f"{path}?after={first.json['after']}", body)
    assert again.json == sent.json


def test_an_append_without_a_position_is_unchanged(api: Api, first: Answer) -> None:
    add(api, "bot")
    assert add(api, "mine").json.keys() == {"success", "message", "data"}
    assert mids(add(api, "mine")) == ["mine"]


def test_an_append_with_an_invalid_position_resets(api: Api, first: Answer) -> None:
    for query in ("?after=", f"?after=9-{'0' * 16}"):
        sent = add(api, "new", query=query)
        assert (mids(sent), sent.json["reset"]) == (["m1", "m2", "new"], True)
    refused(add(api, "newer", query="?after=x"), 400, "after")
    assert "newer" not in mids(pull(api))


def test_an_append_can_create_the_conversation(api: Api) -> None:
    sent = add(api, "m1", query="?after=")
    assert (mids(sent), sent.json["reset"]) == (["m1"], True)
    assert sent.json == add(api, "m1", query="?after=").json
    assert pull(api, sent, version=True).json["version"] == sent.json["version"]


# ---- visitor tokens --------------------------------------------------------------------------------


def test_a_visitor_reads_its_conversation_without_the_assignee(api: Api, visitor: Api, first: Answer) -> None:
    api.post("/v2/clients/bo", {"name": "Bo"})
    api.post(f"{V3}/assign", {"assignToUserId": "bo"})
    opened = pull(visitor)
    for answer in (opened, pull(visitor, opened), pull(visitor, opened, version=True)):
        assert answer.json["conversation"] == {"state": "human-chatting"}
        assert answer.headers["access-control-allow-origin"] == "*"
    sent = add(visitor, "mine", query=f"?after={opened.json['after']}")
    assert (mids(sent), sent.json["conversation"]) == (["mine"], {"state": "human-chatting"})
    assert visitor.get("/agents/support/interact/bob/messages").status == 403
    assert visitor.get(f"{READS[1]}?after=").status == 403


def test_a_visitor_whose_conversation_was_deleted_gets_404(api: Api, visitor: Api) -> None:
    opened = pull(visitor)
    api.delete(V3)
    assert pull(visitor, opened, version=True).status == 404
    add(api, "other")
    assert pull(visitor, opened, version=True).status == pull(visitor, opened).status == 404


def test_a_read_binds_a_token_that_was_issued_before_its_conversation(api: Api) -> None:
    early = Api(api.post(f"{EDGE}/visitor-tokens", {"token": {}}).data["token"])
    assert pull(early).status == 404
    add(api, "m1")
    opened = pull(api)
    assert pull(early, opened, version=True).data == []
    api.delete(V3)
    add(api, "m2")
    assert pull(early).status == 404


def test_an_agent_key_reads_its_agents_conversations(api: Api, first: Answer) -> None:
    api.post(f"{EDGE}/state", {"metadata": {"chatAssignedTo": "bo"}})
    holder = Api(api.get("/v2/agents/support").json["SECRET_API_KEY"])
    assert (mids(pull(holder)), pull(holder).json["conversation"]) == (
        ["m1", "m2"],
        {"state": None, "chatAssignedTo": "bo"},
    )
    assert pull(holder, path=READS[1]).status == 403


# ---- costs -----------------------------------------------------------------------------------------


@whole
@pytest.mark.parametrize(
    ("size", "operation"), [(20, "read a message after 20 messages"), (300, "read a message after 300 messages")]
)
def test_a_new_message_costs_a_read_of_the_conversations_item(api: Api, size: int, operation: str) -> None:
    rng = random.Random(size)
    for start in range(0, size, 20):
        words = [" ".join(f"{rng.getrandbits(16):x}" for _ in range(20)) for _ in range(20)]  # hardly compressible
        batch = [message(text, mid=f"m{start + place}", ts=1) for place, text in enumerate(words)]
        assert api.post(READS[0], {"messages": batch}).status == 200
    opened = pull(api)
    add(api, "last")
    with metered() as meter:
        assert mids(pull(api, opened)) == ["last"]
    costs.check(operation, meter)


@whole
def test_a_poll_without_news_costs_half_a_unit(api: Api, visitor: Api, first: Answer) -> None:
    with metered() as meter:
        assert pull(api, first, version=True).data == []
    costs.check("poll without new messages", meter)
    auth.clear_cache()
    with metered() as meter:
        assert pull(visitor, first, version=True).data == []
    costs.check("poll with an uncached visitor token", meter)
