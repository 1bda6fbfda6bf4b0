"""Examples of the operations on the workspace, its tokens and its key."""

from chalicelib.openapi.examples.shared import (
    ACCESS_TOKEN,
    FIRST_TOKEN_ID,
    IN_30_DAYS,
    IN_A_YEAR,
    KEY_ID,
    NEW_WORKSPACE_KEY,
    NOW_ISO,
    TOKEN_ID,
    WORKSPACE_ID,
    Example,
    Examples,
    success,
)

_TOKEN = {
    "id": TOKEN_ID,
    "name": "reporting",
    "readOnly": True,
    "scopes": ["agents:read", "leads:read"],
    "expiresAt": "2026-11-09T09:30:00Z",
    "createdAt": NOW_ISO,
    "lastUsedAt": None,
}
_FIRST = {
    "id": FIRST_TOKEN_ID,
    "name": "first token",
    "readOnly": False,
    "expiresAt": IN_30_DAYS,
    "createdAt": NOW_ISO,
    "lastUsedAt": None,
}
_KEY = {
    "id": KEY_ID,
    "key": NEW_WORKSPACE_KEY,
    "expiresAt": IN_A_YEAR,
    "createdAt": NOW_ISO,
    "previousKeyExpiresAt": "2026-11-02T10:30:00Z",
}
_WORKSPACE = {"id": WORKSPACE_ID, "name": "Example Ltd", "retentionDays": 365, "createdAt": NOW_ISO}

CHANGE_WORKSPACE: Examples = {
    "name": Example(
        "A new name and a number of days",
        success("Workspace updated successfully", _WORKSPACE),
        {"workspace": {"name": "Example Ltd", "retentionDays": 365}},
    )
}
READ_WORKSPACE: Examples = {
    "workspace": Example("The workspace", success("Workspace retrieved successfully", _WORKSPACE))
}
ISSUE_TOKEN: Examples = {
    "week": Example(
        "A token that reads agents and leads, and expires after a week",
        success("Token created successfully", {**_TOKEN, "token": ACCESS_TOKEN}),
        {"token": {"name": "reporting", "expiresInSeconds": 604800, "scopes": ["leads:read", "agents:read"]}},
    )
}
LIST_TOKENS: Examples = {"tokens": Example("All tokens", success("Tokens retrieved successfully", [_FIRST, _TOKEN]))}
REVOKE_TOKEN: Examples = {"revoked": Example("The token is revoked", success("Token deleted successfully"))}
ROTATE_KEY: Examples = {
    "hour": Example(
        "The old key works for one more hour", success("Key rotated successfully", _KEY), {"overlapSeconds": 3600}
    )
}
