"""The rules for the values of an export, each with its words and the function that checks it."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from chalicelib import clock, ids
from chalicelib.clients.models import SHORTEST_PASSWORD
from chalicelib.credentials import scopes, tokens
from chalicelib.sending import addresses
from chalicelib.webhooks import events


class Rule(NamedTuple):
    """A rule for a value, in words and as a function."""

    words: str
    holds: Callable[[Any], bool]


def whole(minimum: int, maximum: int, unit: str = "") -> Rule:
    """Return the rule of a whole number within limits."""

    def holds(value: Any) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and minimum <= value <= maximum and value == int(value)

    return Rule(f"a whole number{unit} from {minimum:,} to {maximum:,}", holds)


def text(words: str, pattern: str) -> Rule:
    """Return the rule of a text that matches a pattern as a whole."""
    compiled = re.compile(pattern)
    return Rule(words, lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None)


ANY_TEXT = Rule("a text", lambda value: isinstance(value, str))
BOOLEAN = Rule("true or false", lambda value: isinstance(value, bool))
NUMBER = Rule("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool))
# The year 5138; with any retention it is still a date.
SECONDS = whole(0, 99_999_999_999, " of seconds")
MILLISECONDS = whole(0, 99_999_999_999_999, " of milliseconds")
DAYS = whole(1, 3_650, " of days")
COUNT = whole(0, 2**32 - 1)
DIGESTS = text("up to 30,000 times 12 hexadecimal digits", r"([0-9a-f]{12}){0,30000}")
# The limit for a clock that is ahead. Without it, a time could be after the year 9999, which no date can represent.
_AHEAD_MILLISECONDS = 24 * 60 * 60 * 1000


def _is_ulid(value: Any) -> bool:
    is_ulid = isinstance(value, str) and ids.ULID.fullmatch(value) is not None
    return is_ulid and ids.timestamp_of(value) <= clock.milliseconds() + _AHEAD_MILLISECONDS


def _is_past(value: Any) -> bool:
    return SECONDS.holds(value) and value * 1000 <= clock.milliseconds() + _AHEAD_MILLISECONDS


# Counts omit changes that are older than their agent, so an agent created in the future would have no counts.
PAST_SECONDS = Rule("a whole number of seconds, a time that is not in the future", _is_past)


def _is_url(value: str) -> bool:
    try:
        addresses.read_url(value, allow_private=True)  # the sender decides which hosts it may reach
    except addresses.InvalidUrl:
        return False
    return True


ULID = Rule("a ULID of a time that is not in the future", _is_ulid)
# The id of a tool or a lead, see `parent_scoped_ids`.
CHILD_ID = "[0-9a-hjkmnp-tv-z]{11}" + ids.ULID.pattern
ID = ids.IDENTIFIER.pattern
IDENTIFIER = text(ids.IDENTIFIER_RULE, ID)
TOKEN_HASH = text("64 hexadecimal digits", "[0-9a-f]{64}")
CREDENTIAL_KIND = text("workspace, access or agent", "|".join((tokens.WORKSPACE, tokens.ACCESS, tokens.AGENT)))
# DynamoDB has no empty set, and a token without scopes opens everything.
SCOPES = Rule(
    "a list of one or more scopes",
    lambda value: isinstance(value, list) and value != [] and all(scope in scopes.ALL for scope in value),
)
TYPES = Rule(
    "a list of types of events",
    lambda value: (
        isinstance(value, list)
        and all(isinstance(event_type, str) and event_type in events.TYPES for event_type in value)
    ),
)
URL = Rule("a URL that a webhook may have", lambda value: isinstance(value, str) and _is_url(value))
PASSWORD = Rule(
    f"a text of at least {SHORTEST_PASSWORD} characters that is not blank",
    lambda value: isinstance(value, str) and len(value) >= SHORTEST_PASSWORD and value.strip() != "",
)
