"""Examples of the erasure operations."""

from chalicelib.openapi.examples.shared import ERASURE_ID, NOW_ISO, Example, Examples, success

_COUNTS = {"conversations": 0, "analytics": 0, "leads": 0, "events": 0, "history": 0, "answers": 0}
_RUNNING = {"id": ERASURE_ID, "status": "running", "createdAt": NOW_ISO, "counts": _COUNTS}

CREATE_ERASURE: Examples = {
    "person": Example(
        "A person by user id and email",
        success("Erasure created successfully", _RUNNING),
        {"erasure": {"userID": "visitor-7f3a", "email": "sam@example.com"}},
    )
}
READ_ERASURE: Examples = {
    "running": Example("An erasure that has not begun", success("Erasure retrieved successfully", _RUNNING))
}
