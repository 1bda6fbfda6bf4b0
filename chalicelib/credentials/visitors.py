"""Visitor token storage. Each token gives a browser access to one conversation.

A visitor token is one item, keyed by the token hash. It is not listed anywhere. Therefore, issuing a token costs one
write, and a workspace can have any number of tokens. Three attributes of the item can invalidate a token early:

- The hash and the id of the credential that issued it. The token expires with that credential at the latest
  (`http.auth`): when a key is rotated or revoked, an access token expires, an agent's key is deleted, or a workspace is
  suspended or deleted. Because of the id, storing a revoked key again does not reactivate its tokens, not even in
  another workspace.
- The creation time of its agent (`createdAtUNIX`). The token stops working when the agent is deleted, even if the id is
  reused. An id is reserved for 90 seconds after a deletion, so no two agents with the same id have the same
  creation time.
- The creation time of its conversation. The token stops working when the conversation is deleted, even if the id is
  reused. A token issued before its conversation exists is bound to the first conversation that it reads or creates.
"""

from pynamodb.expressions.condition import Condition

from chalicelib import errors, storage
from chalicelib.credentials import store, tokens
from chalicelib.credentials.store import CredentialRow, NewCredential

LIFETIME = store.DAY


def issue(
    workspace_id: str,
    agent_id: str,
    conversation_id: str,
    created: str | None,
    lifetime: int,
    *,
    agent_created: float | None,
    issuer: str,
    issuer_id: str,
) -> NewCredential:
    """Stage a visitor token for a conversation.

    `created` is the conversation's creation time, or None if it does not exist yet. `lifetime` is in seconds.
    `agent_created` is the agent's `createdAtUNIX`. `issuer` and `issuer_id` are the token hash and the id of the
    issuing credential.
    """
    issued = store.prepare(workspace_id, tokens.VISITOR, tokens.VISITOR, lifetime, agent_id=agent_id)
    row = issued.credential
    row.issuer, row.issuer_id, row.agent_created, row.conversation_created = issuer, issuer_id, agent_created, created
    row.conversation = tokens.conversation_fingerprint(issued.token, conversation_id)
    storage.put(row)
    return issued


def bind(token_hash: str, created: str) -> None:
    """Stage a write that binds a token to the conversation created at `created`.

    The commit raises NotFound if the token is already bound to another conversation.
    """
    bound: Condition = CredentialRow.conversation_created == created
    unbound = CredentialRow.token_hash.exists() & CredentialRow.conversation_created.does_not_exist()
    action = CredentialRow.conversation_created.set(created)
    storage.update(CredentialRow(token_hash), [action], bound | unbound, errors.NotFound.of("conversation"))
