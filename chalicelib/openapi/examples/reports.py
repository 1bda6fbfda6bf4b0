"""Examples of the reports."""

from chalicelib.openapi.examples.shared import AGENT, NOW, Example, Examples, success

_DAY = NOW - NOW % 86_400


def _counts(start: int) -> dict[str, int]:
    names = ("loads", "newVisitors", "conversations", "messages", "interactions", "handoffs", "leads")
    return {"from": start, **dict.fromkeys(names, 0)}


REPORT: Examples = {
    "report": Example(
        "A day in which nothing has been counted yet",
        success(
            "Analytics retrieved successfully",
            {"series": [_counts(_DAY)], "totals": _counts(_DAY), "previous": _counts(_DAY - 86_400)},
        ),
    )
}
_NONE = dict.fromkeys(("conversations", "messages", "interactions", "deliveries", "leads"), 0)
USAGE: Examples = {
    "usage": Example(
        "An agent of which nothing has been counted yet",
        {
            **success("Usage retrieved successfully", [{"agentId": AGENT, "days": [], "totals": _NONE}]),
            "hasMore": False,
        },
    )
}
