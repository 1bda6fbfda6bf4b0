"""Examples of the lead operations."""

from chalicelib.openapi.examples.shared import AGENT, LEAD_ID, NOW_MILLISECONDS, Example, Examples, success

_GIVEN = {"agentId": AGENT, "name": "Sam Example", "email": "sam@example.com", "phone": "+49 30 5550100"}
_SHOWN = {
    **_GIVEN,
    "id": LEAD_ID,
    "agentName": "Support",
    "channel": "web-chat",
    "createdAt": NOW_MILLISECONDS,
}
_NAMED = {"name": "Sam Example-Jones"}

CREATE_LEAD: Examples = {
    "lead": Example(
        "A lead; the service adds the channel and the agent's name",
        success("Lead created successfully", _SHOWN),
        {"lead": _GIVEN},
    )
}
LIST_LEADS: Examples = {"leads": Example("The agent's leads", success("Leads retrieved successfully", [_SHOWN]))}
READ_LEAD: Examples = {"lead": Example("The lead", success("Lead retrieved successfully", _SHOWN))}
LIST_ALL_LEADS: Examples = {
    "leads": Example("The first page", {**success("Leads retrieved successfully", [_SHOWN]), "hasMore": False})
}
CHANGE_LEAD: Examples = {
    "merge": Example(
        "Omitted members keep their values; null clears a member",
        success(
            "Lead updated successfully", {**{name: one for name, one in _SHOWN.items() if name != "phone"}, **_NAMED}
        ),
        {"lead": {**_NAMED, "phone": None}},
    )
}
