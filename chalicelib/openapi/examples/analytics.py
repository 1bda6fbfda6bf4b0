"""Examples of the analytics operations."""

from chalicelib.openapi.examples.shared import NOW, VISITOR, Example, Examples, success

_LOAD = {
    "record": "load",
    "userID": VISITOR,
    "ipAddress": "192.0.2.10",
    "countryCode": "DE",
    "langCode": "de",
    "browser": "desktop",
    "platform": "tablet",
    "origin": "web-chat",
    "ts": NOW - 90,
}
_CONVERSATION = {
    "record": "convo",
    "userID": VISITOR,
    "interactionsNum": 1,
    "firstMessageTS": NOW - 60,
    "lastMessageTS": NOW - 60,
}

WRITE_ANALYTICS: Examples = {
    "load": Example("A page load", success("Analytics added successfully"), _LOAD),
    "convo": Example("A conversation", success("Analytics added successfully"), _CONVERSATION),
}
READ_ANALYTICS: Examples = {
    "both": Example(
        "The conversation record merged over the page load",
        success("Analytics retrieved successfully", {**_LOAD, **_CONVERSATION}),
    )
}
LIST_ANALYTICS: Examples = {
    "both": Example(
        "A conversation with both records",
        {
            **success(
                "Analytics retrieved successfully",
                [{"convoID": VISITOR, "lastModified": NOW, "load": _LOAD, "convo": _CONVERSATION}],
            ),
            "hasMore": False,
        },
    )
}
DELETE_ANALYTICS: Examples = {
    "all": Example(
        "No record was last written in the period",
        {**success("Analytics deleted successfully", {"deleted": 0}), "hasMore": False},
    )
}
