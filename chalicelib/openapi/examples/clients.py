"""Examples of the client operations."""

from chalicelib.openapi.examples.shared import CLIENT, ORGANISATION, WORKSPACE_ID, Example, Examples, success

_GIVEN = {
    "orgId": ORGANISATION,
    "name": "Sam Example",
    "email": "sam@example.com",
    "dashboardPassword": "EXAMPLE",
    "canAccess": ["/overview"],
    "isOrgAdmin": False,
    "notificationsSettings": {"notifyThrough": "email", "notifyIf": "all"},
}
_SHOWN = {"ID": CLIENT, "ownerID": WORKSPACE_ID, "orgUsers": [], **_GIVEN}

SAVE_CLIENT: Examples = {"client": Example("A client", success("Client updated successfully"), _GIVEN)}
READ_CLIENT: Examples = {"client": Example("The client", success("Client retrieved successfully", _SHOWN))}
LIST_CLIENTS: Examples = {"clients": Example("All clients", success("Clients retrieved successfully", [_SHOWN]))}
