"""Examples of the delete operations. They run last, on the records of the other examples."""

from chalicelib.openapi.examples.shared import Example, Examples, success


def _deleted(what: str) -> dict[str, Example]:
    return {"deleted": Example(f"The {what.lower()} is deleted", success(f"{what} deleted successfully"))}


DELETE_TOOL: Examples = _deleted("Tool")
DELETE_LEAD: Examples = _deleted("Lead")
DELETE_WEBHOOK: Examples = _deleted("Webhook")
DELETE_MESSAGE: Examples = _deleted("Message")
DELETE_CONVERSATION: Examples = _deleted("Conversation")
DELETE_CLIENT: Examples = _deleted("Client")
DELETE_ORGANISATION: Examples = _deleted("Organization")
DELETE_AGENT: Examples = _deleted("Agent")
