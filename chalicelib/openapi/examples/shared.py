"""The form of examples, and the values that they share: the time, identifiers and generated values."""

from typing import Any, NamedTuple


class Example(NamedTuple):
    """A request and its response. `request` is None if there is no body."""

    summary: str
    answer: dict[str, Any]
    request: dict[str, Any] | None = None


Examples = dict[str, Example]
"""The examples of one operation by name, in execution order."""

# All examples run at this time.
NOW = 1793611800
NOW_MILLISECONDS = NOW * 1000
NOW_ISO = "2026-11-02T09:30:00Z"
IN_30_DAYS = "2026-12-02T09:30:00Z"
IN_A_YEAR = "2027-11-02T09:30:00Z"

# Identifiers that the caller chooses.
AGENT = "support"
VISITOR = "visitor-1"
MESSAGE = "m-4"
CLIENT = "client-1"
ORGANISATION = "org-1"

# Placeholders for generated values. A real value differs, but is the same wherever its placeholder occurs.
WORKSPACE_ID = "06fgz0x9w4h2d7kq5t8n3v6c1a"
NEW_AGENT_ID = "06fgz0x9w4j8r1m6y3p5s7f2eb"
CLONE_ID = "06fgz0x9w51b3n8k6q2v7d4t9c"
TOOL_ID = "k7q2m9x4v1h06fgz0x9w4n5t2w8d6g3z1cqr"
CLONED_TOOL_ID = "p3w8t5c1n6k06fgz0x9w51c4r7m2y5h8d3v6kx"
IMPORTED_ID = "06fgz0x9w51d8p2m9s5x1f6v3e"
IMPORTED_TOOL_ID = "c9h2v7m4s1z06fgz0x9w51e1r8n4z7j2f5x3mq"
IMPORTED_FIELD_ID = "06fgz0x9w51f5s3q1b9k4h8w6g"
FIELD_ID = "06fgz0x9w4p9k4b7x2h8v5j3md"
CONVERSATION_ID = "06fgz0x9w4r6c1n8q4t7w2y5fe"
FIRST_TOKEN_ID = "06fgz0x9w4s3g9d5z1m6k8p4hf"  # noqa: S105 - an id, not a token
TOKEN_ID = "06fgz0x9w4t7x2v8b5r1j9n3qg"  # noqa: S105 - an id, not a token
KEY_ID = "06fgz0x9w4v4h6y1c9w3f7s5kh"
LEAD_ID = "k7q2m9x4v1h06fgz0x9w4w3p8b5r1n6t9y4dm"
ERASURE_ID = "06fgz0x9w4w7d3s9k2c6q8x1vm"
NEW_CLIENT_ID = "06fgz0x9w4wdh1y6n9g7v2c4rq"
SECOND_CLIENT_ID = "06fgz0x9w4wfj8z3p2h9w5d6st"
NEW_ORGANISATION_ID = "06fgz0x9w4w9f2c6m3r8t5y1bn"
SECOND_ORGANISATION_ID = "06fgz0x9w4wbg5x1k7d4s9z3qp"
WEBHOOK_ID = "06fgz0x9w4x5k2n7d9q4t1v8zc"
EVENT_ID = "06fgz0x9w4y1t6b3m8r5h2w7gj"
DELIVERY_ID = "06fgz0x9w4z8d4v1k6p9n3c5xq"
SECOND_DELIVERY_ID = "06fgz0x9w509m7s2y4f8j1t6bk"
# Invalid tokens on purpose: real ones are longer and end in a checksum.
SUPPORT_KEY = "cams_agent_EXAMPLE-OF-THE-KEY-OF-SUPPORT"
NEW_AGENT_KEY = "cams_agent_EXAMPLE-OF-THE-KEY-OF-ANOTHER"
CLONE_KEY = "cams_agent_EXAMPLE-OF-THE-KEY-OF-A-CLONE"
IMPORTED_KEY = "cams_agent_EXAMPLE-OF-THE-KEY-OF-AN-IMPORT"
ACCESS_TOKEN = "cams_access_EXAMPLE"  # noqa: S105 - a placeholder
VISITOR_TOKEN = "cams_visitor_EXAMPLE"  # noqa: S105 - a placeholder
NEW_VISITOR_TOKEN = "cams_visitor_EXAMPLE-OF-ANOTHER"  # noqa: S105 - a placeholder
NEW_WORKSPACE_KEY = "cams_workspace_EXAMPLE"
SIGNING_SECRET = "whsec_EXAMPLE"  # noqa: S105 - a placeholder
NEW_SIGNING_SECRET = "whsec_EXAMPLE-OF-ANOTHER"  # noqa: S105 - a placeholder
IDEMPOTENCY_KEY = "8e03978e-40d5-43dd-bc93-6894a57f9324"
ETAG = '"06fgz0x9w52n6p1x4c9r3k7thb"'

GENERATED = frozenset(
    {
        WORKSPACE_ID,
        NEW_AGENT_ID,
        CLONE_ID,
        CLONE_KEY,
        TOOL_ID,
        CLONED_TOOL_ID,
        IMPORTED_ID,
        IMPORTED_KEY,
        IMPORTED_TOOL_ID,
        IMPORTED_FIELD_ID,
        FIELD_ID,
        CONVERSATION_ID,
        FIRST_TOKEN_ID,
        TOKEN_ID,
        KEY_ID,
        SUPPORT_KEY,
        NEW_AGENT_KEY,
        ACCESS_TOKEN,
        VISITOR_TOKEN,
        NEW_VISITOR_TOKEN,
        NEW_WORKSPACE_KEY,
        LEAD_ID,
        ERASURE_ID,
        NEW_CLIENT_ID,
        SECOND_CLIENT_ID,
        NEW_ORGANISATION_ID,
        SECOND_ORGANISATION_ID,
        WEBHOOK_ID,
        EVENT_ID,
        DELIVERY_ID,
        SECOND_DELIVERY_ID,
        SIGNING_SECRET,
        NEW_SIGNING_SECRET,
    }
)
"""The placeholders of core."""


def success(message: str, data: Any = None) -> dict[str, Any]:
    """The success envelope."""
    envelope = {"success": True, "message": message}
    return envelope if data is None else {**envelope, "data": data}
