"""Visitor tokens in the database: each opens one conversation, for a browser.

A visitor token is one item, under the hash of the token. It is in no list, so issuing a token costs one write, and a
workspace may have any number of them. Three references end a token early without a list:

- It names the credential that issued it, and expires with it at the latest (`http.auth`). So it ends with a rotated or
  revoked key, an expired access token, a deleted agent's key, and a suspended or deleted workspace. It names the id of
  the credential, too: storing a revoked key again, even in another workspace, revives no token.
- It names the creation of its agent (`createdAtUNIX`). After the agent is deleted, it opens nothing, even if the id is
  used again. An id is reserved for a minute after a deletion, so no two agents with one id have the same time.
- It names the creation of its conversation. After the conversation is deleted, it opens nothing, even if the id is used
  again. A token that is issued before its conversation exists belongs to the first one that it sees or creates.
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
    """Stage a visitor token of a conversation.

    `created` is the conversation's, None if it does not exist yet; `lifetime` is in seconds. `agent_created` is the
    agent's `createdAtUNIX`. `issuer` and `issuer_id` are the token hash and the id of the credential that issues the
    token.
    """
    issued = store.prepare(workspace_id, tokens.VISITOR, tokens.VISITOR, lifetime, agent_id=agent_id)
    row = issued.credential
    row.issuer, row.issuer_id, row.agent_created, row.conversation_created = issuer, issuer_id, agent_created, created
    row.conversation = tokens.conversation_fingerprint(issued.token, conversation_id)
    storage.put(row)
    return issued


def bind(token_hash: str, created: str) -> None:
    """Stage that a token belongs to the conversation with this creation.

    The commit raises NotFound if the token belongs to another one.
    """
    bound: Condition = CredentialRow.conversation_created == created
    unbound = CredentialRow.token_hash.exists() & CredentialRow.conversation_created.does_not_exist()
    action = CredentialRow.conversation_created.set(created)
    storage.update(CredentialRow(token_hash), [action], bound | unbound, errors.NotFound.of("conversation"))
