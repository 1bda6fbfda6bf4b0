"""The base class of all records: a JSON object whose members are typed attributes."""

import sys
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar, Self, dataclass_transform


class Member:
    """An attribute that reads one member of the record's JSON object."""

    def __init__(self, wire_name: str, record: str, is_secret: bool) -> None:
        """Create the attribute. `record` is the name of the class for the member's objects, or an empty string."""
        self.wire_name, self.record, self.is_secret = wire_name, record, is_secret

    def __get__(self, owner: "Record | None", class_: type["Record"]) -> Any:
        """Return the value, or None if the member is absent."""
        if owner is None:
            return self
        value = owner.to_dict().get(self.wire_name)
        return _wrap(value, attrgetter(self.record)(sys.modules[class_.__module__])) if self.record else value


def member(wire_name: str, *, record: str = "", secret: bool = False, default: Any = ...) -> Any:
    """Declare a member. Type checkers read `default`: the constructor requires a member without a default."""
    return Member(wire_name, record, secret)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(member,))
class Record:
    """A JSON object of the service. An absent member is None.

    `to_dict()` returns the object with the names of the API, including members that this client does not know. In a
    response, `etag` is the record's version and `request_id` is the request's id in the service's logs.
    """

    _members: ClassVar[dict[str, Member]] = {}
    etag: str | None
    request_id: str | None

    def __init_subclass__(cls) -> None:
        """Collect the members."""
        cls._members = {name: value for name, value in vars(cls).items() if isinstance(value, Member)}

    def __init__(self, **members: Any) -> None:
        """Create a record from its members. Raise TypeError for an unknown name."""
        unknown = members.keys() - self._members.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no member {', '.join(sorted(unknown))}.")
        self._set({self._members[name].wire_name: to_json(value) for name, value in members.items()}, {})

    @classmethod
    def from_dict(cls, value: dict[str, Any], headers: Mapping[str, str] | None = None) -> Self:
        """Return the record for a JSON object with the names of the API."""
        record = cls.__new__(cls)
        record._set(value, headers or {})
        return record

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object. Do not change it."""
        value: dict[str, Any] = self.__dict__["_json"]
        return value

    def _set(self, value: dict[str, Any], headers: Mapping[str, str]) -> None:
        self.__dict__.update(_json=value, etag=headers.get("etag"), request_id=headers.get("x-request-id"))

    def __setattr__(self, name: str, value: Any) -> None:
        """Raise AttributeError, because records are immutable."""
        raise AttributeError(f"{type(self).__name__} is immutable.")

    def __eq__(self, other: object) -> bool:
        """Compare class and members."""
        return type(self) is type(other) and isinstance(other, Record) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the present members. Replace secrets with `…`."""
        present = {name: item for name, item in self._members.items() if self.to_dict().get(item.wire_name) is not None}
        shown = (f"{name}={'…' if item.is_secret else repr(getattr(self, name))}" for name, item in present.items())
        return f"{type(self).__name__}({', '.join(shown)})"


def to_body(record: type[Record], members: Mapping[str, object]) -> dict[str, Any]:
    """Return the JSON object for the keyword arguments of a request."""
    return record(**members).to_dict()


def to_json(value: Any) -> Any:
    """Replace the records in a value with their JSON objects."""
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    return [to_json(item) for item in value] if isinstance(value, list | tuple) else value


def _wrap(value: Any, record: type[Record]) -> Any:
    if isinstance(value, list):
        return [_wrap(item, record) for item in value]
    return record.from_dict(value) if isinstance(value, dict) else value
