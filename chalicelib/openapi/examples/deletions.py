"""Examples of the operations that delete; they come last, when there is something to delete."""

from chalicelib.openapi.examples.shared import Example, Examples, success


def _deleted(what: str) -> dict[str, Example]:
    return {"deleted": Example(f"The {what.lower()} is gone", success(f"{what} deleted successfully"))}


EXAMPLES: Examples = {
    "delete_tool": _deleted("Tool"),
    "delete_lead": _deleted("Lead"),
    "delete_webhook": _deleted("Webhook"),
    "delete_conversation": _deleted("Conversation"),
    "delete_client": _deleted("Client"),
    "delete_organisation": _deleted("Organization"),
    "delete_agent": _deleted("Agent"),
}
