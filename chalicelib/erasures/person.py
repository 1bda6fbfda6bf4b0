"""Whether a document carries a person. Pure."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple


class Person(NamedTuple):
    """What identifies a person. Ids and phone numbers are compared exactly, the email without regard to case."""

    user_id: str | None
    email: str | None
    phone: str | None

    def has(self, metadata: Mapping[str, Any]) -> bool:
        """Whether this is the metadata of a conversation of the person."""
        email = metadata.get("userEmail")
        return (
            (self.user_id is not None and self.user_id in (metadata.get("userID"), metadata.get("ID")))
            or (self.email is not None and isinstance(email, str) and email.casefold() == self.email)
            or (self.phone is not None and self.phone == metadata.get("userPhone"))
        )

    def is_in(self, value: Any, also: Collection[str] = ()) -> bool:
        """Whether a text anywhere in a JSON value is the person's id, email or phone number, or one of `also`."""
        exact = {one for one in (self.user_id, self.phone) if one is not None}
        return any(text in exact or text in also or text.casefold() == self.email for text in texts(value))


def from_members(members: Mapping[str, str]) -> Person:
    """The person of the wire's members."""
    email = members.get("email")
    return Person(members.get("userID"), None if email is None else email.casefold(), members.get("phone"))


def texts(value: Any) -> Iterator[str]:
    """The texts in a JSON value, without the names of members."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
