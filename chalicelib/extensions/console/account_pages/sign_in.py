"""The pages that need no session: sign-in, sign-out and static files."""

from chalice.app import Response

from chalicelib import errors, ids, storage
from chalicelib.extensions.console.access import guard, session_store, sessions
from chalicelib.extensions.console.access.calls import query_string
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.account_pages import last_workspace
from chalicelib.extensions.console.presentation import pages
from chalicelib.extensions.console.presentation.template_filters import display_name
from chalicelib.http import current_request, parameters
from chalicelib.workspaces import store


def read_entrance() -> Response:
    """Ask which workspace to sign in to, or redirect to the workspace of the last sign-in.

    With the query parameter `other`, always ask.
    """
    last = last_workspace.from_request()
    if last and not current_request.query_value("other"):
        return pages.redirect(f"/{last.workspace_id}")
    return _entrance("")


def enter() -> Response:
    """Redirect to a workspace's sign-in page. Ask again if the text is not the id of one."""
    return guard.with_error_page(_enter, guard.language_of(None))


def read_sign_in(workspace: str) -> Response:
    """Ask for an email and password, or for a workspace key. Redirect a signed-in person to `next` or their first page.

    `next` is a page below the workspace. Any other value is ignored.
    """
    following = guard.safe_page(current_request.query_value("next"))
    if session := sessions.current(current_request.request(), workspace):
        return pages.redirect(f"/{workspace}{following or session.first_page}", last_workspace.cookie(session))
    return _sign_in_page(workspace, {"next": following})


def sign_in(workspace: str) -> Response:
    """Sign in, and count failed attempts."""
    return guard.with_error_page(lambda: _sign_in(workspace), guard.language_of(None))


@signed_in("/sign-out")
def sign_out(session: Session) -> Response:
    """End the session."""
    sessions.sign_out(session)
    return pages.redirect(f"/{session.workspace_id}", pages.cookie(sessions.COOKIE, session.workspace_id, "", 0))


def read_asset(name: str) -> Response:
    """Return a static file."""
    return guard.with_error_page(lambda: pages.asset(name), guard.language_of(None))


def _sign_in(workspace: str) -> Response:
    if guard.is_from_other_site():
        return _sign_in_page(workspace, {}, errors.Forbidden("Open the sign-in page directly, then try again."))
    fields = guard.form()
    try:
        issued = sessions.sign_in(workspace, fields, guard.address(), guard.user_agent())
    except (sessions.WrongSignIn, session_store.TooManyAttempts) as error:
        return _sign_in_page(workspace, fields, error)
    # The workspace's page redirects to `next` or the first page that the person may open, and sets another cookie.
    cookie = pages.cookie(sessions.COOKIE, workspace, issued.token, session_store.LIFETIME)
    return pages.redirect(f"/{workspace}{query_string({'next': guard.safe_page(fields.get('next'))})}", cookie)


def _sign_in_page(workspace: str, submitted: dict[str, str], error: errors.ApiError | None = None) -> Response:
    """Return the page with the submitted email and `next`, but never a password or key."""
    language, status = guard.language_of(None), error.STATUS_CODE if error else 200
    message = guard.sentence(error, language) if error else None
    last = last_workspace.from_request()
    kept = {
        "email": submitted.get("email", ""),
        "next": guard.safe_page(submitted.get("next")),
        "with_key": "key" in submitted or (error is None and last == (workspace, True)),
        "is_wrong": isinstance(error, sessions.WrongSignIn),
        "name": _name_of(workspace),
    }
    response = pages.page("sign_in.html", language, status, session=None, workspace=workspace, message=message, **kept)
    if isinstance(error, session_store.TooManyAttempts):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _name_of(workspace: str) -> str:
    """Return a workspace's name, or an empty string if there is no such workspace. This costs at most one request."""
    try:
        workspace_id = parameters.identifier("workspace", workspace)
    except errors.Invalid:
        return ""
    (row,) = storage.find_many([store.key(workspace_id)._replace(consistent=False)])
    return display_name(row.open(), "name") if row else ""


def _enter() -> Response:
    workspace = guard.form().get("workspace", "").strip()
    if ids.ULID.fullmatch(workspace.lower()):
        return pages.redirect(f"/{workspace.lower()}")
    return _entrance(workspace, errors.Invalid("The workspace id is invalid."))


def _entrance(workspace: str, error: errors.ApiError | None = None) -> Response:
    language, status = guard.language_of(None), error.STATUS_CODE if error else 200
    return pages.page("entrance.html", language, status, session=None, workspace=workspace, is_wrong=error is not None)
