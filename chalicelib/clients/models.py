"""Wire models for clients (§2.9)."""

from typing import Annotated

from pydantic import AfterValidator, Field

from chalicelib.http.wire import (
    SECRET,
    VISIBLE,
    Open,
    OptionalFlag,
    OptionalText,
    OptionalTexts,
    OptionalTimeZone,
    WireModel,
    generated,
    require_visible,
)

# Minimum number of characters in a new password. Shorter passwords that an earlier release stored remain valid.
SHORTEST_PASSWORD = 8

Password = Annotated[
    str, Field(min_length=SHORTEST_PASSWORD, json_schema_extra={"pattern": VISIBLE}), AfterValidator(require_visible)
]


class NotificationsSettings(WireModel):
    """A client's `notificationsSettings` member."""

    has_one_form = True

    notifyThrough: OptionalText = None
    notifyIf: OptionalText = None


class Client(WireModel):
    """A client, who signs in to the dashboard with `email` and `dashboardPassword`."""

    ID: OptionalText = generated()
    ownerID: OptionalText = generated()
    orgUsers: list[Open] | None = generated()
    orgId: OptionalText = None
    name: OptionalText = None
    squarePhotoURL: OptionalText = None
    email: OptionalText = None
    dashboardPassword: Annotated[Password | None, SECRET] = None
    canAccess: OptionalTexts = None
    isOrgAdmin: OptionalFlag = None
    disabled: OptionalFlag = None
    notificationsSettings: NotificationsSettings | None = None
    preferredLanguage: Annotated[str, Field(pattern="^[a-z]{2}$")] | None = None
    timezone: OptionalTimeZone = None


class ClientIn(WireModel):
    """The body of POST /v3/clients."""

    client: Client
