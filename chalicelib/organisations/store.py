"""Organisation storage: one sealed document per organisation."""

from collections.abc import Iterator

from pynamodb.attributes import UnicodeAttribute

from chalicelib import clock, errors, storage
from chalicelib.storage import Document, DocumentRow, deletion_hooks, json_equal


class OrganisationRow(storage.AuthoredRow, DocumentRow):
    """An organisation. Its document contains the writable members of the wire model."""

    class Meta:
        table_name = storage.table("organisations")

    lifecycle = storage.Lifecycle(
        "{workspace}", "{organisation}", owner="workspace", export="organisation", erasure="no: describes no person"
    )
    workspace = UnicodeAttribute(hash_key=True)
    org_id = UnicodeAttribute(range_key=True)


def find(workspace_id: str, org_id: str) -> OrganisationRow | None:
    """Return the organisation, or None if it does not exist. This costs one request."""
    return storage.find(OrganisationRow, workspace_id, org_id)


def read(workspace_id: str, org_id: str) -> OrganisationRow:
    """Return the organisation. Raise NotFound if it does not exist. This costs one request."""
    return errors.require(find(workspace_id, org_id), "organisation")


def key(workspace_id: str, org_id: str) -> storage.Key:
    """Return an organisation's key, for `storage.find_many`."""
    return storage.Key(OrganisationRow, workspace_id, org_id)


def list_page(workspace_id: str, after: str | None = None, limit: int | None = None) -> Iterator[OrganisationRow]:
    """Yield up to `limit` organisations after the id `after`, ordered by id. This costs one request per MB."""
    condition = OrganisationRow.org_id > after if after else None
    return storage.iterate(OrganisationRow, workspace_id, condition, limit=limit)


def new(workspace_id: str, org_id: str) -> OrganisationRow:
    """Return a row for a new organisation, without storing it."""
    return OrganisationRow(workspace_id, org_id)


def save(row: OrganisationRow, before: Document, after: Document) -> Document:
    """Stage an organisation and return its document. An unchanged document is not written."""
    if json_equal(after, before):
        return before
    if after.get("lastModified") in (None, before.get("lastModified")):
        after = {**after, "lastModified": clock.seconds()}
    row.seal(after)
    storage.put(row)
    return after


def delete(row: OrganisationRow) -> None:
    """Stage the deletion of an organisation."""
    storage.delete(row)
    deletion_hooks.stage(row.workspace, "orgs", row.org_id)
