"""Examples of the organisation operations."""

from chalicelib.openapi.examples.agents import SUPPORT_V3_FINAL
from chalicelib.openapi.examples.shared import (
    AGENT,
    NEW_ORGANISATION_ID,
    NOW,
    ORGANISATION,
    SECOND_ORGANISATION_ID,
    WORKSPACE_ID,
    Example,
    Examples,
    success,
)

_GIVEN = {
    "name": "Example Shop",
    "preferredLanguage": "en",
    "widgetIDs": [AGENT],
    "canSelfEdit": True,
    "dashboardLayout": "vertical",
}
_SHOWN = {"ID": ORGANISATION, "userId": WORKSPACE_ID, **_GIVEN, "lastModified": NOW}

SAVE_ORGANISATION: Examples = {
    "organisation": Example("An organisation", success("Organization updated successfully"), _GIVEN)
}
READ_ORGANISATION: Examples = {
    "organisation": Example("The organisation", success("Organization retrieved successfully", _SHOWN))
}
LIST_ORGANISATIONS: Examples = {
    "organisations": Example("All organisations", success("Organizations retrieved successfully", [_SHOWN]))
}
LIST_ORGANISATIONS_V3: Examples = {
    "organisations": Example(
        "The first page", {**success("Organizations retrieved successfully", [_SHOWN]), "hasMore": False}
    )
}
CREATE_ORGANISATION: Examples = {
    "organisation": Example(
        "An organisation; the service makes its id",
        success("Organization created successfully", {**_SHOWN, "ID": NEW_ORGANISATION_ID}),
        {"organisation": _GIVEN},
    )
}
PUT_ORGANISATION: Examples = {
    "organisation": Example(
        "An organisation; the service makes its id",
        success("Organization created successfully", {**_SHOWN, "ID": SECOND_ORGANISATION_ID}),
        _GIVEN,
    )
}
LIST_ORGANISATION_AGENTS: Examples = {
    "agents": Example(
        "The first page", {**success("Agents retrieved successfully", [SUPPORT_V3_FINAL]), "hasMore": False}
    )
}
