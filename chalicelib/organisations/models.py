"""Wire models of organisations (§2.10)."""

from typing import Annotated, Literal

from pydantic import Field

from chalicelib.http.wire import OptionalFlag, OptionalNumber, OptionalText, OptionalTexts, Wire, read_only


class Organisation(Wire):
    """An organisation: a group of agents (`widgetIDs`) and admins (`adminIDs`)."""

    ID: OptionalText = read_only()
    userId: OptionalText = read_only()
    name: OptionalText = None
    preferredLanguage: Annotated[str, Field(pattern="^[a-z]{2}$")] | None = None
    squarePhotoURL: OptionalText = None
    widgetIDs: OptionalTexts = None
    adminIDs: OptionalTexts = None
    canSelfEdit: OptionalFlag = None
    disallowAnyTags: OptionalFlag = None
    dashboardLayout: Literal["vertical", "horizontal"] | None = None
    lastModified: OptionalNumber = None


class OrganisationIn(Organisation):
    """The body of POST. `name` is required; `lastModified` defaults to the current time."""

    name: str
