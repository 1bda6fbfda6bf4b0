"""The token of an unsubscribe link in an email. It is sealed, so only the service can create one."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

from chalicelib import errors
from chalicelib.storage import encryption, layouts

_PURPOSE = "unsubscribe"


def token(workspace_id: str, client_id: str) -> str:
    """Return the token for a client. It does not expire, because an email may be old."""
    sealed = encryption.seal(workspace_id, _PURPOSE, client_id.encode())
    return urlsafe_b64encode(sealed).decode().rstrip("=")


def client_of(workspace_id: str, text: str) -> str:
    """Return the client of a token. Raise NotFound for any other text."""
    try:
        sealed = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return encryption.unseal(workspace_id, _PURPOSE, sealed).decode()
    except (ValueError, encryption.DecryptionError, layouts.UnknownLayout):
        raise errors.NotFound("This link is incomplete; open it from the mail again.") from None
