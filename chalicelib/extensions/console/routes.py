"""The console's routes, and the view for each: a function in a module of one of the folders.

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
    "/console": "account_pages.sign_in.read_entrance",
    "/console/assets/{name}": "account_pages.sign_in.read_asset",
    "/console/site/{name}": "agent_pages.site_files.download",
}
_PAGES = {
    "": "account_pages.sign_in.read_sign_in",
    "/overview": "figure_pages.overview.read_overview",
    "/convos": "inbox_pages.conversation_list.list_conversations",
    "/inbox": "inbox_pages.inbox_updates.read_inbox",
    _CONVERSATION: "conversation_pages.conversations.read_conversation",
    f"{_CONVERSATION}/live": "conversation_pages.live_updates.read_news",
    f"{_CONVERSATION}/text": "conversation_pages.full_texts.read_conversation",
    f"{_CONVERSATION}/delete": "conversation_pages.conversation_records.read_deletion",
    _MESSAGE: "conversation_pages.message_form.read_message",
    "/jump": "search_pages.jump.read_jump",
    "/organisation": "access.selected_organisation.read_choice",
    "/leads": "lead_pages.leads.list_leads",
    "/leads.csv": "lead_pages.leads.download",
    _LEAD: "lead_pages.lead_form.read_lead",
    f"{_LEAD}/text": "conversation_pages.full_texts.read_lead",
    "/agents": "agent_pages.agents.list_agents",
    "/new-agent": "agent_pages.agent_records.read_new_agent",
    _AGENT: "agent_pages.agents.read_agent",
    f"{_AGENT}/text": "conversation_pages.full_texts.read_agent",
    f"{_AGENT}/delete": "agent_pages.agent_records.read_deletion",
    f"{_AGENT}/replies": "conversation_pages.saved_replies.read_form",
    f"{_AGENT}/new-tool": "agent_pages.tool_form.read_new_tool",
    f"{_AGENT}/try": "agent_pages.trials.read_trial",
    f"{_AGENT}/site": "agent_pages.site_page.read_site",
    _TOOL: "agent_pages.tool_form.read_tool",
    "/settings": "settings_pages.operators.read_settings",
    _ORGANISATION: "settings_pages.settings.read_organisation",
    f"{_ORGANISATION}/text": "conversation_pages.full_texts.read_organisation",
    f"{_ORGANISATION}/agents": "settings_pages.organisation_agents.read_agents",
    f"{_ORGANISATION}/new-client": "settings_pages.people.read_new_client",
    f"{_ORGANISATION}/clients/{{client_id}}": "settings_pages.people.read_client",
    f"{_ORGANISATION}/clients/{{client_id}}/text": "conversation_pages.full_texts.read_client",
    "/settings/new-org": "settings_pages.new_organisation.read_new_organisation",
    "/settings/workspace": "settings_pages.workspace.read_workspace",
    "/settings/new-webhook": "settings_pages.webhooks.read_new_webhook",
    _WEBHOOK: "settings_pages.webhooks.read_webhook",
    _DELIVERY: "settings_pages.webhook_deliveries.read_delivery",
    "/account": "account_pages.account.read_account",
    "/photos/{client_id}": "account_pages.photos.read_photo",
    "/forgot-password": "account_pages.forgotten_password.read_form",
    _UNSUBSCRIBE: "account_pages.unsubscribe.read_unsubscribe",
    _PASSWORD: "account_pages.new_password.read_form",
}
_FORMS = {
    "": "account_pages.sign_in.sign_in",
    "/sign-out": "account_pages.sign_in.sign_out",
    "/convos": "inbox_pages.bulk_changes.change_many",
    _CONVERSATION: "conversation_pages.conversations.submit_action",
    f"{_CONVERSATION}/live": "conversation_pages.live_updates.add_reply",
    _AGENT: "agent_pages.agents.save_agent",
    "/new-agent": "agent_pages.agent_records.create_agent",
    "/sample-data": "agent_pages.sample_data.add_sample_data",
    f"{_AGENT}/delete": "agent_pages.agent_records.delete_agent",
    f"{_AGENT}/site": "agent_pages.site_page.show_key",
    f"{_AGENT}/replies": "conversation_pages.saved_replies.save",
    f"{_AGENT}/new-tool": "agent_pages.tool_form.create_tool",
    f"{_AGENT}/try": "agent_pages.trials.send_message",
    _TOOL: "agent_pages.tool_form.save_tool",
    f"{_CONVERSATION}/delete": "conversation_pages.conversation_records.delete",
    _MESSAGE: "conversation_pages.message_form.save_message",
    f"{_MESSAGE}/delete": "conversation_pages.message_form.delete_message",
    "/leads": "lead_pages.bulk_leads.change_many",
    _LEAD: "lead_pages.lead_form.save_lead",
    _ORGANISATION: "settings_pages.settings.save_organisation",
    f"{_ORGANISATION}/agents": "settings_pages.organisation_agents.save_agents",
    f"{_ORGANISATION}/delete": "settings_pages.settings.delete_organisation",
    f"{_ORGANISATION}/new-client": "settings_pages.people.create_client",
    f"{_ORGANISATION}/clients/{{client_id}}": "settings_pages.people.save_client",
    "/settings/tokens": "settings_pages.operators.issue_token",
    "/settings/tokens/{token_id}": "settings_pages.operators.revoke_token",
    "/settings/new-org": "settings_pages.new_organisation.create_organisation",
    "/settings/workspace": "settings_pages.workspace.save_workspace",
    "/settings/new-webhook": "settings_pages.webhooks.create_webhook",
    _WEBHOOK: "settings_pages.webhooks.submit_action",
    f"{_WEBHOOK}/deliveries": "settings_pages.webhook_deliveries.redeliver_many",
    _DELIVERY: "settings_pages.webhook_deliveries.redeliver",
    "/end-view": "access.view_as.end",
    "/organisation": "access.selected_organisation.choose",
    "/account": "account_pages.account.save_account",
    "/account/password": "account_pages.account.save_password",
    "/account/sign-out": "account_pages.account.sign_out_everywhere",
    "/forgot-password": "account_pages.forgotten_password.request_link",
    _PASSWORD: "account_pages.new_password.save",
}
# Pages and forms that need another extension, by the extension's name.
_PAGES_WITH = {
    "copies": {f"{_AGENT}/template": "agent_pages.agent_records.download_template"},
    "transcripts": {
        f"{_CONVERSATION}/export": "conversation_pages.conversation_records.download",
        "/convos.csv": "inbox_pages.conversation_files.download_csv",
        "/convos.json": "inbox_pages.conversation_files.download_json",
    },
    "erasures": {
        "/settings/erasures": "settings_pages.erasures.read_form",
        _ERASURE: "settings_pages.erasures.read_erasure",
        f"{_ERASURE}/receipt": "settings_pages.erasures.download_receipt",
    },
    "reports": {
        "/analytics": "figure_pages.analytics.read_analytics",
        "/analytics.csv": "figure_pages.analytics.download",
        "/settings/usage": "figure_pages.usage.read_usage",
        "/settings/usage.csv": "figure_pages.usage.download",
    },
    "history": {
        "/settings/audit": "settings_pages.audit.list_changes",
        "/settings/audit.csv": "settings_pages.audit.download",
        _VERSIONS: "agent_pages.versions.list_versions",
        _VERSION: "agent_pages.versions.read_version",
        f"{_VERSION}/text": "conversation_pages.full_texts.read_version",
        _TOOL_VERSIONS: "agent_pages.versions.list_tool_versions",
        f"{_TOOL_VERSIONS}/{{number}}": "agent_pages.versions.read_tool_version",
    },
}
_FORMS_WITH = {
    "copies": {f"{_AGENT}/clone": "agent_pages.agent_records.clone_agent"},
    "erasures": {"/settings/erasures": "settings_pages.erasures.create_erasure"},
    "history": {
        _VERSION: "agent_pages.versions.restore_version",
        f"{_TOOL_VERSIONS}/{{number}}": "agent_pages.versions.restore_tool_version",
    },
    "tool_calls": {f"{_AGENT}/tools/{{tool_id}}": "agent_pages.tool_trials.test_tool"},
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
    guard: Any = import_module("chalicelib.extensions.console.access.guard")
    with current_request.request_context(request):
        shown: Response = guard.status_page(response.status_code)
        return shown


def _welcome(request: Request) -> Response:
    pages: Any = import_module("chalicelib.extensions.console.presentation.pages")
    with current_request.request_context(request):
        root = f"{pages.root()}/console"
        response: Response = pages.page("welcome.html", pages.browser_language(), session=None, root=root)
    response.headers |= {"Vary": "Accept, Accept-Language"}
    return response


def _show(view: str, /, **values: Any) -> Response:
    """Return the response of the view `folder.module.function`."""
    module, _, function = view.rpartition(".")
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
        _add(app, "", "POST", {"/console": "account_pages.sign_in.enter"}, _FORM)
        _add(app, _IN_WORKSPACE, "GET", pages, [])
        _add(app, _IN_WORKSPACE, "POST", forms, _FORM)
        _add(app, _IN_WORKSPACE, "POST", {_UNSUBSCRIBE: "account_pages.unsubscribe.unsubscribe"}, _ONE_CLICK)


def _add(app: Chalice, prefix: str, method: str, views: dict[str, str], content_types: list[str]) -> None:
    for below, name in views.items():
        path = prefix + below
        app.routes[path][method] = RouteEntry(partial(_show, name), name, path, method, None, content_types)


routes = _Routes(__name__)
