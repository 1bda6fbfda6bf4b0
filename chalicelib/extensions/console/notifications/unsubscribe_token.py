"""The token in an email's unsubscribe link. It is sealed, so only the service can create it."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

from chalicelib import errors
from chalicelib.storage import encryption, layouts

_PURPOSE = "unsubscribe"


def token(workspace_id: str, client_id: str) -> str:
    """Return the token for a client. The token never expires, because the person may open an old email."""
    sealed = encryption.seal(workspace_id, _PURPOSE, client_id.encode())
    return urlsafe_b64encode(sealed).decode().rstrip("=")


def client_of(workspace_id: str, text: str) -> str:
    """Return the client that a token identifies. Raise NotFound for any other text."""
    try:
        sealed = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return encryption.unseal(workspace_id, _PURPOSE, sealed).decode()
    except (ValueError, encryption.DecryptionError, layouts.UnknownLayout):
        raise errors.NotFound("This link is incomplete; open it from the email again.") from None
