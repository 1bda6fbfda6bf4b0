"""The document describes the members of responses exactly: which are always present, and which can be null.

The recorded responses are those of all cases in the cost table.
"""

from collections import defaultdict
from functools import cache
from typing import Any, NamedTuple

from chalicelib.openapi import schemas
from tests.openapi.document import broken_rules, document, operations, resolved
from tests.operation_cases import CASES, Service, path_of
from tests.operation_cases import service as service
from tests.selection import whole

Members = dict[str, Any]

# Members that a response can contain as null, with the reason.
NULL = {
    "Change.by": "the author is unknown",
    "ConversationStatus.chatAssignedTo": "the conversation is assigned to no client",
    "ConversationStatus.state": "the conversation has no state",
    "CurrentConversation.chatAssignedTo": "the conversation is assigned to no client",
    "CurrentConversation.newest": "the conversation has no message",
    "CurrentConversation.state": "the conversation has no state",
    "Delivery.durationMs": "nothing has been sent, or the outcome is unknown",
    "Delivery.error": "the delivery did not fail",
    "Delivery.responseStatus": "the receiver has not responded",
    "Token.lastUsedAt": "the token has never been used",
    "ToolTest.error": "the response is complete",
    "Version.by": "the author is unknown",
    "Webhook.description": "the endpoint has no description",
}
# Members that all recorded responses contain although the document does not require them, with the reason.
OPTIONAL = {
    "AgentSearch.total": "the search examined only some of the agents",
    "AgentSearch.totalStarred": "the search examined only some of the agents",
    "AgentV2.SECRET_API_KEY": "agent keys and visitors do not see it",
    "AgentV2.agentPlatform": "v2 cannot represent the platform",
    "AgentV2.title": "the agent has no title",
    "AgentV3.SECRET_API_KEY": "a token with scopes does not see it",
    "AssignedConversation.assignedUser": "the conversation is returned to the agent",
    "AssignedUser.email": "the credential may not read clients",
    "AssignedUser.name": "the credential may not read clients",
    "Change.number": "only agents and tools have versions",
    "ConversationAnalytics.convo": "only a page load was recorded",
    "ConversationAnalytics.load": "only the conversation was recorded",
    "ConversationStatus.chatAssignedTo": "visitors do not see it",
    "ConvoMeta.userID": "a request cleared it",
    "ConvoMetaListAnswer.nextCursor": "the page is the last",
    "ConvoMetaV3.userID": "a request cleared it",
    "FeedEvent.payload": "the event cannot be decrypted",
    "FeedEvent.type": "the event cannot be decrypted",
    "Lead.agentName": "the agent has no title",
    "Lead.name": "the lead has no name",
    "Message.type": "the message has no type",
    "RotatedKey.expiresAt": "the key does not expire",
    "StateOut.agentData": "the response would be too large",
    "StateOut.oldTurns": "the response would be too large",
    "ToolField.key": "the parameter has no name",
    "TurnMessage.item": "the message has no item",
    "TurnMessage.type": "the message has no type",
    "TurnOut.from": "the turn has no sender",
    "TurnOut.messages": "the turn has no message",
    "Usage.agentId": "the counts belong to no agent",
}


class Seen(NamedTuple):
    """How many objects of a schema were recorded, and how many of them contain each member."""

    objects: list[int]
    members: dict[str, int]


def is_nullable(schema: Members) -> bool:
    """Return whether a member's schema allows null."""
    return "null" in schema.get("type", ()) or {"type": "null"} in schema.get("anyOf", ())


@cache
def components_in(place: str) -> dict[str, Members]:
    """Return the objects with declared members in all `responses`, or in each `requestBody`, by name."""
    components = document()["components"]["schemas"]
    waiting = [method.get(place) for item in document()["paths"].values() for method in item.values()]
    waiting.append(document()["components"].get(place))
    reached: set[str] = set()
    while waiting:
        for reference in schemas.references(waiting.pop()):
            name = reference.rpartition("/")[2]
            if name in components and name not in reached:
                reached.add(name)
                waiting.append(components[name])
    return {name: components[name] for name in sorted(reached) if "properties" in components[name]}


def records() -> dict[str, Members]:
    """Return the objects in responses, without settings, which have the same form in requests."""
    settings = components_in("requestBody")
    return {name: schema for name, schema in components_in("responses").items() if name not in settings}


def is_required(name: str, member: str) -> bool:
    """Return whether all responses contain a member. Fail if the member does not exist."""
    assert member in records()[name]["properties"]
    return member in records()[name].get("required", ())


def count(schema: Members, value: Any, seen: dict[str, Seen]) -> None:
    """Count the members of all objects in a response."""
    name = schema.get("$ref", "").rpartition("/")[2]
    schema = resolved(schema)
    if "anyOf" in schema and value is not None:
        (schema,) = (option for option in schema["anyOf"] if option != {"type": "null"})
        return count(schema, value, seen)
    if isinstance(value, list):
        for element in value:
            count(schema.get("items", {}), element, seen)
    elif isinstance(value, dict) and "properties" in schema:
        if name:
            seen[name].objects.append(1)
        for member, inner in value.items():
            seen[name].members[member] += 1
            count(schema["properties"].get(member, {}), inner, seen)
    return None


@whole
def test_members_that_every_recorded_response_contains_are_required(service: Service) -> None:
    by_route = {operation.route: operation for operation in operations()}
    seen: dict[str, Seen] = defaultdict(lambda: Seen([], defaultdict(int)))
    for case in CASES:
        operation = by_route[case.operation]
        answer = service.api.call(operation.method, path_of(case, service), case.body)
        if answer.status == 200 and not operation.is_file:
            assert broken_rules(operation.answer["schema"], answer.json) == [], case.id
            count(operation.answer["schema"], answer.json, seen)
    always = set()
    for name, (objects, members) in seen.items():
        if name in records():
            required = records()[name].get("required", ())
            always |= {f"{name}.{m}" for m, number in members.items() if number == len(objects) and m not in required}
    assert always <= OPTIONAL.keys()
    assert not [member for member in OPTIONAL if is_required(*member.split("."))]


def test_only_listed_members_can_be_null() -> None:
    nullable = {
        f"{name}.{member}"
        for name, schema in records().items()
        for member, inner in schema["properties"].items()
        if is_nullable(inner)
    }
    assert nullable == NULL.keys()
