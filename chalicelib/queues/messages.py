"""Queue messages as text: a NamedTuple becomes a JSON list of its name and members."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, get_args, get_origin

Kind = TypeVar("Kind", bound=tuple[Any, ...])


def pack(message: tuple[Any, ...]) -> str:
    """Return a message's text, which `parse` reads."""
    return json.dumps([type(message).__name__, *message])


def parse(text: str, kinds: Iterable[type[Kind]]) -> Kind:
    """Parse a text into a message of one of these kinds. Raise TypeError or ValueError if the text is invalid."""
    name, *members = _require_list(json.loads(text))
    for kind in kinds:
        if kind.__name__ == name:
            return from_members(kind, members)
    raise ValueError("The kind of a message is unknown.")


def from_members(kind: Callable[..., Kind], members: Sequence[Any]) -> Kind:
    """Return the message with these members. Raise TypeError or ValueError if their number or types are invalid."""
    types = kind.__annotations__.values()
    return kind(*(_checked(type_, member) for type_, member in zip(types, members, strict=True)))


def _checked(type_: Any, member: Any) -> Any:
    """Return a member, with lists converted to tuples."""
    if get_origin(type_) is tuple:
        return tuple(_checked(get_args(type_)[0], item) for item in _require_list(member))
    if type(member) not in (get_args(type_) or (type_,)):
        raise TypeError("A member of a message has an invalid type.")
    return member


def _require_list(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise TypeError("A message must consist of lists that are not empty.")
    return value
