"""What cannot be right gets an error that names the member and the rule, and changes nothing.

Held for every route that takes a body, a path value or a query value, as the app registers them: a new route
is covered, and asks here for a right body and its wrong ones. The value that was sent is in no answer and in
no log line. What a member of a model takes and refuses is held by `contract/test_members.py`.
"""

import re
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, get_args

import pytest

from app import app
from chalicelib import storage
from chalicelib.credentials import store as credentials
from chalicelib.http import auth
from chalicelib.http.wire import IDENTIFIER
from chalicelib.leads.models import Channel
from chalicelib.webhooks.events import Type
from chalicelib.workspaces import store as workspaces
from tests.api import Answer, Api
from tests.builders import webhook_body
from tests.engine import shared_engine
from tests.evidence import logged, refused, stored
from tests.operations import BODIES, body_of
from tests.requests import counted, refused_by_the_engine
from tests.selection import each_value_once, one_of_each

READS = {"GetItem", "BatchGetItem", "Query"}
# Stands in what is sent; nobody but the sender may see it again.
CANARY = "canary-4f1c"
NUMBER = 918273645546372819


class Operation(NamedTuple):
    """A method of a route, as the app registers it."""

    method: str
    route: str
    body: Any
    query: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.method} {self.route}"

    @property
    def is_interaction(self) -> bool:
        return self.route.endswith("/state")


OPERATIONS = [
    Operation(method, route, entry.view_function.operation.body, entry.view_function.operation.query)
    for route, methods in app.routes.items()
    for method, entry in methods.items()
]
WITH_BODY = [operation for operation in OPERATIONS if operation.body is not None]
# An empty body means no member there.
BODY_IS_OPTIONAL = {"POST /agents/{agent_id}/interact/{user_id}/state", "POST /v3/workspace/key/rotate"}

TEXT, NUM, FLAG, LIST, OBJECT = (
    f"must be {kind}" for kind in ("a string", "a number", "a boolean", "an array", "an object")
)
UNKNOWN, MISSING = "is not a member of this object", "is required"


def one_of(kind: Any) -> str:
    """The rule of a member that takes the values of this `Literal`."""
    *values, last = (f"'{value}'" for value in get_args(kind))
    return f"must be {', '.join(values)} or {last}"


# URLs that no webhook may have, each with the rule that it breaks.
WRONG_URLS = {
    f"http://{CANARY}.test/": "must begin with https://",
    f"ftp://{CANARY}.test/": "must begin with https://",
    CANARY: "must begin with https://",
    f"//{CANARY}.test/": "must begin with https://",
    f"https://{CANARY}@example.com/": "must not have a user name or password",
    f"https://ann:{CANARY}@example.com/": "must not have a user name or password",
    f"https://example.com/#{CANARY}": "must not have a fragment",
    f"https:///{CANARY}": "must have a valid host",
    f"https://{CANARY}*/": "must have a valid host",
    f"https://[{CANARY}/": "must be a valid URL",
    f"https://example.com:0/{CANARY}": "must have a port from 1 to 65535",
    f"https://example.com:65536/{CANARY}": "must have a port from 1 to 65535",
    f"https://example.com/a {CANARY}": "must not have spaces, control characters or backslashes",
    f"https://example.com/\r\n{CANARY}": "must not have spaces, control characters or backslashes",
    f"https://example.com\\{CANARY}": "must not have spaces, control characters or backslashes",
    f"https://127.0.0.1/{CANARY}": "must have a public address",
    f"https://127.1/{CANARY}": "must have a public address",
    f"https://2130706433/{CANARY}": "must have a public address",
    f"https://169.254.169.254/{CANARY}": "must have a public address",
    f"https://10.0.0.1:8443/{CANARY}": "must have a public address",
    f"https://[::1]/{CANARY}": "must have a public address",
    f"https://[::ffff:10.0.0.1]/{CANARY}": "must have a public address",
    f"https://[fd00:ec2::254]/{CANARY}": "must have a public address",
    f"https://example.com/{CANARY * 200}": "must have at most 2048 characters",
    "": "must have at least 1 character",
}

# Wrong ones: (body, path of the member, rule). Each carries the canary, or the number, as its value.
WRONG: dict[str, list[tuple[Any, str, str]]] = {
    "POST /v2/agents/{agent_id}": [
        ({"title": NUMBER}, "title", TEXT),
        ({"vg_maxTokens": CANARY}, "vg_maxTokens", NUM),
        ({"smartInit": CANARY}, "smartInit", FLAG),
        ({"vg_initMessages": CANARY}, "vg_initMessages", LIST),
        ({"vg_initMessages": ["a", NUMBER]}, "vg_initMessages.1", TEXT),
        ({"agentPlatform": CANARY}, "agentPlatform", "must be 'vf' or 'vg'"),
        ({"customThemeJSONString": CANARY}, "customThemeJSONString", OBJECT),
        ({"customThemeJSONString": {"nineColorPallet": [[CANARY]]}}, "customThemeJSONString.nineColorPallet.0.0", NUM),
        ({"unknown": CANARY}, "unknown", UNKNOWN),
        ({"region": CANARY}, "region", UNKNOWN),
        ({"ID": CANARY}, "ID", UNKNOWN),
    ],
    "POST /v3/agents": [
        ({}, "agent", MISSING),
        ({"agent": None}, "agent", OBJECT),
        ({"agent": [CANARY]}, "agent", OBJECT),
        ({"agent": {}, "unknown": CANARY}, "unknown", UNKNOWN),
        ({"agent": {"unknown": CANARY}}, "agent.unknown", UNKNOWN),
        ({"agent": {"SECRET_API_KEY": NUMBER}}, "agent.SECRET_API_KEY", TEXT),
    ],
    "PATCH /v3/agents/{agent_id}": [
        ({}, "agent", MISSING),
        ({"title": CANARY, "agent": {}}, "title", UNKNOWN),
        ({"agent": {"ui": CANARY}}, "agent.ui", OBJECT),
        ({"agent": {"ui": {"voice": {"unknown": CANARY}}}}, "agent.ui.voice.unknown", UNKNOWN),
        ({"agent": {"nodes": {"id": CANARY}}}, "agent.nodes", LIST),
        ({"agent": {"nodes": [CANARY]}}, "agent.nodes.0", OBJECT),
        ({"agent": {"nodes": [{"id": "n"}, {"name": CANARY}]}}, "agent.nodes.1.id", f"{MISSING}; nodes merge by id"),
        ({"agent": {"nodes": [{"id": CANARY}, {"id": CANARY}]}}, "agent.nodes.1.id", "is duplicated"),
        ({"agent": {"UIhandoffdescription": CANARY}}, "agent.UIhandoffdescription", UNKNOWN),
        (
            {"agent": {"voiceConfig": {"speechGen": {"internal": {"audioConfig": {"channels": CANARY}}}}}},
            "agent.voiceConfig.speechGen.internal.audioConfig.channels",
            NUM,
        ),
        ({"agent": {"tools": [{"fields": [{"in": NUMBER}]}]}}, "agent.tools.0.fields.0.in", TEXT),
        ({"agent": {"customThemeJSONString": {"primary": CANARY}}}, "agent.customThemeJSONString", TEXT),
    ],
    "POST /v3/agents/{agent_id}/tools": [
        ({}, "tool", MISSING),
        ({"tool": CANARY}, "tool", OBJECT),
        ({"tool": {"description": CANARY}}, "tool.name", MISSING),
        ({"tool": {"name": None}}, "tool.name", TEXT),
        ({"tool": {"name": "x", "unknown": CANARY}}, "tool.unknown", UNKNOWN),
        ({"tool": {"name": "x", "fields": [{"required": CANARY}]}}, "tool.fields.0.required", FLAG),
        ({"tool": {"name": "x", "fields": {"key": CANARY}}}, "tool.fields", LIST),
    ],
    "PATCH /v3/tools/{tool_id}": [
        ({}, "tool", MISSING),
        ({"tool": [CANARY]}, "tool", OBJECT),
        ({"tool": {"name": NUMBER}}, "tool.name", TEXT),
        ({"tool": {"disabled": CANARY}}, "tool.disabled", FLAG),
        ({"tool": {"channels": CANARY}}, "tool.channels", LIST),
        ({"tool": {"fields": [{"unknown": CANARY}]}}, "tool.fields.0.unknown", UNKNOWN),
    ],
    "POST /v3/agents/{agent_id}/convos": [
        ({}, "conversation", MISSING),
        ({"conversation": CANARY}, "conversation", OBJECT),
        ({"conversation": {"title": NUMBER}}, "conversation.title", TEXT),
        ({"conversation": {"ts": CANARY}}, "conversation.ts", NUM),
        ({"conversation": {"unknown": CANARY}}, "conversation.unknown", UNKNOWN),
    ],
    "POST /agents/{agent_id}/interact/{user_id}/state": [
        ({"unknown": CANARY}, "unknown", UNKNOWN),
        ({"turns": CANARY}, "turns", LIST),
        ({"turns": [CANARY]}, "turns.0", OBJECT),
        ({"turns": [{"messages": {"type": CANARY}}]}, "turns.0.messages", LIST),
        ({"turns": [{"messages": [{"item": CANARY}]}]}, "turns.0.messages.0.item", OBJECT),
        ({"turns": [{"messages": [{"mid": NUMBER}]}]}, "turns.0.messages.0.mid", TEXT),
        ({"turns": [{"messages": [{"ts": CANARY}]}]}, "turns.0.messages.0.ts", NUM),
        ({"turns": [{"ts": CANARY}]}, "turns.0.ts", NUM),
        ({"delete": CANARY}, "delete", OBJECT),
        ({"delete": {}}, "delete.mids", MISSING),
        ({"delete": {"mids": CANARY}}, "delete.mids", LIST),
        ({"delete": {"mids": [NUMBER]}}, "delete.mids.0", TEXT),
        ({"delete": {"mids": [], "unknown": CANARY}}, "delete.unknown", UNKNOWN),
        ({"metadata": CANARY}, "metadata", OBJECT),
        ({"metadata": {"unknown": CANARY}}, "metadata.unknown", UNKNOWN),
        ({"metadata": {"userName": NUMBER}}, "metadata.userName", TEXT),
        (
            {"metadata": {"origin": CANARY}},
            "metadata.origin",
            "must be 'web-chat', 'chatapp', 'community' or 'gb-chat'",
        ),
    ],
    "POST /v2/agents/{agent_id}/analytics/{convo_id}": [
        ({"userID": CANARY}, "record", MISSING),
        ({"record": CANARY}, "record", "must be 'load' or 'convo'"),
        ({"record": "load", "ts": CANARY}, "ts", NUM),
        ({"record": "load", "browser": NUMBER}, "browser", TEXT),
        ({"record": "load", "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /v2/clients/{client_id}": [
        ({"email": NUMBER}, "email", TEXT),
        ({"dashboardPassword": [CANARY]}, "dashboardPassword", TEXT),
        ({"dashboardPassword": NUMBER}, "dashboardPassword", TEXT),
        ({"isOrgAdmin": CANARY}, "isOrgAdmin", FLAG),
        ({"canAccess": CANARY}, "canAccess", LIST),
        ({"notificationsSettings": CANARY}, "notificationsSettings", OBJECT),
        ({"notificationsSettings": {"unknown": CANARY}}, "notificationsSettings.unknown", UNKNOWN),
        ({"password": CANARY}, "password", UNKNOWN),
    ],
    "POST /v2/orgs/{org_id}": [
        ({"squarePhotoURL": CANARY}, "name", MISSING),
        ({"name": NUMBER}, "name", TEXT),
        ({"name": "x", "preferredLanguage": CANARY}, "preferredLanguage", "must match pattern '^[a-z]{2}$'"),
        ({"name": "x", "dashboardLayout": CANARY}, "dashboardLayout", "must be 'vertical' or 'horizontal'"),
        ({"name": "x", "lastModified": CANARY}, "lastModified", NUM),
        ({"name": "x", "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /v3/tokens": [
        ({}, "token", MISSING),
        ({"token": CANARY}, "token", OBJECT),
        ({"token": {"readOnly": True}}, "token.name", MISSING),
        ({"token": {"name": ""}}, "token.name", "must have at least 1 character"),
        ({"token": {"name": CANARY * 20}}, "token.name", "must have at most 200 characters"),
        ({"token": {"name": "x", "readOnly": CANARY}}, "token.readOnly", FLAG),
        (
            {"token": {"name": "x", "expiresInSeconds": 0}},
            "token.expiresInSeconds",
            "must be greater than or equal to 1",
        ),
        (
            {"token": {"name": "x", "expiresInSeconds": NUMBER}},
            "token.expiresInSeconds",
            "must be less than or equal to 31536000",
        ),
        ({"token": {"name": "x", "expiresInSeconds": 1.5}}, "token.expiresInSeconds", "must be a valid integer"),
        ({"token": {"name": "x", "unknown": CANARY}}, "token.unknown", UNKNOWN),
    ],
    "POST /v3/workspace/key/rotate": [
        ({"overlapSeconds": CANARY}, "overlapSeconds", "must be a valid integer"),
        ({"overlapSeconds": -1}, "overlapSeconds", "must be greater than or equal to 0"),
        ({"overlapSeconds": NUMBER}, "overlapSeconds", "must be less than or equal to 31536000"),
        ({"unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /v3/leads": [
        ({}, "lead", MISSING),
        ({"lead": CANARY}, "lead", OBJECT),
        ({"lead": {"name": CANARY}}, "lead.agentId", MISSING),
        ({"lead": {"agentId": None, "name": CANARY}}, "lead.agentId", TEXT),
        ({"lead": {"agentId": NUMBER}}, "lead.agentId", TEXT),
        ({"lead": {"agentId": f"{CANARY}#"}}, "lead.agentId", f"must match pattern '^{IDENTIFIER.pattern}$'"),
        ({"lead": {"agentId": f"{CANARY}\n"}}, "lead.agentId", f"must match pattern '^{IDENTIFIER.pattern}$'"),
        ({"lead": {"agentId": CANARY * 12}}, "lead.agentId", f"must match pattern '^{IDENTIFIER.pattern}$'"),
        ({"lead": {"agentId": "", "name": CANARY}}, "lead.agentId", f"must match pattern '^{IDENTIFIER.pattern}$'"),
        ({"lead": {"agentId": "support", "name": NUMBER}}, "lead.name", TEXT),
        ({"lead": {"agentId": "support", "email": [CANARY]}}, "lead.email", TEXT),
        ({"lead": {"agentId": "support", "phone": NUMBER}}, "lead.phone", TEXT),
        ({"lead": {"agentId": "support", "channel": CANARY}}, "lead.channel", one_of(Channel)),
        ({"lead": {"agentId": "support", "unknown": CANARY}}, "lead.unknown", UNKNOWN),
        ({"lead": {"agentId": "support"}, "unknown": CANARY}, "unknown", UNKNOWN),
    ],
    "POST /v3/webhooks": [
        ({}, "webhook", MISSING),
        ({"webhook": [CANARY]}, "webhook", OBJECT),
        ({"webhook": {"events": ["lead_captured"], "description": CANARY}}, "webhook.url", MISSING),
        ({"webhook": {"url": f"https://{CANARY}.test"}}, "webhook.events", MISSING),
        (webhook_body(url=None), "webhook.url", TEXT),
        (webhook_body(url=NUMBER), "webhook.url", TEXT),
        (webhook_body(events=None), "webhook.events", LIST),
        (webhook_body(events=CANARY), "webhook.events", LIST),
        (webhook_body(events=[]), "webhook.events", "must have at least 1 item"),
        (webhook_body(events=["lead_captured", CANARY]), "webhook.events.1", one_of(Type)),
        (webhook_body(events=["*"]), "webhook.events.0", one_of(Type)),
        (webhook_body(enabled=CANARY), "webhook.enabled", FLAG),
        (webhook_body(enabled=None), "webhook.enabled", FLAG),
        (webhook_body(description=NUMBER), "webhook.description", TEXT),
        (webhook_body(signingSecret=f"whsec_{CANARY}"), "webhook.signingSecret", UNKNOWN),
        (webhook_body(unknown=CANARY), "webhook.unknown", UNKNOWN),
        ({**webhook_body(), "unknown": CANARY}, "unknown", UNKNOWN),
        *((webhook_body(url=url), "webhook.url", rule) for url, rule in WRONG_URLS.items()),
    ],
    "PATCH /v3/webhooks/{webhook_id}": [
        ({}, "webhook", MISSING),
        ({"webhook": CANARY}, "webhook", OBJECT),
        ({"url": f"https://{CANARY}.test", "webhook": {}}, "url", UNKNOWN),
        ({"webhook": {"url": None}}, "webhook.url", TEXT),
        ({"webhook": {"events": None}}, "webhook.events", LIST),
        ({"webhook": {"events": []}}, "webhook.events", "must have at least 1 item"),
        ({"webhook": {"events": [CANARY]}}, "webhook.events.0", one_of(Type)),
        ({"webhook": {"enabled": None}}, "webhook.enabled", FLAG),
        ({"webhook": {"enabled": NUMBER}}, "webhook.enabled", FLAG),
        ({"webhook": {"description": [CANARY]}}, "webhook.description", TEXT),
        ({"webhook": {"signingSecret": f"whsec_{CANARY}"}}, "webhook.signingSecret", UNKNOWN),
        ({"webhook": {"unknown": CANARY}}, "webhook.unknown", UNKNOWN),
        *(({"webhook": {"url": url}}, "webhook.url", rule) for url, rule in WRONG_URLS.items()),
    ],
}

# Every object refuses an unknown member.
WRONG |= {
    operation.name: [({"unknown": CANARY}, "unknown", UNKNOWN)]
    for operation in WITH_BODY
    if operation.name not in WRONG
}

# Bodies that no route takes: bytes, and the path of the member where it is not the body itself.
MALFORMED: dict[str, tuple[bytes, str]] = {
    "not JSON": (CANARY.encode(), ""),
    "single quotes": (b"{'title': 'canary-4f1c'}", ""),
    "cut off": (b'{"title": "canary-4f1c"', ""),
    "more than JSON": (b'{} "canary-4f1c"', ""),
    "a comma too many": (b'{"title": "canary-4f1c",}', ""),
    "a comment": (b"{} // canary-4f1c", ""),
    "an array": (b'["canary-4f1c"]', ""),
    "text": (b'"canary-4f1c"', ""),
    "a number": (b"918273645546372819", ""),
    "true": (b"true", ""),
    "null": (b"null", ""),
    "NaN": (b"NaN", ""),
    "infinity": (b"-1e999", ""),
    "NaN in a member": (b'{"a": "canary-4f1c", "title": NaN}', "title"),
    "Infinity in a member": (b'{"title": {"a": [0, Infinity]}}', "title.a.1"),
    "-Infinity in a member": (b'{"title": -Infinity}', "title"),
    "1e999 in a member": (b'{"title": 1e999}', "title"),
    "-1e999 in a member": (b'{"title": -1E+999}', "title"),
    "1e999 behind an id that looks like a number": (b'{"description": "1e9", "title": 1e999}', "title"),
    "300 digits and an exponent": (b'{"title": ' + b"9" * 305 + b"e9}", "title"),
    "100,000 arrays": (b"[" * 100_000 + b"]" * 100_000, ""),
    "100,000 objects": (b'{"title":' * 100_000 + b"1" + b"}" * 100_000, ""),
    "100,000 arrays in a member": (b'{"title": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", ""),
    "5,000 digits": (b'{"title": ' + b"9" * 5_000 + b"}", ""),
    "a high surrogate alone": (b'{"title": "canary-4f1c \\ud800"}', ""),
    "a low surrogate alone": (b'{"title": "canary-4f1c \\udc00"}', ""),
    "surrogates the wrong way round": (b'{"title": "canary-4f1c \\udc00\\ud800"}', ""),
    "a surrogate in a name": (b'{"\\ud800": "canary-4f1c"}', ""),
    "no UTF-8": (b'{"title": "canary-4f1c \xff"}', ""),
    "UTF-8 cut off": (b'{"title": "canary-4f1c \xe2\x82"}', ""),
    "UTF-8 longer than needed": (b'{"title": "canary-4f1c \xc0\xaf"}', ""),
    "a surrogate in UTF-8": (b'{"title": "canary-4f1c \xed\xa0\x80"}', ""),
    "UTF-16": ('{"title": "canary-4f1c"}'.encode("utf-16"), ""),
    "a byte order mark": (b'\xef\xbb\xbf{"title": "canary-4f1c"}', ""),
    "a control character": (b'{"title": "canary-4f1c \x00"}', ""),
}

CONTENT_TYPES: dict[str, dict[str, str]] = {
    "missing": {},
    "empty": {"Content-Type": ""},
    "text": {"Content-Type": "text/plain"},
    "a form": {"Content-Type": "application/x-www-form-urlencoded"},
    "nearly": {"Content-Type": "application/jsonp"},
    "another JSON": {"Content-Type": "application/vnd.api+json"},
    "anything": {"Content-Type": "*/*"},
    "a list": {"Content-Type": "text/plain, application/json"},
}

# Percent-encoded, as they stand in a path.
NO_IDENTIFIERS = {
    "encoded twice": "a%2540x.test",
    "no UTF-8": "%ff",
    "UTF-8 cut off": "a%e2%82",
    "a surrogate": "%ed%a0%80",
    "a byte that is no hexadecimal": "a%zz",
    "a percent sign alone": "a%",
    "129 characters": "a" * 129,
    "a slash": "a%2Fb",
    "a number sign": "a%23b",
    "a question mark": "a%3Fb",
    "a blank": "%20",
    "blanks around": "%20a%20",
    "a zero byte": "a%00",
    "a line break": "a%0A",
    "a letter beyond ASCII": "caf%C3%A9",
    "invisible": "%E2%80%8B",
    "quotes": "%22a%22",
    "a backslash": "a%5Cb",
}

STATE = "/agents/support/interact/user-1/state"
PAGES = ["0", "-1", "x", "1.5", "1e1", "", "%2B1", "%201", "01", "1%0A", "1,2", "NaN", "1" * 10, "%D9%A3", "1&page=2"]
STATUSES = ["", "x", "Failed", "failed,pending", "failed ", "0", "null", "failed&status=failed"]
LIMITS = ["0", "-1", "101", "x", "1.5", "1e1", "", "05", "10000000000", "5&limit=5"]


def cursor(position: str) -> str:
    return urlsafe_b64encode(position.encode()).decode().rstrip("=")


CURSORS = {
    "no base64": "!!!",
    "base64 with something between": "YQ!!",
    "an impossible length": "a",
    "padding": cursor("1") + "==",
    "padding alone": "=",
    "no UTF-8": "_w",
    "no identifier": cursor("a#b"),
    "a letter beyond ASCII": cursor("é"),
    "a position too long": cursor("9" * 129),
    "far too long": cursor("9" * 5_000),
    "twice": f"{cursor('1')}&cursor={cursor('1')}",
}


class Service(NamedTuple):
    """The API with one of each resource in it, and the path values that lead there."""

    api: Api
    values: dict[str, str]

    def path(self, route: str, **values: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda name: {**self.values, **values}.get(name[1], "x1"), route)

    def send(self, operation: Operation, body: Any, headers: dict[str, str] | None = None, **values: str) -> Answer:
        path = self.path(operation.route, **values)
        if headers is None:
            return self.api.call(operation.method, path, body)
        return self.api.call(operation.method, path, body, {**self.api._headers, **headers})


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """One for all: nothing that is sent here changes anything. Every right body has passed."""
    with shared_engine():
        api = Api(workspaces.create("Test").workspace_key)
        names = {"agent_id": "support", "user_id": "user-1", "convo_id": "user-1", "client_id": "ann", "org_id": "acme"}
        service = Service(api, names)
        api.post("/v2/agents/support", {})
        names["tool_id"] = api.post("/v3/agents/support/tools", {"tool": {"name": "x"}}).data["id"]
        made = api.post("/v3/webhooks", body_of("POST /v3/webhooks")).data["id"]
        names["webhook_id"], names["lead_id"] = made, api.post("/v3/leads", body_of("POST /v3/leads")).data["id"]
        names["delivery_id"] = api.post(f"/v3/webhooks/{made}/test").data["id"]
        names["token_id"] = api.post("/v3/tokens", {"token": {"name": "x"}}).data["id"]
        for operation in WITH_BODY:
            if operation.name in BODIES:
                assert service.send(operation, body_of(operation.name)).status == 200, operation.name
        yield service


@contextmanager
def harmless() -> Iterator[None]:
    """Whatever the block does, nothing is written, and no log line has what was sent."""
    with counted() as requests, logged() as log:
        yield
    assert requests.keys() <= READS
    assert not [line for line in log.lines if CANARY in line or str(NUMBER) in line]


def refuses(answer: Answer, operation: Operation, *paths: str, status: int = 400, code: str | None = None) -> str:
    """Assert the canonical error, without a trace of what was sent; returns its message."""
    message = refused(answer, status, *paths, interaction=operation.is_interaction, code=code)
    shown = answer.text + str(answer.headers)
    assert CANARY not in shown
    assert str(NUMBER) not in shown
    return message


def every(operations: list[Operation]) -> Any:
    return pytest.mark.parametrize("operation", operations, ids=[operation.name for operation in operations])


# Bodies


def test_every_route_that_takes_a_body_has_a_right_one_and_wrong_ones_here() -> None:
    """A new route has its valid body in `contract/routes.json`."""
    assert {operation.name for operation in WITH_BODY} == BODIES.keys() == WRONG.keys()
    for name, wrong in WRONG.items():
        assert UNKNOWN in {rule for _, _, rule in wrong}, name


@each_value_once
@pytest.mark.parametrize(("raw", "path"), MALFORMED.values(), ids=MALFORMED.keys())
@every(WITH_BODY)
def test_a_body_that_is_no_json_object_is_refused(
    operation: Operation, raw: bytes, path: str, service: Service
) -> None:
    with harmless():
        answer = service.send(operation, raw)
    message = refuses(answer, operation, path)
    assert re.match(r"(The body|title[.a1]*) (is not valid JSON: .+|must be (an object|a finite number))\.", message)


@one_of_each(lambda raw: raw)
@pytest.mark.parametrize("raw", [b"", b" \r\n\t"], ids=["empty", "blank"])
@every(WITH_BODY)
def test_an_empty_body_is_refused_where_a_body_is_needed(operation: Operation, raw: bytes, service: Service) -> None:
    if not raw and operation.name in BODY_IS_OPTIONAL:
        pytest.skip("means no member here")
    with harmless():
        answer = service.send(operation, raw)
    assert refuses(answer, operation) == "The body is empty; send a JSON object."


@one_of_each(lambda rule: rule)
@pytest.mark.parametrize(
    ("operation", "body", "path", "rule"),
    [
        pytest.param(operation, body, path, rule, id=f"{operation.name} {path} {rule}")
        for operation in WITH_BODY
        for body, path, rule in WRONG.get(operation.name, [])
    ],
)
def test_the_error_names_the_member_and_the_rule_and_never_the_value(
    operation: Operation, body: Any, path: str, rule: str, service: Service
) -> None:
    with harmless():
        answer = service.send(operation, body)
    assert refuses(answer, operation, path) == f"{path} {rule}."


def test_a_message_id_that_stands_there_twice_is_refused_where_the_agent_is_known(service: Service) -> None:
    with harmless():
        answer = service.api.post(STATE, {"turns": [{"messages": [{"mid": CANARY}, {"mid": CANARY}]}]})
    refused(answer, 400, "turns.0.messages.1.mid", interaction=True, platform="vg")
    assert CANARY not in answer.text


@one_of_each(lambda operation: operation.method)
@every(WITH_BODY)
def test_after_all_of_it_every_table_is_byte_for_byte_as_it_was(operation: Operation, service: Service) -> None:
    before = stored()
    for raw, _ in MALFORMED.values():
        service.send(operation, raw)
    for body, _, _ in WRONG[operation.name]:
        service.send(operation, body)
    for headers in CONTENT_TYPES.values():
        service.send(operation, body_of(operation.name), headers)
    for name in re.findall(r"\{(\w+)\}", operation.route):
        for value in NO_IDENTIFIERS.values():
            service.send(operation, body_of(operation.name), **{name: value})
    assert stored() == before


@one_of_each(lambda operation: operation.method)
@every(WITH_BODY)
def test_every_broken_rule_is_an_issue_up_to_twenty(operation: Operation, service: Service) -> None:
    with harmless():
        several = service.send(operation, {f"unknown{number}": CANARY for number in range(3)})
        many = service.send(operation, {f"unknown{number}": CANARY for number in range(100)})
    unknown = [issue["path"] for issue in several.json["issues"] if issue["message"] == UNKNOWN]
    assert unknown == ["unknown0", "unknown1", "unknown2"]
    assert len(many.json["issues"]) == 20


@one_of_each(lambda operation: operation.method)
@every(WITH_BODY)
def test_a_member_s_name_is_shown_shortened(operation: Operation, service: Service) -> None:
    with harmless():
        answer = service.send(operation, {"n" * 100_000: CANARY})
    assert "n" * 64 in [issue["path"] for issue in answer.json["issues"]]
    assert len(answer.text) < 1_000


@one_of_each(lambda headers: tuple(headers.items()))
@pytest.mark.parametrize("headers", CONTENT_TYPES.values(), ids=CONTENT_TYPES.keys())
@every(WITH_BODY)
def test_a_body_of_another_content_type_is_refused(
    operation: Operation, headers: dict[str, str], service: Service
) -> None:
    with harmless():
        answer = service.send(operation, b'{"title": "canary-4f1c"}', headers)
    assert refuses(answer, operation, status=415) == (
        "Send the body as JSON with the header Content-Type: application/json."
    )


@one_of_each(lambda content_type: content_type)
@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"]
)
@every(WITH_BODY)
def test_a_body_of_the_right_content_type_is_read(operation: Operation, content_type: str, service: Service) -> None:
    with harmless():
        answer = service.send(operation, {"unknown": CANARY}, {"Content-Type": content_type})
    assert answer.status == 400
    assert "unknown" in [issue["path"] for issue in answer.json["issues"]]


# Path values

WITH_PATH_VALUE = [
    pytest.param(operation, name, id=f"{operation.name} {name}")
    for operation in OPERATIONS
    for name in re.findall(r"\{(\w+)\}", operation.route)
]


@one_of_each(lambda value: value)
@pytest.mark.parametrize("value", NO_IDENTIFIERS.values(), ids=NO_IDENTIFIERS.keys())
@pytest.mark.parametrize(("operation", "name"), WITH_PATH_VALUE)
def test_a_path_value_that_is_no_identifier_is_refused(
    operation: Operation, name: str, value: str, service: Service
) -> None:
    with harmless():
        answer = service.send(operation, body_of(operation.name), **{name: value})
    assert refuses(answer, operation, name) == (
        f"{name} must be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : + = , | -."
    )


@one_of_each(lambda name: name)
@pytest.mark.parametrize(("operation", "name"), WITH_PATH_VALUE)
def test_a_path_value_may_have_128_characters_of_every_kind(operation: Operation, name: str, service: Service) -> None:
    value = "%61.%5F~%40:+=,%7C-" + "9" * 117
    answer = service.send(operation, {"unknown": CANARY} if operation.body else None, **{name: value})
    if operation.body:
        assert "unknown" in [issue["path"] for issue in answer.json["issues"]]
    else:
        refuses(answer, operation, status=404)


def test_a_path_value_is_decoded_once(service: Service) -> None:
    service.api.post("/v2/clients/ann%40x.test", {"name": "Ann"})
    assert service.api.get("/v2/clients/ann@x.test").data["ID"] == "ann@x.test"
    assert service.api.get("/v2/clients/%61nn%40x%2Etest").data["name"] == "Ann"


def test_a_plus_in_a_path_is_a_plus(service: Service) -> None:
    service.api.post("/v2/clients/a+b", {"name": "Plus"})
    assert service.api.get("/v2/clients/a%2Bb").data["ID"] == "a+b"


def test_the_longest_identifiers_fit_into_every_key(service: Service) -> None:
    agent, other = "a" * 128, "|" * 128
    assert service.api.post(f"/v2/agents/{agent}", {"title": "Long"}).status == 200
    turns = {"turns": [{"from": "human", "messages": [{}]}]}
    assert service.api.post(f"/agents/{agent}/interact/{other}/state", turns).status == 200
    assert service.api.post(f"/v2/agents/{agent}/analytics/{other}", {"record": "load"}).status == 200
    assert service.api.post(f"/v2/clients/{other}", {"email": "long@x.test"}).status == 200
    assert service.api.post(f"/v2/orgs/{other}", {"name": "Long"}).status == 200
    assert [one["ID"] for one in service.api.get(f"/v2/agents/{agent}/convos").data] == [other]


# Query values


def taking(name: str) -> list[Operation]:
    return [operation for operation in OPERATIONS if name in operation.query]


def test_every_query_value_is_covered_here() -> None:
    assert {name for operation in OPERATIONS for name in operation.query} == {"page", "limit", "cursor", "status"}


@one_of_each(lambda page: page.isascii())
@pytest.mark.parametrize("page", PAGES)
@every(taking("page"))
def test_a_page_that_is_no_whole_number_from_one_is_refused(operation: Operation, page: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?page={page}")
    rule = "must be given once" if "&" in page else "must be a whole number from 1 to 999999999"
    assert refuses(answer, operation, "page") == f"page {rule}."


@every(taking("page"))
def test_a_page_behind_the_last_one_is_empty(operation: Operation, service: Service) -> None:
    answer = service.api.get(f"{service.path(operation.route)}?page=999999999")
    assert (answer.data, "nextCursor" in answer.json) == ([], False)


@each_value_once
@pytest.mark.parametrize("limit", LIMITS)
@every(taking("limit"))
def test_a_limit_that_is_no_whole_number_from_one_to_a_hundred_is_refused(
    operation: Operation, limit: str, service: Service
) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?limit={limit}")
    rule = "must be given once" if "&" in limit else "must be a whole number from 1 to 100"
    assert refuses(answer, operation, "limit") == f"limit {rule}."


@one_of_each(lambda: None)
@pytest.mark.parametrize("status", STATUSES)
@every(taking("status"))
def test_a_status_that_no_delivery_has_is_refused(operation: Operation, status: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?status={status}")
    rule = "given once" if "&" in status else "one of pending, delivered, failed, unknown, expired"
    assert refuses(answer, operation, "status") == f"status must be {rule}."


@each_value_once
@pytest.mark.parametrize("value", CURSORS.values(), ids=CURSORS.keys())
@every(taking("cursor"))
def test_a_cursor_that_no_answer_has_had_is_refused(operation: Operation, value: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"{service.path(operation.route)}?cursor={value}")
    rule = "must be given once" if "&" in value else "must be the nextCursor of an earlier response"
    assert refuses(answer, operation, "cursor") == f"cursor {rule}."


@pytest.mark.parametrize("position", ["-1", "1.5", "x", "1000", "9" * 40, "9" * 128], ids=lambda text: text[:8])
def test_a_cursor_to_a_conversation_that_was_never_there_is_refused(position: str, service: Service) -> None:
    with harmless():
        answer = service.api.get(f"/v2/agents/support/convos?cursor={cursor(position)}")
    refused(answer, 400, "cursor")


@one_of_each(lambda: None)
@every(taking("cursor"))
def test_an_empty_cursor_is_the_beginning(operation: Operation, service: Service) -> None:
    path = service.path(operation.route)
    assert service.api.get(f"{path}?cursor=").data == service.api.get(path).data != []


# One shape for every error


INTERACTION = Operation("POST", "/agents/{agent_id}/interact/{user_id}/state", None, ())
PLAIN = Operation("GET", "/v3/agents/{agent_id}", None, ())


def test_without_a_credential(service: Service) -> None:
    for headers in ({}, {"Authorization": f"Bearer {CANARY}"}):
        answer = service.api.call("GET", "/v3/agents", None, headers)
        refuses(answer, PLAIN, status=401)
        assert answer.headers["www-authenticate"] == "Bearer"
        refuses(service.api.call("POST", STATE, {}, headers), INTERACTION, status=401)


def test_with_a_credential_that_does_not_open_the_route(service: Service) -> None:
    agent = Api(service.api.get("/v2/agents/support").json["SECRET_API_KEY"])
    refuses(agent.get("/v2/clients"), PLAIN, status=403)
    refuses(agent.post("/agents/another/interact/user-1/state", {}), INTERACTION, status=403)


def test_of_an_unknown_resource(service: Service) -> None:
    refuses(service.api.get(f"/v2/clients/{CANARY}"), PLAIN, status=404)
    refuses(service.api.post(f"/agents/{CANARY}/interact/user-1/state", {}), INTERACTION, status=404)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD"])
def test_of_a_method_that_a_route_does_not_have(method: str, service: Service) -> None:
    refuses(service.api.call(method, "/v2/clients"), PLAIN, status=405)
    refuses(service.api.call(method, STATE), INTERACTION, status=405)


def test_of_a_value_that_is_taken(service: Service) -> None:
    service.api.post("/v2/clients/first", {"email": f"{CANARY}@x.test"})
    before = stored()
    refuses(
        service.api.post("/v2/clients/second", {"email": f"{CANARY}@x.test"}), PLAIN, status=409, code="EMAIL_TAKEN"
    )
    assert stored() == before


def test_of_a_state_that_is_too_large_names_the_platform(service: Service) -> None:
    body = {"turns": [{"messages": [{"item": {"text": CANARY * 200_000}}]}]}
    with harmless():
        answer = service.api.post(STATE, body)
    assert refused(answer, 413, interaction=True, platform="vg") == "turns must be at most 2 MiB of JSON."


def test_of_a_limit_of_the_agent_names_the_platform(service: Service) -> None:
    service.api.patch("/v3/agents/support", {"agent": {"agentPlatform": "vf", "messagesLimit": 2}})
    try:
        with harmless():
            answer = service.api.post(STATE, {"turns": [{"messages": [{"mid": str(mid)} for mid in range(3)]}]})
        refused(answer, 429, interaction=True, platform="vf")
    finally:
        service.api.patch("/v3/agents/support", {"agent": {"agentPlatform": "vg", "messagesLimit": None}})


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("AccessDeniedException", 500),
        ("ValidationException", 500),
        ("ResourceNotFoundException", 503),
    ],
)
def test_of_an_engine_that_refuses(code: str, status: int, service: Service) -> None:
    with harmless(), refused_by_the_engine("GetItem", code), refused_by_the_engine("BatchGetItem", code):
        plain = service.api.post("/v2/clients/ann", {"dashboardPassword": CANARY})
        interaction = service.api.post(STATE, {"metadata": {"userName": CANARY}})
        auth.clear_cache()
        unknown_caller = service.api.get("/v3/agents")
    refuses(plain, PLAIN, status=status)
    refuses(interaction, INTERACTION, status=status)
    refuses(unknown_caller, PLAIN, status=status)
    assert {answer.headers.get("retry-after") for answer in (plain, interaction, unknown_caller)} == {
        "1" if status == 503 else None
    }


def test_of_a_fault_in_a_view_and_in_a_middleware_is_logged_with_its_traceback(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: Any, **__: Any) -> None:
        raise RuntimeError("a fault of ours")

    for module, name in ((storage, "query"), (credentials, "find")):
        auth.clear_cache()
        monkeypatch.setattr(module, name, fault)
        with logged() as log:
            answer = service.api.get("/v2/clients")
        message = "An internal error occurred; the request may or may not have taken effect."
        assert refuses(answer, PLAIN, status=500) == message
        assert "RuntimeError: a fault of ours" in log.text
        monkeypatch.undo()
