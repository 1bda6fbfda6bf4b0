"""The console's routes, and the view for each: a function in a module of this package.

A view is imported when its page is first requested. Functions that serve the API or a stream import only this module
and the email entry point.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from chalice.app import Blueprint, Chalice, Request, Response, RouteEntry

from chalicelib import extensions
from chalicelib.http import current_request

_IN_WORKSPACE = "/console/{workspace}"
_FORM = ["application/x-www-form-urlencoded"]
# The body that email programs send (RFC 8058), which the service ignores.
_ONE_CLICK = [*_FORM, "multipart/form-data"]
_AGENT = "/agents/{agent_id}"
_TOOL = f"{_AGENT}/tools/{{tool_id}}/settings"
_TOOL_VERSIONS = f"{_AGENT}/tools/{{tool_id}}/versions"
_VERSIONS = f"{_AGENT}/versions"
_VERSION = f"{_VERSIONS}/{{number}}"
_CONVERSATION = "/convos/{agent_id}/{convo_id}"
_MESSAGE = f"{_CONVERSATION}/messages/{{message_id}}"
_LEAD = "/leads/{agent_id}/{lead_id}"
_ORGANISATION = "/settings/orgs/{org_id}"
_ERASURE = "/settings/erasures/{erasure_id}"
_WEBHOOK = "/settings/webhooks/{webhook_id}"
_DELIVERY = f"{_WEBHOOK}/deliveries/{{delivery_id}}"
_UNSUBSCRIBE, _PASSWORD = "/unsubscribe/{token}", "/password/{token}"

_ENTRANCE = {
    "/console": "sign_in.read_entrance",
    "/console/assets/{name}": "sign_in.read_asset",
    "/console/site/{name}": "site_files.download",
}
_PAGES = {
    "": "sign_in.read_sign_in",
    "/overview": "overview.read_overview",
    "/convos": "conversation_list.list_conversations",
    "/inbox": "inbox_updates.read_inbox",
    _CONVERSATION: "conversations.read_conversation",
    f"{_CONVERSATION}/live": "live_updates.read_news",
    f"{_CONVERSATION}/text": "full_texts.read_conversation",
    f"{_CONVERSATION}/delete": "conversation_records.read_deletion",
    _MESSAGE: "message_form.read_message",
    "/jump": "jump.read_jump",
    "/organisation": "selected_organisation.read_choice",
    "/leads": "leads.list_leads",
    "/leads.csv": "leads.download",
    _LEAD: "lead_form.read_lead",
    f"{_LEAD}/text": "full_texts.read_lead",
    "/agents": "agents.list_agents",
    "/new-agent": "agent_records.read_new_agent",
    _AGENT: "agents.read_agent",
    f"{_AGENT}/text": "full_texts.read_agent",
    f"{_AGENT}/delete": "agent_records.read_deletion",
    f"{_AGENT}/replies": "saved_replies.read_form",
    f"{_AGENT}/new-tool": "tool_form.read_new_tool",
    f"{_AGENT}/try": "trials.read_trial",
    f"{_AGENT}/site": "site_page.read_site",
    _TOOL: "tool_form.read_tool",
    "/settings": "operators.read_settings",
    _ORGANISATION: "settings.read_organisation",
    f"{_ORGANISATION}/text": "full_texts.read_organisation",
    f"{_ORGANISATION}/agents": "organisation_agents.read_agents",
    f"{_ORGANISATION}/new-client": "people.read_new_client",
    f"{_ORGANISATION}/clients/{{client_id}}": "people.read_client",
    f"{_ORGANISATION}/clients/{{client_id}}/text": "full_texts.read_client",
    "/settings/new-org": "new_organisation.read_new_organisation",
    "/settings/workspace": "workspace.read_workspace",
    "/settings/new-webhook": "webhooks.read_new_webhook",
    _WEBHOOK: "webhooks.read_webhook",
    _DELIVERY: "webhook_deliveries.read_delivery",
    "/account": "account.read_account",
    "/photos/{client_id}": "photos.read_photo",
    "/forgot-password": "forgotten_password.read_form",
    _UNSUBSCRIBE: "unsubscribe.read_unsubscribe",
    _PASSWORD: "new_password.read_form",
}
_FORMS = {
    "": "sign_in.sign_in",
    "/sign-out": "sign_in.sign_out",
    "/convos": "bulk_changes.change_many",
    _CONVERSATION: "conversations.submit_action",
    f"{_CONVERSATION}/live": "live_updates.add_reply",
    _AGENT: "agents.save_agent",
    "/new-agent": "agent_records.create_agent",
    "/sample-data": "sample_data.add_sample_data",
    f"{_AGENT}/delete": "agent_records.delete_agent",
    f"{_AGENT}/site": "site_page.show_key",
    f"{_AGENT}/replies": "saved_replies.save",
    f"{_AGENT}/new-tool": "tool_form.create_tool",
    f"{_AGENT}/try": "trials.send_message",
    _TOOL: "tool_form.save_tool",
    f"{_CONVERSATION}/delete": "conversation_records.delete",
    _MESSAGE: "message_form.save_message",
    f"{_MESSAGE}/delete": "message_form.delete_message",
    "/leads": "bulk_leads.change_many",
    _LEAD: "lead_form.save_lead",
    _ORGANISATION: "settings.save_organisation",
    f"{_ORGANISATION}/agents": "organisation_agents.save_agents",
    f"{_ORGANISATION}/delete": "settings.delete_organisation",
    f"{_ORGANISATION}/new-client": "people.create_client",
    f"{_ORGANISATION}/clients/{{client_id}}": "people.save_client",
    "/settings/tokens": "operators.issue_token",
    "/settings/tokens/{token_id}": "operators.revoke_token",
    "/settings/new-org": "new_organisation.create_organisation",
    "/settings/workspace": "workspace.save_workspace",
    "/settings/new-webhook": "webhooks.create_webhook",
    _WEBHOOK: "webhooks.submit_action",
    f"{_WEBHOOK}/deliveries": "webhook_deliveries.redeliver_many",
    _DELIVERY: "webhook_deliveries.redeliver",
    "/end-view": "view_as.end",
    "/organisation": "selected_organisation.choose",
    "/account": "account.save_account",
    "/account/password": "account.save_password",
    "/account/sign-out": "account.sign_out_everywhere",
    "/forgot-password": "forgotten_password.request_link",
    _PASSWORD: "new_password.save",
}
# Pages and forms that need another extension, by the extension's name.
_PAGES_WITH = {
    "copies": {f"{_AGENT}/template": "agent_records.download_template"},
    "transcripts": {
        f"{_CONVERSATION}/export": "conversation_records.download",
        "/convos.csv": "conversation_files.download_csv",
        "/convos.json": "conversation_files.download_json",
    },
    "erasures": {
        "/settings/erasures": "erasures.read_form",
        _ERASURE: "erasures.read_erasure",
        f"{_ERASURE}/receipt": "erasures.download_receipt",
    },
    "reports": {
        "/analytics": "analytics.read_analytics",
        "/analytics.csv": "analytics.download",
        "/settings/usage": "usage.read_usage",
        "/settings/usage.csv": "usage.download",
    },
    "history": {
        "/settings/audit": "audit.list_changes",
        "/settings/audit.csv": "audit.download",
        _VERSIONS: "versions.list_versions",
        _VERSION: "versions.read_version",
        f"{_VERSION}/text": "full_texts.read_version",
        _TOOL_VERSIONS: "versions.list_tool_versions",
        f"{_TOOL_VERSIONS}/{{number}}": "versions.read_tool_version",
    },
}
_FORMS_WITH = {
    "copies": {f"{_AGENT}/clone": "agent_records.clone_agent"},
    "erasures": {"/settings/erasures": "erasures.create_erasure"},
    "history": {
        _VERSION: "versions.restore_version",
        f"{_TOOL_VERSIONS}/{{number}}": "versions.restore_tool_version",
    },
    "tool_calls": {f"{_AGENT}/tools/{{tool_id}}": "tool_trials.test_tool"},
}


def has_page(path: str) -> bool:
    """Return whether the console has a page with this path, for which it may need another extension."""
    return path in _PAGES or any(path in _PAGES_WITH[name] for name in filter(extensions.has, _PAGES_WITH))


def show_pages(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Turn error envelopes into error pages under `/console` (middleware around `envelope`).

    At `/`, show browsers a page with links to the console and to the documentation. Other callers are redirected.
    """
    response = get_response(request)
    if request.path == "/" and "text/html" in request.headers.get("accept", ""):
        return _welcome(request)
    is_page = str(response.headers.get("Content-Type")).startswith("text/html")
    if response.status_code < 400 or is_page or not f"{request.path}/".startswith("/console/"):
        return response
    guard: Any = import_module("chalicelib.extensions.console.guard")
    with current_request.request_context(request):
        shown: Response = guard.status_page(response.status_code)
        return shown


def _welcome(request: Request) -> Response:
    pages: Any = import_module("chalicelib.extensions.console.pages")
    with current_request.request_context(request):
        root = f"{pages.root()}/console"
        response: Response = pages.page("welcome.html", pages.browser_language(), session=None, root=root)
    response.headers |= {"Vary": "Accept, Accept-Language"}
    return response


def _show(view: str, /, **values: Any) -> Response:
    """Return the response of the view `module.function`."""
    module, function = view.split(".")
    answer: Response = getattr(import_module(f"chalicelib.extensions.console.{module}"), function)(**values)
    return answer


class _Routes(Blueprint):
    """Registers each page and form. `Blueprint.route` would nearly triple the instructions per route."""

    def register(self, app: Chalice, options: dict[str, Any]) -> None:
        """Add the routes to the app. `register_blueprint` calls this method."""
        super().register(app, options)
        pages, forms = {**_PAGES}, {**_FORMS}
        for extension in filter(extensions.has, {**_PAGES_WITH, **_FORMS_WITH}):
            pages |= _PAGES_WITH.get(extension, {})
            forms |= _FORMS_WITH.get(extension, {})
        _add(app, "", "GET", _ENTRANCE, [])
        _add(app, "", "POST", {"/console": "sign_in.enter"}, _FORM)
        _add(app, _IN_WORKSPACE, "GET", pages, [])
        _add(app, _IN_WORKSPACE, "POST", forms, _FORM)
        _add(app, _IN_WORKSPACE, "POST", {_UNSUBSCRIBE: "unsubscribe.unsubscribe"}, _ONE_CLICK)


def _add(app: Chalice, prefix: str, method: str, views: dict[str, str], content_types: list[str]) -> None:
    for below, name in views.items():
        path = prefix + below
        app.routes[path][method] = RouteEntry(partial(_show, name), name, path, method, None, content_types)


routes = _Routes(__name__)
