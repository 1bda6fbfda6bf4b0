"""A person's identity, and how to find it in JSON values. The module performs no I/O."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

# The members that contain the id of a person or conversation. Other members may contain the same text by chance: a
# visitor may choose the id "human", or the id "support", which may also be an agent's id.
_IDS = frozenset({"id", "ID", "userID", "user_id", "convoId", "convo_id"})

# The minimum length at which an email or phone number is searched for in member names. A shorter text may be a list
# index.
_SHORTEST_NAME = 6


class Identity(NamedTuple):
    """A person's id, email and phone number. Only the email is compared case-insensitively."""

    user_id: str | None
    email: str | None
    phone: str | None

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether this metadata belongs to one of the person's conversations."""
        email = metadata.get("userEmail")
        return (
            (self.user_id is not None and self.user_id in (metadata.get("userID"), metadata.get("ID")))
            or (self.email is not None and isinstance(email, str) and email.casefold() == self.email)
            or (self.phone is not None and self.phone == metadata.get("userPhone"))
        )

    def is_in(self, value: Any, other_ids: Collection[str] = ()) -> bool:
        """Return whether a JSON value contains the person's email or phone number, their id, or one of `other_ids`.

        An email or phone number matches any text; if it has at least 6 characters, it also matches member names. Ids
        match only the values of the members in `_IDS`.
        """
        return any(
            text == self.phone
            or text.casefold() == self.email
            or (name in _IDS and (text == self.user_id or text in other_ids))
            for name, text in _texts(value)
        )

    def is_in_paths(self, paths: Iterable[str]) -> bool:
        """Return whether a member path, such as `visitors.a@b.com.since`, contains the email or phone number."""
        texts = [text for text in (self.email, self.phone) if text is not None and len(text) >= _SHORTEST_NAME]
        return any(f".{text}." in f".{path.casefold()}." for path in paths for text in texts)


def from_members(members: Mapping[str, str]) -> Identity:
    """Return the identity from a request's members."""
    email = members.get("email")
    return Identity(members.get("userID"), None if email is None else email.casefold(), members.get("phone"))


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """Yield each text in a JSON value with its member name, and each long member name with an empty name."""
    waiting = [("", value)]
    while waiting:
        name, node = waiting.pop()
        if isinstance(node, str):
            yield name, node
        elif isinstance(node, dict):
            waiting.extend(node.items())
            yield from (("", member) for member in node if len(member) >= _SHORTEST_NAME)
        elif isinstance(node, list):
            waiting.extend((name, inner) for inner in node)
