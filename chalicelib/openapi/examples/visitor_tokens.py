"""Examples of the operations that issue visitor tokens."""

from chalicelib.openapi.examples.shared import (
    NEW_VISITOR_TOKEN,
    NOW_ISO,
    VISITOR_TOKEN,
    Example,
    Examples,
    success,
)


def _issued(token: str) -> Examples:
    made = {"token": token, "expiresAt": "2026-11-02T10:30:00Z", "createdAt": NOW_ISO}
    return {
        "hour": Example(
            "A token that expires after an hour",
            success("Visitor token created successfully", made),
            {"token": {"expiresInSeconds": 3600}},
        )
    }


ISSUE_VISITOR_TOKEN: Examples = _issued(VISITOR_TOKEN)
ISSUE_VISITOR_TOKEN_AT_EDGE: Examples = _issued(NEW_VISITOR_TOKEN)
