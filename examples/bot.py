"""A bot for one agent, in sixty lines of code: it answers visitors, hands over to people, and takes over again.

    CAMS_URL=… CAMS_API_KEY=… python bot.py AGENT_ID POSITION_FILE

To connect a model, change `think`. Run one process per agent. You may kill it at any time.
"""

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib import error, parse, request

URL, KEY, AGENT, POSITION = os.environ["CAMS_URL"], os.environ["CAMS_API_KEY"], sys.argv[1], Path(sys.argv[2])


def think(messages):
    """Yield the answer to up to 20 messages, oldest first, in pieces. If a person is needed, finally yield None."""
    question = str((messages[-1].get("item") or {}).get("text"))
    for word in f"You wrote: {question} Shall I find you a person?".split():
        time.sleep(0.3)
        yield f"{word} "
    if "person" in question:
        yield from ("One moment, please.", None)


def call(method, path, body=None, etag="*"):
    """Send a request. Return the JSON response and the record's ETag. Fail with 412 if the ETag is not `etag`."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", "If-Match": etag}
    message = request.Request(URL + path, body and json.dumps(body).encode(), headers, method=method)
    with request.urlopen(message, timeout=30) as response:
        return json.load(response), response.headers["ETag"]


def reply(path):
    """Answer the newest message if a visitor wrote it and the conversation does not wait for a person."""
    conversation, seen = call("GET", path)
    newest, state = conversation["data"]["messages"], conversation["data"].get("state")
    complete = [one for one in newest if one.get("from") == "human" or not (one.get("item") or {}).get("partial")]
    if not complete or complete[0].get("from") != "human" or state in ("requested_chat", "human-chatting"):
        return
    # `inReplyTo` protects a new answer. The ETag protects an answer that grows, or that was interrupted.
    etag, question, text, due = "*" if newest[0] is complete[0] else seen, complete[0]["mid"], "", 0.0
    for piece in think(complete[::-1]):
        text += piece or ""
        if piece is None:
            etag = call("PATCH", path, {"conversation": {"state": "requested_chat"}}, seen if etag == "*" else etag)[1]
        elif time.monotonic() >= due:  # each save is a write, so visitors see the answer grow only once a second
            etag, due = save(path, question, {"text": text, "partial": True}, etag), time.monotonic() + 1
    save(path, question, {"text": text}, etag)


def save(path, question, item, etag):
    """Add or replace the answer to a message. Its `mid` is derived from the question's, so there is only one answer."""
    answer = {"mid": f"answer {question}", "from": "bot", "type": "text", "item": item}
    return call("POST", f"{path}/messages", {"messages": [answer], "inReplyTo": question, "replace": True}, etag)[1]


def decide(convo_id):
    """Reply if necessary. Decide again if the conversation changes before the answer is complete."""
    while True:
        try:
            return reply(f"/v3/agents/{parse.quote(AGENT, safe='')}/convos/{parse.quote(convo_id, safe='')}")
        except error.HTTPError as failure:
            if failure.code < 500 and failure.code not in (409, 412) and "Retry-After" not in failure.headers:
                return print(f"No answer in {convo_id}: {failure}", flush=True)
            time.sleep(1)


if not POSITION.exists():  # the file contains the path of the next read of the bot's pull endpoint
    webhook = {"kind": "pull", "events": ["message_received", "conversation_state_changed"]}
    endpoint = call("POST", "/v3/webhooks", {"webhook": webhook})[0]["data"]["id"]
    POSITION.write_text(f"/v3/webhooks/{endpoint}/events?limit=100&after=")
while True:
    try:
        page, _ = call("GET", POSITION.read_text())
        convos = {one["payload"]["convoId"] for one in page["data"] if one.get("payload", {}).get("agentId") == AGENT}
        with ThreadPoolExecutor() as pool:  # waits for all answers, even if one fails
            list(pool.map(decide, convos))
        # The position moves after the answers, so that a crash misses no event.
        POSITION.with_suffix(".new").write_text(POSITION.read_text().partition("after=")[0] + f"after={page['after']}")
        POSITION.with_suffix(".new").replace(POSITION)
    except Exception as failure:  # the service or the model is not available
        print(f"Trying again: {failure!r}", flush=True)
    time.sleep(1)
