"""The life of a workspace: settings, suspension, its secret, export and import, deletion (`python -m infra.cams`)."""

import json
import random
import string
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from chalicelib import clock, ids, queues, settings, storage
from chalicelib.analytics import counts
from chalicelib.analytics.hours import Happened
from chalicelib.console.notifications import allowance, notices
from chalicelib.deletion import cascade
from chalicelib.erasures import store as erasures
from chalicelib.http import auth
from chalicelib.storage import keyring
from chalicelib.webhooks import events, hosts
from chalicelib.webhooks import functions as webhooks
from chalicelib.workspaces import store
from chalicelib.workspaces.store import NewWorkspace
from infra.cams import exports, imports, removal, shapes
from infra.cams.commands import cams
from infra.deploy.functions import API, FUNCTIONS
from tests.api import Api
from tests.builders import message, state_body, webhook_body
from tests.conftest import PassTime, clear, clear_caches
from tests.moto_tables import items, restore, snapshot
from tests.operations import populate
from tests.requests import counted
from tests.selection import whole
from tests.test_requests_per_operation import large
from tests.webhooks import pipeline

SUSPENDED = (403, "WORKSPACE_SUSPENDED")
# The names that a workspace and its neighbour share.
CHOSEN = {"agent_id": "support", "user_id": "ann", "client_id": "ann", "org_id": "acme"}


def run(*arguments: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(cams, ["workspace", *arguments], input=answer)


def succeed(*arguments: str) -> Result:
    ran = run(*arguments)
    assert ran.exit_code == 0, ran.output
    return ran


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that the commands made. They only advance the clock."""
    pauses: list[float] = []
    now = clock.milliseconds
    monkeypatch.setattr(clock, "milliseconds", lambda: now() + int(sum(pauses)) * 1000)
    monkeypatch.setattr(clock, "sleep", pauses.append)
    return pauses


def answer_to(token: str, path: str = "/v3/agents") -> tuple[int, str | None]:
    answer = Api(token).get(path)
    return answer.status, answer.json.get("code")


# ---- HTTP -----------------------------------------------------------------------------------------


def test_a_workspace_shows_its_name_and_no_secret(api: Api, workspace: NewWorkspace) -> None:
    shown = api.get("/v3/workspace").data
    created = clock.iso(store.read(workspace.workspace_id)["createdAt"])
    assert shown == {"id": workspace.workspace_id, "name": "Test", "createdAt": created}


def test_a_change_of_a_workspace_merges_and_null_clears_the_retention(api: Api, workspace: NewWorkspace) -> None:
    before = store.read(workspace.workspace_id)
    changed = api.patch("/v3/workspace", {"workspace": {"retentionDays": 30}}).data
    assert (changed["name"], changed["retentionDays"]) == ("Test", 30)
    changed = api.patch("/v3/workspace", {"workspace": {"name": "New", "retentionDays": None}}).data
    assert (changed["name"], "retentionDays" in changed) == ("New", False)
    assert api.get("/v3/workspace").data == changed
    assert store.read(workspace.workspace_id) == {**before, "name": "New"}


@pytest.mark.parametrize("days", [1, 3650, 7.0])
def test_a_retention_is_a_whole_number_of_days(days: float, api: Api) -> None:
    assert api.patch("/v3/workspace", {"workspace": {"retentionDays": days}}).data["retentionDays"] == days


def test_an_access_token_does_not_open_the_workspace(workspace: NewWorkspace) -> None:
    assert answer_to(workspace.access_token, "/v3/workspace") == (403, "FORBIDDEN")


# ---- suspension -----------------------------------------------------------------------------------


def test_a_suspended_workspace_answers_403_to_every_credential(
    api: Api, workspace: NewWorkspace, agent_id: str, other_workspace: NewWorkspace, no_waiting: list[float]
) -> None:
    agent_key = api.get("/v2/agents/support").json["SECRET_API_KEY"]
    succeed("suspend", workspace.workspace_id, "--yes")
    assert no_waiting == [60]
    auth.clear_cache()
    assert answer_to(workspace.workspace_key) == answer_to(workspace.access_token) == SUSPENDED
    assert answer_to(agent_key, "/v2/agents/support") == SUSPENDED
    assert answer_to(other_workspace.workspace_key) == (200, None)


def test_a_cached_credential_works_for_30_seconds_and_costs_no_read(
    workspace: NewWorkspace, pass_time: PassTime
) -> None:
    answer_to(workspace.workspace_key, "/v2/clients")
    succeed("suspend", workspace.workspace_id, "--yes")
    pass_time(29)
    with counted() as requests:
        assert answer_to(workspace.workspace_key, "/v2/clients") == (200, None)
    assert requests == {"Query": 1}
    pass_time(1)
    assert answer_to(workspace.workspace_key, "/v2/clients") == SUSPENDED


def test_an_unknown_credential_is_found_with_one_request(workspace: NewWorkspace) -> None:
    answer_to(workspace.workspace_key, "/v2/clients")
    auth.clear_cache()
    with counted() as requests:
        answer_to(workspace.workspace_key, "/v2/clients")
    assert requests == {"GetItem": 1, "Query": 1}


def test_a_resumed_workspace_is_as_before(workspace: NewWorkspace, agent_id: str) -> None:
    before = {name: rows for name, rows in items().items() if name != "cams-workspaces"}
    succeed("suspend", workspace.workspace_id, "--yes")
    succeed("resume", workspace.workspace_id)
    assert {name: rows for name, rows in items().items() if name != "cams-workspaces"} == before
    auth.clear_cache()
    assert answer_to(workspace.workspace_key) == (200, None)
    assert "active" in run("resume", workspace.workspace_id).stderr


@pytest.mark.parametrize(
    ("path", "body", "secret"),
    [
        ("/v3/tokens", {"token": {"name": "late"}}, "token"),
        ("/v3/workspace/key/rotate", {}, "key"),
        ("/v3/agents", {"agent": {}}, "SECRET_API_KEY"),
    ],
)
def test_a_credential_that_a_last_request_issues_is_suspended_too(
    path: str, body: Any, secret: str, api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.get("/v2/clients")
    made: list[str] = []

    def last_request(_: float) -> None:
        answer = api.post(path, body)
        if answer.status == 200:
            made.append(answer.data[secret])

    monkeypatch.setattr(clock, "sleep", last_request)
    succeed("suspend", workspace.workspace_id, "--yes")
    auth.clear_cache()
    # A suspended workspace issues no token; the others are issued, and suspended.
    assert bool(made) is (path != "/v3/tokens")
    for token in (*made, workspace.workspace_key):
        assert answer_to(token, "/v2/agents/x" if "agent" in token else "/v3/agents") == SUSPENDED


def test_no_credential_is_issued_or_rotated_in_a_suspended_workspace(workspace: NewWorkspace, agent_id: str) -> None:
    succeed("suspend", workspace.workspace_id, "--yes")
    key_id = CliRunner().invoke(cams, ["key", "list", "--workspace", workspace.workspace_id, "--json"])
    of_workspace = ["--workspace", workspace.workspace_id]
    before = items()
    for arguments in (
        ["key", "issue", "--name", "late"],
        ["token", "issue", "--name", "late"],
        ["key", "rotate", json.loads(key_id.stdout)[0]["key_id"]],
        ["agent-key", "rotate", "support"],
    ):
        ran = CliRunner().invoke(cams, [*arguments, *of_workspace])
        assert (ran.exit_code, "suspended" in ran.stderr) == (1, True), arguments
    assert items() == before


def test_an_interrupted_suspension_is_repeated(workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(clock, "sleep", lambda _: 1 // 0)
        assert run("suspend", workspace.workspace_id, "--yes").exit_code == 1
    assert "status        suspending" in succeed("show", workspace.workspace_id).stdout
    assert "suspending" in run("delete", workspace.workspace_id, "--yes").stderr
    succeed("suspend", workspace.workspace_id, "--yes")
    assert "status        suspended" in succeed("show", workspace.workspace_id).stdout


def test_a_suspension_ends_if_the_workspace_is_resumed_meanwhile(
    workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "sleep", lambda _: succeed("resume", workspace.workspace_id))
    assert "active" in run("suspend", workspace.workspace_id, "--yes").stderr
    auth.clear_cache()
    assert answer_to(workspace.workspace_key) == (200, None)


# ---- the secret -----------------------------------------------------------------------------------


def test_a_rotated_secret_is_printed_once_and_replaces_the_old_one(workspace: NewWorkspace) -> None:
    ran = succeed("rotate-secret", workspace.workspace_id, "--json")
    secret = json.loads(ran.stdout)["workspace_secret"]
    assert secret.startswith("cams_events_")
    assert secret != workspace.workspace_secret
    assert store.read(workspace.workspace_id)["workspaceSecret"] == secret
    assert secret not in succeed("show", workspace.workspace_id).output


def test_webhooks_of_earlier_changes_are_sent_during_a_suspension_with_the_new_secret(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    stream = pipeline.Stream()
    with pipeline.inbox() as inbox:
        api.post("/v3/webhooks", webhook_body(inbox.url(), "client_created"))
        api.post("/v2/clients/ann", {"name": "Ann"})
        succeed("suspend", workspace.workspace_id, "--yes")
        secret = json.loads(succeed("rotate-secret", workspace.workspace_id, "--json").stdout)["workspace_secret"]
        pipeline.fan_out(stream.read())
        pipeline.drain()
        (posted,) = inbox.posts
    assert (posted.payload["clientName"], posted.body["payload"]["workspaceSecret"]) == ("Ann", secret)


# ---- a workspace with everything ------------------------------------------------------------------


def fill(made: NewWorkspace, url: str) -> None:
    """Give a workspace a row of every kind, as the service and its functions write them."""
    api = Api(made.workspace_key)
    stream = pipeline.Stream()
    everything = webhook_body(url, *events.TYPES)
    removed = api.post("/v3/webhooks", everything).data["id"]
    api.post("/v3/webhooks", everything)
    populate(api._headers, "one", dict(CHOSEN))
    populate(api._headers, "two", {name: f"{one}-2" for name, one in CHOSEN.items()})
    api.patch("/v3/workspace", {"workspace": {"retentionDays": 30}})
    api.post("/v3/tokens", {"token": {"name": "scoped", "scopes": ["agents:read", "leads:write"]}})
    api.post("/v2/agents/support", {"SECRET_API_KEY": None})  # revokes its keys
    unknown = {"": {"__proto__": [None, 1e16]}, "a.b": "\u2028"}
    api.post("/v2/agents/support-2", {"description": "é 😀", "vg_temperature": 0.5, "newer": unknown, **unknown})
    api.post("/v2/agents/support/analytics/ann", {"record": "convo", "ts": 1})
    state = "/agents/support/interact/{}/state"
    api.post(state.format("ann"), state_body("one", "two"))
    api.post(state.format("ann"), state_body("three"))  # the others are gone, and remembered
    api.post(state.format("long"), large(1))
    odd = message("odd", item={"numbers": [1e16, 1.0, -0.0, 12345678901234567890, 1e-7], "text": "\u2028"})
    api.post(state.format("odd"), {"turns": [{"from": "human", "messages": [odd]}]})
    headers = {**api._headers, "Content-Type": "application/json", "Idempotency-Key": "once"}
    assert api.call("POST", state.format("kept"), large(2), headers).status == 200
    pipeline.fan_out(stream.read())
    pipeline.drain()
    assert CliRunner().invoke(cams, ["tallies", "recount", "--workspace", made.workspace_id]).exit_code == 0
    hosts.promote(made.workspace_id, "example.com:443")
    api.delete(f"/v3/webhooks/{removed}")


def of(workspace_id: str) -> dict[str, int]:
    """The number of items that name a workspace, by table."""
    counts = {name: sum(workspace_id in repr(one) for one in rows) for name, rows in items().items()}
    return {name: count for name, count in counts.items() if count}


@pytest.fixture
def full(workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[NewWorkspace]:
    """A workspace with a row of every kind."""
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    with pipeline.inbox() as inbox:
        fill(workspace, inbox.url())
        assert inbox.posts
    yield workspace


def test_the_full_workspace_has_rows_in_every_table(full: NewWorkspace) -> None:
    assert set(of(full.workspace_id)) == set(items()) - {"cams-keyring"}


# ---- export and import ----------------------------------------------------------------------------


def other_account() -> None:
    """Empty tables and another KMS key."""
    clear()
    kms = storage.sdk_client("kms")
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    kms.update_alias(AliasName=settings.encryption_key(), TargetKeyId=key)
    keyring.ensure_data_key()


def suspended_export(workspace_id: str, path: Path) -> bytes:
    succeed("suspend", workspace_id, "--yes")
    succeed("export", workspace_id, str(path))
    return path.read_bytes()


def test_an_export_is_readable_and_complete(full: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    lines = [json.loads(line) for line in suspended_export(full.workspace_id, path).splitlines()]
    assert path.stat().st_mode & 0o777 == 0o600
    assert lines[0] == {"kind": "export", "format": 1, "workspace": full.workspace_id}
    assert lines[-1] == {"kind": "end", "records": len(lines) - 2}
    kinds = [line["kind"] for line in lines[1:-1]]
    assert list(dict.fromkeys(kinds)) == list(exports.records.KINDS)
    client = next(line for line in lines if line["kind"] == "client")
    assert (client["key"], client["record"]["document"]["email"]) == ("ann", "one.ann@example.com")
    ann = next(line["record"] for line in lines if line.get("record", {}).get("conversation") == "ann")
    assert (ann["metadata"]["userName"], ann["turns"][0]["messages"]["item"]) == ("one", {"text": "three"})
    assert (ann["seen"]["messages"], len(ann["seen"]["gone"]) // 12) == (5, 4)
    scoped = next(line["record"] for line in lines if line.get("record", {}).get("name") == "scoped")
    assert scoped["scopes"] == ["agents:read", "leads:write"]
    text = path.read_text()
    assert full.workspace_key not in text
    assert full.access_token not in text


def test_an_import_elsewhere_gives_an_equal_export(full: NewWorkspace, tmp_path: Path) -> None:
    api = Api(full.workspace_key)
    shown = {
        path: (api.get(path).json, api.get(path).headers.get("etag"))
        for path in ("/v2/agents/support", "/v3/agents/support-2", "/v2/clients", "/v2/agents/support/convos")
    }
    state = "/agents/support/interact/{}/state"
    states = {name: api.post(state.format(name), {}).text for name in ("ann", "odd", "long", "kept")}
    before = suspended_export(full.workspace_id, tmp_path / "one")
    other_account()
    stream = pipeline.Stream()
    succeed("import", str(tmp_path / "one"))
    pipeline.fan_out(stream.read())
    assert pipeline.drain() == 0, "an import made a webhook"
    assert not of(full.workspace_id).keys() & {"cams-events", "cams-deliveries"}
    assert answer_to(full.workspace_key) == SUSPENDED
    succeed("export", full.workspace_id, str(tmp_path / "two"))
    assert (tmp_path / "two").read_bytes() == before
    succeed("resume", full.workspace_id)
    clear_caches()
    assert {path: (api.get(path).json, api.get(path).headers.get("etag")) for path in shown} == shown
    assert {name: api.post(state.format(name), {}).text for name in states} == states
    # A change after the import makes an event.
    api.post("/v2/agents/support", {"title": "Changed"})
    pipeline.fan_out(stream.read())
    assert pipeline.drain() == 1


@pytest.mark.parametrize("text", ["My notes\nof today\n", "My notes", "{}\n"])
@pytest.mark.parametrize("command", ["export", "import"])
def test_another_file_is_refused_and_stays_as_it_is(
    command: str, text: str, workspace: NewWorkspace, tmp_path: Path
) -> None:
    path = tmp_path / "notes"
    path.write_text(text)
    before = path.stat().st_mode, items()
    arguments = [workspace.workspace_id, str(path)] if command == "export" else [str(path)]
    assert "no export" in run(command, *arguments).stderr
    assert (path.read_text(), path.stat().st_mode, items()) == (text, *before)


def test_a_file_that_cannot_be_written_is_an_error_in_one_line(workspace: NewWorkspace, tmp_path: Path) -> None:
    ran = run("export", workspace.workspace_id, str(tmp_path / "missing" / "file"))
    assert ran.exit_code == 1
    assert "No such file" in ran.stderr.splitlines()[-1]


def test_an_import_into_an_existing_workspace_is_refused(full: NewWorkspace, tmp_path: Path) -> None:
    suspended_export(full.workspace_id, tmp_path / "export")
    before = items()
    assert "exists already" in run("import", str(tmp_path / "export")).stderr
    assert items() == before


def test_an_import_of_an_incomplete_or_changed_file_is_refused(full: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    lines = suspended_export(full.workspace_id, path).splitlines(keepends=True)
    other_account()
    for damaged in (lines[:-1], lines[:-2] + lines[-1:], [*lines[:-1], lines[-1][:9]], [lines[0], lines[-1]]):
        path.write_bytes(b"".join(damaged))
        assert "incomplete" in run("import", str(path)).stderr
    assert not of(full.workspace_id)


def test_an_import_does_not_take_a_credential_of_another_workspace(full: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    suspended_export(full.workspace_id, path)
    path.write_text(path.read_text().replace(full.workspace_id, "01arz3ndektsv4rrffq69g5fav"))
    assert "belongs to another workspace" in run("import", str(path)).stderr
    succeed("resume", full.workspace_id)
    auth.clear_cache()
    assert answer_to(full.workspace_key) == (200, None)


CLIENT = {"kind": "client", "key": "ann", "record": {"document": {}, "version_tag": "01m81xw1qwnd4azmp4bg1x6t97"}}
SETTINGS = {
    "kind": "workspace",
    "key": "workspace",
    "record": {"document": {"name": "Copied", "createdAt": 1, "workspaceSecret": "x"}},
}


@pytest.mark.parametrize(
    "lines",
    [
        [{**SETTINGS, "key": "workspacf"}, CLIENT],
        [CLIENT, SETTINGS],
        [SETTINGS, SETTINGS],
        [SETTINGS, {**CLIENT, "kind": "delivery"}],
        [SETTINGS, {**CLIENT, "kind": ["client"]}],
        [SETTINGS, {**CLIENT, "key": 1}],
        [SETTINGS, {**CLIENT, "key": ""}],
        [SETTINGS, {**CLIENT, "record": []}],
        [SETTINGS, {**CLIENT, "agent": 1}],
        [SETTINGS, {**CLIENT, "kind": "tool", "agent": "support", "key": "agent#support"}],
        [SETTINGS, {**CLIENT, "kind": "webhook", "key": hosts.SORT_KEY}],
        [SETTINGS, {**CLIENT, "key": "x" * shapes.MAX_LINE}],
        [SETTINGS, "client"],
        [SETTINGS, None],
        [SETTINGS, CLIENT, CLIENT],
        [SETTINGS, {**CLIENT, "key": "bo"}, CLIENT],
    ],
)
def test_a_file_with_a_line_that_is_no_record_is_refused_as_a_whole(
    lines: list[Any], workspace: NewWorkspace, tmp_path: Path
) -> None:
    """The workspace exists: its own line must lead to it, whatever the file says."""
    path, end = tmp_path / "export", {"kind": "end", "records": len(lines)}
    write_lines(path, [exports.header(workspace.workspace_id), *lines, end])
    before = items()
    assert "is no record of an export" in run("import", str(path)).stderr
    assert items() == before


# A path in the first line of a kind, what is written there (nothing: the member is removed), and the rule.
EDITS: list[tuple[str, str, Any, str]] = [
    ("workspace", "record.document", 7, "record.document must be an object"),
    ("workspace", "record.document.createdAt", "1", "record.document.createdAt must be a whole number of seconds"),
    ("workspace", "record.document.retentionDays", 0, "must be a whole number of days from 1 to 3,650"),
    ("workspace", "record.document.name", ..., "record.document.name is missing"),
    ("credential", "record.token_hash", ..., "record.token_hash is missing"),
    ("credential", "record.kind", "visitor", "record.kind must be workspace, access or agent"),
    ("credential", "record.kind", "agent", "record.agent_id is missing"),
    ("credential", "record.scopes", [], "record.scopes must be a list of one or more texts"),
    ("credential", "record.scope", ["x"], "record may have only the members agent_id, "),
    ("credential", "record.expires_at", 1e300, "record.expires_at must be a whole number of seconds"),
    ("credential", "record.read_only", 1, "record.read_only must be true or false"),
    ("client", "record", None, "record must be an object"),
    ("client", "record.version_tag", ..., "record.version_tag is missing"),
    ("client", "record.version_tag", "1", "record.version_tag must be a ULID"),
    ("client", "record.document.title", float("nan"), "record.document must have no NaN"),
    ("client", "record.document.title", "\ud800", "record.document must have no NaN, no infinity, no half"),
    ("client", "key", ["x"], "key must be the key of a record of the kind client"),
    ("client", "agent", "support", "it may have only the members kind, key, record"),
    ("email", "record.owner", 5, "record.owner must be a text"),
    ("organisation", "record.document", "{}", "record.document must be an object"),
    ("agent", "record.document", ..., "record.document is missing"),
    ("agent", "record.deleted_at", 1, "record may have only the members document, summary, version_tag"),
    ("tool", "agent", ..., "agent is missing"),
    ("tool", "agent", "a#b", "agent must be 1 to 128 of the characters"),
    ("lead", "record.document", [], "record.document must be an object"),
    ("analytics", "record.convo", 3, "record.convo must be an object"),
    ("conversation", "key", "x", "key must be a ULID"),
    ("conversation", "record.conversation", "a#b", "record.conversation must be 1 to 128 of the characters"),
    ("conversation", "record.version_tag", "1", "record.version_tag must be a ULID"),
    ("conversation", "record.metadata", None, "record.metadata must be an object"),
    ("conversation", "record.metadata.lastModified", None, "record.metadata.lastModified must be a whole number of"),
    ("conversation", "record.seen.gone", "xyz", "record.seen.gone must be up to 30,000 times 12 hexadecimal digits"),
    ("conversation", "record.seen.messages", -1, "record.seen.messages must be a whole number from 0 to"),
    ("conversation", "record.seen.more", 1, "record.seen may have only the members interactions, messages, gone"),
    ("conversation", "record.turns", {}, "record.turns must be a list"),
    ("conversation", "record.turns.0", None, "record.turns.0 must be an object"),
    ("conversation", "record.turns.0.messages", [], "record.turns.0.messages must be an object"),
    ("conversation", "record.turns.0.messages.mid", ..., "record.turns.0.messages.mid is missing"),
    ("conversation", "record.turns.0.ts", "now", "record.turns.0.ts must be a number"),
    ("webhook", "record.document.secrets", [{}], "record.document.secrets.0.secret is missing"),
    ("webhook", "record.document.events", ["x"], "record.document.events must be a list of types of events"),
]


def write_lines(path: Path, lines: list[Any]) -> None:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def edited(line: Any, path: str, value: Any) -> Any:
    """The line with another value at a path, or without its last member for `...`."""
    copy = json.loads(json.dumps(line))
    *parents, last = [int(name) if name.isdigit() else name for name in path.split(".")]
    parent = copy
    for name in parents:
        parent = parent[name]
    if value is ...:
        del parent[last]
    else:
        parent[last] = value
    return copy


def test_an_export_edited_by_hand_is_refused_with_the_line_the_member_and_the_rule(
    full: NewWorkspace, tmp_path: Path
) -> None:
    path = tmp_path / "export"
    exported = [json.loads(line) for line in suspended_export(full.workspace_id, path).splitlines()]
    other_account()
    before = items()
    for kind, member, value, rule in EDITS:
        number = next(index for index, line in enumerate(exported) if line["kind"] == kind)
        changed = [*exported]
        changed[number] = edited(exported[number], member, value)
        write_lines(path, changed)
        ran = run("import", str(path))
        assert ran.stderr.startswith(f"Error: Line {number + 1} of the file is no record of an export: "), (
            kind,
            member,
        )
        assert (ran.exit_code, ran.stderr.count("\n"), rule in ran.stderr) == (1, 1, True), ran.stderr
        assert items() == before


def test_a_record_that_is_too_large_to_import_is_named_by_its_line(workspace: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    large = edited(CLIENT, "record.document", {"title": "".join(random.Random(1).choices(string.printable, k=600_000))})
    write_lines(path, [exports.header(workspace.workspace_id), SETTINGS, large, {"kind": "end", "records": 2}])
    other_account()
    ran = run("import", str(path))
    assert ran.stderr.endswith("Error: Line 3 of the file cannot be imported: The record is too large to store.\n")
    write_lines(path, [exports.header(workspace.workspace_id), SETTINGS, CLIENT, {"kind": "end", "records": 2}])
    assert "or delete the workspace" in run("import", str(path)).stderr
    succeed("delete", workspace.workspace_id, "--yes")
    succeed("import", str(path))


def paths_of(value: Any, path: str) -> Iterator[str]:
    """The paths of the members of a value, four levels deep; of a list, those of its first element."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, one in inner:
        if "." not in str(name) and path.count(".") < 4:
            yield f"{path}.{name}".removeprefix(".")
            yield from paths_of(one, f"{path}.{name}")


@whole
def test_no_member_of_a_wrong_type_gives_a_traceback(full: NewWorkspace, tmp_path: Path) -> None:
    """Each is refused in one sentence, or imported and exported again."""
    path = tmp_path / "export"
    header, settings_line, *exported, _ = map(json.loads, suspended_export(full.workspace_id, path).splitlines())
    other_account()
    empty, outcomes = snapshot(), Counter[int]()
    firsts = {line["kind"]: line for line in reversed(exported)} | {"workspace": settings_line}
    for kind, line in firsts.items():
        for member in paths_of(line, ""):
            for value in (
                ...,
                None,
                7,
                -1.5,
                True,
                "Canary",
                [],
                ["Canary"],
                {},
                {"Canary": None},
                float("inf"),
                "\ud800",
            ):
                one = edited(line, member, value)
                lines = [one, exported[0]] if kind == "workspace" else [settings_line, one]
                write_lines(path, [header, *lines, {"kind": "end", "records": 2}])
                restore(empty)
                clear_caches()
                ran = run("import", str(path))
                what = f"{kind} {member} {value!r}: {ran.output}"
                outcomes[ran.exit_code] += 1
                if ran.exit_code:
                    assert ran.stderr.startswith("Error: Line "), what
                    assert "Canary" not in ran.stderr, what
                    assert ran.stderr.count("\n") == 1, what
                else:
                    assert (
                        run("export", full.workspace_id, str(tmp_path / f"again {outcomes.total()}")).exit_code == 0
                    ), what
    assert outcomes.keys() == {0, 1}


def resumed_export(workspace_id: str, path: Path, prefix: bytes) -> bytes:
    """The export that continues a file with these bytes."""
    path.write_bytes(prefix)
    exports.export(workspace_id, path)
    return path.read_bytes()


def test_an_interrupted_export_continues_where_it_was(full: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    complete = suspended_export(full.workspace_id, path)
    lines = complete.splitlines(keepends=True)
    for kept in range(0, len(lines) + 1, 4):
        size = len(b"".join(lines[:kept]))
        for cut in (size, size + 9):  # between two lines, and in a line
            assert resumed_export(full.workspace_id, path, complete[:cut]) == complete


def test_a_continued_export_does_not_read_the_records_again(full: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    complete = suspended_export(full.workspace_id, path)
    with counted() as whole_export:
        resumed_export(full.workspace_id, path, b"")
    with counted() as rest:
        resumed_export(full.workspace_id, path, b"".join(complete.splitlines(keepends=True)[:-2]))
    assert rest.total() <= 3 < whole_export.total()  # the agents, twice, and the endpoints


class Crash(BaseException):
    """The end of the process."""


@contextmanager
def crash_at(request: int) -> Iterator[list[str]]:
    """End the process before this request to the database inside the block; yields the requests until then."""
    sent: list[str] = []

    def count(model: Any, **_: Any) -> None:
        if len(sent) == request:
            raise Crash
        sent.append(model.name)

    database = storage.sdk_client("dynamodb").meta.events
    database.register_first("before-call.dynamodb", count)
    try:
        yield sent
    except Crash:
        pass
    finally:
        database.unregister("before-call.dynamodb", count)


def crashes(act: Callable[[], object], points: slice) -> Iterator[None]:
    """Crash `act` at some of its requests, each time from the same tables; yields after each crash."""
    before = snapshot()
    clear_caches()
    with crash_at(-1) as needed:
        act()
    for request in range(len(needed))[points]:
        restore(before)
        clear_caches()
        with crash_at(request) as sent:
            act()
        assert len(sent) == request
        yield


# Each request in `make test-all`.
each_crash = pytest.mark.parametrize("points", [slice(2, None, 20), pytest.param(slice(None), marks=whole)])


@each_crash
def test_an_interrupted_import_is_repeated(points: slice, full: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    complete = suspended_export(full.workspace_id, path)
    other_account()
    for _ in crashes(lambda: imports.import_file(path), points):
        succeed("import", str(path))
        assert resumed_export(full.workspace_id, tmp_path / "again", b"") == complete


# ---- deletion -------------------------------------------------------------------------------------


@pytest.fixture
def neighbour(full: NewWorkspace, other_workspace: NewWorkspace) -> NewWorkspace:
    """A second workspace, with rows of every kind under the same names."""
    with pipeline.inbox() as inbox:
        fill(other_workspace, inbox.url())
    return other_workspace


def rows_of(made: NewWorkspace) -> dict[str, list[Any]]:
    return {name: [one for one in rows if made.workspace_id in repr(one)] for name, rows in items().items()}


def test_a_deletion_leaves_nothing_and_does_not_touch_a_neighbour(
    full: NewWorkspace, neighbour: NewWorkspace, no_waiting: list[float]
) -> None:
    for made in (full, neighbour):
        notices.claim(None, made.workspace_id, "ann", clock.milliseconds())
        assert allowance.take(made.workspace_id)
    succeed("suspend", full.workspace_id, "--yes")
    before, untouched = of(full.workspace_id), rows_of(neighbour)
    stream = pipeline.Stream()
    no_waiting.clear()
    ran = succeed("delete", full.workspace_id, "--yes", "--json")
    timeout = max(one.timeout_seconds for one in FUNCTIONS if "webhooks" in one.tables and one.name != API)
    assert no_waiting == [timeout + webhooks.TALLY_SECONDS + 10]
    assert of(full.workspace_id) == {}
    assert rows_of(neighbour) == untouched
    receipt = json.loads(ran.stdout)
    assert receipt.pop("workspace_id") == full.workspace_id
    assert {name: receipt[name] for name in ("workspace", "agent", "tool", "client", "organisation", "lead")} == {
        "workspace": 1, "agent": 2, "tool": 2, "client": 2, "organisation": 2, "lead": 2,
    }  # fmt: skip
    assert (receipt["conversation"], receipt["analytics"], receipt["webhook"]) == (5, 2, 3)
    assert (receipt["event"], receipt["delivery"]) == (before["cams-events"], before["cams-deliveries"])
    assert (receipt["credential"], receipt["notice"]) == (before["cams-credentials"], 2)
    pipeline.fan_out(stream.read())
    assert pipeline.drain() == 0, "a deletion made a webhook"
    assert of(full.workspace_id) == {}
    assert "no such workspace" in run("delete", full.workspace_id, "--yes").stderr


def test_a_deletion_includes_visitor_tokens(full: NewWorkspace, neighbour: NewWorkspace) -> None:
    for made in (full, neighbour):
        issued = Api(made.workspace_key).post("/agents/support/interact/ann/visitor-tokens", {"token": {}})
        assert issued.status == 200
    succeed("suspend", full.workspace_id, "--yes")
    before, untouched = of(full.workspace_id), rows_of(neighbour)
    receipt = json.loads(succeed("delete", full.workspace_id, "--yes", "--json").stdout)
    assert (of(full.workspace_id), receipt["credential"]) == ({}, before["cams-credentials"])
    assert rows_of(neighbour) == untouched


def test_a_deletion_includes_the_index_of_messages_and_erasures(full: NewWorkspace, neighbour: NewWorkspace) -> None:
    for made in (full, neighbour):
        api = Api(made.workspace_key)
        long = {"messages": [{"item": {"text": "x" * 1_000}} for _ in range(50)]}
        for _ in range(3):
            assert api.post("/agents/support/interact/ann/messages", long).status == 200
        assert any(row["item"]["S"].startswith("mid#") for row in rows_of(made)["cams-conversations"])
        erasure = erasures.read(made.workspace_id, api.post("/v3/erasures", {"erasure": {"userID": "ann"}}).data["id"])
        erasures.remember(erasure, [erasures.Conversation("support", "ann", "01m7zd9ja0p900000000000000")])
    succeed("suspend", full.workspace_id, "--yes")
    untouched, own = rows_of(neighbour), rows_of(full)["cams-workspaces"]
    kinds = [kind for row in own if (kind := row["item"]["S"].partition("#")[0]).startswith("eras")]
    assert {*kinds} == {"erasure", "erased", "erasing"}
    receipt = json.loads(succeed("delete", full.workspace_id, "--yes", "--json").stdout)
    assert (of(full.workspace_id), receipt["erasure"]) == ({}, len(kinds))
    assert rows_of(neighbour) == untouched


def test_a_deletion_includes_an_agent_whose_cascade_has_failed(
    full: NewWorkspace, neighbour: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cascade, "_run", lambda *_: True)
    for made in (full, neighbour):
        assert Api(made.workspace_key).delete("/v3/agents/support").status == 200
    untouched = rows_of(neighbour)
    succeed("suspend", full.workspace_id, "--yes")
    receipt = json.loads(succeed("delete", full.workspace_id, "--yes", "--json").stdout)
    assert of(full.workspace_id) == {}
    assert rows_of(neighbour) == untouched
    assert (receipt["agent"], receipt["conversation"]) == (2, 5)


def test_a_refused_write_is_an_error_in_one_line(full: NewWorkspace) -> None:
    succeed("suspend", full.workspace_id, "--yes")
    refusal = {"Error": {"Code": "AccessDeniedException", "Message": "You may not write."}, "ResponseMetadata": {}}

    def refuse(model: Any, **_: Any) -> Any:
        return (SimpleNamespace(status_code=400), refusal) if model.name == "BatchWriteItem" else None

    database = storage.sdk_client("dynamodb").meta.events
    database.register_first("before-call.dynamodb", refuse)
    try:
        ran = run("delete", full.workspace_id, "--yes")
    finally:
        database.unregister("before-call.dynamodb", refuse)
    assert (ran.exit_code, ran.stderr.count("\n")) == (1, 1)
    assert "You may not write" in ran.stderr


def test_a_deletion_needs_a_suspension_and_the_id(workspace: NewWorkspace) -> None:
    before = items()
    assert "active" in run("delete", workspace.workspace_id, "--yes").stderr
    assert run("delete", workspace.workspace_id, answer="Test\n").exit_code == 1
    assert items() == before
    succeed("suspend", workspace.workspace_id, "--yes")
    assert run("delete", workspace.workspace_id, answer=f"{workspace.workspace_id}\n").exit_code == 0
    assert of(workspace.workspace_id) == {}


def test_nothing_is_counted_after_a_deletion(workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """What belongs to no agent has no agent whose absence a count would see. A count is 15 minutes late."""
    wanted: list[str] = []
    monkeypatch.setattr(queues, "send", lambda queue, texts, *rest: wanted.extend(texts))
    agent = storage.key(workspace.workspace_id, counts.NO_AGENT)
    for number in range(2):
        counts.record([Happened(agent, ids.new_id(), {"deliveries": 1}, {})])
        if number == 0:
            counts.recount(*json.loads(wanted[0])[:3])
    assert of(workspace.workspace_id)["cams-tallies"] == 2 + 2  # changes, and rows of the day
    succeed("suspend", workspace.workspace_id, "--yes")
    succeed("delete", workspace.workspace_id, "--yes")
    for text in wanted:
        counts.recount(*json.loads(text)[:3])
    assert of(workspace.workspace_id) == {}


def test_a_deletion_waits_until_the_last_deliveries_are_counted(
    workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivery that lasts until its timeout is in a batch that the stream gathers for as long again."""
    agent = storage.key(workspace.workspace_id, counts.NO_AGENT)
    timeout = max(one.timeout_seconds for one in FUNCTIONS if one.name in ("deliver", "deliver_slow"))
    pauses: list[float] = []

    def last_count(seconds: float) -> None:
        pauses.append(seconds)
        counts.record([Happened(agent, ids.new_id(), {"deliveries": 1}, {})])

    succeed("suspend", workspace.workspace_id, "--yes")
    monkeypatch.setattr(clock, "sleep", last_count)
    succeed("delete", workspace.workspace_id, "--yes")
    assert sum(pauses) > timeout + webhooks.TALLY_SECONDS
    assert of(workspace.workspace_id) == {}


def test_a_workspace_in_part_is_not_exported(workspace: NewWorkspace, tmp_path: Path) -> None:
    succeed("suspend", workspace.workspace_id, "--yes")
    for status in (store.DELETING, store.IMPORTING):
        store.change_status(workspace.workspace_id, (store.SUSPENDED, store.DELETING), status)
        assert status in run("export", workspace.workspace_id, str(tmp_path / "export")).stderr
    assert not (tmp_path / "export").exists()


@each_crash
def test_an_interrupted_deletion_is_repeated(points: slice, full: NewWorkspace) -> None:
    succeed("suspend", full.workspace_id, "--yes")
    for _ in crashes(lambda: removal.delete(full.workspace_id), points):
        succeed("delete", full.workspace_id, "--yes")
        assert of(full.workspace_id) == {}
