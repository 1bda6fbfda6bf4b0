"""The example bot gives one answer to each question, is silent while a person is in charge, and survives `kill -9`."""

from __future__ import annotations

import ast
import io
import os
import signal
import subprocess
import sys
import time
import tokenize
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.local.children import ROOT
from tests import extensions
from tests.reliability.runs import SECONDS, Run, ask, begin, end, free_port
from tests.selection import whole

extensions.require("feeds")

BOT = ROOT / "examples/bot.py"
AGENT = "hotel|spa"
PATH = "/v3/agents/hotel%7Cspa/convos"


class Hotel:
    """An agent of a local run, with its visitors and a person who can take over."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.call("POST", "/v2/agents/hotel%7Cspa", {"title": "Hotel"})
        self.call("POST", "/v2/clients/noor", {"name": "Noor", "email": "noor@hotel.example"})

    def call(self, method: str, path: str, body: Any = None) -> Any:
        status, response = ask(self._run, method, path, self._run.credentials["workspace_key"], body)
        assert status == 200, response
        return response.get("data")

    def write(self, visitor: str, text: str) -> None:
        message = {"mid": text, "from": "human", "type": "text", "item": {"text": text}}
        self.call("POST", f"/agents/hotel%7Cspa/interact/{visitor}/messages", {"messages": [message]})

    def assign(self, visitor: str, client: str | None) -> None:
        self.call("POST", f"{PATH}/{visitor}/assign", {"assignToUserId": client})

    def messages(self, visitor: str) -> list[dict[str, Any]]:
        """Return a conversation's messages, oldest first."""
        return list(self.call("GET", f"{PATH}/{visitor}/messages?order=asc"))

    def mids(self, visitor: str) -> list[str]:
        return [message["mid"] for message in self.messages(visitor)]

    def is_partial(self, visitor: str) -> bool:
        return bool(self.messages(visitor)[-1]["item"].get("partial"))

    def wait_for_answer(self, visitor: str, text: str) -> None:
        """Wait until the newest message is the complete answer to this text."""
        wait(lambda: self.mids(visitor)[-1] == f"answer {text}" and not self.is_partial(visitor))
        assert f"You wrote: {text} " in self.messages(visitor)[-1]["item"]["text"]

    def let_bot_read(self, name: str) -> None:
        """Wait until the bot has answered a later event. It has then read all earlier events of all conversations."""
        self.write(f"later-{name}", f"later {name}")
        self.wait_for_answer(f"later-{name}", f"later {name}")


def wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    started = begin(tmp_path_factory.mktemp("bot") / "state", free_port())
    yield started
    end(started, signal.SIGINT)


@pytest.fixture(scope="module")
def hotel(run: Run) -> Hotel:
    return Hotel(run)


@contextmanager
def bot(run: Run, position: Path, script: Path = BOT) -> Iterator[subprocess.Popen[bytes]]:
    """Run the bot, wait until it has its endpoint, and kill it with SIGKILL at the end."""
    credentials = run.credentials
    environment = {**os.environ, "CAMS_URL": credentials["base_url"], "CAMS_API_KEY": credentials["access_token"]}
    command = [sys.executable, str(script), AGENT, str(position)]
    with position.with_suffix(".output").open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        wait(position.exists)
        yield process
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def position(run: Run) -> Path:
    return run.directory / "bot.position"


def test_the_bot_has_at_most_sixty_lines_of_code() -> None:
    text = BOT.read_text("utf-8")
    tree = ast.parse(text)
    documented = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef)]
    docstrings = [node.body[0] for node in documented if ast.get_docstring(node)]
    lines = {line for one in docstrings for line in range(one.lineno, (one.end_lineno or 0) + 1)}
    ignored = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in ignored]
    code = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    assert 40 < len(code - lines) <= 60


def test_the_bot_needs_no_package() -> None:
    tree = ast.parse(BOT.read_text("utf-8"))
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module.partition(".")[0] for module in modules} <= sys.stdlib_module_names


@whole
@pytest.mark.engine
def test_each_question_has_one_answer_that_grows(run: Run, hotel: Hotel, position: Path) -> None:
    with bot(run, position):
        visitors = [f"visitor-{number}" for number in range(5)]
        for text in ("first", "second"):
            for visitor in visitors:
                hotel.write(visitor, f"{visitor} {text}")
            texts = set[str]()
            wait(lambda texts=texts: bool(texts.add(hotel.messages("visitor-0")[-1]["item"]["text"]) or len(texts) > 2))
            for visitor in visitors:
                hotel.wait_for_answer(visitor, f"{visitor} {text}")
        hotel.let_bot_read("answers")
        for visitor in visitors:
            questions = [f"{visitor} {text}" for text in ("first", "second")]
            assert hotel.mids(visitor) == [mid for question in questions for mid in (question, f"answer {question}")]


@whole
@pytest.mark.engine
def test_a_person_takes_over_and_gives_the_conversation_back(run: Run, hotel: Hotel, position: Path) -> None:
    with bot(run, position):
        hotel.write("ann", "Find me a person")
        wait(lambda: hotel.call("GET", f"{PATH}/ann").get("state") == "requested_chat")
        hotel.wait_for_answer("ann", "Find me a person")
        hotel.write("ann", "Where are they?")
        hotel.let_bot_read("request")
        hotel.assign("ann", "noor")
        hotel.write("ann", "Hello?")
        hotel.let_bot_read("takeover")
        mids = ["Find me a person", "answer Find me a person", "Where are they?", "Hello?"]
        assert hotel.mids("ann") == mids
        hotel.assign("ann", None)
        hotel.wait_for_answer("ann", "Hello?")
        hotel.let_bot_read("return")
        assert hotel.mids("ann") == [*mids, "answer Hello?"]


@whole
@pytest.mark.engine
def test_a_takeover_interrupts_an_answer(run: Run, hotel: Hotel, position: Path) -> None:
    with bot(run, position):
        hotel.write("bob", "Hi")
        wait(lambda: len(hotel.messages("bob")) == 2)
        hotel.assign("bob", "noor")
        stored = hotel.messages("bob")
        hotel.let_bot_read("interruption")
        assert hotel.messages("bob") == stored
        assert hotel.is_partial("bob")
        hotel.assign("bob", None)
        hotel.wait_for_answer("bob", "Hi")
        assert hotel.mids("bob") == ["Hi", "answer Hi"]


@whole
@pytest.mark.engine
def test_a_new_message_interrupts_an_answer(run: Run, hotel: Hotel, position: Path) -> None:
    with bot(run, position):
        hotel.write("cas", "One")
        wait(lambda: len(hotel.messages("cas")) == 2)
        hotel.write("cas", "Two")
        hotel.wait_for_answer("cas", "Two")
        hotel.let_bot_read("message")
        assert hotel.mids("cas") == ["One", "answer One", "Two", "answer Two"]


@whole
@pytest.mark.engine
def test_a_killed_bot_continues_where_it_stopped(run: Run, hotel: Hotel, position: Path) -> None:
    with bot(run, position):
        hotel.write("dee", "Before")
        hotel.wait_for_answer("dee", "Before")
        hotel.write("eve", "During")
        wait(lambda: len(hotel.messages("eve")) == 2)
    assert hotel.is_partial("eve")
    hotel.write("dee", "After")
    reached = position.read_text()
    with bot(run, position):
        hotel.wait_for_answer("eve", "During")
        hotel.wait_for_answer("dee", "After")
        hotel.let_bot_read("restart")
    assert position.read_text() != reached
    assert hotel.mids("eve") == ["During", "answer During"]
    assert hotel.mids("dee") == ["Before", "answer Before", "After", "answer After"]
    assert len(hotel.call("GET", "/v3/webhooks")) == 1
    assert position.with_suffix(".output").read_text() == ""


@whole
@pytest.mark.engine
def test_events_of_other_agents_and_of_deleted_conversations_are_skipped(
    run: Run, hotel: Hotel, position: Path
) -> None:
    hotel.call("POST", "/v2/agents/shop", {"title": "Shop"})
    with bot(run, position):
        hotel.let_bot_read("start")
    message = {"from": "human", "type": "text", "item": {"text": "Hi"}}
    hotel.call("POST", "/agents/shop/interact/fay/messages", {"messages": [message]})
    hotel.write("gus", "Hi")
    hotel.call("DELETE", f"{PATH}/gus")
    with bot(run, position) as process:
        hotel.let_bot_read("deletion")
        assert process.poll() is None
        assert len(hotel.call("GET", "/v3/agents/shop/convos/fay/messages")) == 1
        output = position.with_suffix(".output").read_text()
        assert output == "No answer in gus: HTTP Error 404: Not Found\n"


@whole
@pytest.mark.engine
def test_a_model_that_fails_disturbs_no_other_answer(run: Run, hotel: Hotel, position: Path) -> None:
    position, failing = position.with_name("failing.position"), position.with_name("failing.py")
    start = "    question = "
    failing.write_text(
        BOT.read_text("utf-8").replace(start, f"    assert 'Fail' not in str(messages)\n{start}"), "utf-8"
    )
    with bot(run, position, failing):
        hotel.write("hal", "Fail")
        hotel.write("ida", "Hi")
        hotel.wait_for_answer("ida", "Hi")
        hotel.let_bot_read("failure")
        assert hotel.mids("ida") == ["Hi", "answer Hi"]
        assert hotel.mids("hal") == ["Fail"]
        output = position.with_suffix(".output")
        assert set(output.read_text().splitlines()) == {"Trying again: AssertionError()"}
    with bot(run, position):  # the model works again
        hotel.wait_for_answer("hal", "Fail")
