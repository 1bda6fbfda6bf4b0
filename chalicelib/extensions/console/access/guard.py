"""The checks before each page (the session, its permissions and the form token), and the error pages."""

import hmac
import re
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import parse_qsl, quote

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import sessions
from chalicelib.extensions.console.access.calls import query_string
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import pages, rendering, template_filters, waiting_count, webhook_health
from chalicelib.extensions.console.presentation.rendering import Texts
from chalicelib.extensions.console.presentation.template_filters import truncate
from chalicelib.extensions.console.routes import routes
from chalicelib.http import auth, current_request

_MAX_FIELDS = 1_000
# The maximum size of a request in bytes. A form of 500 KB as HTML is smaller than this, even percent-encoded.
_MAX_FORM_BYTES = 2_000_000
# The maximum size of all fields as HTML, in bytes. An error page shows them again and must stay below 1 MB.
_MAX_SENT = 200_000
_FIELD_BYTES = 250  # the HTML tags around a field
# The maximum length of a rule and of a path, in characters. An error contains at most 20 of each.
_MAX_RULE, _MAX_PATH = 500, 200
# The API's rules for an empty field, and the texts that pages show instead for these members.
_EMPTY_RULES = (
    "is required", "must not be blank", "must have at least 1 character", "must have at least 1 item",
)  # fmt: skip
_EMPTY = {
    "name": "wrong.name", "title": "wrong.title", "url": "empty.url", "events": "empty.events",
    "email": "empty.email", "dashboardPassword": "empty.password",
}  # fmt: skip
# The prefix of member paths in a request.
_RECORD = re.compile("^(agent|client|erasure|lead|organisation|token|tool|webhook|workspace)[.]")

# The message of `errors.NotFound.of`.
_MISSING = re.compile(r"There is no such ([a-z]+)\.")

_WORKSPACE = "/console/{workspace}"
# The ends of paths that return a part of a page.
_PARTS = ("/live", "/inbox")
# The maximum length of the page to which a sign-in returns, with its query.
_MAX_NEXT = 1_000
# A page below the workspace, with its query. The path has no empty segment and no `..`, so it stays in the workspace.
_NEXT = re.compile(r"(/(?!\.\.?(?=[/?]|$))[A-Za-z0-9._~@:+=,|%-]+)+(\?[!-~]*)?")
_ENCODED_DOT = re.compile("%2e", re.IGNORECASE)

# The pages whose forms an operator may send while viewing the console as a client.
_WHILE_VIEWING = ("/sign-out", sessions.END_VIEW)

# The statuses of addresses and methods without a view. After other errors, a session may be unreadable.
_WITHOUT_VIEW = (404, 405)
_View = Callable[..., Response]


def signed_in(page: str) -> Callable[[_View], _View]:
    """Decorate the view for a page such as `/overview`. The view receives the session as its first argument.

    Without a session, redirect to the sign-in page. Return an error page instead of running the view if the person may
    not see the page or the agent, or if the form lacks the session's form token.
    """

    def decorate(view: _View) -> _View:
        @wraps(view)
        def run(workspace: str, **values: str) -> Response:
            return with_error_page(lambda: _run_with_session(view, page, workspace, values), language_of(None))

        return run

    return decorate


def page(session: Session, template: str, current: str, status: int = 200, **values: Any) -> Response:
    """Return a page for a signed-in person, in the person's language. `current` is the page's path."""
    values = {**waiting_count.template_values(session), **values, "session": session, "current": current}
    response = pages.page(template, language_of(session), status, **values)
    webhook_health.keep(session, response)
    return response


def form_page(
    session: Session,
    template: str,
    current: str,
    error: errors.ApiError | None = None,
    conflicts: Any = (),
    issues: dict[str, str] | None = None,
    **values: Any,
) -> Response:
    """Return a form page, with errors next to their fields, or with conflicts with another save."""
    issues = _in_page_order(dict(rules(session, error)) if issues is None else issues, values.get("values", {}))
    message = sentence(error, language_of(session)) if error and not (issues or error.issues) else None
    status = error.STATUS_CODE if error else 412 if conflicts else 200
    return page(session, template, current, status, issues=issues, message=message, conflicts=conflicts, **values)


def _in_page_order(issues: dict[str, str], fields: dict[str, Any]) -> dict[str, str]:
    return {path: issues[path] for path in (*fields, *issues) if path in issues}


def form_error(
    session: Session, rule: str, kind: type[errors.ApiError] = errors.Invalid, **values: Any
) -> errors.ApiError:
    """Return a form error with the text `wrong.<rule>`. The rule begins with the field's name."""
    message = texts(session)(f"wrong.{rule}", **values)
    return kind(message, [{"path": rule.partition(".")[0], "message": message}])


def rules(session: Session, error: errors.ApiError | None) -> list[tuple[str, str]]:
    """Return the rules in an error, in the page's language, each with its member's path."""
    issues, t = error.issues if error else [], texts(session)
    return [_rule(_RECORD.sub("", issue["path"]), issue["message"], t) for issue in issues]


def _rule(path: str, rule: str, t: Texts) -> tuple[str, str]:
    text = t(_EMPTY[path]) if rule in _EMPTY_RULES and path in _EMPTY else t.of_rule(rule)
    return truncate(path, _MAX_PATH), truncate(text, _MAX_RULE)


def explain(session: Session, error: errors.ApiError) -> str:
    """Return the rules in an error, or its sentence if there are none, in the page's language."""
    joined = ", ".join(rule for _, rule in rules(session, error))
    return joined or sentence(error, language_of(session))


def with_error_page(
    action: Callable[[], Response], language: str, session: Session | None = None, page: str = ""
) -> Response:
    """Return an action's response, or an error page if the action raises an error.

    The error page links to `page`, such as `/agents`, or to the person's first page.
    """
    try:
        return action()
    except errors.ApiError as error:
        message, status = _missing(error, language) or sentence(error, language), error.STATUS_CODE
        back = page if session and page in session.pages else session.first_page if session else ""
        return pages.page("error.html", language, status, session=session, message=message, back=back, current=page)


def status_page(status: int) -> Response:
    """Return the error page of a status, for an address without a view with a signed-in person's navigation."""
    request = current_request.request()
    workspace = (request.uri_params or {}).get("workspace", "") if status in _WITHOUT_VIEW else ""
    try:
        session = sessions.current(request, workspace) if workspace else None
    except errors.ApiError:
        session = None
    language, back = language_of(session), session.first_page if session else ""
    # The error's message is meant for programs; for example, it may ask for JSON.
    message = pages.texts(language).of_status(status)
    return pages.page("error.html", language, status, session=session, message=message, back=back, current="")


def form(max_bytes: int = _MAX_SENT) -> dict[str, str]:
    """Return the submitted form's fields, up to `max_bytes` as HTML. Raise Invalid and TooLarge."""
    fields = _fields()
    if sum(_FIELD_BYTES + template_filters.size(name + value) for name, value in fields.items()) > max_bytes:
        raise errors.TooLarge("The form is too large; send less text, or use the API.")
    return fields


def require_agent(session: Session, agent_id: str) -> None:
    """Raise NotFound unless the person may see this agent. Operators see all, also with a selected organisation."""
    if session.client_id is not None and agent_id not in (session.agent_ids or ()):
        raise errors.NotFound.of("agent")


def is_from_other_site() -> bool:
    """Return whether a page on another site sent the request. All current browsers send the header."""
    return current_request.request().headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


def require_own_site() -> None:
    """Raise Forbidden if a page on another site sent the request."""
    if is_from_other_site():
        raise errors.Forbidden("Open the page directly, then try again.")


def address() -> str:
    """Return the browser's IP address, as the gateway sees it. Callers can forge headers such as `X-Forwarded-For`."""
    return str(current_request.request().context.get("identity", {}).get("sourceIp", ""))


def safe_page(value: str | None) -> str:
    """Return the page below the workspace, or an empty string if the value is no such page."""
    text = value or ""
    is_safe = len(text) <= _MAX_NEXT and _NEXT.fullmatch(text) and not _ENCODED_DOT.search(text)
    return text if is_safe else ""


def user_agent() -> str:
    """Return the browser's `User-Agent` header."""
    return str(current_request.request().headers.get("user-agent", ""))


def language_of(session: Session | None) -> str:
    """Return a page's language: the person's, the organisation's or, without a session, the browser's.

    The default is English.
    """
    return rendering.language_of(*session.records) if session else pages.browser_language()


def texts(session: Session) -> rendering.Texts:
    """Return the texts in the person's language and time zone."""
    return pages.texts(language_of(session), rendering.zone_of(*session.records))


def sentence(error: errors.ApiError, language: str) -> str:
    """Return an error's sentence. English uses the API's message; other languages have one per code or status.

    The API's message for an unavailable service is for its operator, and may contain an address, so no page shows it.
    """
    if language == pages.LANGUAGES[0] and not isinstance(error, errors.Unavailable):
        return error.message
    return pages.texts(language).of_error(error)


def _missing(error: errors.ApiError, language: str) -> str | None:
    """Return the sentence for a missing record, such as an agent, or None for any other error."""
    match = _MISSING.fullmatch(error.message) if isinstance(error, errors.NotFound) else None
    return pages.texts(language).find(f"missing.{match[1]}") if match else None


def _run_with_session(view: _View, page: str, workspace: str, values: dict[str, str]) -> Response:
    session = sessions.current(current_request.request(), workspace)
    if session is None:
        return _redirect_to_sign_in(workspace, values)
    current_request.request().context["workspaceId"] = (
        workspace  # for the request's log line, from which usage costs are computed
    )
    with auth.acting_as(session.caller()):
        return with_error_page(lambda: _run(view, page, session, values), language_of(session), session, page)


def _run(view: _View, page: str, session: Session, values: dict[str, str]) -> Response:
    if not session.may_open(page):
        raise errors.Forbidden("You have no access to this page; ask your organisation's administrator.")
    if "agent_id" in values:
        require_agent(session, values["agent_id"])
    if current_request.request().method != "GET":
        _check_form(session)
        if session.viewed_client_id and page not in _WHILE_VIEWING:
            raise errors.Forbidden("You view the console as a client and cannot change anything; end the view first.")
    return view(session, **values)


def _fields() -> dict[str, str]:
    raw = current_request.request().raw_body
    if len(raw) > _MAX_FORM_BYTES:
        raise errors.TooLarge(f"The form must be at most {_MAX_FORM_BYTES:,} bytes.")
    try:
        text = (raw if isinstance(raw, bytes) else raw.encode()).decode()
        fields = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise errors.Invalid(f"The form must be UTF-8, with at most {_MAX_FIELDS:,} fields.") from None
    return dict(fields)


def _check_form(session: Session) -> None:
    if is_from_other_site() or not hmac.compare_digest(
        _fields().get("form", "").encode(), session.form_token().encode()
    ):
        raise errors.Forbidden("The form belongs to another session; open the page again.")


def _redirect_to_sign_in(workspace: str, values: dict[str, str]) -> Response:
    """Ask the person to sign in. The query parameter `next` contains the page that the sign-in then returns to."""
    # Browsers omit a SameSite=Strict cookie when the link is on another site, such as in webmail, but send it when our
    # page reloads.
    if current_request.request().method == "GET" and is_from_other_site():
        return pages.page("again.html", language_of(None))
    return pages.redirect(f"/{workspace}{query_string({'next': _page_of_request(values)})}")


def _page_of_request(values: dict[str, str]) -> str:
    """Return the path and query of the requested page. Return an empty string for a form that has no page."""
    request = current_request.request()
    if "GET" not in routes.current_app.routes[request.path] or request.path.endswith(_PARTS):
        return ""
    path = request.path.removeprefix(_WORKSPACE).format(**{name: quote(value) for name, value in values.items()})
    query = dict(request.query_params or {}) if request.method == "GET" else {}
    page = f"{path}{query_string(query)}"
    return page if len(page) <= _MAX_NEXT else ""
