"""Wire models for organisations (§2.10)."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from chalicelib.http.wire import (
    OptionalFlag,
    OptionalNumber,
    OptionalText,
    OptionalTexts,
    OptionalTimeZone,
    WireModel,
    generated,
    present,
)

DashboardLayout = TypeAliasType("DashboardLayout", Literal["vertical", "horizontal"])


class Organisation(WireModel):
    """An organisation: a group of agents (`widgetIDs`) and admins (`adminIDs`)."""

    ID: OptionalText = generated()
    userId: OptionalText = generated()
    name: str
    preferredLanguage: Annotated[str, Field(pattern="^[a-z]{2}$")] | None = None
    timezone: OptionalTimeZone = None
    squarePhotoURL: OptionalText = None
    widgetIDs: OptionalTexts = None
    adminIDs: OptionalTexts = None
    canSelfEdit: OptionalFlag = None
    disallowAnyTags: OptionalFlag = None
    dashboardLayout: DashboardLayout | None = None
    lastModified: OptionalNumber = present()


class OrganisationIn(WireModel):
    """The body of POST /v3/orgs."""

    organisation: Organisation
