"""Examples of the client operations."""

from chalicelib.openapi.examples.shared import (
    CLIENT,
    NEW_CLIENT_ID,
    ORGANISATION,
    SECOND_CLIENT_ID,
    WORKSPACE_ID,
    Example,
    Examples,
    success,
)

_GIVEN = {
    "orgId": ORGANISATION,
    "name": "Sam Example",
    "email": "sam@example.com",
    "dashboardPassword": "EXAMPLE-PASSWORD",
    "canAccess": ["/overview"],
    "isOrgAdmin": False,
    "notificationsSettings": {"notifyThrough": "email", "notifyIf": "all"},
}
_SHOWN = {"ID": CLIENT, "ownerID": WORKSPACE_ID, "orgUsers": [], **_GIVEN}

SAVE_CLIENT: Examples = {"client": Example("A client", success("Client updated successfully"), _GIVEN)}
READ_CLIENT: Examples = {"client": Example("The client", success("Client retrieved successfully", _SHOWN))}
LIST_CLIENTS: Examples = {"clients": Example("All clients", success("Clients retrieved successfully", [_SHOWN]))}
LIST_CLIENTS_V3: Examples = {
    "clients": Example("The first page", {**success("Clients retrieved successfully", [_SHOWN]), "hasMore": False})
}
LIST_ORGANISATION_CLIENTS: Examples = {
    "clients": Example("The first page", {**success("Clients retrieved successfully", [_SHOWN]), "hasMore": False})
}
_NEW = {"name": "Kim Example", "email": "kim@example.com"}
_SECOND = {"name": "Lee Example", "email": "lee@example.com"}
_MADE = {"ownerID": WORKSPACE_ID, "orgUsers": []}
CREATE_CLIENT: Examples = {
    "client": Example(
        "A client; the service makes its id",
        success("Client created successfully", {**_MADE, **_NEW, "ID": NEW_CLIENT_ID}),
        {"client": _NEW},
    )
}
PUT_CLIENT: Examples = {
    "client": Example(
        "A client; the service makes its id",
        success("Client created successfully", {**_MADE, **_SECOND, "ID": SECOND_CLIENT_ID}),
        _SECOND,
    )
}
