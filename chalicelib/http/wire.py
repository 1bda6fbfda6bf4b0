"""The base classes of all wire models. Their types are strict, and an absent member differs from `null`.

A request model declares the members of a body. They are optional by default, and `null` clears them. Read-only members
are accepted and ignored, so a client can send back a record that it has read. Undeclared members are rejected
(`WireModel`) or kept (`OpenWire`, for agents). Enumerations are `Literal` types if the specification lists all values,
otherwise strings.
"""

import math
import re
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.functional_validators import AfterValidator, BeforeValidator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema, from_json, to_json
from typing_extensions import TypeAliasType

from chalicelib import clock
from chalicelib.credentials import tokens
from chalicelib.ids import IDENTIFIER


class _StrictNumber:
    """Validates JSON numbers. 3 stays an int, and 3.5 a float. Booleans, strings, NaN and infinities are invalid."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        either = core_schema.union_schema(
            [core_schema.int_schema(strict=True), core_schema.float_schema(strict=True, allow_inf_nan=False)],
            mode="left_to_right",
        )
        return core_schema.custom_error_schema(either, "number", custom_error_message="must be a number")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "number"}


Number = Annotated[int | float, _StrictNumber]


def _integral_float_to_int(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


# In JSON Schema, 60.0 is an integer.
INTEGRAL_FLOAT_AS_INT = BeforeValidator(_integral_float_to_int)

Identifier = Annotated[str, Field(pattern=f"^{IDENTIFIER.pattern}$")]

# Types for members that may be absent or null. `Open` is the specification's `any`: any JSON value, stored as sent.
# `bodies.parse` checks that all numbers are finite, because a type that checked each value would take ten times as
# long.
OptionalText = str | None
OptionalNumber = Number | None
OptionalFlag = bool | None
OptionalTexts = list[str] | None
OptionalTimeZone = Annotated[str, AfterValidator(lambda name: clock.time_zone(name) and name)] | None
Open = Any
OpenObject = TypeAliasType("OpenObject", dict[str, Open])
Texts = TypeAliasType("Texts", dict[str, str])

# Named enumerations that several resources use. A `TypeAliasType` keeps its name in the OpenAPI document.
Platform = TypeAliasType("Platform", Literal["vf", "vg"])
Origin = TypeAliasType("Origin", Literal["web-chat", "chatapp", "community", "gb-chat"])

# A member that contains a key, a token or a password. `privileges` hides it from some callers.
SECRET = Field(json_schema_extra={"x-secret": True})
OptionalSecret = Annotated[OptionalText, SECRET]
OpenSecret = Annotated[Open, SECRET]

# A visible character: any character except spaces, control characters and other invisible characters.
VISIBLE = r"[^\s\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"


def require_visible(text: str) -> str:
    """Return the text. Raise PydanticCustomError if it has no visible character."""
    if not re.search(VISIBLE, text):
        raise PydanticCustomError("blank", "must not be blank")
    return text


# A public member, such as one that a chat widget needs. A visitor token can read only public members (`privileges`).
PUBLIC = Field(json_schema_extra={"x-public": True})
PublicText = Annotated[OptionalText, PUBLIC]
PublicNumber = Annotated[OptionalNumber, PUBLIC]

# This pattern is used only in the OpenAPI document. `privileges.guard_agent_key` checks new keys, and accepts any text
# that is already stored.
OptionalAgentKey = Annotated[
    OptionalText,
    Field(
        json_schema_extra={
            "x-secret": True,
            "minLength": tokens.MIN_KEY,
            "maxLength": tokens.MAX_KEY,
            "pattern": f"^{tokens.KEY_CHARACTERS}*$",
        }
    ),
]

# A member that contains the id of a record in this workspace, or of an account on another platform. Templates omit such
# members.
OWN_ID = Field(json_schema_extra={"x-own-id": True})
OptionalOwnId = Annotated[OptionalText, OWN_ID]
OptionalOwnIds = Annotated[OptionalTexts, OWN_ID]

STRICT = ConfigDict(
    strict=True,
    extra="forbid",
    allow_inf_nan=False,
    hide_input_in_errors=True,
    # Validators are built when a model is first used, so that they do not lengthen the cold start.
    defer_build=True,
)


# A member that every response contains, although requests may omit it.
PRESENT_MARK = "x-present"


def present() -> Any:
    """Return the field for a member that every response contains, although requests may omit it."""
    return Field(default=None, json_schema_extra={PRESENT_MARK: True})


def read_only() -> Any:
    """Return the field for a member that the service sets. Requests may contain the member, but it is ignored."""
    return Field(default=None, json_schema_extra={"readOnly": True})


def generated() -> Any:
    """Return the field for a member that the service sets and that every response contains."""
    return Field(default=None, json_schema_extra={"readOnly": True, PRESENT_MARK: True})


def omitted(**options: Any) -> Any:
    """Return the field for a response member that is absent, instead of null, if it has no value."""
    return Field(default=None, **options)


class WireModel(BaseModel):
    """A JSON object in the API."""

    # Whether the OpenAPI document describes the model in responses as in requests.
    has_one_form: ClassVar[bool] = False
    model_config = STRICT

    def __repr_args__(self) -> Any:
        # The repr contains only member names, because many models contain keys, tokens or passwords.
        return [(None, name) for name in sorted(self.model_fields_set)]

    def writable_members(self) -> dict[str, Any]:
        """Return the writable members that the caller sent, including nulls, as plain JSON values."""
        kept = read_only_members(type(self))
        return {name: _to_json(value) for name, value in self._sent_members() if name not in kept}

    def merge_into(self, document: dict[str, Any]) -> dict[str, Any]:
        """Merge the members that the caller sent into `document`: objects merge, other values replace, null clears."""
        merged = dict(document)
        for name, value in self._sent_members():
            if name in read_only_members(type(self)):
                continue
            if isinstance(value, WireModel):
                before = merged.get(name)  # may be any JSON, if an earlier version did not declare the member
                merged[name] = value.merge_into(before if isinstance(before, dict) else {})
            elif value is None:
                merged.pop(name, None)
            else:
                merged[name] = _to_json(value)
        return merged

    def _sent_members(self) -> list[tuple[str, Any]]:
        """Return the members that the caller sent, including unknown members with the names of methods."""
        values = {**self.__dict__, **(self.__pydantic_extra__ or {})}
        return [(name, values[name]) for name in sorted(self.model_fields_set)]


class OpenWire(WireModel):
    """A JSON object that keeps unknown members, so that newer clients lose no data."""

    model_config = ConfigDict({**STRICT, "extra": "allow"})
    __pydantic_extra__: dict[str, Open] = Field(init=False)


class Settings(OpenWire):
    """Optional settings inside a record. The OpenAPI document allows null in responses, too, to share the schema."""

    has_one_form = True


Location = tuple[int | str, ...]


def find_unknown_members(body: "WireModel") -> Iterator[tuple[Location, Any]]:
    """Yield the location and value of each unknown member in a parsed body."""
    for location, model in _objects(body, ()):
        if isinstance(model, OpenWire):
            yield from (((*location, name), value) for name, value in model.__pydantic_extra__.items())


def find_ignored_members(body: "WireModel") -> Iterator[Location]:
    """Yield the location of each member in a parsed body that is ignored because the service sets it."""
    for location, model in _objects(body, ()):
        for name in sorted(model.model_fields_set & read_only_members(type(model))):
            yield (*location, name)


# Types that contain no model. They are checked first, because `isinstance` with `WireModel` takes ten times as long.
_LEAVES = (str, type(None), bool, int, float, dict)


def _objects(value: Any, location: Location) -> Iterator[tuple[Location, "WireModel"]]:
    """Yield the objects in a parsed body with their locations, except those inside ignored members."""
    if isinstance(value, WireModel):
        yield location, value
        for name, inner in value.__dict__.items():
            if not isinstance(inner, _LEAVES) and name not in read_only_members(type(value)):
                yield from _objects(inner, (*location, name))
    elif isinstance(value, list) and value and isinstance(value[0], WireModel):
        # All entries in a list have the same type. For example, the 30,000 messages of a state are dictionaries, not
        # models.
        for index, inner in enumerate(value):
            yield from _objects(inner, (*location, index))


# Signs are counted as digits, because removing them would take three times as long.
_SHAPE = bytes.maketrans(b"123456789+E", b"0000000000e")
_LONG = 200
_MAX_EXPONENTS = 1_000


def find_non_finite(raw: bytes) -> Iterator[Location]:
    """Yield the locations of NaN and infinities, such as 1e999, in a JSON text. Yield nothing if it is invalid JSON."""
    if not _may_have_non_finite(raw):
        return
    try:
        parsed = from_json(raw)
    except ValueError:
        return
    text = to_json(parsed, inf_nan_mode="constants")  # much faster than the full search, which is rarely needed
    if b"NaN" in text or b"Infinity" in text:
        yield from _find_non_finite(parsed, ())


def _may_have_non_finite(raw: bytes) -> bool:
    """Return whether a text may contain a non-finite number. Parsing the text instead would take ten times as long.

    A number can be infinite only if it has an exponent of three digits, or at least 210 digits.
    """
    shape = raw.translate(_SHAPE)
    if b"NaN" in raw or b"Infinity" in raw or b"0" * _LONG in shape:
        return True
    at = -1
    for _ in range(_MAX_EXPONENTS):
        at = shape.find(b"0e000", at + 1)
        if at < 0:
            return False
        # A number follows one of these characters, whereas the digits in a hexadecimal id follow a letter or a
        # quotation mark.
        if shape[max(0, at - 2 * _LONG) : at].rstrip(b"0.-")[-1:] in b":,[ \t\r\n":
            return True
    return True


def _find_non_finite(value: Any, location: Location) -> Iterator[Location]:
    if isinstance(value, float) and not math.isfinite(value):
        yield location
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _find_non_finite(inner, (*location, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _find_non_finite(inner, (*location, index))


@cache
def read_only_members(model: type[WireModel]) -> set[str]:
    """Return a model's own members that the service sets."""
    return marked(model, "readOnly")


def marked(model: type[WireModel], mark: str) -> set[str]:
    """Return a model's own members that have this mark in their schema."""
    return {
        name
        for name, field in model.model_fields.items()
        if isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get(mark)
    }


def _to_json(value: Any) -> Any:
    if isinstance(value, WireModel):
        return {name: _to_json(inner) for name, inner in value._sent_members() if inner is not None}
    if isinstance(value, list):
        return [_to_json(item) for item in value]
    return value
