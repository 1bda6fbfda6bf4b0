"""During an upgrade, the last release and this version share the tables and read each other's records.

The APIs and functions of both versions run side by side on one local engine. `tests/releases/last.zip` contains the
last release.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple
from zipfile import ZipFile

import pytest

from chalicelib import extensions, ids
from chalicelib.conversations.page_position import quarter_of
from chalicelib.queues.messages import pack
from chalicelib.queues.tasks import RecountQuarter, ResumeCascade
from chalicelib.storage import layouts
from infra.local import children
from tests.builders import lead_body, state_body, webhook_body
from tests.guarantees import CaseCounter
from tests.reliability.engine_fixture import client
from tests.reliability.processes import service
from tests.reliability.releases import LAST, EventSources, Release, readable, running
from tests.selection import whole
from tests.storage.recorded_rows import check_shown
from tests.webhooks.pipeline import Inbox, inbox

pytestmark = [pytest.mark.engine, pytest.mark.guarantee("upgraded"), whole]

MAINTAIN = "chalicelib.maintenance.maintain"
# Functions of earlier releases, whose messages do not contain the kind of task.
FORMER = {
    RecountQuarter: "chalicelib.conversations.functions.count_conversations",
    ResumeCascade: "chalicelib.deletion.functions.resume_cascade",
}
LONG = "x" * 200_000  # large enough to be stored in chunks


class World(NamedTuple):
    """An engine with three processes. Two write a layout that both releases read; `switched` writes the latest."""

    workspace_id: str
    last: Release
    this: Release
    switched: Release
    reads: set[int]  # the layouts that the last release can read
    sources: EventSources
    inbox: Inbox


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory, did = tmp_path_factory.mktemp("releases"), Counter[str]()
    with ZipFile(LAST) as archive:
        archive.extractall(directory / "last")
    reads = readable(directory / "last")
    shared = max(reads & layouts.READABLE.keys())
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("CAMS_STORED_LAYOUT", str(shared))
        served = stack.enter_context(service(directory / "engine"))
        releases = [
            stack.enter_context(running(code, served.token, did, served.environment, layout))
            for code, layout in (
                (directory / "last", shared),
                (children.ROOT, shared),
                (children.ROOT, layouts.CURRENT),
            )
        ]
        received = stack.enter_context(inbox())
        sources = EventSources(served.engine, did)
        sources.create_queues(releases[0])
        releases[0].post("/v3/webhooks", webhook_body(received.url(), "message_received", "client_created"))
        agents = client(served.engine, "dynamodb").scan(TableName="cams-agents")["Items"]
        yield World(agents[0]["partition"]["S"].partition("#")[0], *releases, reads, sources, received)
        assert min(did["requests"], did["stream records"], did["queue messages"]) > 10
        sys.stderr.write(f"\n{dict(did)}, {len(received.posts)} webhooks\n")


def write(release: Release, name: str) -> list[str]:
    """Create an agent that owns a record of every kind; return the paths that return the records."""
    sent = [
        release.post(f"/v2/agents/{name}", {"title": name}),
        release.post(f"/v3/agents/{name}/tools", {"tool": {"name": "Look up"}}),
        release.post("/v3/leads", lead_body(name, name="Ann")),
        release.post(f"/agents/{name}/interact/ann/state", state_body(f"{name} 1")),
        release.post(f"/agents/{name}/interact/long/state", state_body(LONG, sender="bot")),
        release.post(f"/v2/agents/{name}/analytics/ann", {"record": "convo"}),
        release.post(f"/v2/clients/{name}", {"name": name, "email": f"{name}@example.com"}),
        release.post(f"/v2/orgs/{name}", {"name": name}),
    ]
    assert [one.status for one in sent] == [200] * len(sent), [one.text[:300] for one in sent]
    return [
        f"/v3/agents/{name}",
        f"/v2/agents/{name}",
        "/v3/agents",
        f"/v3/tools/{sent[1].data['id']}",
        f"/v3/leads/{sent[2].data['id']}",
        f"/agents/{name}/interact/ann/state",
        f"/agents/{name}/interact/long/state",
        f"/v2/agents/{name}/convos",
        f"/v2/agents/{name}/analytics/ann",
        f"/v2/clients/{name}",
        f"/v2/orgs/{name}",
        "/v3/webhooks",
        "/v3/tokens",
    ]


def change(release: Release, name: str) -> None:
    """Change the records that `write` has created. The request that changes the state has an idempotency key."""
    sent = [
        release.patch(f"/v3/agents/{name}", {"agent": {"title": f"{name} changed"}}),
        keyed(release, name),
        release.post(f"/agents/{name}/interact/long/state", state_body(LONG, "more", sender="bot")),
        release.post(f"/v2/agents/{name}/analytics/ann", {"record": "convo", "browser": "changed"}),
        release.post(f"/v2/clients/{name}", {"email": f"{name}.changed@example.com"}),
    ]
    assert [one.status for one in sent] == [200] * len(sent), [one.text[:300] for one in sent]


def keyed(release: Release, name: str) -> Any:
    headers = {**release._headers, "Content-Type": "application/json", "Idempotency-Key": name}
    body = state_body(f"{name} 1", f"{name} 2")
    return release.call("POST", f"/agents/{name}/interact/ann/state", body, headers)


def show(release: Release, paths: list[str]) -> list[Any]:
    """Return the release's responses for these paths."""
    answers = [release.post(path, {}) if "/interact/" in path else release.get(path) for path in paths]
    assert [one.status for one in answers] == [200] * len(paths), [one.text[:300] for one in answers]
    return [one.json for one in answers]


def contents(world: World) -> "Counter[str]":
    """Return the messages in the received webhooks."""
    return Counter(post.payload["messageContent"] for post in world.inbox.posts if "messageContent" in post.payload)


@pytest.mark.parametrize("pair", ["last writes", "this writes", "this writes, switched reads", "switched writes"])
def test_each_release_reads_what_the_other_wrote(world: World, pair: str, count_cases: CaseCounter) -> None:
    older, newer = (world.this, world.switched) if "switched" in pair else (world.last, world.this)
    writer, reader = (older, newer) if pair in ("last writes", "this writes, switched reads") else (newer, older)
    name = pair.replace(", ", "-").replace(" ", "-")
    paths = write(writer, name)
    check_shown(show(older, paths), show(newer, paths))
    world.sources.run(reader, writer)
    change(reader, name)
    check_shown(show(older, paths), show(newer, paths))
    assert keyed(writer, name).text == keyed(reader, name).text
    world.sources.run(writer, reader)
    assert {text: count for text, count in contents(world).items() if text.startswith(f"{name} ")} == {
        f"{name} 1": 1,
        f"{name} 2": 1,
    }
    assert world.sources.dead_letters() == 0
    count_cases(states=2 * len(paths) + 3)


@pytest.mark.parametrize("first", ["last", "this"])
def test_functions_of_one_release_finish_what_the_other_began(world: World, first: str) -> None:
    """Check that the functions count tallies and complete a cascading deletion after the messages' delay."""
    writer, reader = (world.last, world.this) if first == "last" else (world.this, world.last)
    name = f"deleted-by-{first}"
    write(writer, name)
    workspace_id = world.workspace_id
    quarter = quarter_of(ids.new_id())
    maintain(reader, RecountQuarter(f"{workspace_id}#{name}", *quarter))
    assert writer.delete(f"/v3/agents/{name}").status == 200
    reader.pass_time(100)
    maintain(reader, ResumeCascade(workspace_id, name))
    reader.pass_time(-100)
    assert writer.get(f"/v3/agents/{name}").status == 404
    assert writer.post(f"/v2/agents/{name}", {}).status == 200  # the tombstone is deleted
    world.sources.run(reader, writer)
    assert world.sources.dead_letters() == 0


def test_a_message_is_added_once_whatever_the_last_release_writes(world: World, count_cases: CaseCounter) -> None:
    """Save a conversation through the last release, without index markers. Then add all messages again."""
    state, messages = (f"/agents/indexed/interact/ann/{last}" for last in ("state", "messages"))
    assert world.this.post("/v2/agents/indexed", {"title": "Indexed"}).status == 200
    expected: list[str] = []
    for start in range(0, 60, 15):
        added = [{"mid": f"m{number}", "item": {"text": LONG[:8_000]}} for number in range(start + 15)]
        for writer in (world.this, world.switched, world.this):
            for part in (added[:30], added[30:]):
                assert not part or writer.post(messages, {"messages": part}).status == 200
        expected += [one["mid"] for one in added[start:]]
        turns = world.last.post(state, {}).json["turns"]
        sent = [{**turn, "messages": [turn["messages"]]} for turn in turns]
        last = {"messages": [{"mid": f"last {start}"}]}
        assert world.last.post(state, {"turns": [*sent, last]}).status == 200
        expected.append(f"last {start}")
    for reader in (world.last, world.this):
        turns = reader.post(state, {}).json["turns"]
        assert [turn["messages"]["mid"] for turn in turns] == expected
    assert world.last.delete("/v3/agents/indexed/convos/ann").status == 200
    assert world.this.post(messages, {"messages": [{"mid": "m0"}]}).status == 200
    assert [turn["messages"]["mid"] for turn in world.last.post(state, {}).json["turns"]] == ["m0"]
    count_cases(states=3)


def maintain(release: Release, task: RecountQuarter | ResumeCascade) -> None:
    """Run a maintenance task with a release's function."""
    has_tasks = any(source.handler == MAINTAIN for source in release.sources)
    handler, body = (MAINTAIN, pack(task)) if has_tasks else (FORMER[type(task)], json.dumps(task))
    records = [{"messageId": "1", "receiptHandle": "1", "body": body}]
    assert release.invoke(handler, {"Records": records}) in (None, {"batchItemFailures": []})


def test_a_release_that_cannot_read_a_record_loses_nothing(world: World, count_cases: CaseCounter) -> None:
    """Simulate a deployment that skips its first step."""
    if layouts.CURRENT in world.reads:
        pytest.skip("the last release can read the current layout")
    world.sources.run(world.this, world.this)
    assert world.switched.post("/v2/agents/newer", {"title": "Newer"}).status == 200
    assert world.switched.post("/agents/newer/interact/ann/state", state_body("newer")).status == 200
    for answer in (world.last.get("/v3/agents/newer"), world.last.post("/agents/newer/interact/ann/state", {})):
        assert (answer.status, answer.json["code"]) == (503, "UNAVAILABLE")
    (source,) = (one for one in world.this.sources if one.handler.endswith("fan_out_conversations"))
    event = world.sources.records(source)
    assert world.last.invoke(source.handler, event) == "UnknownLayout"
    assert world.this.invoke(source.handler, event) == {"batchItemFailures": []}
    world.sources.run(world.this, world.this)
    assert contents(world)["newer"] == 1
    assert world.sources.dead_letters() == 0
    count_cases(faults=1, states=4)


@pytest.mark.skipif(not extensions.has("feeds"), reason="The extension feeds is off.")
def test_a_batch_that_the_last_release_cannot_fan_out_reaches_the_feed(world: World, count_cases: CaseCounter) -> None:
    """The last release raises an error for a pull endpoint, so the stream repeats its batch until an update."""
    world.sources.run(world.this, world.last)
    body = {"webhook": {"kind": "pull", "events": ["client_created"]}}
    path = f"/v3/webhooks/{world.this.post('/v3/webhooks', body).data['id']}/events"
    posts, places = len(world.inbox.posts), dict(world.sources._places)
    assert world.last.get("/v3/webhooks").status == 200
    assert world.last.post("/v2/clients/pulled", {}).status == 200
    with pytest.raises(AssertionError, match="KeyError"):
        world.sources.run(world.last, world.last)
    world.sources._places = places
    world.sources.run(world.this, world.last)
    assert [event["payload"]["clientId"] for event in world.this.get(path).data] == ["pulled"]
    assert len(world.inbox.posts) == posts + 1
    assert world.sources.dead_letters() == 0
    count_cases(states=4)
