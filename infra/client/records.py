"""Writes the modules of the Python client that contain types: `models`, `params`, `events` and `errors`."""

from typing import Any

from infra.client.schemas import INPUT, Schema, Types, class_name

_IMPORTS = ("from __future__ import annotations", "")
# Members that `verify_webhook` adds to each event.
_ENVELOPE = '''
    id: str = member("id")
    """The event's id, which is the same for all deliveries."""
    sent_at: int = member("sentAt")
    """The time of the delivery, in Unix seconds."""
    message_id: str | None = member("messageId", default=None)
    """For `message_received`, the message's `mid`. The signature does not cover it."""
'''.splitlines()[1:]


def models(types: Types, names: set[str], document: Schema) -> str:
    """Return the module `models`: a class for each of these schemas, and each schema in them and in the events."""
    lines = ['"""The records of the service."""', "", *_IMPORTS, "from typing import Any, Literal", ""]
    lines += ["from ._records import Record, member", ""]
    bodies = [item["post"]["requestBody"] for item in document["webhooks"].values()]
    reached = _with_contained(types, {*names, *_references(bodies)})
    used = {name for name in reached if name.removesuffix(INPUT) not in reached - {name}}
    for name in sorted(used):
        if "enum" in types.schemas[name]:
            lines += [f"{class_name(name)} = Literal[{', '.join(map(repr, types.schemas[name]['enum']))}]"]
    for name in sorted(used):
        if types.is_record(types.schemas[name]):
            lines += record(types, class_name(name), types.schemas[name])
    return "\n".join([*lines, ""])


def params(types: Types, names: set[str]) -> str:
    """Return the module `params`: the keyword arguments of operations with these bodies."""
    lines = ['"""The keyword arguments of operations, for type checkers."""', ""]
    lines += ["from collections.abc import Mapping, Sequence", "from typing import Any, Literal, Required, TypedDict"]
    lines += ["", "from . import models", ""]
    for name in sorted(names):
        schema = types.schemas[name]
        lines += ["", "", f"class {class_name(name)}(TypedDict, total=False):", '    """Members of the body."""', ""]
        for python, wire in types.members(schema).items():
            value = schema["properties"][wire]
            if not value.get("readOnly"):
                annotation = _argument(types, value)
                is_required = wire in schema.get("required", ())
                lines += [f"    {python}: {f'Required[{annotation}]' if is_required else annotation}"]
    return "\n".join([*lines, ""])


def events(types: Types, document: Schema) -> str:
    """Return the module `events`: a class for each event type, and one for the payloads of each resource."""
    lines = ['"""The events that webhooks deliver."""', "", *_IMPORTS, "from typing import Any, Literal", ""]
    lines += ["from . import models", "from ._records import Record, member"]
    payloads: set[str] = set()
    classes = {}
    for event, item in document["webhooks"].items():
        body = item["post"]["requestBody"]["content"]["application/json"]["schema"]
        # Types with the same first word share a payload.
        payload = f"{event.split('_')[0].capitalize()}Payload"
        if payload not in payloads:
            payloads.add(payload)
            schema = {**body["properties"]["payload"], "description": "The payload of an event."}
            lines += record(types, payload, schema, "models.")
        classes[event] = "".join(word.capitalize() for word in event.split("_"))
        lines += ["", "", f"class {classes[event]}(Record):", f'    """{item["post"]["description"]}"""', ""]
        lines += [f'    type: Literal["{event}"] = member("type")']
        lines += [f'    payload: {payload} = member("payload", record="{payload}")', *_ENVELOPE]
    lines += ["", "", "class UnknownEvent(Record):", '    """An event whose type this client does not know."""', ""]
    lines += [
        '    type: str = member("type")',
        '    payload: dict[str, Any] = member("payload", secret=True)',
        *_ENVELOPE,
    ]
    lines += ["", "", f"Event = {' | '.join(classes.values())}"]
    lines += ["BY_TYPE: dict[str, type[Event]] = {", *(f'    "{key}": {name},' for key, name in classes.items()), "}"]
    return "\n".join([*lines, ""])


def errors(document: Schema) -> str:
    """Return the module `errors`: an exception class for each error code."""
    codes = document["components"]["schemas"]["Error"]["properties"]["code"]["examples"]
    names = {code: "".join(word.capitalize() for word in code.split("_")) for code in codes}
    lines = ['"""The errors of the service. `BY_CODE` contains the class for each `code`."""', ""]
    lines += ["from ._errors import ApiError"]
    for code, name in names.items():
        lines += ["", "", f"class {name}(ApiError):", f'    """The error with the code `{code}`."""']
    lines += ["", "", "BY_CODE: dict[str, type[ApiError]] = {"]
    return "\n".join([*lines, *(f'    "{code}": {name},' for code, name in names.items()), "}", ""])


def record(types: Types, name: str, schema: Schema, prefix: str = "") -> list[str]:
    """Return the lines of a record's class."""
    description = schema.get("description", f"The record `{name}` of the API.")
    lines = ["", "", f"class {name}(Record):", f'    """{description}"""', ""]
    sent = next((one for key, one in types.schemas.items() if key.endswith(INPUT) and class_name(key) == name), schema)
    for python, wire in types.members(schema).items():
        value = schema["properties"][wire]
        annotation = types.annotation(value, prefix)
        if wire not in schema.get("required", ()) and annotation != "Any" and "None" not in annotation:
            annotation += " | None"
        options = [f'"{wire}"', *([f'record="{prefix}{types.record(value)}"'] if types.record(value) else [])]
        options += ["secret=True"] if value.get("x-secret") or wire == "workspaceSecret" else []
        options += [] if wire in sent.get("required", ()) else ["default=None"]
        lines += [f"    {python}: {annotation} = member({', '.join(options)})"]
        lines += [f'    """{_text(value["description"])}"""'] if "description" in value else []
    return lines


def _argument(types: Types, schema: Schema) -> str:
    """Return the type of an argument. An object may be a record, or a dict with the names of the API."""
    annotation = types.annotation(schema, "models.").replace("list[", "Sequence[")
    name = types.record(schema)
    return annotation.replace(f"models.{name}", f"models.{name} | Mapping[str, Any]") if name else annotation


def _with_contained(types: Types, names: set[str]) -> set[str]:
    """Return these schemas' names with the names of all schemas to which they refer."""
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _references(types.schemas[name])
    return reached


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        here = [value["$ref"].rsplit("/", 1)[-1]] if isinstance(value.get("$ref"), str) else []
        return [*here, *(name for item in value.values() for name in _references(item))]
    return [name for item in value for name in _references(item)] if isinstance(value, list) else []


def _text(description: str) -> str:
    return description.replace("\\", "\\\\")
