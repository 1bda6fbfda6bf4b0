"""The responses of the three operations, on bare botocore with the items of CAMS, encrypted by `storage.encryption`.

There are no limits and no validation. The conversation in a request replaces the stored conversation.

The module creates one client at import, with the settings of CAMS: no parameter validation, and a fixed user agent,
because building the default for each request takes 0.8 million instructions. The client sends the same requests as
CAMS: one for an agent, two for a page, two for a state. A state's item also contains the numbers of received messages
and the new messages for events, so the stored documents are the same. The measured requests remove no messages.
"""

import json
import os
import struct
import time
from collections.abc import Sequence
from typing import Any

from botocore.config import Config
from botocore.session import Session

from chalicelib.agents import rows
from chalicelib.agents.record import AgentV2
from chalicelib.storage import encryption

Document = dict[str, Any]

_WORKSPACE = os.environ["WORKSPACE_ID"]
_AGENTS, _CONVERSATIONS = "cams-agents", "cams-conversations"
_PAGE = 20
# The members of an agent in the response of the state route: its v2 form.
_V2 = frozenset(AgentV2.model_fields)
_COUNTS = struct.Struct(">II")  # the numbers of interactions and messages ever received
_dynamodb = Session().create_client(
    "dynamodb",
    config=Config(
        parameter_validation=False,
        retries={"mode": "standard", "total_max_attempts": 4},
        user_agent="cams",
    ),
)


def agent(agent_id: str) -> Document:
    """GET /v3/agents/{agent_id}, from parsed documents."""
    first, *others = _agent_items(agent_id)
    tools = [{"id": _tool_id(item), **_agent_document(item)} for item in others]
    data = {"ID": agent_id, "id": agent_id, "ownerID": _WORKSPACE, **_agent_document(first), "tools": tools}
    return {"success": True, "message": "Agent retrieved successfully", "data": data}


def agent_text(agent_id: str) -> str:
    """GET /v3/agents/{agent_id}, as JSON that contains the stored texts of the documents, like the response of CAMS."""
    first, *others = _agent_items(agent_id)
    tools = ",".join(f'{{"id":"{_tool_id(item)}",{_agent_text(item)[1:]}' for item in others)
    members = f'"ID":"{agent_id}","id":"{agent_id}","ownerID":"{_WORKSPACE}"'
    data = f'{{{members},{_agent_text(first)[1:-1]},"tools":[{tools}]}}'
    return f'{{"success":true,"message":"Agent retrieved successfully","data":{data}}}'


def _agent_items(agent_id: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = _dynamodb.query(
        TableName=_AGENTS,
        KeyConditionExpression="#partition = :partition",
        ExpressionAttributeNames={"#partition": "partition"},
        ExpressionAttributeValues={":partition": _agent_key(agent_id)["partition"]},
        ConsistentRead=True,
    )["Items"]
    return items


def _tool_id(item: dict[str, Any]) -> str:
    tool_id: str = item["item"]["S"].partition("#")[2]
    return tool_id


def page(agent_id: str) -> Document:
    """GET /v2/agents/{agent_id}/convos: the first page, newest first, with a cursor if there are more."""
    if "document" not in _dynamodb.get_item(TableName=_AGENTS, Key=_agent_key(agent_id))["Item"]:
        raise LookupError(agent_id)
    items = _dynamodb.query(
        TableName=_CONVERSATIONS,
        IndexName="by_creation",
        KeyConditionExpression="agent = :agent",
        ExpressionAttributeValues={":agent": {"S": f"{_WORKSPACE}#{agent_id}"}},
        ScanIndexForward=False,
        Limit=_PAGE + 1,
    )["Items"]
    answer = {
        "success": True,
        "message": "Agent conversations retrieved successfully",
        "data": [_in_v2(_document(item, "summary")) for item in items[:_PAGE]],
    }
    return {**answer, "nextCursor": items[_PAGE - 1]["created"]["S"]} if len(items) > _PAGE else answer


def replace(agent_id: str, user_id: str, sent: list[Document]) -> Document:
    """POST /agents/{agent_id}/interact/{user_id}/state, which replaces the turns."""
    conversation = f"{_WORKSPACE}#{agent_id}#{user_id}"
    keys = {
        _AGENTS: _agent_key(agent_id),
        _CONVERSATIONS: {"conversation": {"S": conversation}, "item": {"S": "conversation"}},
    }
    reads = {table: {"Keys": [key], "ConsistentRead": table == _CONVERSATIONS} for table, key in keys.items()}
    items = _dynamodb.batch_get_item(RequestItems=reads)["Responses"]
    (agent_item,), (item,) = items[_AGENTS], items[_CONVERSATIONS]
    agent = _agent_document(agent_item)
    text, _, seen = _unsealed(item, "turns").partition(b"\x00")
    metadata, turns = _replaced(_document(item, "summary"), sent)
    before = json.loads(text)
    stored = {turn["messages"]["mid"] for turn in before}
    new = [turn["messages"] for turn in turns if turn["messages"]["mid"] not in stored]
    received = [
        {name: message[name] for name in ("mid", "type", "from")} | {"content": message["item"]["payload"]["message"]}
        for message in new
        if message["from"] == "human"
    ]
    interactions, messages = _COUNTS.unpack(seen)
    counts = _COUNTS.pack(interactions + len(received), messages + len(new))
    for_events = {"agentName": agent["title"], "origin": metadata["origin"], "messages": received}
    written = _sealed(conversation, "turns", _json(turns) + b"\x00" + counts)
    _dynamodb.put_item(
        TableName=_CONVERSATIONS,
        Item={
            **item,
            "summary": {"B": _sealed(conversation, "summary", _json(metadata))},
            "turns": {"B": written},
            "received": {"B": _sealed(conversation, "received", _json(for_events))},
            "version_tag": {"S": os.urandom(13).hex()},
        },
        ConditionExpression="version_tag = :as_read",
        ExpressionAttributeValues={":as_read": item["version_tag"]},
    )
    return {
        "platformName": agent["agentPlatform"],
        "success": True,
        "message": "Conversation state saved successfully",
        "chatState": _in_v2(metadata),
        "actionMessages": [],
        "agentData": {name: value for name, value in agent.items() if name in _V2},
        "origin": metadata["origin"],
        "userID": user_id,
        "agentID": agent_id,
        "turns": turns,
        "oldTurns": before,
    }


# The members that describe the newest message.
_NEWEST = ("lastMessage", "lastMessageFrom")


def _replaced(metadata: Document, sent: Sequence[Document]) -> tuple[Document, list[Document]]:
    """Return the metadata with new counts, and one turn for each sent message."""
    turns = [
        {"from": turn["from"], "ts": message["ts"], "messages": message}
        for turn in sent
        for message in turn["messages"]
    ]
    times = [turn["ts"] for turn in turns if turn["messages"]["from"] == "human"]
    counts = {
        "messagesNum": len(turns),
        "interactionsNum": len(times),
        "firstMessageTS": times[0],
        "lastMessageTS": times[-1],
        "lastModified": int(time.time()),
        "lastMessage": turns[-1]["messages"]["item"]["payload"]["message"][:200],
        "lastMessageFrom": turns[-1]["messages"]["from"],
    }
    return {**metadata, **counts}, turns


def _in_v2(metadata: Document) -> Document:
    """Return the metadata in a response of version 2, which omits the newest message."""
    return {name: value for name, value in metadata.items() if name not in _NEWEST}


def _agent_key(agent_id: str) -> dict[str, Any]:
    partition, item = rows.keys(_WORKSPACE, agent_id)
    return {"partition": {"S": partition}, "item": {"S": item}}


def _agent_document(item: dict[str, Any]) -> Document:
    document: Document = json.loads(_agent_text(item))
    return document


def _agent_text(item: dict[str, Any]) -> str:
    place = f"agents/{item['partition']['S']}/{item['item']['S']}/document"
    return encryption.unseal(_WORKSPACE, place, item["document"]["B"]).decode()


def _document(item: dict[str, Any], attribute: str) -> Document:
    document: Document = json.loads(_unsealed(item, attribute))
    return document


def _unsealed(item: dict[str, Any], attribute: str) -> bytes:
    return encryption.unseal(_WORKSPACE, _place(item["conversation"]["S"], attribute), item[attribute]["B"])


def _sealed(conversation: str, attribute: str, payload: bytes) -> bytes:
    return encryption.seal(_WORKSPACE, _place(conversation, attribute), payload)


def _place(conversation: str, attribute: str) -> str:
    return f"conversations/{conversation}/conversation/{attribute}"


def _json(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
