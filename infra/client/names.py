"""Names of operations in the Python client.

An operation belongs to the resource of its tag, and its method is its verb: `read_agent` is `agents.retrieve`.
Operations on one conversation belong to `conversation` and `messages`, which know the ids in their path.
"""

# Each of these v3 operations is the same as an operation at the edge. The client sends what its credential may send.
AT_EDGE = {
    "add_conversation_messages": "add_messages",
    "delete_conversation": "delete_conversation_at_edge",
    "delete_message": "delete_message_at_edge",
    "issue_visitor_token": "issue_visitor_token_at_edge",
    "list_messages": "list_messages_at_edge",
}
# Extensions whose operations have their own clients. `cams.openai` returns the OpenAI SDK's client.
OF_OTHER_CLIENTS = {"openai"}
# A repeat of these operations sets the same values, so it has no effect. Any other write gets an idempotency key.
_NO_EFFECT = {"assign", "change", "delete", "list", "read", "report", "revoke", "save", "search", "write"}
_VERBS = {"read": "retrieve", "change": "update"}
_EXCEPTIONS = {
    "assign_conversation": "conversation.assign",
    "change_conversation": "conversation.update",
    "change_message": "messages.update",
    "change_workspace": "workspace.update",
    "delete_conversation": "conversation.delete",
    "delete_message": "messages.delete",
    "clone_agent": "agents.clone",
    "delete_analytics": "analytics.delete_v2",
    "delete_analytics_v3": "analytics.delete",
    "exchange_state": "conversation.state",
    "export_conversation": "conversation.export",
    "export_conversations": "conversations.export",
    "export_template": "agents.export_template",
    "import_template": "agents.import_template",
    "issue_token": "tokens.issue",
    "issue_visitor_token": "conversation.issue_visitor_token",
    "list_agent_conversations": "conversations.list",
    "list_all_leads": "leads.list",
    "list_analytics": "analytics.list",
    "list_changes": "history.list",
    "list_clients": "clients.list_v2",
    "list_clients_v3": "clients.list",
    "list_conversations": "conversations.list_v2",
    "list_events": "webhooks.list_events",
    "list_leads": "leads.list_by_agent",
    "list_messages": "messages.list",
    "list_organisation_agents": "agents.list_by_organisation",
    "list_organisation_clients": "clients.list_by_organisation",
    "list_organisations": "organisations.list_v2",
    "list_organisations_v3": "organisations.list",
    "list_tokens": "tokens.list",
    "read_conversation": "conversation.retrieve",
    "read_workspace": "workspace.retrieve",
    "replace_messages": "messages.replace",
    "report_agent": "reports.agent",
    "report_usage": "reports.agent_usage",
    "report_organisation": "reports.organisation",
    "report_workspace": "reports.workspace",
    "revoke_token": "tokens.revoke",
    "rotate_key": "workspace.rotate_key",
    "save_conversation": "conversation.save",
    "search_conversations": "conversations.search",
    "test_tool": "tools.test",
}


def method_name(operation_id: str, tag: str) -> tuple[str, str]:
    """Return the resource and the method of an operation, such as `webhooks` and `retrieve_delivery`."""
    resource = tag.removeprefix("extension: ")
    if operation_id in _EXCEPTIONS:
        resource, method = _EXCEPTIONS[operation_id].split(".")
        return resource, method
    verb, *words = operation_id.split("_")
    rest = [word for word in words if word not in (resource, resource.removesuffix("s"))]
    return resource, "_".join([_VERBS.get(verb, verb), *rest])


def has_effect(operation_id: str) -> bool:
    """Return whether a repeat of the operation would take effect twice."""
    return operation_id.split("_")[0] not in _NO_EFFECT
