"""The loop in docs/one-voice.md, run as it is printed, as twenty workers that receive the same webhooks."""

import io
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests import generated_docs
from tests.api import Api
from tests.builders import webhook_body
from tests.conversations.turns import message
from tests.guarantees import CaseCounter
from tests.webhooks import pipeline
from tests.webhooks.pipeline import Inbox, Posted, Stream

pytestmark = pytest.mark.guarantee("voice")

(CODE,) = re.findall(
    r"```python\n(.*?)```", (generated_docs.ROOT / "docs/one-voice.md").read_text(encoding="utf-8"), re.DOTALL
)
WORKERS, MESSAGES = 20, 5
EDGE, ASSIGN = "/agents/support/interact/ann", "/v3/agents/support/convos/ann/assign"


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with pipeline.inbox() as running:
        yield running


@pytest.fixture
def receive(api: Api, inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Posted]:
    """Return a function that stores a message from the user, and returns its delivery."""
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    assert api.post("/v3/webhooks", webhook_body(inbox.url(), "message_received")).status == 200
    stream = Stream("conversations")

    def receive(mid: str) -> Posted:
        assert api.post(f"{EDGE}/messages", {"messages": [message(mid)]}).status == 200
        pipeline.fan_out(stream.read("conversations"))
        pipeline.drain()
        return inbox.posts[-1]

    return receive


@pytest.fixture
def on_message(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the function of the page, whose requests reach the service in this process."""

    def urlopen(request: urllib.request.Request) -> None:
        headers = {"Authorization": request.get_header("Authorization", ""), "Content-Type": "application/json"}
        path = request.full_url.removeprefix("https://cams")
        answer = Api().call(request.get_method(), path, request.data, headers)
        if answer.status != 200:
            raise urllib.error.HTTPError(path, answer.status, "", {}, io.BytesIO(answer.text.encode()))  # type: ignore[arg-type]

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    names: dict[str, Any] = {}
    exec(CODE, names)
    return names["on_message"]


@pytest.fixture
def agent_key(api: Api) -> str:
    key: str = api.get("/v2/agents/support").json["SECRET_API_KEY"]
    return key


def mids(api: Api) -> list[str]:
    return [turn["messages"]["mid"] for turn in api.post(f"{EDGE}/state").json["turns"]]


@pytest.mark.usefixtures("no_pauses")
def test_twenty_workers_answer_each_message_once(
    receive: Callable[[str], Posted], on_message: Any, agent_key: str, api: Api, count_cases: CaseCounter
) -> None:
    expected = []
    for number in range(MESSAGES):
        post = receive(f"m{number}")
        with ThreadPoolExecutor(WORKERS) as pool:
            work = [
                pool.submit(on_message, "https://cams", agent_key, post.headers, post.payload, lambda mid: f"To {mid}")
                for _ in range(WORKERS)
            ]
        assert {one.result() for one in work} <= {f"m{number}", None}
        expected += [f"m{number}", f"answer m{number}"]
        assert mids(api) == expected
    count_cases(states=WORKERS * MESSAGES)


def test_the_bot_answers_the_newest_message_and_stops_for_a_person(
    receive: Callable[[str], Posted], on_message: Any, agent_key: str, api: Api
) -> None:
    first = receive("a b\r\n")
    answer = [lambda mid: receive(f"next to {mid}") and "", lambda mid: "Both"]
    assert answered(on_message, agent_key, first, lambda mid: answer.pop(0)(mid)) == "next to a b\r\n"

    second = receive("c")
    take_over = {"assignToUserId": None, "state": "human-chatting"}
    assert answered(on_message, agent_key, second, lambda mid: str(api.post(ASSIGN, take_over).status)) is None
    assert mids(api) == ["a b\r\n", "next to a b\r\n", "answer next to a b\r\n", "c"]


def test_another_error_is_raised(receive: Callable[[str], Posted], on_message: Any) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        answered(on_message, "unknown", receive("a"), str)


def answered(on_message: Any, key: str, post: Posted, think: Callable[[str], str]) -> Any:
    return on_message("https://cams", key, post.headers, post.payload, think)
