"""Rules for values in an export. Each rule has a description and a function that checks values."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from chalicelib import clock, ids
from chalicelib.clients.models import SHORTEST_PASSWORD
from chalicelib.credentials import scopes, tokens
from chalicelib.sending import addresses
from chalicelib.webhooks import events


class Rule(NamedTuple):
    """A rule for a value: its description and a check function."""

    words: str
    holds: Callable[[Any], bool]


def whole(minimum: int, maximum: int, unit: str = "") -> Rule:
    """Return a rule for whole numbers within these limits."""

    def holds(value: Any) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and minimum <= value <= maximum and value == int(value)

    return Rule(f"a whole number{unit} from {minimum:,} to {maximum:,}", holds)


def text(words: str, pattern: str) -> Rule:
    """Return a rule for text that fully matches a pattern."""
    compiled = re.compile(pattern)
    return Rule(words, lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None)


ANY_TEXT = Rule("a text", lambda value: isinstance(value, str))
BOOLEAN = Rule("true or false", lambda value: isinstance(value, bool))
NUMBER = Rule("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool))
# The year 5138. Adding any retention period still results in a valid date.
SECONDS = whole(0, 99_999_999_999, " of seconds")
MILLISECONDS = whole(0, 99_999_999_999_999, " of milliseconds")
DAYS = whole(1, 3_650, " of days")
COUNT = whole(0, 2**32 - 1)
DIGESTS = text("up to 30,000 times 12 hexadecimal digits", r"([0-9a-f]{12}){0,30000}")
# Tolerance for clocks that run ahead. Without a limit, a time could be after the year 9999, which a date cannot
# represent.
_AHEAD_MILLISECONDS = 24 * 60 * 60 * 1000


def _is_ulid(value: Any) -> bool:
    is_ulid = isinstance(value, str) and ids.ULID.fullmatch(value) is not None
    return is_ulid and ids.timestamp_of(value) <= clock.milliseconds() + _AHEAD_MILLISECONDS


def _is_past(value: Any) -> bool:
    return SECONDS.holds(value) and value * 1000 <= clock.milliseconds() + _AHEAD_MILLISECONDS


# Counts omit changes from before the agent's creation, so an agent created in the future would have no counts.
PAST_SECONDS = Rule("a whole number of seconds, a time that is not in the future", _is_past)


def _is_url(value: str) -> bool:
    try:
        addresses.read_url(value, allow_private=True)  # the sender checks which hosts it may reach
    except addresses.InvalidUrl:
        return False
    return True


ULID = Rule("a ULID whose time is not in the future", _is_ulid)
# A tool or lead id (see `parent_scoped_ids`).
CHILD_ID = "[0-9a-hjkmnp-tv-z]{11}" + ids.ULID.pattern
ID = ids.IDENTIFIER.pattern
IDENTIFIER = text(ids.IDENTIFIER_RULE, ID)
TOKEN_HASH = text("64 hexadecimal digits", "[0-9a-f]{64}")
CREDENTIAL_KIND = text("workspace, access or agent", "|".join((tokens.WORKSPACE, tokens.ACCESS, tokens.AGENT)))
# DynamoDB has no empty sets, and a token without scopes has full access.
SCOPES = Rule(
    "a list of one or more scopes",
    lambda value: isinstance(value, list) and value != [] and all(scope in scopes.ALL for scope in value),
)
TYPES = Rule(
    "a list of event types",
    lambda value: (
        isinstance(value, list)
        and all(isinstance(event_type, str) and event_type in events.TYPES for event_type in value)
    ),
)
ENDPOINT_KIND = text("push or pull", "push|pull")
URL = Rule("a valid webhook URL", lambda value: isinstance(value, str) and _is_url(value))
PASSWORD = Rule(
    f"a text of at least {SHORTEST_PASSWORD} characters that is not blank",
    lambda value: isinstance(value, str) and len(value) >= SHORTEST_PASSWORD and value.strip() != "",
)
