"""The history lists who changed which members and when, without values. It stores versions of agents and tools."""

import tracemalloc

import pytest

from chalicelib import clock, ids, storage
from chalicelib.agents import store as agents
from chalicelib.extensions.history import coverage, paths, rows
from chalicelib.extensions.history.rows import HistoryRow, VersionRow
from chalicelib.workspaces.store import NewWorkspace
from tests import costs
from tests.api import Answer, Api
from tests.builders import webhook_body
from tests.capacity import metered
from tests.conftest import PassTime
from tests.deletion.cascades import cascade_messages, maintain
from tests.extensions.history.conftest import History, by
from tests.listed_pages import flatten, read_pages
from tests.webhooks import pipeline

DAY = 24 * 60 * 60
KILOBYTE = "".join(f"{number * 7_919 % 9_973:04}" for number in range(250))
TOOL_BODY = {"tool": {"name": "Find", "fields": [{"key": "a", "value": "secret 1"}], "serverUrlSecret": "secret 1"}}


def restore(api: Api, path: str, number: int, query: str = "", **headers: str) -> Answer:
    sent = {**api._headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return api.call("POST", f"/v3/{path}/versions/{number}/restore{query}", headers=sent)


# ---- changes ----------------------------------------------------------------------------------------


def test_a_change_says_who_when_and_which_members(
    history: History, workspace: NewWorkspace, api: Api, pass_time: PassTime
) -> None:
    pass_time(0)
    key = api.post("/v2/agents/support", {"title": "Support"}).data["SECRET_API_KEY"]
    pass_time(60)
    now = clock.seconds()
    Api(workspace.access_token).patch("/v3/agents/support", {"agent": {"title": "Help", "description": "x"}})
    pass_time(60)
    Api(key).post("/v2/agents/support", {"title": "Mine"})
    by_agent, by_token, created = history.of("agents/support")
    assert (created["operation"], by(created)) == ("create", ("workspace", "first key"))
    assert {"title", "SECRET_API_KEY"} < set(created["changed"])
    assert (by_token["operation"], by(by_token)) == ("update", ("access", "first token"))
    assert (by_token["changed"], by_token["at"]) == (["description", "title"], clock.iso(now))
    assert (by_agent["changed"], by(by_agent)) == (["title"], ("agent", "support"))


def test_paths_are_those_of_the_members_that_differ() -> None:
    before = {"a": {"b": 1, "c": [1, {"d": 2}]}, "gone": 1, "list": [1], "lastModified": 1, "same": 1.0}
    after = {"a": {"b": True, "c": [1, {"d": 3}]}, "list": [1, 2], "lastModified": 2, "same": 1.0, "new": {"x": 1}}
    assert paths.list_changed(before, after) == ["a.b", "a.c.1.d", "gone", "list", "new"]
    assert paths.list_changed({"n": 1}, {"n": 1.0}) == ["n"]
    many = {"nodes": {f"{number:05}": number for number in range(9_000)}, "x": 1}
    assert paths.list_changed({"nodes": dict.fromkeys(many["nodes"], -1)}, many) == ["nodes", "x"]  # type: ignore[call-overload]
    long = paths.list_changed({}, {"\N{GRINNING FACE}" * 1_000 + str(number): 1 for number in range(9)})
    assert long == ["\N{GRINNING FACE}" * 50]
    assert sum(map(len, paths.list_changed({}, {f"{number:0100}": 1 for number in range(1_000)}))) <= 8_000


def test_the_paths_below_a_long_name_need_little_memory() -> None:
    """With unbounded memory, the stream function would crash, and Lambda would retry the batch repeatedly."""
    after = {"a" * 100_000: {"b": {f"{number}": number for number in range(1_000)}}}
    tracemalloc.start()
    try:
        assert paths.list_changed({"a" * 100_000: {"b": {}}}, after) == ["a" * 200]
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_save_of_the_same_record_is_no_change(history: History, api: Api, agent_id: str) -> None:
    for path, body in (("/v2/clients/ann", {"name": "Ann"}), ("/v2/orgs/acme", {"name": "Acme"})):
        for _ in range(2):
            assert api.post(path, body).status == 200
    assert [one["operation"] for one in history.of("clients/ann") + history.of("orgs/acme")] == ["create", "create"]


def test_the_use_and_the_suspension_of_a_credential_are_no_changes(history: History, api: Api) -> None:
    token = api.post("/v3/tokens", {"token": {"name": "CI", "scopes": ["agents:read"]}}).data
    assert Api(token["token"]).get("/v3/agents").status == 200
    (created,) = history.of(f"tokens/{token['id']}")
    assert created["changed"] == ["expiresAt", "name", "scopes"]


def test_a_rotated_key_changes_and_has_a_successor(history: History, api: Api) -> None:
    new = api.post("/v3/workspace/key/rotate", {"overlapSeconds": 60}).data
    (created,) = history.of(f"keys/{new['id']}")
    (retired,) = (one for one in history.of() if one["operation"] == "update")
    assert (created["operation"], retired["changed"]) == ("create", ["expiresAt"])


def test_a_key_that_replaces_an_expired_one_is_created(
    history: History, api: Api, agent_id: str, pass_time: PassTime
) -> None:
    for key in ("k" * 32, "n" * 32):
        api.post("/v2/agents/support", {"SECRET_API_KEY": key})
    pass_time(24 * 60 * 60)
    history.keep()
    api.post("/v2/agents/support", {"SECRET_API_KEY": "k" * 32})
    newest = next(one for one in history.of() if one["resource"].startswith("keys/") and one["operation"] == "create")
    assert newest["changed"] == ["agentId", "name"]
    assert [one["operation"] for one in history.of(newest["resource"])] == ["create"]


def test_a_credential_changes_after_its_creation_though_streams_have_whole_seconds(api: Api, history: History) -> None:
    """Lambda passes change times in whole seconds."""
    key = api.post("/v3/workspace/key/rotate", {"overlapSeconds": 60}).data
    assert Api(key["key"]).post("/v3/workspace/key/rotate", {"overlapSeconds": 60}).status == 200
    records = history.records()
    for one in records:
        one["dynamodb"]["ApproximateCreationDateTime"] //= 1
    pipeline.follow(records)
    assert [one["operation"] for one in history.of(f"keys/{key['id']}")] == ["update", "create"]


@pytest.mark.parametrize("resource", ["tools", "clients", "orgs", "webhooks", "tokens"])
def test_a_deletion_is_known_at_once_with_who_deleted(resource: str, workspace: NewWorkspace, api: Api) -> None:
    api.post("/v2/agents/support", {})
    api.post("/v2/clients/ann", {"email": "ann@x.test"})
    api.post("/v2/orgs/acme", {"name": "Acme"})
    webhook = {"url": "https://example.com/", "events": ["lead_captured"]}
    made = {
        "clients": "ann",
        "orgs": "acme",
        "tools": api.post("/v3/agents/support/tools", TOOL_BODY).data["id"],
        "webhooks": api.post("/v3/webhooks", {"webhook": webhook}).data["id"],
        "tokens": api.post("/v3/tokens", {"token": {"name": "CI"}}).data["id"],
    }
    caller = api if resource == "tokens" else Api(workspace.access_token)
    assert caller.delete(f"/v3/{resource}/{made[resource]}").status == 200
    (deleted,) = api.get(f"/v3/history?resource={resource}/{made[resource]}").data
    assert (deleted["operation"], deleted["changed"]) == ("delete", [])
    assert by(deleted)[0] == ("workspace" if resource == "tokens" else "access")


def test_an_agent_is_deleted_with_its_tools_and_keys_by_the_same_credential(
    history: History, workspace: NewWorkspace, api: Api, pass_time: PassTime
) -> None:
    pass_time(0)
    api.post("/v2/agents/support", {})
    tool = api.post("/v3/agents/support/tools", TOOL_BODY).data["id"]
    pass_time(60)
    Api(workspace.access_token).delete("/v3/agents/support")
    pass_time(100)
    maintain(cascade_messages())
    deletions = [one for one in history.of() if one["operation"] == "delete"]
    assert len(deletions) == 3
    assert {one["resource"].split("/")[0] for one in deletions} == {"agents", "tools", "keys"}
    assert {by(one) for one in deletions} == {("access", "first token")}
    assert [one["operation"] for one in history.of(f"tools/{tool}")] == ["delete", "create"]


def test_changes_are_filtered_by_credential_and_time_in_bounded_pages(
    history: History, workspace: NewWorkspace, api: Api, pass_time: PassTime
) -> None:
    pass_time(0)
    start = clock.seconds()
    for number in range(5):
        Api(workspace.access_token if number % 2 else workspace.workspace_key).post("/v3/clients", {"client": {}})
        pass_time(60)
    everything = history.of()
    assert len(everything) == 5
    assert len(history.of(query="by=first+token")) == len(history.of(query="by=access")) == 2
    assert history.of(query=f"by={everything[0]['by']['id']}") == everything[::2]
    assert history.of(query=f"from={start + 60}&to={start + 180}") == everything[2:4]
    assert history.of(query=f"from={start + 1_000}") == history.of(query="to=0") == []
    pages = read_pages(api, "/v3/history", 2)
    assert flatten(pages) == everything
    assert [len(page) for page in pages] == [2, 2, 1]


@pytest.mark.parametrize("value", ["", "agents", "agents/", "leads/x", "agents/a%23b", "agents/a&resource=agents/b"])
def test_an_unknown_resource_is_refused(value: str, api: Api) -> None:
    answer = api.get(f"/v3/history?resource={value}")
    assert (answer.status, answer.json["issues"][0]["path"]) == (400, "resource")


# ---- versions ---------------------------------------------------------------------------------------


def test_a_version_is_the_record_as_it_was_and_can_be_restored(history: History, api: Api) -> None:
    first = api.post("/v2/agents/support", {"title": "One", "chatappToken": "old"}).data
    api.patch("/v3/agents/support", {"agent": {"title": "Two", "chatappToken": "new", "nodes": [{"id": "a"}]}})
    second, original = history.versions("agents/support")
    assert (second["changed"], original["number"] < second["number"]) == (["chatappToken", "nodes", "title"], True)
    shown = api.get(f"/v3/agents/support/versions/{original['number']}").data
    assert (shown["title"], shown["chatappToken"], "nodes" in shown) == ("One", "old", False)
    restored = restore(api, "agents/support", original["number"]).data
    assert (restored["title"], "nodes" in restored) == ("One", False)
    assert (restored["chatappToken"], restored["SECRET_API_KEY"]) == ("new", first["SECRET_API_KEY"])
    assert api.get("/v3/agents/support").data == restored
    third, *others = history.versions("agents/support")
    assert (third["changed"], third["restoredFrom"]) == (["nodes", "title"], original["number"])
    assert third["by"] == second["by"] and not any("restoredFrom" in one for one in others)
    change, *_ = history.of("agents/support")
    assert (change["restoredFrom"], change["by"]) == (original["number"], second["by"])
    api.patch("/v3/agents/support", {"agent": {"title": "Three"}})
    assert "restoredFrom" not in history.versions("agents/support")[0]
    api.patch("/v3/agents/support", {"agent": {"title": "One"}})
    again = api.get(f"/v3/agents/support/versions/{third['number']}").data
    assert again == {name: value for name, value in restored.items() if name != "tools"}


@pytest.mark.parametrize(
    ("kept", "author"), [("session#bo#Bo de Vries", {"id": "bo", "name": "Bo de Vries"}), ("", None)]
)
def test_a_restore_that_an_earlier_release_recorded_has_its_author(
    workspace: NewWorkspace, api: Api, kept: str, author: dict[str, str] | None
) -> None:
    api.post("/v2/agents/support", {"title": "One"})
    entry = {"operation": "update", "by": f"restored@1795863075308#{kept}", "changed": ["title"]}
    storage.save_many([rows.new(workspace.workspace_id, "agents", "support", ids.new_id(), entry)])
    by = author and {"kind": "session", **author}
    for shown in (api.get("/v3/history").data[0], api.get("/v3/agents/support/versions").data[0]):
        assert (shown["by"], shown["restoredFrom"]) == (by, 1795863075308)
    assert len(api.get("/v3/history?by=bo").data) == (1 if author else 0)


def test_a_restored_tool_keeps_the_secrets_of_today_and_gets_back_a_removed_field(history: History, api: Api) -> None:
    api.post("/v2/agents/support", {})
    made = api.post("/v3/agents/support/tools", TOOL_BODY).data
    field, path = made["fields"][0], f"tools/{made['id']}"
    changed = {"name": "Other", "serverUrlSecret": "secret 2", "fields": [{**field, "key": "b", "value": "secret 2"}]}
    api.patch(f"/v3/{path}", {"tool": changed})
    number = history.versions(path)[-1]["number"]
    restored = restore(api, path, number).data
    assert (restored["name"], restored["serverUrlSecret"]) == ("Find", "secret 2")
    assert restored["fields"] == [{**field, "value": "secret 2"}]
    api.patch(f"/v3/{path}", {"tool": {"fields": []}})
    assert restore(api, path, number).data["fields"] == [field]
    assert len(history.versions(path)) == 5


def test_a_restore_keeps_the_members_that_the_caller_names(history: History, api: Api) -> None:
    api.post("/v2/agents/support", {"title": "One", "lang": "en"})
    api.patch("/v3/agents/support", {"agent": {"title": "Two", "lang": "nl", "savedReplies": ["Hi"]}})
    number = history.versions("agents/support")[-1]["number"]
    kept = restore(api, "agents/support", number, "?keep=savedReplies&keep=lang&keep=nothing").data
    assert (kept["title"], kept["lang"], kept["savedReplies"]) == ("One", "nl", ["Hi"])
    assert "savedReplies" not in restore(api, "agents/support", number).data
    many = "&".join(f"keep={name}" for name in range(101))
    for query in ("keep=", f"keep={'x' * 201}", many):
        refused = restore(api, "agents/support", number, f"?{query}")
        assert (refused.status, refused.json["issues"][0]["path"]) == (400, "keep")


def test_a_restore_honours_if_match(history: History, api: Api) -> None:
    api.post("/v2/agents/support", {"title": "One"})
    stale = api.get("/v3/agents/support").headers["etag"]
    api.patch("/v3/agents/support", {"agent": {"title": "Two"}})
    number = history.versions("agents/support")[-1]["number"]
    assert restore(api, "agents/support", number, If_Match=stale).status == 412
    assert restore(api, "agents/support", number, If_Match=api.get("/v3/agents/support").headers["etag"]).status == 200


def test_a_token_that_is_not_shown_secrets_restores_without_seeing_or_losing_them(history: History, api: Api) -> None:
    api.post("/v2/agents/support", {"title": "One", "chatappToken": "old"})
    api.patch("/v3/agents/support", {"agent": {"title": "Two", "chatappToken": "new"}})
    number = history.versions("agents/support")[-1]["number"]
    scoped = Api(api.post("/v3/tokens", {"token": {"name": "CI", "scopes": ["agents:write"]}}).data["token"])
    shown = scoped.get(f"/v3/agents/support/versions/{number}").data
    restored = restore(scoped, "agents/support", number)
    assert shown.keys().isdisjoint({"chatappToken", "SECRET_API_KEY"})
    assert restored.data.keys().isdisjoint({"chatappToken", "SECRET_API_KEY"})
    assert api.get("/v3/agents/support").data["chatappToken"] == "new"
    assert scoped.get("/v3/history").status == 403


def test_a_version_that_is_not_kept_yet_is_the_record_itself(api: Api, agent_id: str) -> None:
    number = ids.timestamp_of(api.get("/v2/agents/support").headers["etag"].strip('"'))
    assert api.get(f"/v3/agents/support/versions/{number}").data["title"] == "Support"
    for unknown in (number + 1, 0, 10**14, "x"):
        assert api.get(f"/v3/agents/support/versions/{unknown}").status == 404
    assert api.get("/v3/agents/support/versions").data == []
    assert api.get("/v3/agents/unknown/versions").status == api.get("/v3/tools/unknown/versions").status == 404


def test_versions_of_a_deleted_agent_stay_readable(history: History, api: Api) -> None:
    api.post("/v2/agents/support", {"title": "One"})
    (version,) = history.versions("agents/support")
    api.delete("/v3/agents/support")
    assert history.versions("agents/support") == [version]
    assert api.get(f"/v3/agents/support/versions/{version['number']}").data["title"] == "One"
    assert restore(api, "agents/support", version["number"]).status == 404


def test_a_version_of_a_release_without_history_is_kept_when_it_is_replaced(
    history: History, workspace: NewWorkspace, api: Api
) -> None:
    with storage.unit_of_work():
        agents.create(workspace.workspace_id, "support", {"title": "One"})
    history.records()  # discarded, because that release recorded no history
    api.patch("/v3/agents/support", {"agent": {"title": "Two"}})
    second, original = history.versions("agents/support")
    assert (original["by"], original["changed"], by(second)) == (None, [], ("workspace", "first key"))
    assert api.get(f"/v3/agents/support/versions/{original['number']}").data["title"] == "One"
    assert [one["operation"] for one in history.of("agents/support")] == ["update"]


def test_a_version_of_a_time_without_history_is_kept_when_it_is_replaced(history: History, api: Api) -> None:
    """The history is switched off and on again, and its table is deleted in between."""
    api.post("/v2/agents/other", {"title": "Before"})
    history.keep()
    table = storage.sdk_client("dynamodb").scan(TableName=HistoryRow.Meta.table_name)["Items"]
    storage.delete_many([HistoryRow(item["record"]["S"], item["change"]["S"]) for item in table])
    coverage.clear_cache()
    api.post("/v2/agents/support", {"title": "One"})
    history.records()  # discarded, because the history is off
    api.post("/v2/agents/support", {"title": "Two"})
    second, first = history.versions("agents/support")
    assert (first["by"]["name"], first["changed"], second["changed"]) == ("first key", [], ["title"])
    assert api.get(f"/v3/agents/support/versions/{first['number']}").data["title"] == "One"


def test_the_coverage_begins_once(history: History, api: Api) -> None:
    api.post("/v2/agents/support", {"title": "One"})
    history.keep()
    start = coverage.start(0)
    coverage.clear_cache()
    assert coverage.start(start + 1) == start
    assert coverage._begin(start + 1).start == start


def test_a_version_is_kept_for_at_least_370_days_after_it_was_replaced(
    history: History, workspace: NewWorkspace, api: Api, pass_time: PassTime
) -> None:
    def expiry() -> list[int]:
        partition = rows.version_partition(storage.join_key(workspace.workspace_id, "agents", "support"))
        return [int(one.expires_at.timestamp()) for one in storage.query(VersionRow, partition)]

    pass_time(0)
    start = clock.seconds()
    for passed, title in ((0, "One"), (20 * DAY, "Two"), (60 * DAY, "Three")):
        pass_time(passed)
        api.post("/v2/agents/support", {"title": title})
        history.keep()
    assert expiry() == [start + 400 * DAY, start + 480 * DAY, start + 480 * DAY]
    assert [one["operation"] for one in history.of("agents/support")] == ["update", "update", "create"]


def test_tags_of_a_record_rise_even_if_the_clock_goes_back(history: History, api: Api, pass_time: PassTime) -> None:
    pass_time(0)
    for title in ("One", "Two", "Three"):
        api.post("/v2/agents/support", {"title": title})
        pass_time(-60)
    numbers = [one["number"] for one in history.versions("agents/support")]
    assert numbers == [numbers[-1] + 2, numbers[-1] + 1, numbers[-1]]


# ---- costs ------------------------------------------------------------------------------


def test_a_change_has_its_documented_cost(history: History, api: Api) -> None:
    """The agent and the tool each contain one kilobyte of text."""
    api.post("/v2/agents/support", {"title": "Support"})
    api.patch("/v3/agents/support", {"agent": {"description": KILOBYTE}})
    tool_id = api.post("/v3/agents/support/tools", {"tool": {"name": "Find", "description": KILOBYTE}}).data["id"]
    webhook_id = api.post("/v3/webhooks", webhook_body()).data["id"]
    api.post("/v2/clients/ann", {"name": "Ann", "email": "ann@x.test"})
    api.post("/v2/orgs/acme", {"name": "Acme"})
    history.keep()
    for method, path, body, operation in (
        ("PATCH", "/v3/agents/support", {"agent": {"title": "Help"}}, "history: change of an agent or tool"),
        ("PATCH", f"/v3/tools/{tool_id}", {"tool": {"name": "Look up"}}, "history: change of an agent or tool"),
        ("POST", "/v2/clients/ann", {"name": "Bo"}, "history: other change"),
        ("POST", "/v2/orgs/acme", {"name": "Bo"}, "history: other change"),
        ("PATCH", f"/v3/webhooks/{webhook_id}", {"webhook": {"enabled": False}}, "history: other change"),
        ("POST", "/v3/tokens", {"token": {"name": "CI"}}, "history: other change"),
    ):
        assert api.call(method, path, body).status == 200
        with metered() as meter:
            history.keep()
        costs.check(operation, meter)


def test_entries_and_versions_are_sealed(history: History, api: Api) -> None:
    api.post("/v2/agents/support", {"title": "Canary"})
    history.keep()
    stored = storage.sdk_client("dynamodb").scan(TableName=HistoryRow.Meta.table_name)["Items"]
    assert len(stored) == 4
    assert "Canary" not in str(stored)
    assert "first key" not in str(stored)
