"""Wire models of clients (§2.9)."""

from chalicelib.http.wire import Open, OptionalFlag, OptionalSecret, OptionalText, OptionalTexts, Wire, read_only


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
    dashboardPassword: OptionalSecret = None
    canAccess: OptionalTexts = None
    isOrgAdmin: OptionalFlag = None
    notificationsSettings: NotificationsSettings | None = None


class ClientIn(Wire):
    """The body of POST /v3/clients."""

    client: Client
