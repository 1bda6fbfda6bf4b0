"""The three operations on bare botocore with our encoding: the items of CAMS, sealed by `storage.encryption`.

One client, created at import, with the settings of CAMS: no parameter validation, and a fixed user agent, because
building the default for each request takes 0.8 million instructions. It sends the same requests as CAMS: one for an
agent, two for a page, two for a state. A state's item also has the numbers of received messages and the new messages
for events, so the stored documents are the same. The measured requests remove no message.
"""

import json
import os
import struct
from typing import Any

from botocore.config import Config
from botocore.session import Session

from benchmarks.peers import answers
from benchmarks.peers.answers import Document
from chalicelib.agents import rows
from chalicelib.storage import encryption

_WORKSPACE = os.environ["WORKSPACE_ID"]
_AGENTS, _CONVERSATIONS = "cams-agents", "cams-conversations"
_PAGE = 20
_COUNTS = struct.Struct(">II")  # the interactions and messages ever received
_dynamodb = Session().create_client(
    "dynamodb",
    config=Config(
        parameter_validation=False,
        retries={"mode": "standard", "total_max_attempts": 4},
        user_agent="cams",
    ),
)


def agent(agent_id: str) -> Document:
    """Return an agent's document with its tools."""
    first, *others = _dynamodb.query(
        TableName=_AGENTS,
        KeyConditionExpression="#partition = :partition",
        ExpressionAttributeNames={"#partition": "partition"},
        ExpressionAttributeValues={":partition": _agent_key(agent_id)["partition"]},
        ConsistentRead=True,
    )["Items"]
    tools = [{"id": item["item"]["S"].partition("#")[2], **_opened_document(item)} for item in others]
    return {"ownerID": _WORKSPACE, **_opened_document(first), "tools": tools}


def page(agent_id: str) -> tuple[list[Document], str | None]:
    """Return the first page, newest first, and the position of its last entry if there are more."""
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
    shown = items[:_PAGE]
    return [_opened(item, "summary") for item in shown], shown[-1]["created"]["S"] if len(items) > _PAGE else None


def replace(agent_id: str, user_id: str, sent: list[Document]) -> Document:
    """Replace a conversation's turns, and return the state route's answer."""
    conversation = f"{_WORKSPACE}#{agent_id}#{user_id}"
    keys = {
        _AGENTS: _agent_key(agent_id),
        _CONVERSATIONS: {"conversation": {"S": conversation}, "item": {"S": "conversation"}},
    }
    wanted = {table: {"Keys": [key], "ConsistentRead": table == _CONVERSATIONS} for table, key in keys.items()}
    found = _dynamodb.batch_get_item(RequestItems=wanted)["Responses"]
    (agent_item,), (item,) = found[_AGENTS], found[_CONVERSATIONS]
    agent = _opened_document(agent_item)
    text, _, seen = _unsealed(item, "turns").partition(b"\x00")
    metadata, turns = answers.replaced(_opened(item, "summary"), sent)
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
    return answers.state(agent_id, user_id, agent, metadata, turns, before)


def _agent_key(agent_id: str) -> dict[str, Any]:
    partition, item = rows.key(_WORKSPACE, agent_id)
    return {"partition": {"S": partition}, "item": {"S": item}}


def _opened_document(item: dict[str, Any]) -> Document:
    place = f"agents/{item['partition']['S']}/{item['item']['S']}/document"
    document: Document = json.loads(encryption.unseal(_WORKSPACE, place, item["document"]["B"]))
    return document


def _opened(item: dict[str, Any], attribute: str) -> Document:
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
