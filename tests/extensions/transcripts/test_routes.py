"""Transcript search, and transcript exports over HTTP, in pages, and by the operator's command."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner, Result

from chalicelib import clock, storage
from chalicelib.extensions.transcripts import export, search
from chalicelib.extensions.transcripts.deploy import conversations_command as conversations
from chalicelib.http import files
from chalicelib.workspaces.store import NewWorkspace
from infra.operator.commands import cams
from tests.agents.records import without
from tests.api import Api
from tests.assertions import refused
from tests.listed_pages import flatten, follow_cursors, read_export, read_pages

CONVOS = "/v3/agents/support/convos"
EXPORT = f"{CONVOS}/export"
WORDS = ["Straße", "order", "refund", 'a "quoted" word', "back\\slash", "emoji 😀", "line\nbreak", "İstanbul"]

Tick = Callable[[], None]


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """Create the agent `support` for every test in this module."""


@pytest.fixture
def tick(monkeypatch: pytest.MonkeyPatch) -> Tick:
    """Advance the clock by one second."""
    now = clock.milliseconds()

    def pass_second() -> None:
        nonlocal now
        now += 1000
        monkeypatch.setattr(clock, "milliseconds", lambda: now)

    pass_second()
    return pass_second


def say(api: Api, user: str, *texts: str, **metadata: Any) -> None:
    said = [{"mid": f"{user}-{number}", "item": {"text": text}} for number, text in enumerate(texts)]
    body = {"turns": [{"from": "human", "messages": said, "ts": 5}], "metadata": {"userName": user, **metadata}}
    assert api.post(f"/agents/support/interact/{user}/state", body).status == 200


def test_a_search_finds_the_messages_newest_first(api: Api, tick: Tick) -> None:
    say(api, "ann", "I want a Refund", "thanks", "refund it now")
    tick()
    say(api, "bob", "hello")
    tick()
    say(api, "cem", "REFUNDS?")
    answer = api.get(f"{CONVOS}/search?q=refund").json
    assert [one["ID"] for one in answer["data"]] == ["cem", "ann"]
    assert [one["mid"] for one in answer["data"][1]["messages"]] == ["ann-2", "ann-0"]
    assert answer["data"][0]["messages"] == [{"mid": "cem-0", "item": {"text": "REFUNDS?"}, "from": "human", "ts": 5}]
    assert answer["data"][0]["lastMessage"] == "REFUNDS?"
    assert (answer["hasMore"], answer["searchedUntil"]) == (False, 0)


def test_a_search_finds_a_text_as_it_was_sent(api: Api) -> None:
    for number, word in enumerate(WORDS):
        say(api, f"user-{number}", f"before {word} behind")
    for number, word in enumerate(WORDS):
        (found,) = api.get(f"{CONVOS}/search?{urlencode({'q': word})}").data
        assert found["ID"] == f"user-{number}"


def test_a_search_reads_the_texts_of_cards_but_no_names_of_members(api: Api) -> None:
    card = {"mid": "m", "type": "card", "item": {"buttons": [{"title": "Pay now"}], "price": 5}}
    api.post("/agents/support/interact/ann/state", {"turns": [{"from": "bot", "messages": [card]}]})
    assert [one["mid"] for one in api.get(f"{CONVOS}/search?q=pay").data[0]["messages"]] == ["m"]
    assert api.get(f"{CONVOS}/search?q=buttons").data == []


def test_a_search_says_how_far_it_has_looked(api: Api, tick: Tick, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_EXAMINED", 2)
    for user in ("ann", "bob", "cem", "dan", "eva"):
        say(api, user, "found" if user in ("ann", "eva") else "nothing")
        tick()
    created = {one["ID"]: one["ts"] for one in api.get(CONVOS).data}
    found = [one.json for one in follow_cursors(api, f"{CONVOS}/search?q=found")]
    assert [[one["ID"] for one in page["data"]] for page in found] == [["eva"], [], ["ann"]]
    assert [page["searchedUntil"] for page in found] == [created["dan"], created["bob"], 0]
    assert [page["hasMore"] for page in found] == [True, True, False]


def test_a_search_stops_after_the_transcripts_it_may_read(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_MAX_BYTES", 300)
    for user in ("ann", "bob", "cem"):
        say(api, user, "x" * 200)
    assert [len(one.data) for one in follow_cursors(api, f"{CONVOS}/search?q=x")] == [2, 1]


def test_a_search_in_a_period(api: Api, tick: Tick) -> None:
    for user in ("ann", "bob", "cem"):
        say(api, user, "found")
        tick()
    created = {one["ID"]: one["ts"] for one in api.get(CONVOS).data}
    answer = api.get(f"{CONVOS}/search?q=found&from={created['bob']}&to={created['cem']}").json
    assert [one["ID"] for one in answer["data"]] == ["bob"]
    assert answer["searchedUntil"] == created["bob"]


def test_a_search_needs_a_text(api: Api) -> None:
    for query in ("", "?q="):
        answer = api.get(f"{CONVOS}/search{query}")
        assert (answer.status, answer.json["issues"][0]["path"]) == (400, "q")
    assert api.get("/v3/agents/unknown/convos/search?q=x").status == 404


def test_a_long_transcript_is_searched_to_its_beginning(api: Api) -> None:
    say(api, "ann", "needle", *("hay" * 100 for _ in range(1_000)))
    (found,) = api.get(f"{CONVOS}/search?q=needle").data
    assert [one["mid"] for one in found["messages"]] == ["ann-0"]


def test_an_export_has_every_conversation_once_with_its_messages(api: Api) -> None:
    for number in range(7):
        say(api, f"u{number}", "hello", "bye")
    exported_pages = read_pages(api, EXPORT, limit=3)
    assert [len(page) for page in exported_pages] == [3, 3, 1]
    assert [without(record, "messages") for record in flatten(exported_pages)] == api.get(CONVOS).data
    assert exported_pages[0][0]["messages"] == [
        {"mid": "u6-0", "item": {"text": "hello"}, "from": "human", "ts": 5},
        {"mid": "u6-1", "item": {"text": "bye"}, "from": "human", "ts": 5},
    ]
    assert flatten(read_pages(api, f"{EXPORT}?sort=oldest", limit=3)) == flatten(exported_pages)[::-1]
    assert api.get(f"{CONVOS}/u6/export").data == exported_pages[0][0]
    (own, _) = read_export(api, EXPORT, "csv", limit=4)
    assert api.get(f"{CONVOS}/u6/export?format=csv").text.splitlines() == own.splitlines()[:3]


def test_an_export_of_a_period_or_of_some_conversations(api: Api, tick: Tick) -> None:
    for user in ("ann", "bob", "cem"):
        say(api, user, "hello")
        tick()
    created = {one["ID"]: one["ts"] for one in api.get(CONVOS).data}

    def ids(query: str, limit: int = 1) -> list[str]:
        return [one["ID"] for one in flatten(read_pages(api, f"{EXPORT}?{query}", limit))]

    for sort, order in (("newest", ["cem", "bob"]), ("oldest", ["bob", "cem"])):
        assert ids(f"sort={sort}&fromTs={created['bob']}") == order
        assert ids(f"sort={sort}&fromTs={created['bob']}&toTs={created['cem']}") == ["bob"]
        assert ids(f"sort={sort}&fromTs={created['cem']}&toTs={created['bob']}") == []
    chosen = "convoIds=cem&convoIds=unknown&convoIds=ann&convoIds=cem"
    assert ids(chosen) == ids(chosen, 100) == ["cem", "ann"]
    assert ids(f"{chosen}&toTs={created['bob']}") == ["ann"]
    refused(api.get(f"{EXPORT}?{chosen}&cursor=bob"), 400, "cursor")  # would otherwise start again
    texts = read_export(api, EXPORT, "csv", limit=2, convoIds=["cem", "unknown", "ann"])
    assert [row["ID"] for row in csv.DictReader(io.StringIO("".join(texts), newline=""))] == ["cem", "ann"]


def test_an_export_of_an_unknown_conversation_is_not_found(api: Api) -> None:
    for path in (
        f"{CONVOS}/unknown/export",
        "/v3/agents/unknown/convos/ann/export",
        "/v3/agents/unknown/convos/export",
    ):
        assert api.get(path).status == 404


def test_an_export_as_csv_is_one_table_that_runs_nothing(api: Api) -> None:
    say(api, "ann", "hello", "a, b\nc", userPhone="+31 20 123", tags=["=1+1", "b"])
    say(api, "bob", "=cmd()", state=None, userName='=HYPERLINK("x")')
    texts = read_export(api, EXPORT, "csv", limit=1)
    assert len(texts) == 2
    bob, ann = csv.DictReader(io.StringIO("".join(texts), newline=""))
    assert (ann["ID"], ann["userPhone"], ann["tags"]) == ("ann", "'+31 20 123", "'=1+1, b")
    assert ann["transcript"] == "human: hello\nhuman: a, b\nc"
    assert (bob["userName"], bob["messagesNum"], bob["state"]) == ('\'=HYPERLINK("x")', "1", "")


def test_a_page_of_an_export_fits_a_response(api: Api) -> None:
    for number in range(4):
        say(api, f"u{number}", *("😀" * 9_000 for _ in range(20)))
    answers = [*follow_cursors(api, EXPORT)]
    assert len(answers) > 1
    assert sum(len(answer.data) for answer in answers) == 4
    assert all(len(json.dumps(answer.text)) < 6_000_000 for answer in answers)


def test_a_page_of_a_csv_ends_after_the_transcripts_it_may_read(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row contains only the start of a long transcript, so filling a page could require many reads."""
    monkeypatch.setattr(export, "_MAX_READ", 300)
    for user in ("ann", "bob", "cem"):
        say(api, user, "x" * 200)
    assert [text.count("human: ") for text in read_export(api, EXPORT, "csv")] == [2, 1]


def exported(api: Api, form: str) -> str:
    """Return the conversations that the API exports, in the form of the command."""
    if form == files.CSV:
        return "".join(read_export(api, EXPORT, form))
    return "".join(f"{storage.encode_json(one).decode()}\n" for one in api.get(f"{EXPORT}?limit=100").data)


def run(workspace: NewWorkspace, file: Path, form: str = "ndjson") -> Result:
    arguments = ["--workspace", workspace.workspace_id, "--agent", "support", "--format", form, str(file)]
    return CliRunner().invoke(cams, ["conversations", "export", *arguments])


@pytest.mark.parametrize("form", [*files.MEDIA])
def test_the_command_writes_what_the_pages_have(form: str, workspace: NewWorkspace, api: Api, tmp_path: Path) -> None:
    for number in range(5):
        say(api, f"u{number}", "hello")
    ran = run(workspace, tmp_path / "file", form)
    assert (ran.exit_code, ran.stdout) == (0, "Exported 5 conversations.\n"), ran.output
    assert (tmp_path / "file").read_bytes().decode() == exported(api, form)
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("complete", "form"), [*zip([0, 3], files.MEDIA, strict=True)])
def test_an_interrupted_command_continues(
    complete: int,
    form: str,
    workspace: NewWorkspace,
    api: Api,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The command is interrupted after some complete pages, in the middle of a line."""
    monkeypatch.setattr(conversations, "_PAGE", 2)
    for number in range(7):
        say(api, f"u{number}", "hello")
    file, write, complete_pages = tmp_path / "file", export.page, iter(range(complete))

    def interrupt(*arguments: Any) -> export.ExportPage:
        if next(complete_pages, None) is None:
            raise KeyboardInterrupt
        return write(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(export, "page", interrupt)
        assert run(workspace, file, form).exit_code != 0
    with file.open("ab") as output:
        output.write(b"half a li")
    assert run(workspace, file, form).stdout == "Exported 7 conversations.\n"
    assert file.read_bytes().decode() == exported(api, form)


def test_the_command_fills_no_gap_in_a_file_that_was_cut(
    workspace: NewWorkspace, api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the command filled the gap, the missing part would consist of zero bytes."""
    say(api, "ann", "hello")
    save = conversations._save

    def interrupt(file: Path, progress: dict[str, Any]) -> None:
        save(file, progress)
        if progress["count"]:
            raise KeyboardInterrupt

    file = tmp_path / "file"
    with monkeypatch.context() as patch:
        patch.setattr(conversations, "_save", interrupt)
        assert run(workspace, file).exit_code != 0
    file.write_bytes(file.read_bytes()[:-1])
    assert "is shorter than the interrupted export" in run(workspace, file).stderr
    file.unlink()
    assert "is shorter than the interrupted export" in run(workspace, file).stderr
    (tmp_path / "file.progress").unlink()
    assert run(workspace, file).stdout == "Exported 1 conversations.\n"


def test_the_command_overwrites_no_other_file(workspace: NewWorkspace, api: Api, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    ran = run(workspace, tmp_path / "file")
    assert (ran.exit_code, (tmp_path / "file").read_text()) == (1, "mine")
    assert "name another file" in ran.stderr
