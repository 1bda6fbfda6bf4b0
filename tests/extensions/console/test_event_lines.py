"""The lines in a transcript for events whose times are stored."""

import re

from chalicelib import clock
from tests.api import Api
from tests.builders import state_body
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser

CONVO = "/convos/support/ann"


def test_a_reloaded_transcript_shows_the_request_the_takeover_and_the_end(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    def lines(query: str = "") -> list[str]:
        """Return the event lines with their times, and the messages, in order."""
        text = signed_in.open(f"{CONVO}{query}").text
        parts = re.findall(r'<p class="event">([^<]*) <time datetime="([^"]*)|<div class="said"><p>([^<]*)', text)
        return [message or f"{state} {time[11:16]}" for state, time, message in parts]

    def add(*texts: str) -> None:
        messages = [{"from": "human", "item": {"text": text}} for text in texts]
        assert workspace_api.post("/agents/support/interact/ann/messages", {"messages": messages}).status == 200

    body = state_body("Hi") | {"metadata": {"state": "requested_chat"}}
    assert workspace_api.post("/agents/support/interact/ann/state", body).status == 200
    start = clock.iso(clock.seconds())[11:16]
    assert lines()[1:] == [f"Waiting for a person {start}"]
    pass_time(600)
    add("Hello?")
    signed_in.submit(signed_in.open(CONVO), CONVO, {"action": "end"})
    ended = clock.iso(clock.seconds())[11:16]
    pass_time(600)
    add("Thanks")
    assert lines()[1:] == [f"Waiting for a person {start}", "Hello?", f"Ended {ended}", "Thanks"]
    assert lines("?before=1")[1:] == [f"Waiting for a person {start}", "Hello?"]
    pass_time(600)
    signed_in.submit(signed_in.open(CONVO), CONVO, {"action": "reply", "text": "Goodbye"})
    taken = clock.iso(clock.seconds())[11:16]
    assert lines()[1:] == ["Hello?", f"Ended {ended}", "Thanks", f"Bo de Vries took over {taken}", "Goodbye"]
    workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": {"state": "ai-chatting"}})
    assert f"A person took over {taken}" in lines()
