"""The pages that need no session: sign-in, sign-out and static files."""

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console import guard, pages, session_store, sessions
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request, parameters


def read_entrance() -> Response:
    """Ask which workspace to sign in to."""
    return pages.page("entrance.html", guard.language_of(None), session=None, message=None)


def enter() -> Response:
    """Redirect to a workspace's sign-in page."""
    return guard.with_error_page(lambda: pages.redirect(f"/{_workspace()}"), guard.language_of(None))


def read_sign_in(workspace: str) -> Response:
    """Ask for an email and password, or for a workspace key. Redirect a signed-in person to their first page."""
    if session := sessions.current(current_request.request(), workspace):
        return pages.redirect(f"/{workspace}{session.first_page}")
    return _sign_in_page(workspace)


def sign_in(workspace: str) -> Response:
    """Sign in, and count failed attempts."""
    return guard.with_error_page(lambda: _sign_in(workspace), guard.language_of(None))


@signed_in("/sign-out")
def sign_out(session: Session) -> Response:
    """End the session."""
    sessions.sign_out(session)
    return pages.redirect(f"/{session.workspace_id}", _cookie(session.workspace_id, "", 0))


def read_asset(name: str) -> Response:
    """Return a static file."""
    return guard.with_error_page(lambda: pages.asset(name), guard.language_of(None))


def _sign_in(workspace: str) -> Response:
    if guard.is_from_other_site():
        return _sign_in_page(workspace, errors.Forbidden("Open the sign-in page directly, then try again."))
    # Use the address that the gateway sees, because callers can forge headers such as `X-Forwarded-For`.
    fields, address = guard.form(), current_request.request().context.get("identity", {}).get("sourceIp", "")
    try:
        issued = sessions.sign_in(workspace, fields, address)
    except (sessions.WrongSignIn, session_store.TooManyAttempts) as error:
        return _sign_in_page(workspace, error)
    # If the person may not open the overview, it redirects to the first page that they may open.
    return pages.redirect(f"/{workspace}", _cookie(workspace, issued.token, session_store.LIFETIME))


def _sign_in_page(workspace: str, error: errors.ApiError | None = None) -> Response:
    language, status = guard.language_of(None), error.STATUS_CODE if error else 200
    message = guard.sentence(error, language) if error else None
    response = pages.page("sign_in.html", language, status, session=None, workspace=workspace, message=message)
    if isinstance(error, session_store.TooManyAttempts):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _workspace() -> str:
    return parameters.identifier("workspace", guard.form().get("workspace", "").strip())


def _cookie(workspace: str, token: str, seconds: int) -> str:
    rights = f"Path={pages.root()}/{workspace}; Max-Age={seconds}; HttpOnly; Secure; SameSite=Strict"
    return f"{sessions.COOKIE}={token}; {rights}"
