"""Email recipients: clients that have enabled emails, and the agents and pages that they may see."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from chalicelib.clients import store as clients
from chalicelib.extensions.console.notifications import allowance, mail_settings, notices, preferences
from chalicelib.ids import IDENTIFIER
from chalicelib.organisations import store as organisations
from chalicelib.storage import Document, find_many

# Maximum number of clients that an invocation examines.
PORTION = 100
# A single address without characters that are special in a header or an address list. SES accepts only ASCII.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_ADDRESS = re.compile(
    rf"(?=[^@]{{1,64}}@)(?!.*=\?){_ATOM}(\.{_ATOM})*@[A-Za-z0-9-]{{1,63}}(\.[A-Za-z0-9-]{{1,63}}){{1,8}}"
)
# The pages that an email may link to. It links to the first page that the person may open.
_PAGES = ("/convos", "/overview")


class Recipient(NamedTuple):
    """A client to notify, with the organisation whose agents they see."""

    client_id: str
    client: Document
    organisation: Document

    @property
    def agent_ids(self) -> frozenset[str]:
        """The agents whose conversations the person sees."""
        return frozenset(self.organisation.get("widgetIDs") or ())

    @property
    def page(self) -> str | None:
        """The page that an email links to, or None if the person may not open any of them."""
        allowed = self.client.get("canAccess")
        return next((page for page in _PAGES if allowed is None or page in allowed), None)


def list_page(workspace_id: str, agent_ids: Iterable[str], after: str) -> tuple[list[str], str | None]:
    """Return the clients to notify about these agents' conversations, and the next page's position.

    Examine at most 100 clients after the id `after`. An empty position is the start, and None is the end. This costs
    two requests.
    """
    rows = [*clients.list_page(workspace_id, after or None, PORTION)]
    recipients = _with_organisations(workspace_id, {row.client_id: row.open() for row in rows})
    client_ids = [recipient.client_id for recipient in recipients if not recipient.agent_ids.isdisjoint(agent_ids)]
    return client_ids, rows[-1].client_id if len(rows) == PORTION else None


def find(workspace_id: str, client_id: str) -> Recipient | None:
    """Return the recipient, or None if the client gets no emails. This costs at most two requests."""
    row = clients.find(workspace_id, client_id)
    return next(iter(_with_organisations(workspace_id, {client_id: row.open()} if row else {})), None)


def problem(workspace_id: str, client_id: str, client: Document) -> str | None:
    """Return why a client who wants emails gets none, as the last part of a text key, or None.

    This costs at most two requests.
    """
    if not preferences.by_email(client):
        return None
    if not mail_settings.are_complete():
        return "stage"
    if client.get("disabled"):
        return "disabled"
    if not can_receive(client):
        return "address"
    if not Recipient(client_id, client, {}).page:
        return "pages"
    row = notices.find(workspace_id, client_id)
    if row and row.is_refused:
        return "refused"
    return "limit" if allowance.is_used_up(workspace_id) else None


def can_receive(client: Document) -> bool:
    """Return whether the service can send emails to a client, who has an address and is not disabled."""
    return bool(_ADDRESS.fullmatch(client.get("email") or "")) and not client.get("disabled")


def _with_organisations(workspace_id: str, documents: dict[str, Document]) -> list[Recipient]:
    clients = {client_id: client for client_id, client in documents.items() if _is_notified(client)}
    org_ids = sorted({client["orgId"] for client in clients.values()})
    rows = find_many([organisations.key(workspace_id, one) for one in org_ids])
    known = {org_id: row.open() for org_id, row in zip(org_ids, rows, strict=True) if row}
    recipients = [Recipient(one, client, known.get(client["orgId"], {})) for one, client in clients.items()]
    return [recipient for recipient in recipients if recipient.agent_ids and recipient.page]


def _is_notified(client: Document) -> bool:
    has_organisation = IDENTIFIER.fullmatch(client.get("orgId") or "")
    return bool(can_receive(client) and has_organisation and preferences.by_email(client))
