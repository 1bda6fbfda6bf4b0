"""An agent's v2 and v3 forms. Changes in either form are merged into the stored document.

The document is stored in the v3 form. The v2 form is a projection: it has fewer members, renames two, and represents
the theme as an object instead of JSON text (§2.4, §2.5). A write in one form keeps the members that exist only in the
other form. Members that neither form declares are stored and returned in both forms, so newer clients lose no data.
"""

import json
from typing import Any

from pydantic import ValidationError

from chalicelib import errors, ids
from chalicelib.agents.nodes import Node
from chalicelib.agents.record import AgentV2, AgentV3, SharedMembers, Theme, parse_theme
from chalicelib.http.wire import read_only_members

Document = dict[str, Any]

# Members that v2 names differently: a map from v2 names to stored names.
_RENAMED = {"UIhandoffdescription": "UIhandoffTitle", "UIhandoffSubdescription": "UIhandoffSubtitle"}
_PLATFORMS = ("vf", "vg")
_V2, _V3 = frozenset(AgentV2.model_fields), frozenset(AgentV3.model_fields)
_READ_ONLY = read_only_members(AgentV3)
_V2_ONLY, _V3_ONLY = _V2 - _V3, _V3 - _V2
_V2_NAMES = {stored: name for name, stored in _RENAMED.items()}
# Stored members that the v2 form omits, or represents differently.
_OMITTED = _V3 - SharedMembers.model_fields.keys() - _V2_NAMES.keys()


def merge_v3(document: Document, change: AgentV3, path: str = "agent") -> Document:
    """Merge a v3 change into `document`: merge objects, replace lists, merge `nodes` by id, and clear null members.

    Raise Invalid for a v2-only member, or a duplicate node. `path` is the change's path in the body.
    """
    for name in change.model_fields_set & _V2_ONLY:
        raise errors.Invalid.member(f"{path}.{name}", f"is a member of the v2 form; use {_RENAMED[name]}")
    merged = change.merge_into(document)
    if change.nodes is not None:
        merged["nodes"] = _merge_nodes(document.get("nodes", []), change.nodes, path)
    return merged


def merge_v2(document: Document, change: AgentV2) -> Document:
    """Merge a v2 change: replace top-level members, and clear null members. Raise Invalid for v3 members."""
    for name in sorted(change.model_fields_set & _V3_ONLY):
        rule = "the service sets it" if name in _READ_ONLY else "change it at /v3/agents/{agent_id}"
        raise errors.Invalid.member(name, f"is a member of the v3 form only; {rule}")
    members = change.writable_members()
    if change.customThemeJSONString is not None:
        theme = change.customThemeJSONString.model_dump(exclude_unset=True)
        members["customThemeJSONString"] = _theme_text(theme, document.get("customThemeJSONString"))
    merged = {**document, **{_RENAMED.get(name, name): value for name, value in members.items()}}
    return {name: value for name, value in merged.items() if value is not None}


def v2_form(document: Document) -> Document:
    """Return the document in the v2 form. Omit a platform or theme that v2 cannot represent."""
    projection = {_V2_NAMES.get(name, name): value for name, value in document.items() if name not in _OMITTED}
    if document.get("agentPlatform") in _PLATFORMS:
        projection["agentPlatform"] = document["agentPlatform"]
    theme = _theme(document.get("customThemeJSONString"))
    return projection if theme is None else {**projection, "customThemeJSONString": theme}


def platform(document: Document) -> str:
    """Return the interaction route's `platformName` (§4.3): `vf`, or `vg` for any other platform."""
    return document["agentPlatform"] if document.get("agentPlatform") in _PLATFORMS else "vg"


def _theme(text: str | None) -> Document | None:
    """Return the theme in the stored text, or None if the text is not a theme. The v3 form accepts any text."""
    theme: Document = parse_theme(text)
    try:
        Theme.model_validate(theme)
    except ValidationError:
        return None
    return theme


def _theme_text(theme: Document, stored: str | None) -> str:
    """Return a theme as JSON text. An unchanged theme keeps its stored text, so v3 clients see no change."""
    if stored is not None and json.dumps(theme, sort_keys=True) == json.dumps(_theme(stored), sort_keys=True):
        return stored
    return json.dumps(theme, ensure_ascii=False, separators=(",", ":"))


def _merge_nodes(stored: list[Document], changes: list[Node], path: str) -> list[Document]:
    """Return the stored nodes in order, merged with the changes by id, followed by the new nodes.

    A node whose id is missing or empty is new, and is assigned an id. Raise Invalid for a duplicate id.
    """
    nodes = {node["id"]: node for node in stored}
    seen: set[str] = set()
    for index, change in enumerate(changes):
        node_id = change.id or ids.new_id()
        if node_id in seen:
            raise errors.Invalid.member(f"{path}.nodes.{index}.id", "is duplicated")
        seen.add(node_id)
        nodes[node_id] = {**change.merge_into(nodes.get(node_id, {})), "id": node_id}
    return list(nodes.values())
