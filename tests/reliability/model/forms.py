"""Pure functions that change and render records, such as merges, the two agent forms, and conversation states."""

import json
from collections import Counter
from typing import Any

from tests.assertions import canonical
from tests.contract.member_table import TABLE
from tests.reliability.model.answers import MADE, Document, Refused

_ROWS = TABLE["resources"]["agent_v3"]["members"]
# Members that accept any JSON are replaced, not merged. List items are stored without their null members.
OPEN = {row["path"].split(".")[-1] for row in _ROWS if row["type"] == "any"}
V2 = {row["path"] for row in _ROWS if "v2" in row["forms"]}
RENAMED = {"UIhandoffdescription": "UIhandoffTitle", "UIhandoffSubdescription": "UIhandoffSubtitle"}
THEME = "customThemeJSONString"
METADATA = {row["path"] for row in TABLE["resources"]["convo_meta"]["members"]}


def merged(document: Document, change: Document) -> Document:
    """Return the changed document. Merge objects, replace lists, clear nulls, and merge `nodes` by id."""
    after = dict(document)
    for name, value in change.items():
        if value is None:
            after.pop(name, None)
        elif name == "nodes":
            nodes = {node["id"]: node for node in document.get("nodes", [])}
            for node in value:
                nodes[node["id"]] = merged(nodes.get(node["id"], {}), node)
            after[name] = list(nodes.values())
        elif isinstance(value, dict) and name not in OPEN:
            after[name] = merged(after.get(name) or {}, value)
        else:
            after[name] = value
    return after


def merged_v2(document: Document, change: Document) -> Document:
    """Return the changed document. Replace members, and clear nulls.

    The theme is stored as text. A theme that is equal to the stored theme does not change the text.
    """
    after = dict(document)
    for name, value in change.items():
        if name == THEME and value is not None:
            kept = document.get(THEME)
            if kept is not None and canonical(json.loads(kept)) == canonical(value):
                value = kept
            else:
                value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        after[RENAMED.get(name, name)] = value
    return {name: value for name, value in after.items() if value is not None}


def v2_form(document: Document) -> Document:
    """Return an agent's v2 form: it has fewer members, two members are renamed, and the theme is an object."""
    form = {name: value for name, value in document.items() if name in V2 and name not in ("agentPlatform", THEME)}
    form |= {name: document[other] for name, other in RENAMED.items() if other in document}
    if document.get("agentPlatform") in ("vg", "vf"):
        form["agentPlatform"] = document["agentPlatform"]
    if THEME in document:
        form[THEME] = json.loads(document[THEME])
    return form


def visible(record: Document, resource: str, kind: str) -> Document:
    """Return a record in the v3 form for a kind of credential. Omit secret members for a read-only token."""
    return _without_secrets(record, resource) if kind == "read only" else record


def for_agent_key(document: Document, kind: str) -> Document:
    """Return an agent in the v2 form for a kind of credential. Omit the key for an agent key."""
    return {name: value for name, value in document.items() if (name, kind) != ("SECRET_API_KEY", "agent")}


def _without_secrets(record: Document, resource: str) -> Document:
    rows = {row["path"]: row for row in TABLE["resources"][resource]["members"]}
    lists = {path: row["of"] for path, row in rows.items() if row["type"] == "object[]" and "of" in row}
    shown = {name: value for name, value in record.items() if not rows[name].get("secret")}
    inner = {name: [_without_secrets(one, of) for one in shown[name]] for name, of in lists.items() if name in shown}
    return shown | inner


def platform(document: Document) -> str:
    """Return the `platformName` in responses from the interaction routes."""
    known = document.get("agentPlatform")
    return known if known in ("vg", "vf") else "vg"


# (Message content, number of equal messages before it) -> generated id. The ids never change.
Ids = dict[tuple[str, int], str]


def answer_turns(turns: list[Document], now: int, ids: Ids) -> list[Document]:
    """Return one turn per message. The turn's time is the message's, otherwise the sent turn's or the write's."""
    answer = []
    equal_messages: Counter[str] = Counter()
    for turn in turns:
        rest = {name: value for name, value in _without_null(turn).items() if name != "messages"}
        rest.setdefault("ts", now)
        for message in turn.get("messages") or []:
            mid = message.get("mid") or generated_id(turn, message, equal_messages, ids)
            whole = {**_without_null(message), "mid": mid}
            answer.append({**rest, "messages": whole, "ts": whole.get("ts", rest["ts"])})
        if not turn.get("messages"):
            answer.append(rest)
    return answer


def _without_null(members: Document) -> Document:
    optional = ("from", "type", "item", "delay", "ts", "messages")
    return {name: value for name, value in members.items() if value is not None or name not in optional}


def generated_id(turn: Document, message: Document, equal_messages: Counter[str], ids: Ids) -> Any:
    """Return the generated id for a message that has no id, or `MADE` if no response has contained the id yet."""
    says = canonical([turn.get("from"), message])
    equal_messages[says] += 1
    return ids.get((says, equal_messages[says]), MADE)


def learn_ids(turns: list[Document], answer: list[Document], ids: Ids) -> None:
    """Store the ids that a response contains for these turns' messages."""
    equal_messages: Counter[str] = Counter()
    given = [(turn, message) for turn in turns for message in turn.get("messages") or []]
    answered = [turn["messages"]["mid"] for turn in answer if "messages" in turn]
    for (turn, message), mid in zip(given, answered, strict=True):
        if not message.get("mid"):
            says = canonical([turn.get("from"), message])
            equal_messages[says] += 1
            assert ids.setdefault((says, equal_messages[says]), mid) == mid


def changed_state(before: Document, change: Document, now: int, is_new: bool, ids: Ids) -> Document:
    """Return `{metadata, turns}` after a change, which replaces turns, deletes messages and merges metadata."""
    turns = before["turns"] if change.get("turns") is None else answer_turns(change["turns"], now, ids)
    if gone := set((change.get("delete") or {}).get("mids", ())):
        turns = [turn for turn in turns if turn.get("messages", {}).get("mid") not in gone]
    metadata = merged(before["metadata"], change.get("metadata") or {})
    replaced = change.get("turns") is not None
    same = canonical_turns(turns) == canonical_turns(before["turns"]) and canonical(metadata) == canonical(
        before["metadata"]
    )
    if same and not (replaced and is_new):
        return before
    if replaced or gone:
        metadata = recounted(metadata, turns)
    metadata = {"ts": now, "messagesNum": 0, "interactionsNum": 0, **metadata, "lastModified": now}
    return {"metadata": metadata, "turns": turns}


def recounted(metadata: Document, turns: list[Document]) -> Document:
    """Return the metadata, including the counters and times that follow from these turns."""
    times = [turn["ts"] for turn in turns if is_human(turn)]
    counts = {"messagesNum": sum("messages" in turn for turn in turns), "interactionsNum": len(times)}
    ends = {"firstMessageTS": times[0], "lastMessageTS": times[-1]} if times else {}
    if sent := [{**turn, **turn["messages"]} for turn in turns if "messages" in turn]:
        ends |= {"lastMessage": beginning(sent[-1].get("item"))}
        ends |= {"lastMessageFrom": sent[-1]["from"]} if sent[-1].get("from") else {}
    follows = ("firstMessageTS", "lastMessageTS", "lastMessage", "lastMessageFrom")
    rest = {name: one for name, one in metadata.items() if name not in follows}
    return {**rest, **counts, **ends}


def beginning(item: Any) -> str:
    """Return the `lastMessage` for a message with this item. The model's texts contain only ASCII characters."""
    text = _text(item)
    if text is None:
        text = json.dumps(item, separators=(",", ":"), ensure_ascii=False) if item else ""
    return text.encode()[:400].decode(errors="ignore")[:200]


def _text(item: Any) -> str | None:
    if isinstance(item, str):
        return item
    for name in ("message", "text", "content", "payload") if isinstance(item, dict) else ():
        found = _text(item.get(name))
        if found is not None:
            return found
    return None


def canonical_turns(turns: list[Document]) -> str:
    """Return the turns as text. An unknown generated id differs from all other ids."""
    return canonical([{**turn, "messages": _named(turn.get("messages"))} for turn in turns])


def _named(message: Any) -> Any:
    return {**message, "mid": repr(message["mid"])} if message else message


def is_human(turn: Document) -> bool:
    """Return whether a turn is a message from the user. A launch without text does not count."""
    message = turn.get("messages") or {"type": "launch"}
    is_silent = message.get("type") == "launch" and not _has_text(message.get("item"))
    return not is_silent and (message.get("from") or turn.get("from")) == "human"


def _has_text(item: Any) -> bool:
    names = ("message", "text", "content", "payload")
    return (
        bool(item) if isinstance(item, str) else isinstance(item, dict) and any(_has_text(item.get(n)) for n in names)
    )


def messages_of(turns: list[Document]) -> set[tuple[Any, bool]]:
    """Return each message's id, and whether the message is from the user."""
    return {(turn["messages"]["mid"], is_human(turn)) for turn in turns if "messages" in turn}


def check_limits(agent: Document, seen: set[tuple[str, bool]], turns: list[Document]) -> None:
    """Raise the error for turns that exceed one of the agent's limits. `seen` contains all messages received so far."""
    # An unknown generated id differs from all other ids.
    given = [(turn["messages"]["mid"], is_human(turn)) for turn in turns if "messages" in turn]
    made = [own for mid, own in given if mid is MADE]
    after = seen | {one for one in given if one[0] is not MADE}
    for name, most, used, count in (
        (
            "limits.maxInteractionsPerUserId",
            agent.get("limits", {}).get("maxInteractionsPerUserId"),
            sum(own for _, own in seen),
            sum(own for _, own in after) + sum(made),
        ),
        (
            "messagesLimit",
            agent.get("messagesLimit"),
            len({mid for mid, _ in seen}),
            len({mid for mid, _ in after}) + len(made),
        ),
    ):
        if most and most > 0 and count > most and count > used:
            sentence = f"The agent's {name} is {most}. This request would raise the count from {used} to {count}."
            limit = {"name": name, "max": most, "used": used, "left": max(0, most - used)}
            raise Refused(429, sentence, limit=limit)
