"""Records what operators view, for the audit log."""

from chalicelib import extensions
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.storage import Document

ERASURE, VIEW, KEY_VIEW = "erasures", "views", "keyviews"
"""The history's resources for erasures, for the console viewed as a client, and for an agent's key."""
KINDS = (ERASURE, VIEW, KEY_VIEW)


def operation(change: Document) -> str:
    """Return the operation of a change in the history, or the kind of an act, such as `views`."""
    kind = str(change["resource"]).partition("/")[0]
    return kind if kind in KINDS else str(change["operation"])


def stage(session: Session, resource: str, record_id: str) -> None:
    """Stage the record of an act. Without the extension `history`, acts are not recorded."""
    if stage_act := extensions.service("stage_act"):
        stage_act(session.workspace_id, resource, record_id)
