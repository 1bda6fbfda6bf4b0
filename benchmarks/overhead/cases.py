"""The requests that are measured, as a gateway hands them over, and the records that they are about."""

import json
import random
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

AGENT = "support"
LONG, FURTHER = 100, 300
SMALL = 4
_PAGE = 20
_NODES = 2
_OTHERWISE = ("SECRET_API_KEY", "customThemeJSONString", "UIhandoffTitle", "UIhandoffSubtitle")
CONVERSATIONS = 2 * _PAGE
_VOCABULARY = (
    "the a to of and is your for it order delivery please thank you can help with account we I my have not was this "
    "that when where tomorrow address refund invoice number email phone card change cancel size colour Tuesday ready"
)
_WORDS = _VOCABULARY.split()


class Case(NamedTuple):
    """A request: what it is called, where it goes, and the JSON that it brings."""

    name: str
    method: str
    resource: str
    values: dict[str, str]
    body: Any = None

    def event(self, token: str) -> str:
        """The gateway's event, as the JSON text that a function's runtime gets."""
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
    """An agent, a page, and states of up to so many messages."""
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
    """The user whose conversation gets a state of so many messages."""
    return f"user-{length}"


def turns(length: int) -> list[Any]:
    """A transcript: the user and the agent in turn, a message each, with the ids that an earlier answer gave."""
    chance = random.Random(length)
    said = []
    for place in range(length):
        who = ("human", "assistant")[place % 2]
        text = " ".join(chance.choices(_WORDS, k=chance.randint(4, 50)))
        message = {
            "mid": f"{chance.getrandbits(72):018x}",
            "from": who,
            "type": "text",
            "item": {"type": "text", "payload": {"message": text}},
            "ts": 1_795_287_000 + 7 * place,
        }
        said.append({"from": who, "messages": [message], "ts": message["ts"]})
    return said


def agent() -> dict[str, Any]:
    """An agent with every member of the record (§2.4), as a dashboard saves it: 12 KB of JSON.

    But for the members that the service sets itself, and the few that its v2 form shows otherwise.
    """
    from chalicelib.agents.record import AgentV3

    chance = random.Random(0)
    whole: dict[str, Any] = _filled(AgentV3, chance)
    for name in _OTHERWISE:
        whole.pop(name)
    whole["nodes"] = [{**whole["nodes"][0], "id": f"node-{place}"} for place in range(_NODES)]
    prompt = " ".join(chance.choices(_WORDS, k=300))
    limits = {"maxInteractionsPerUserId": 5_000}
    return {**whole, "agentPlatform": "vg", "vg_systemPrompt": prompt, "messagesLimit": 10_000, "limits": limits}


def _filled(kind: Any, chance: random.Random) -> Any:
    """A value of the type: every member of a model that may be written, one element of a list."""
    if get_origin(kind) is Annotated:
        return 3 if "StrictNumber" in str(kind) else _filled(get_args(kind)[0], chance)
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) is list:
        return [_filled(get_args(kind)[0], chance)]
    if get_args(kind):  # a member is its type, or null
        return _filled(get_args(kind)[0], chance)
    if hasattr(kind, "model_fields"):
        writable = {name: one for name, one in kind.model_fields.items() if not one.json_schema_extra}
        return {name: _filled(one.annotation, chance) for name, one in writable.items()}
    text = " ".join(chance.choices(_WORDS, k=4))
    return {str: text, bool: True, int: 3, dict: {"text": text}, Any: {"text": text}}[kind]


def metadata(place: int) -> dict[str, Any]:
    """What a conversation of the list says of its user."""
    return {
        "userName": f"User {place}",
        "userEmail": f"user-{place}@example.com",
        "origin": "web-chat",
        "tags": ["order"],
    }


def normal(answer: dict[str, Any]) -> tuple[int, Any]:
    """A gateway answer as its status and its JSON, without the time of the write: stacks must agree on the rest."""
    body = json.loads(answer["body"])
    if "chatState" in body:
        body["chatState"].pop("lastModified")
    return answer["statusCode"], body
