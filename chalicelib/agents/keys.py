"""Agent keys that an earlier version stored without a credential."""

from chalicelib.agents.record import AgentV2, AgentV3
from chalicelib.agents.rows import AgentRow
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth, privileges
from chalicelib.storage import Document


def without_unusable(row: AgentRow, before: Document, change: AgentV2 | AgentV3) -> Document:
    """Return `before`, without its agent key if the workspace key sends it again and it is no credential of the agent.

    Saving the agent then stages the credential, as for a new key. One request, only if the change has the stored key.
    """
    key = change.SECRET_API_KEY
    if auth.caller().kind != tokens.WORKSPACE or not key or key != before.get(privileges.AGENT_KEY):
        return before
    if not tokens.is_agent_key(key):
        return before
    found = credentials.find_active(tokens.fingerprint(key))
    if found is not None and (found.workspace, found.agent_id) == (row.workspace_id, row.agent_id):
        return before
    return {name: value for name, value in before.items() if name != privileges.AGENT_KEY}
