"""A damaged journal of the local run: the run says where and how much, asks, cuts it, keeps a copy, serves the rest."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.local import children, journal
from infra.local.children import ROOT
from tests.reliability.engine_fixture import client, running_engine
from tests.reliability.runs import SECONDS, Run, ask, begin, end, engine_client, free_port, kill
from tests.selection import whole

pytestmark = pytest.mark.engine

TABLE = "things"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The journal of an engine that got six writes after the creation of a table."""
    directory = tmp_path_factory.mktemp("recorded")
    with running_engine(directory) as running:
        dynamodb = client(running, "dynamodb")
        dynamodb.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        for number in range(6):
            dynamodb.put_item(TableName=TABLE, Item={"id": {"S": f"item-{number}"}})
    return (directory / "engine.journal").read_bytes()


def lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


def flipped(content: bytes, place: int) -> bytes:
    """The content with one bit changed."""
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def starts(content: bytes) -> list[int]:
    """The offset of each line, and of the end."""
    offsets = [0]
    for line in lines(content):
        offsets.append(offsets[-1] + len(line))
    return offsets


def test_an_intact_or_torn_journal_has_no_damage(recorded: bytes, tmp_path: Path) -> None:
    path = tmp_path / "engine.journal"
    for content in (b"", recorded, recorded[:-1], recorded[:-20], recorded + b"0badcafe {"):
        path.write_bytes(content)
        assert journal.find_damage(path) is None


def test_a_torn_first_line_is_damage(recorded: bytes, tmp_path: Path) -> None:
    """It has the snapshot of everything before it, which was written as a whole."""
    path = tmp_path / "engine.journal"
    path.write_bytes(recorded[: starts(recorded)[1] - 5])
    with pytest.raises(children.RunError, match=r"is damaged at byte 0\.$"):
        children.start_engine(tmp_path)
    assert path.read_bytes() == recorded[: starts(recorded)[1] - 5]
    assert journal.find_damage(path) == (0, 0, 1, len(path.read_bytes()))


@whole
def test_a_changed_bit_anywhere_is_found_in_its_line(recorded: bytes, tmp_path: Path) -> None:
    path, offsets = tmp_path / "engine.journal", starts(recorded)
    for place in range(0, len(recorded) - 1, 7):
        path.write_bytes(flipped(recorded, place))
        damage = journal.find_damage(path)
        assert damage is not None
        number = max(index for index, offset in enumerate(offsets) if offset <= place)
        assert (damage.offset, damage.records_before) == (offsets[number], number)
        assert damage.bytes_after == len(recorded) - offsets[number]


@pytest.mark.parametrize("damaged", [0, 1, 3, 7], ids=["the head", "the table", "a write", "the last write"])
def test_cutting_serves_what_is_before_the_damage_and_keeps_the_rest(
    recorded: bytes, tmp_path: Path, damaged: int
) -> None:
    path, rest = tmp_path / "engine.journal", tmp_path / "rest"
    offset = starts(recorded)[damaged]
    content = flipped(recorded, offset + 20)
    path.write_bytes(content)
    with pytest.raises(children.RunError, match=rf"is damaged at byte {offset}\.$"):
        children.start_engine(tmp_path)
    assert path.read_bytes() == content
    with running_engine(tmp_path, "--move-damage-to", str(rest)) as running:
        dynamodb = client(running, "dynamodb")
        if damaged > 1:
            found = {item["id"]["S"] for item in dynamodb.scan(TableName=TABLE)["Items"]}
            assert found == {f"item-{number}" for number in range(damaged - 2)}
            dynamodb.put_item(TableName=TABLE, Item={"id": {"S": "new"}})
        else:
            assert dynamodb.list_tables()["TableNames"] == []
    assert rest.read_bytes() == content[offset:]
    assert rest.stat().st_mode & 0o777 == 0o600
    with running_engine(tmp_path) as running:
        dynamodb = client(running, "dynamodb")
        if damaged > 1:
            items = {item["id"]["S"] for item in dynamodb.scan(TableName=TABLE)["Items"]}
            assert items == {*(f"item-{number}" for number in range(damaged - 2)), "new"}
        else:
            assert dynamodb.list_tables()["TableNames"] == []


def test_an_existing_copy_is_not_overwritten(recorded: bytes, tmp_path: Path) -> None:
    path, copy = tmp_path / "engine.journal", tmp_path / "copy"
    path.write_bytes(flipped(recorded, 50))
    copy.write_text("earlier")
    with pytest.raises(FileExistsError):
        journal.cut(path, copy)
    assert (path.read_bytes(), copy.read_text()) == (flipped(recorded, 50), "earlier")


@pytest.fixture(scope="module")
def damaged_state(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run, int]:
    """The state of a run whose journal is damaged between two agents, the run, and the offset of the damage."""
    directory = tmp_path_factory.mktemp("damaged") / "state"
    run = begin(directory, free_port())
    put(run, "before")
    time.sleep(0.3)
    put(run, "after")
    end(run, signal.SIGINT)
    path = directory / "engine.journal"
    content = path.read_bytes()
    offset = next(start for start, line in zip(starts(content), lines(content), strict=False) if b"agent#after" in line)
    path.write_bytes(flipped(content, offset + 30))
    return directory, run, offset


def put(run: Run, agent_id: str) -> None:
    status, _ = ask(run, "POST", f"/v2/agents/{agent_id}", run.credentials["workspace_key"], {"title": agent_id})
    assert status == 200


@pytest.fixture
def state(damaged_state: tuple[Path, Run, int], tmp_path: Path) -> Path:
    shutil.copytree(damaged_state[0], tmp_path / "state")
    return tmp_path / "state"


@pytest.fixture
def start(state: Path) -> Iterator[Callable[..., Run]]:
    """Start runs on the damaged state, and kill their remaining processes at the end."""
    started: list[Run] = []

    def start_here(*options: str) -> Run:
        started.append(begin(state, free_port(), *options))
        return started[-1]

    yield start_here
    for each in started:
        kill(each)


def found(state: Path, damage: tuple[Path, Run, int]) -> str:
    return f"{state / 'engine.journal'} is damaged at byte {damage[2]:,}: "


def test_without_a_terminal_the_run_refuses_in_one_sentence_and_changes_nothing(
    damaged_state: tuple[Path, Run, int], state: Path
) -> None:
    before = (state / "engine.journal").read_bytes()
    command = [sys.executable, "-m", "infra.local.run", "--port", str(free_port()), "--state", str(state)]
    ran = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)
    assert (ran.returncode, ran.stdout) == (1, "Starting CAMS ...\n")
    (line,) = ran.stderr.splitlines()
    assert line.startswith(found(state, damaged_state))
    assert line.endswith("add `ARGS=--cut-damaged-journal` to `make run`.")
    assert (state / "engine.journal").read_bytes() == before


def test_with_the_option_the_run_cuts_and_serves_the_rest(start: Callable[..., Run], state: Path) -> None:
    damaged = (state / "engine.journal").read_bytes()
    run = start("--cut-damaged-journal")
    key = run.credentials["workspace_key"]
    assert [ask(run, "GET", f"/v3/agents/{name}", key)[0] for name in ("before", "after")] == [200, 404]
    (rest,) = state.glob("engine.journal.cut-*")
    assert damaged.endswith(rest.read_bytes())
    assert f"what was cut is in {rest}" in run.output
    put(run, "later")
    end(run, signal.SIGINT)
    again = start()
    assert ask(again, "GET", "/v3/agents/later", key)[0] == 200


@pytest.mark.parametrize(
    ("journal_left", "options"),
    [
        (lambda content: flipped(content, starts(content)[1] + 30), ["--cut-damaged-journal"]),
        (lambda content: content[: starts(content)[1] + 30], []),
        (lambda content: b"", []),
        (lambda content: None, []),
    ],
    ids=["damaged", "shorter", "empty", "deleted"],
)
@whole
def test_a_run_that_lost_its_workspace_creates_another(
    damaged_state: tuple[Path, Run, int],
    start: Callable[..., Run],
    state: Path,
    journal_left: Callable[[bytes], bytes | None],
    options: list[str],
) -> None:
    path = state / "engine.journal"
    left = journal_left(path.read_bytes())
    path.unlink()
    if left is not None:
        path.write_bytes(left)
    run = start(*options)
    assert run.credentials["workspace_id"] != damaged_state[1].credentials["workspace_id"]
    assert ask(run, "GET", "/v3/agents", run.credentials["workspace_key"])[0] == 200
    assert engine_client(run, "dynamodb").list_tables()["TableNames"]


@whole
@pytest.mark.parametrize(("answer", "agrees"), [("y", True), ("n", False), ("", False)])
def test_on_a_terminal_the_run_asks(
    damaged_state: tuple[Path, Run, int], state: Path, answer: str, agrees: bool
) -> None:
    before = (state / "engine.journal").read_bytes()
    terminal, slave = pty.openpty()
    output = state.parent / "output"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "infra.local.run", "--port", str(free_port()), "--state", str(state)],
            cwd=ROOT,
            stdin=slave,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    os.close(slave)
    os.write(terminal, f"{answer}\n".encode())
    try:
        deadline = time.monotonic() + SECONDS
        while process.poll() is None and "CAMS is ready" not in output.read_text():
            assert time.monotonic() < deadline, output.read_text()
            time.sleep(0.05)
        assert found(state, damaged_state) in output.read_text()
        assert ("CAMS is ready" in output.read_text()) is agrees
        if not agrees:
            assert process.wait(SECONDS) == 1
            assert output.read_text().endswith("Nothing has been changed.\n")
            assert (state / "engine.journal").read_bytes() == before
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(SECONDS)
        os.close(terminal)
