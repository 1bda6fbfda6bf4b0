"""The list of the agents of an organisation."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.agents import answer, store
from chalicelib.http import auth, pages, parameters
from chalicelib.http.operation import Operation
from chalicelib.ids import IDENTIFIER
from chalicelib.organisations import store as organisations

if TYPE_CHECKING:
    from chalicelib.agents import record  # noqa: F401

routes = Blueprint(__name__)


@routes.route("/v3/orgs/{org_id}/agents", methods=["GET"])
@Operation(data="list[record.AgentV3]", query=("limit", "cursor"), bounded=True, raises=(errors.NotFound,))
def list_organisation_agents(org_id: str) -> Response:
    """List the agents of an organisation in the v3 form, those in its `widgetIDs`, ordered by id.

    Ids of agents that do not exist are left out. A request looks up to 500 ids up. So a page may be short, or empty: as
    long as `hasMore` is true, continue with `nextCursor` as `cursor`. A change may appear in the list a second later.
    """
    limit, after, workspace_id = parameters.limit(), parameters.cursor() or "", auth.caller().workspace_id
    named = organisations.read(workspace_id, org_id).open().get("widgetIDs", ())
    ids = sorted({one for one in named if one > after and IDENTIFIER.fullmatch(one)})
    found = store.read_entries(store.row_for_key(workspace_id, one) for one in ids[: pages.MAX_EXAMINED])
    examined = (
        pages.Examined(position, answer.render(row) if row else None, number < len(ids))
        for number, (position, row) in enumerate(found, start=1)
    )
    return pages.bounded_page("Agents retrieved successfully", examined, limit)
