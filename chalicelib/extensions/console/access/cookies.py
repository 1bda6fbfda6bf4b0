"""Reads the cookies of the console's pages. `pages.cookie` writes them."""

from http.cookies import CookieError, SimpleCookie

from chalice.app import Request


def read(request: Request, name: str) -> str:
    """Return a cookie's value, or an empty string if there is none or the header is invalid."""
    try:
        cookie = SimpleCookie(request.headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return cookie.value if cookie else ""
