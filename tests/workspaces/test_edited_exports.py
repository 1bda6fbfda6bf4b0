"""Importing exports that were edited by hand: the error names each invalid line and the rule that it breaks."""

import json
import random
import string
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chalicelib import clock, ids
from chalicelib.extensions import has
from chalicelib.storage import layouts
from chalicelib.webhooks import hosts
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from infra.operator import exports, records, shapes
from infra.operator.commands import cams
from tests import extensions
from tests.engines import clear_caches
from tests.moto_tables import items, restore, snapshot
from tests.selection import whole
from tests.storage.recorded_rows import path_of, restored
from tests.workspaces.commands import run, succeed
from tests.workspaces.exports import other_account, suspended_export

CLIENT = {"kind": "client", "key": "ann", "record": {"document": {}, "version_tag": "01m81xw1qwnd4azmp4bg1x6t97"}}

SETTINGS = {
    "kind": "workspace",
    "key": "workspace",
    "record": {"document": {"name": "Copied", "createdAt": 1, "workspaceSecret": "x"}},
}


# The lines between each file's first line and its end line. In every file, one line is not a record.
WRONG_LINES: list[list[Any]] = [
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
]


def test_a_file_with_a_line_that_is_no_record_is_refused_as_a_whole(workspace: NewWorkspace, tmp_path: Path) -> None:
    """Whatever the other lines contain, the workspace in the first line must exist."""
    path, before = tmp_path / "export", items()
    for lines in WRONG_LINES:
        write_lines(path, [exports.header(workspace.workspace_id), *lines, {"kind": "end", "records": len(lines)}])
        assert "is not an export record" in run("import", str(path)).stderr, lines
        assert items() == before


LATE, TOMORROW = "7" + "z" * 25, ids.id_at((clock.seconds() + 2 * 24 * 60 * 60) * 1000, 0)
URLS = ("Canary", "", "http://[", "https://", "http://a:99999/", "ftp://x/", "https://exa mple/", "//x", 7, None)
# A path in the first line of a kind, the value that replaces the member (`...` removes the member), and the broken
# rule.
EDITS: list[tuple[str, str, Any, str]] = [
    ("workspace", "record.document", 7, "record.document must be an object"),
    ("workspace", "record.document.createdAt", "1", "record.document.createdAt must be a whole number of seconds"),
    ("workspace", "record.document.retentionDays", 0, "must be a whole number of days from 1 to 3,650"),
    ("workspace", "record.document.name", ..., "record.document.name is missing"),
    ("credential", "record.token_hash", ..., "record.token_hash is missing"),
    ("credential", "record.kind", "visitor", "record.kind must be workspace, access or agent"),
    ("credential", "record.kind", "agent", "record.agent_id is missing"),
    ("credential", "record.scopes", [], "record.scopes must be a list of one or more scopes"),
    ("credential", "record.scope", ["x"], "record may have only the members agent_id, "),
    ("credential", "record.expires_at", 1e300, "record.expires_at must be a whole number of seconds"),
    ("credential", "record.read_only", 1, "record.read_only must be true or false"),
    ("client", "record", None, "record must be an object"),
    ("client", "record.version_tag", ..., "record.version_tag is missing"),
    ("client", "record.version_tag", "1", "record.version_tag must be a ULID"),
    ("client", "record.document.title", float("nan"), "record.document must not contain NaN"),
    ("client", "record.document.title", "\ud800", "record.document must not contain NaN, infinity, a lone"),
    (
        "client",
        "record.document.dashboardPassword",
        "7 signs",
        "dashboardPassword must be a text of at least 8 characters",
    ),
    (
        "client",
        "record.document.dashboardPassword",
        " " * 8,
        "dashboardPassword must be a text of at least 8 characters",
    ),
    ("client", "record.created", "1", "record.created must be a ULID"),
    ("client", "key", "ann#versions", "key must be a valid client key"),
    ("client", "key", "ann/bo", "key must be a valid client key"),
    ("email", "key", "ann", "key must be a valid email key"),
    ("organisation", "key", "acme#x", "key must be a valid organisation key"),
    ("agent", "key", "agent#a#b", "key must be a valid agent key"),
    ("tool", "key", "tool#a#versions", "key must be a valid tool key"),
    ("analytics", "key", "a#b", "key must be a valid analytics key"),
    ("credential", "key", "credential#access#a#b", "key must be a valid credential key"),
    ("client", "key", ["x"], "key must be a valid client key"),
    ("client", "key", "a/b", "key must be a valid client key"),
    ("client", "record.document.name", 7, "record.document.name must be a string"),
    ("client", "record.document.canAccess", {}, "record.document.canAccess must be an array"),
    ("client", "record.document.unknown", 7, "record.document has a member that its model does not declare"),
    ("client", "record.version_tag", LATE, "record.version_tag must be a ULID whose time is not in the future"),
    ("client", "record.version_tag", TOMORROW, "record.version_tag must be a ULID whose time is not in the future"),
    ("credential", "key", "credential#access#x", "key must be a valid credential key"),
    ("credential", "record.scopes", ["x"], "record.scopes must be a list of one or more scopes"),
    ("client", "agent", "support", "it may have only the members kind, key, record"),
    ("email", "record.owner", 5, "record.owner must be 1 to 128 of the characters"),
    ("email", "key", "x", "key must be a valid email key"),
    ("organisation", "record.document", "{}", "record.document must be an object"),
    ("agent", "record.document", ..., "record.document is missing"),
    ("agent", "record.document.nodes", None, "record.document.nodes must not be null"),
    ("agent", "record.document.assignedToolsIds", None, "record.document.assignedToolsIds must not be null"),
    ("organisation", "record.document.widgetIDs", None, "record.document.widgetIDs must not be null"),
    ("organisation", "record.document.adminIDs", None, "record.document.adminIDs must not be null"),
    ("tool", "record.document", {}, "record.document.agentId is missing"),
    ("tool", "record.document.createdAt", ..., "record.document.createdAt is missing"),
    ("tool", "record.document.fields", None, "record.document.fields must not be null"),
    ("conversation", "record.metadata", {}, "record.metadata.ID is missing"),
    ("conversation", "record.metadata.lastModified", ..., "record.metadata.lastModified is missing"),
    ("conversation", "record.metadata.messagesNum", ..., "record.metadata.messagesNum is missing"),
    ("conversation", "record.metadata.messagesNum", None, "record.metadata.messagesNum must be a number"),
    ("conversation", "record.metadata.messagesNum", -1, "record.metadata.messagesNum must be a whole number from 0 to"),
    ("conversation", "record.metadata.messagesNum", 1e300, "messagesNum must be a whole number from 0 to"),
    ("conversation", "record.metadata.interactionsNum", ..., "record.metadata.interactionsNum is missing"),
    ("conversation", "record.metadata.interactionsNum", 1.5, "interactionsNum must be a whole number from 0 to"),
    ("conversation", "record.metadata.userName", None, "record.metadata.userName must not be null"),
    ("agent", "record.document", {}, "record.document.createdAtUNIX is missing"),
    ("agent", "record.document.createdAtUNIX", None, "createdAtUNIX must be a whole number of seconds, a time that"),
    ("agent", "record.document.createdAtUNIX", 10**12, "createdAtUNIX must be a whole number of seconds, a time that"),
    ("agent", "record.document.createdAtUNIX", 4 * 10**9, "a time that is not in the future"),
    ("agent", "record.document.lastModified", 1.5, "lastModified must be a whole number of seconds"),
    ("agent", "record.deleted_at", 1, "record may have only the members document, summary, version_tag"),
    ("agent", "key", "agent#other", "key must be a valid agent key"),
    ("agent", "record.document.title", 7, "record.document.title must be a string"),
    ("agent", "record.document.nodes", [{"id": 7}], "record.document.nodes.0.id must be a string"),
    ("agent", "record.summary.title", 7, "record.summary.title must be a string"),
    ("organisation", "record.document.widgetIDs", [7], "record.document.widgetIDs.0 must be a string"),
    ("tool", "agent", ..., "agent is missing"),
    ("tool", "key", "tool#x", "key must be a valid tool key"),
    ("tool", "record.document.name", 7, "record.document.name must be a string"),
    ("tool", "agent", "a#b", "agent must be 1 to 128 of the characters"),
    ("lead", "record.document", [], "record.document must be an object"),
    ("lead", "key", LATE, "key must be a valid lead key"),
    ("lead", "key", "0" * 11 + LATE, "key must be a valid lead key"),
    ("lead", "record.document.channel", 7, "record.document.channel must be '"),
    ("lead", "record.document.agentId", "other", "record.document.agentId must be the agent of the line"),
    ("lead", "record.document.createdAt", 1e300, "record.document.createdAt must be a whole number of milliseconds"),
    ("analytics", "key", "a#b", "key must be a valid analytics key"),
    ("analytics", "record.load.browser", ["x"], "record.load.browser must be a string"),
    ("analytics", "record.load.origin", "x", "record.load.origin must be '"),
    ("analytics", "record.convo", 3, "record.convo must be an object"),
    ("conversation", "key", "x", "key must be a ULID"),
    ("conversation", "key", LATE, "key must be a ULID whose time is not in the future"),
    (
        "conversation",
        "record.version_tag",
        LATE,
        "record.version_tag must be a ULID whose time is not in the future",
    ),
    ("conversation", "record.metadata.userBrowser", 7, "record.metadata.userBrowser must be a string"),
    ("conversation", "record.metadata.origin", {}, "record.metadata.origin must be '"),
    ("conversation", "record.metadata.tags", "x", "record.metadata.tags must be an array"),
    ("conversation", "record.metadata.firstMessageTS", "x", "record.metadata.firstMessageTS must be a number"),
    ("conversation", "record.turns.0.messages.item", 7, "record.turns.0.messages.item must be an object"),
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
    *(("webhook", "record.document.url", url, "record.document.url must be a valid webhook URL") for url in URLS),
    ("webhook", "record.document.secrets", [{}], "record.document.secrets.0.secret is missing"),
    ("webhook", "record.document.events", ["x"], "record.document.events must be a list of event types"),
]


@pytest.mark.parametrize("layout", layouts.READABLE)
def test_what_earlier_layouts_stored_is_accepted(layout: int, tmp_path: Path) -> None:
    recorded = json.loads(path_of(layout).read_text())
    with restored(recorded):
        (workspace_id,) = {row.workspace for row in workspaces.list_all()}
        lines = [json.loads(line) for line in suspended_export(workspace_id, tmp_path / "export").splitlines()][:-1]
        for number, (before, line) in enumerate(pairwise(lines), 2):
            assert shapes.find_problem(line, number, before) is None, line
    assert {line["kind"] for line in lines[1:]} == records.KINDS.keys()


def write_lines(path: Path, lines: list[Any]) -> None:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def edited(line: Any, path: str, value: Any) -> Any:
    """Return the line with another value at this path; `...` removes the member."""
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
    imported = set[str]()
    for kind, member, value, rule in EDITS:
        number = next(index for index, line in enumerate(exported) if line["kind"] == kind)
        changed = [*exported]
        changed[number] = edited(exported[number], member, value)
        problem = shapes.find_problem(changed[number], number + 1, exported[number - 1])
        assert problem is not None and rule in problem, (kind, member, problem)
        if kind in imported:
            continue
        imported.add(kind)
        write_lines(path, changed)
        ran = run("import", str(path))
        assert ran.stderr.startswith(f"Error: Line {number + 1} of the file is not an export record: "), (
            kind,
            member,
        )
        assert (ran.exit_code, ran.stderr.count("\n"), rule in ran.stderr) == (1, 1, True), ran.stderr
        assert items() == before


def test_a_record_that_is_too_large_to_import_is_named_by_its_line(workspace: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    large = edited(CLIENT, "record.document", {"name": "".join(random.Random(1).choices(string.printable, k=600_000))})
    write_lines(path, [exports.header(workspace.workspace_id), SETTINGS, large, {"kind": "end", "records": 2}])
    other_account()
    ran = run("import", str(path))
    assert ran.stderr.endswith("Error: Line 3 of the file cannot be imported: The record is too large to store.\n")
    write_lines(path, [exports.header(workspace.workspace_id), SETTINGS, CLIENT, {"kind": "end", "records": 2}])
    assert "or delete the workspace" in run("import", str(path)).stderr
    succeed("delete", workspace.workspace_id, "--yes")
    succeed("import", str(path))


def paths_of(value: Any, path: str) -> Iterator[str]:
    """Return the paths of a value's members, four levels deep. Only a list's first element counts."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, one in inner:
        if "." not in str(name) and path.count(".") < 4:
            yield f"{path}.{name}".removeprefix(".")
            yield from paths_of(one, f"{path}.{name}")


@whole
def test_no_member_of_a_wrong_type_gives_a_traceback(full: NewWorkspace, tmp_path: Path) -> None:
    """The import rejects each wrong type with a one-sentence error, or imports a record that can be exported again."""
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
                export = edited(line, member, value)
                lines = [export, exported[0]] if kind == "workspace" else [settings_line, export]
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
                    if kind == "agent":
                        extensions.call("fill_agent", full.workspace_id, export["agent"])
                    recounted = CliRunner().invoke(cams, ["tallies", "recount", "--workspace", full.workspace_id])
                    has_hour = kind == "agent" and has("reports")
                    assert (recounted.exit_code, "and 1 other periods, for" in recounted.output) == (0, has_hour), what
                    assert (
                        run("export", full.workspace_id, str(tmp_path / f"again {outcomes.total()}")).exit_code == 0
                    ), what
    assert outcomes.keys() == {0, 1}
