"""The identity of a person, and the search for it in JSON values. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

# The members that contain the id of a person or of their conversation. Other members may contain the same text by
# chance: a visitor may choose the id "human", or "support", which is also the id of an agent.
_IDS = frozenset({"id", "ID", "userID", "user_id", "convoId", "convo_id"})

# The minimum length of an email or phone number in the name of a member. A shorter text may be a list index.
_SHORTEST_NAME = 6


class Identity(NamedTuple):
    """The id, email and phone number of a person. Only the email is compared case-insensitively."""

    user_id: str | None
    email: str | None
    phone: str | None

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether this is the metadata of one of the person's conversations."""
        email = metadata.get("userEmail")
        return (
            (self.user_id is not None and self.user_id in (metadata.get("userID"), metadata.get("ID")))
            or (self.email is not None and isinstance(email, str) and email.casefold() == self.email)
            or (self.phone is not None and self.phone == metadata.get("userPhone"))
        )

    def is_in(self, value: Any, other_ids: Collection[str] = ()) -> bool:
        """Return whether a JSON value contains the person's email or phone number, their id, or one of `other_ids`.

        An email or phone number can be any text, or the name of a member if it has at least 6 characters. An id counts
        only in the members `_IDS`.
        """
        return any(
            text == self.phone
            or text.casefold() == self.email
            or (name in _IDS and (text == self.user_id or text in other_ids))
            for name, text in _texts(value)
        )

    def is_in_paths(self, paths: Iterable[str]) -> bool:
        """Return whether a path of members, such as `visitors.a@b.com.since`, contains the email or phone number."""
        texts = [text for text in (self.email, self.phone) if text is not None and len(text) >= _SHORTEST_NAME]
        return any(f".{text}." in f".{path.casefold()}." for path in paths for text in texts)


def from_members(members: Mapping[str, str]) -> Identity:
    """Return the identity for the members of a request."""
    email = members.get("email")
    return Identity(members.get("userID"), None if email is None else email.casefold(), members.get("phone"))


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """Yield each text in a JSON value with the name of its member, and each long member name with an empty name."""
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
