"""Wire models of clients (§2.9)."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from chalicelib.http.wire import SECRET, Open, OptionalFlag, OptionalText, OptionalTexts, Wire, read_only

# Characters of a password. An earlier release stored shorter ones, which sign in as before.
SHORTEST_PASSWORD = 8
# A character that a person sees. The others are spaces, control characters and invisible ones.
_VISIBLE = r"[^\s\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"


def _not_blank(password: str) -> str:
    if not re.search(_VISIBLE, password):
        raise PydanticCustomError("blank", "must not be blank")
    return password


Password = Annotated[
    str, Field(min_length=SHORTEST_PASSWORD, json_schema_extra={"pattern": _VISIBLE}), AfterValidator(_not_blank)
]


class NotificationsSettings(Wire):
    """`notificationsSettings`."""

    notifyThrough: OptionalText = None
    notifyIf: OptionalText = None


class Client(Wire):
    """A client. `email` and `dashboardPassword` are the sign-in to the dashboard."""

    ID: OptionalText = read_only()
    ownerID: OptionalText = read_only()
    orgUsers: list[Open] | None = read_only()
    orgId: OptionalText = None
    name: OptionalText = None
    squarePhotoURL: OptionalText = None
    email: OptionalText = None
    dashboardPassword: Annotated[Password | None, SECRET] = None
    canAccess: OptionalTexts = None
    isOrgAdmin: OptionalFlag = None
    notificationsSettings: NotificationsSettings | None = None


class ClientIn(Wire):
    """The body of POST /v3/clients."""

    client: Client
