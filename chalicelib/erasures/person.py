"""Whether a document carries a person. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

# The members that have the id of a person or of their conversation. Others have the same text by chance: a visitor may
# choose an id like "support", which is an agent's, or "human".
_IDS = frozenset({"id", "ID", "userID", "user_id", "convoId", "convo_id"})

# Of an email or a phone number that is the name of a member. A shorter one may be the index of a list.
_SHORTEST_NAME = 6


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
        """Whether a JSON value has the person's email or phone number anywhere, or as an id theirs or one of `also`.

        Anywhere: as a text, or as the name of a member, from 6 characters on.
        """
        return any(
            text == self.phone
            or text.casefold() == self.email
            or (name in _IDS and (text == self.user_id or text in also))
            for name, text in _texts(value)
        )

    def is_on(self, paths: Iterable[str]) -> bool:
        """Whether a path of members, such as `visitors.ann@example.com.since`, has their email or phone number."""
        names = [f".{one}." for one in (self.email, self.phone) if one is not None and len(one) >= _SHORTEST_NAME]
        return any(name in f".{path.casefold()}." for path in paths for name in names)


def from_members(members: Mapping[str, str]) -> Person:
    """The person of the wire's members."""
    email = members.get("email")
    return Person(members.get("userID"), None if email is None else email.casefold(), members.get("phone"))


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """The texts in a JSON value, each with the name of the member that it is in; and these names, in none."""
    waiting = [("", value)]
    while waiting:
        name, one = waiting.pop()
        if isinstance(one, str):
            yield name, one
        elif isinstance(one, dict):
            waiting.extend(one.items())
            yield from (("", inner) for inner in one if len(inner) >= _SHORTEST_NAME)
        elif isinstance(one, list):
            waiting.extend((name, inner) for inner in one)
