"""Hostile visitor, agent and client records: their texts would run as scripts if a page did not escape them."""

from random import Random
from typing import Any

from tests.extensions.console.in_browser.person import EMAIL, PASSWORD, ask, converse, count
from tests.reliability.runs import Run

EMAIL_AT_THE_TOP = "top@acme.test"  # this client has the navigation at the top
SCRIPT_LINK, DATA_LINK = "javascript:window.__x=1", "data:text/html,<script>parent.__x=1</script>"
# Each text sets window.__x if it runs as a script.
PAYLOADS = (
    "--><!--<script>window.__x=1</script>",  # lists show this text last, because it hides the rest of the page
    "<script>window.__x=1</script>",
    "<img src=x onerror=window.__x=1>",
    '"><svg onload=window.__x=1>',
    "' autofocus onfocus='window.__x=1",
    '" autofocus onfocus="window.__x=1',
    "</title></textarea></select></script><script>window.__x=1</script>",
    "<iframe srcdoc='<script>parent.__x=1</script>'></iframe>",
    "<style>@import 'x'</style><base href=//evil.test>",
    "<form action=//evil.test><button autofocus>",
    SCRIPT_LINK,
    DATA_LINK,
    "{{ 7 * 7 }}{% raw %}${7 * 7}",
    "&lt;script&gt;window.__x=1&lt;/script&gt;",
    "\u2028window.__x=1\u2029\u202e<\u0000b>",
)
_FRAGMENTS = (
    *PAYLOADS, "<", ">", '"', "'", "`", "=", "&", "/", "\\", "\0", "\n", " ", "x", "<!--", "-->", "<![CDATA[", "]]>",
    "</p>", "</a>", "</textarea>", "</option>", "<svg>", "<math>", "<template>", "{{", "}}", "{%", "%}", "&#60;",
    "&lt;", "%3C", "\\u003c", "javascript:", "onerror=window.__x=1 ",
    "onfocus=window.__x=1 autofocus ", "style=color:red ",
)  # fmt: skip
ALL = " ".join(reversed(PAYLOADS))
LONG = "long" * 75
_WEBHOOK: dict[str, Any] = {"url": "https://hooks.test/x", "events": ["lead_captured"]}
_TYPES = (
    "text", "message", "html", "choice", "buttons", "card", "cardV2", "carousel", "carouselV2", "visual", "image",
    "video", "audio", "file", "iFrame", "link", "debug", "goodbye", "no-reply", "custom_action", ALL,
)  # fmt: skip


def fill(run: Run) -> None:
    """Create an agent, two organisations with one client each, and conversations, leads and counts."""
    ask(run, "POST", "/v2/agents/support", {"title": f"{ALL} {LONG}", "description": ALL})
    ask(run, "PATCH", "/v3/agents/support", {"agent": _agent()})
    ask(run, "POST", "/v3/agents/support/tools", {"tool": _tool()})
    webhook = ask(run, "POST", "/v3/webhooks", {"webhook": {**_WEBHOOK, "description": f"{ALL} {LONG}"}})["data"]
    ask(run, "POST", f"/v3/webhooks/{webhook['id']}/test")
    ask(run, "POST", "/v3/tokens", {"token": {"name": ALL[:200]}})
    for org_id, email, layout in (("acme", EMAIL, "vertical"), ("top", EMAIL_AT_THE_TOP, "horizontal")):
        organisation = {"name": f"{LONG} {ALL}", "widgetIDs": ["support"], "dashboardLayout": layout}
        settings = {"preferredLanguage": "nl", "squarePhotoURL": ALL, "canSelfEdit": True}
        ask(run, "POST", f"/v2/orgs/{org_id}", {**organisation, **settings})
        client = {"orgId": org_id, "name": ALL, "email": email, "dashboardPassword": PASSWORD, "isOrgAdmin": True}
        ask(run, "POST", f"/v2/clients/{org_id}", client)
    converse(run, "all", _metadata(f"{ALL} {LONG}"), _messages())
    for place, payload in enumerate(PAYLOADS):
        converse(run, f"one-{place}", _metadata(payload), [{"item": {"text": payload}}])
        lead = dict.fromkeys(("name", "email", "phone"), payload)
        ask(run, "POST", "/v3/leads", {"lead": {"agentId": "support", **lead}})
    count(run, PAYLOADS[2], 123_456_789)


def refill(run: Run, chance: Random) -> None:
    """Replace the records' texts with random texts."""

    def text() -> str:
        return "".join(chance.choices(_FRAGMENTS, k=chance.randint(1, 8)))

    agent = {"title": text(), "description": text(), "vg_systemPrompt": text(), "vg_initMessages": [text(), text()]}
    ask(run, "PATCH", "/v3/agents/support", {"agent": {**agent, "nodes": [{"id": "start", "name": text()}]}})
    ask(run, "POST", "/v2/orgs/acme", {"name": text(), "squarePhotoURL": text()})
    ask(run, "POST", "/v2/clients/acme", {"name": text()})
    metadata = {"state": "requested_chat", "tags": [text()]} | {one: text() for one in ("userName", "userEmail")}
    items: list[Any] = [
        {"payload": {one: text() for one in ("message", "title", "url", "image")}, "sender": text()} for _ in range(50)
    ]
    items += [{"text": text(), "choices": [{"name": text()}]} for _ in range(50)]
    converse(run, "one-1", metadata, [{"item": item, "type": chance.choice(_TYPES)} for item in items])
    for _ in range(10):
        lead = {one: text() for one in ("name", "email", "phone")}
        ask(run, "POST", "/v3/leads", {"lead": {"agentId": "support", **lead}})


def _agent() -> dict[str, Any]:
    """Return hostile agent members. Some have form fields; the others appear in the JSON."""
    texts = dict.fromkeys(("vg_systemPrompt", "vg_defaultModel", "chatEndMessage", "lang", "theme"), f"{ALL} {LONG}")
    node = {"id": "start", "name": ALL, "instructions": ALL}
    return {**texts, "vg_initMessages": [*PAYLOADS, LONG], "convoTags": [ALL], "nodes": [node], "tabs": [{ALL: ALL}]}


def _tool() -> dict[str, Any]:
    fields = [{"key": ALL, "in": "query"}]
    return {"name": f"{ALL} {LONG}", "description": ALL, "serverUrl": ALL, "method": ALL, "fields": fields}


def _metadata(text: str) -> dict[str, Any]:
    names = ("userID", "userName", "userEmail", "userImage", "userPhone", "userBrowser", "userProfilePic")
    return {**dict.fromkeys(names, text), "userPlatform": text, "tags": [text, text], "state": "requested_chat"}


def _messages() -> list[Any]:
    """Return messages of every type with hostile values in every member, and malformed messages."""
    card = {"title": ALL, "description": {"text": ALL}, "imageUrl": SCRIPT_LINK, "buttons": [_button()]}
    payloads: list[Any] = [
        {"message": ALL, "text": ALL, "label": ALL, "url": SCRIPT_LINK, "image": DATA_LINK, **card},
        {**card, "description": ALL, "choices": [_button()]},
        {"cards": [card], "layout": ALL, "src": SCRIPT_LINK, "html": ALL},
        {"url": f"https://acme.test/{ALL}", "image": f'https://acme.test/"{PAYLOADS[4]}', "choices": [1, None, ALL]},
        {"title": 1, "description": [ALL], "image": {"a": ALL}, "buttons": {"a": ALL}, "url": [SCRIPT_LINK]},
        [ALL],
        ALL,
    ]
    return [
        {"from": ("human", "bot")[place % 2], "type": type_, "item": {"payload": payload, "sender": ALL, ALL: ALL}}
        for type_ in _TYPES
        for place, payload in enumerate(payloads)
    ][-100:]


def _button() -> dict[str, Any]:
    return {"name": ALL, "label": ALL, "request": {"type": ALL, "payload": {"label": ALL, "url": SCRIPT_LINK}}}
