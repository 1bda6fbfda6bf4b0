"""The agent form: a field for each frequently changed member, and one JSON field for the others.

Saving the form sends only members that the page showed and the person changed. Hidden members, which are keys and
members that are too large for a page, keep their values.
"""

import json
from typing import Any, NamedTuple

from chalicelib import errors, storage
from chalicelib.extensions.console.presentation import differences, fields, template_filters
from chalicelib.extensions.console.presentation.differences import Differences
from chalicelib.extensions.console.presentation.fields import FLAG, LONG, NUMBER, TEXT, TEXTS, Field
from chalicelib.http.lazy_module import LazyModule
from chalicelib.storage import Document

projections, record = LazyModule("chalicelib.http.projections"), LazyModule("chalicelib.agents.record")
wire = LazyModule("chalicelib.http.wire")

REST = "rest"

GROUPS = {
    "general": (Field("title", TEXT), Field("lang", TEXT), Field("description", LONG), Field("starred", FLAG)),
    "model": (
        Field("vg_systemPrompt", LONG), Field("vg_defaultModel", TEXT), Field("vg_temperature", NUMBER),
        Field("vg_maxTokens", NUMBER),
    ),
    "transcriber": (
        Field("voiceConfig.transcriber.provider", TEXT), Field("voiceConfig.transcriber.modelId", TEXT),
        Field("voiceConfig.transcriber.language", TEXT),
        Field("voiceConfig.transcriber.speechConfig.sampleRate", NUMBER),
    ),
    "speechGen": (
        Field("voiceConfig.speechGen.provider", TEXT), Field("voiceConfig.speechGen.voiceId", TEXT),
        Field("voiceConfig.speechGen.modelId", TEXT), Field("voiceConfig.speechGen.language", TEXT),
    ),
    "limits": (
        Field("limits.maxInteractionsPerUserId", NUMBER), Field("limits.maxMonthlyCreditsUsage", NUMBER),
        Field("limits.maxAnnualCreditsUsage", NUMBER), Field("messagesLimit", NUMBER), Field("retention.days", NUMBER),
    ),
    "look": (Field("avatarImageUrl", TEXT), Field("headerImageUrl", TEXT), Field("fontFamily", TEXT)),
    "messages": (
        Field("vg_initMessages", TEXTS), Field("aiIntroductionMessage", LONG), Field("proactiveMessage", LONG),
        Field("chatEndMessage", LONG),
    ),
}  # fmt: skip
_FIELDS = tuple(field for group in GROUPS.values() for field in group)
PATHS = tuple(field.path for field in _FIELDS)
"""The paths of the fields, in the order of the page."""
TECHNICAL = frozenset({"agentPlatform", "createdAt", "createdAtUNIX"})
"""The members that no person sets."""
# The maximum size of all fields as HTML, in bytes. An agent may take up 3 MB of JSON, and indentation makes it several
# times larger.
_MAX_BYTES = 400_000
# The maximum size of a submitted form in bytes. The limit applies because an error page shows the form again.
MAX_SENT = 500_000


class MembersThatFit(NamedTuple):
    """An agent's fields and other members that fit on a page, and the paths of the members that do not."""

    fields: list[Field]
    rest: Document
    left_out: list[str]


def members_that_fit(agent: Document) -> MembersThatFit:
    """Return the agent members that fit on a page. Fields take precedence over the other members."""
    selected, left_out, left = fields.fields_that_fit(_FIELDS, agent, _MAX_BYTES)
    page = MembersThatFit(selected, {}, left_out)
    for name, value in _rest(agent).items():
        size = template_filters.size(template_filters.indented_json({name: value}, left))
        if size <= left:
            page.rest[name] = value
            left -= size
        else:
            page.left_out.append(name)
    return page


def values(agent: Document) -> dict[str, Any]:
    """Return an agent's field values by name. The value of a list of texts is a list."""
    page = members_that_fit(agent)
    return {**fields.values(page.fields, agent), REST: template_filters.indented_json(page.rest, _MAX_BYTES)}


def submitted_values(agent: Document, sent: dict[str, str]) -> dict[str, Any]:
    """Return the submitted field values, in the format that `values` returns."""
    rest = sent.get(REST, values(agent)[REST])
    return {**fields.submitted_values(members_that_fit(agent).fields, sent), REST: rest.replace("\r\n", "\n")}


def change(agent: Document, submitted: dict[str, Any]) -> Document:
    """Return the API request body that changes the agent to the submitted values. Raise Invalid."""
    page = members_that_fit(agent)
    patch = fields.change(page.fields, agent, submitted)
    if submitted[REST] == values(agent)[REST]:
        return patch
    return _merge(_patch(record.AgentV3, page.rest, _read_rest(submitted[REST])), patch)


def conflicts(agent: Document, submitted: dict[str, Any]) -> Differences:
    """Return the changes that saving the form would make to the stored agent. Raise Invalid."""
    page = members_that_fit(agent)
    stored = fields.values([field for field in page.fields if field.path in submitted], agent)
    changed = {name: value for name, value in submitted.items() if name != REST}
    return differences.between({**stored, **page.rest}, {**changed, **_read_rest(submitted[REST])})


def read_only() -> frozenset[str]:
    """Return the members that the service sets."""
    return frozenset(wire.read_only_members(record.AgentV3))


def _rest(agent: Document) -> Document:
    """Return the members that have no separate field and are not set by the service."""
    return _without(
        {name: value for name, value in agent.items() if name not in read_only()}, {field.path for field in _FIELDS}
    )


def _without(document: Document, paths: set[str]) -> Document:
    """Return a document without the members at these dotted paths, and without objects that become empty."""
    left: Document = {}
    for name, value in document.items():
        below = {path.partition(".")[2] for path in paths if path.startswith(f"{name}.")}
        if below and isinstance(value, dict):
            value = _without(value, below)
        if name not in paths and (value or not below):
            left[name] = value
    return left


def _read_rest(text: str) -> Document:
    try:
        rest = json.loads(text or "{}", parse_constant=_refuse)
    except json.JSONDecodeError as error:
        rule = f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise errors.Invalid("", [{"path": REST, "message": rule}]) from None
    except (ValueError, RecursionError):
        raise errors.Invalid("", [{"path": REST, "message": "is not JSON"}]) from None
    if not isinstance(rest, dict):
        raise errors.Invalid("", [{"path": REST, "message": "must be a JSON object"}])
    twice = [field.path for field in _FIELDS if fields.at(rest, field.path) is not None]
    if twice:
        rule = f"must not contain members that have a field on this page: {', '.join(twice)}"
        raise errors.Invalid("", [{"path": REST, "message": rule}])
    return rest


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _patch(model: Any, old: Document, new: Document) -> Document:
    """Return the patch from one document to another. A removed object loses only the members that the page showed."""
    nested = projections.nested_models(model)
    patch: Document = {}
    for name in [*new, *(one for one in old if one not in new)]:
        before, after = old.get(name), new.get(name)
        if name in old and name in new and storage.json_equal({name: before}, {name: after}):
            continue
        if name in nested and isinstance(before, dict) and isinstance(after or {}, dict):
            patch[name] = _patch(nested[name], before, after or {})
        elif name == "nodes" and isinstance(before, list) and isinstance(after, list):
            patch[name] = _patch_nodes(nested[name], before, after)
        else:
            patch[name] = after
    return patch


def _patch_nodes(model: Any, before: list[Document], after: list[Any]) -> list[Any]:
    """Return the patch for a list of nodes, which the API merges by id. Raise Invalid if a node is removed."""
    stored = {node["id"]: node for node in before}
    ids = {node.get("id") for node in after if isinstance(node, dict)}
    if missing := stored.keys() - ids:
        issues: list[errors.MemberIssue] = [
            {"path": "nodes", "message": f"must keep the node {path}: nodes cannot be removed individually"}
            for path in sorted(missing)
        ]
        raise errors.Invalid("", issues)
    known = [node if not isinstance(node, dict) else stored.get(str(node.get("id"))) for node in after]
    return [
        {**_patch(model, old, new), "id": new["id"]} if isinstance(old, dict) and isinstance(new, dict) else new
        for old, new in zip(known, after, strict=True)
    ]


def _merge(base: Document, added: Document) -> Document:
    merged = {**base, **added}
    for name in base.keys() & added.keys():
        if isinstance(base[name], dict) and isinstance(added[name], dict):
            merged[name] = _merge(base[name], added[name])
    return merged
