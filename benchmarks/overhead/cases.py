"""The measured requests as gateway events, and their records."""

import json
import random
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

AGENT = "support"
LONG, FURTHER = 100, 300
SMALL = 4
_PAGE = 20
_NODES = 2
_DIFFERENT_IN_V2 = ("SECRET_API_KEY", "customThemeJSONString", "UIhandoffTitle", "UIhandoffSubtitle")
CONVERSATIONS = 2 * _PAGE
# Marks of members that the service sets, and of those that name a record of a workspace.
_OMITTED = {"readOnly", "x-own-id"}
_VOCABULARY = (
    "the a to of and is your for it order delivery please thank you can help with account we I my have not was this "
    "that when where tomorrow address refund invoice number email phone card change cancel size colour Tuesday ready"
)
_WORDS = _VOCABULARY.split()


class Case(NamedTuple):
    """A request: name, route, path values and JSON body."""

    name: str
    method: str
    resource: str
    values: dict[str, str]
    body: Any = None

    def event(self, token: str) -> str:
        """Return the gateway's event as the JSON text that a function's runtime receives."""
        path = self.resource.format(**self.values)
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Host": "abc123.execute-api.eu-west-1.amazonaws.com",
            "User-Agent": "python-requests/2.32.5",
            "X-Amzn-Trace-Id": "Root=1-6920b6c0-1f2e3d4c5b6a798812345678",
            "X-Forwarded-For": "203.0.113.7",
            "X-Forwarded-Port": "443",
            "X-Forwarded-Proto": "https",
        }
        context = {
            "accountId": "123456789012",
            "apiId": "abc123",
            "domainName": "abc123.execute-api.eu-west-1.amazonaws.com",
            "domainPrefix": "abc123",
            "extendedRequestId": "UXzjfGQXDoEEL9w=",
            "httpMethod": self.method,
            "identity": {"sourceIp": "203.0.113.7", "userAgent": "python-requests/2.32.5"},
            "path": f"/api{path}",
            "protocol": "HTTP/1.1",
            "requestId": "5d2c1f0e-3b4a-4c5d-8e6f-7a8b9c0d1e2f",
            "requestTime": "21/Nov/2026:19:00:00 +0000",
            "requestTimeEpoch": 1_795_287_600_000,
            "resourceId": "a1b2c3",
            "resourcePath": self.resource,
            "stage": "api",
        }
        return json.dumps(
            {
                "resource": self.resource,
                "path": path,
                "httpMethod": self.method,
                "headers": headers,
                "multiValueHeaders": {name: [value] for name, value in headers.items()},
                "queryStringParameters": None,
                "multiValueQueryStringParameters": None,
                "pathParameters": self.values,
                "stageVariables": None,
                "requestContext": context,
                "body": None if self.body is None else json.dumps(self.body),
                "isBase64Encoded": False,
            }
        )


def cases(longest: int) -> list[Case]:
    """Return the cases: an agent, a page, and states of up to `longest` messages."""
    state = "/agents/{agent_id}/interact/{user_id}/state"
    return [
        Case("agent read", "GET", "/v3/agents/{agent_id}", {"agent_id": AGENT}),
        Case("list page", "GET", "/v2/agents/{agent_id}/convos", {"agent_id": AGENT}),
        *(
            Case(name, "POST", state, {"agent_id": AGENT, "user_id": user(length)}, {"turns": turns(length)})
            for name, length in (("small state", SMALL), ("state of 100", LONG), ("state of 300", FURTHER))
            if length <= longest
        ),
    ]


def user(length: int) -> str:
    """Return the user id of the conversation with `length` messages."""
    return f"user-{length}"


def turns(length: int) -> list[Any]:
    """Return a transcript with ids: one message each of the user and the agent, in turn."""
    chance = random.Random(length)
    made = []
    for place in range(length):
        sender = ("human", "assistant")[place % 2]
        text = " ".join(chance.choices(_WORDS, k=chance.randint(4, 50)))
        message = {
            "mid": f"{chance.getrandbits(72):018x}",
            "from": sender,
            "type": "text",
            "item": {"type": "text", "payload": {"message": text}},
            "ts": 1_795_287_000 + 7 * place,
        }
        made.append({"from": sender, "messages": [message], "ts": message["ts"]})
    return made


def agent() -> dict[str, Any]:
    """Return an agent with every member of the record (§2.4), as a dashboard saves it: 12 KB of JSON.

    It lacks the members that the service sets, those that differ between v2 and v3, and `retention`, which peers lack.
    """
    from chalicelib.agents.record import AgentV3

    chance = random.Random(0)
    full: dict[str, Any] = _filled(AgentV3, chance)
    for name in (*_DIFFERENT_IN_V2, "retention"):
        full.pop(name)
    full["nodes"] = [{**full["nodes"][0], "id": f"node-{place}"} for place in range(_NODES)]
    prompt = " ".join(chance.choices(_WORDS, k=300))
    limits = {"maxInteractionsPerUserId": 5_000}
    return {**full, "agentPlatform": "vg", "vg_systemPrompt": prompt, "messagesLimit": 10_000, "limits": limits}


def _filled(kind: Any, chance: random.Random) -> Any:
    """Return a value of the type: every writable member of a model, one element of a list."""
    if get_origin(kind) is Annotated:
        return 3 if "StrictNumber" in str(kind) else _filled(get_args(kind)[0], chance)
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) is list:
        return [_filled(get_args(kind)[0], chance)]
    if get_args(kind):  # a member is its type, or null
        return _filled(get_args(kind)[0], chance)
    if hasattr(kind, "model_fields"):
        return {
            name: _filled(one.annotation, chance)
            for name, one in kind.model_fields.items()
            if not _OMITTED & {*(one.json_schema_extra or ())}
        }
    text = " ".join(chance.choices(_WORDS, k=4))
    return {str: text, bool: True, int: 3, dict: {"text": text}, Any: {"text": text}}[kind]


def metadata(place: int) -> dict[str, Any]:
    """Return the metadata of a listed conversation."""
    return {
        "userName": f"User {place}",
        "userEmail": f"user-{place}@example.com",
        "origin": "web-chat",
        "tags": ["order"],
    }


def normalize(answer: dict[str, Any]) -> tuple[int, Any]:
    """Return an answer's status and JSON without the time of the write; all stacks must agree on the rest."""
    body = json.loads(answer["body"])
    if "chatState" in body:
        body["chatState"].pop("lastModified")
    return answer["statusCode"], body
