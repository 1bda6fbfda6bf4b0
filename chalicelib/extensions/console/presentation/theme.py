"""The colour scheme of the pages in a browser: light, dark or, by default, the system's. It is in a cookie."""

from chalicelib.extensions.console.access import cookies
from chalicelib.http import current_request

COOKIE, SECONDS = "__Secure-cams-theme", 365 * 24 * 60 * 60
THEMES = ("", "light", "dark")
"""The schemes that a person can choose. The empty one is the system's."""


def from_request() -> str:
    """Return the chosen scheme of the request's browser. An unknown one is the system's."""
    return valid(cookies.read(current_request.request(), COOKIE))


def valid(theme: str) -> str:
    """Return a scheme, or an empty text for an unknown one."""
    return theme if theme in THEMES else ""
