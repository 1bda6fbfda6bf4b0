"""docs/webhooks.md is correct: its examples show real bodies, and its code verifies the signatures of these bodies."""

import http.client
import json
import re
import shutil
import socket
import subprocess
import sys
import time
from typing import Any

import pytest

from chalicelib import clock
from chalicelib.webhooks import events, retry_policy
from chalicelib.workspaces.store import NewWorkspace
from tests import generated_docs
from tests.api import Api
from tests.openapi.document import broken_rules, document, resolved
from tests.webhooks.pipeline import Inbox, Posted, Stream, drain, fan_out, inbox
from tests.webhooks.story import STORY

PAGE = "docs/webhooks.md"
TEXT = (generated_docs.ROOT / PAGE).read_text(encoding="utf-8")
SHOWN_TYPES = ("message_received", "agent_updated")
SHOWN_TIME, SHOWN_SECRET = 1795228530123, "cams_events_…"


class Receiving:
    """An endpoint that subscribes to all events, its secret, and the requests that it received."""

    def __init__(self, api: Api, box: Inbox) -> None:
        webhook = {"url": box.url(), "events": list(events.TYPES)}
        created = api.post("/v3/webhooks", {"webhook": webhook}).data
        self.secret: str = created["signingSecret"]
        stream = Stream()
        for _, method, path, body in STORY:
            assert api.call(method, path, body).status == 200
        fan_out(stream.read())
        assert api.post(f"/v3/webhooks/{created['id']}/test").status == 200
        drain()
        self.posts = {post.body["type"]: post for post in box.posts}


@pytest.fixture
def receiving(api: Api, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    with inbox() as box:
        yield Receiving(api, box)


def code(language: str) -> list[str]:
    """Return the page's code blocks in one language."""
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def as_shown(post: Posted, workspace: NewWorkspace) -> str:
    """Return a body as the page shows it: with a fixed time, and without the secret."""
    body = json.loads(post.text)
    assert body["payload"]["workspaceSecret"] == workspace.workspace_secret
    assert abs(body["payload"]["createdAt"] - clock.milliseconds()) < 60_000
    body["payload"] |= {"createdAt": SHOWN_TIME, "workspaceSecret": SHOWN_SECRET}
    return json.dumps(body, indent=2, ensure_ascii=False)


def test_the_page_lists_every_type() -> None:
    generated_docs.check(PAGE, "types", ", ".join(f"`{type_}`" for type_ in events.TYPES) + ".\n")


def test_the_examples_are_bodies_that_are_sent(receiving: Receiving, workspace: NewWorkspace) -> None:
    assert set(receiving.posts) == set(events.TYPES)
    bodies = {type_: as_shown(post, workspace) for type_, post in receiving.posts.items()}
    generated_docs.check(PAGE, "events", "".join(f"```json\n{bodies[one]}\n```\n\n" for one in SHOWN_TYPES))


def test_the_document_describes_every_body_that_is_sent(receiving: Receiving) -> None:
    assert document()["webhooks"].keys() == set(events.TYPES)
    for name, post in receiving.posts.items():
        request = document()["webhooks"][name]["post"]
        assert broken_rules(request["requestBody"]["content"]["application/json"]["schema"], post.body) == []
        headers = {resolved(one)["name"] for one in request["parameters"]}
        assert headers == {
            header for header in map(str.lower, post.headers) if header.startswith(("webhook-", "cams-"))
        }


def altered(post: Posted) -> list[tuple[dict[str, str], bytes]]:
    """Return requests that must be rejected: they have another body, id or signature, or an old timestamp."""
    old = str(int(post.headers["webhook-timestamp"]) - 301)
    changes = [{"webhook-id": "x"}, {"webhook-timestamp": old}, {"webhook-signature": "v1,AAAA"}]
    return [(post.headers, post.text + b" "), *((post.headers | change, post.text) for change in changes)]


def test_the_python_code_of_the_page_verifies_a_signature(receiving: Receiving) -> None:
    names: dict[str, Any] = {}
    exec(code("python")[0], names)
    check = names["is_from_cams"]
    for post in receiving.posts.values():
        assert check(post.headers, post.text, receiving.secret)
        assert not check(post.headers, post.text, "whsec_" + "A" * 44)
    assert not any(check(headers, body, receiving.secret) for headers, body in altered(post))


def test_the_python_code_of_the_page_rejects_an_old_request_with_a_valid_signature(
    receiving: Receiving, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, Any] = {}
    exec(code("python")[0], names)
    now, post = time.time(), receiving.posts["agent_created"]
    monkeypatch.setattr(time, "time", lambda: now + 400)
    assert not names["is_from_cams"](post.headers, post.text, receiving.secret)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_the_javascript_code_of_the_page_verifies_a_signature(receiving: Receiving) -> None:
    post = receiving.posts["message_received"]
    cases = [(post.headers, post.text), *altered(post)]
    calls = [[headers, body.decode(), receiving.secret] for headers, body in cases]
    script = (
        code("js")[0] + f"const calls = {json.dumps(calls)};\n"
        "console.log(JSON.stringify(calls.map(([headers, body, secret]) =>"
        " isFromCams(headers, Buffer.from(body), secret))));"
    )
    ran = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == [True, False, False, False, False]


def test_the_receiver_of_the_page_prints_the_request() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = code("python")[1].replace("9000", str(port))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        try:
            status = posted_to(port)
            assert running.stdout is not None
            assert (status, running.stdout.readline()) == (200, b'{"type": "agent_created"}\n')
        finally:
            running.terminate()


def posted_to(port: int) -> int:
    """Post to the receiver as soon as it listens; return the response's status."""
    for _ in range(200):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("POST", "/", b'{"type": "agent_created"}')
            return connection.getresponse().status
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise AssertionError("the receiver does not listen")


def test_the_table_has_the_numbers_of_the_retry_policy() -> None:
    policy, minute, hour = retry_policy, 60, 60 * 60
    rows = [
        ("a delivery fails without a response after", f"{policy.POST_SECONDS:.0f} seconds"),
        ("a delivery without an outcome is `unknown` after", f"{policy.CLAIM_SECONDS} seconds"),
        ("a delivery can be requested again for", f"{policy.KEPT_DAYS} days after the event"),
        ("a requested delivery is `expired` after", f"{policy.QUEUE_RETENTION_DAYS} days in the queue"),
        ("a host is slow if it has not responded after", f"{policy.SLOW_SECONDS:.0f} seconds"),
        (
            "a slow host stays in the slow queue for",
            f"{policy.PENALTY_SECONDS // minute} minutes, then twice as long each time, at most "
            f"{policy.MAX_PENALTY_SECONDS // hour} hours",
        ),
        ("a quick host stays in the fast queue for", f"{policy.QUICK_SECONDS // hour} hours"),
    ]
    generated_docs.check(PAGE, "limits", generated_docs.table(["Rule", "Limit"], rows))


def test_the_document_has_the_days_for_which_deliveries_are_kept() -> None:
    deliveries = "/v3/webhooks/{webhook_id}/deliveries"
    for path in (deliveries, f"{deliveries}/{{delivery_id}}"):
        operation = document()["paths"][path]["get"]
        assert f"{retry_policy.KEPT_DAYS} days" in operation["summary"] + operation.get("description", "")
