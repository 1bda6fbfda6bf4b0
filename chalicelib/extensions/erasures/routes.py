"""The erasures over HTTP. Only the workspace key opens them, because an erasure removes records of every kind."""

from typing import TYPE_CHECKING, Any

from chalice.app import Blueprint, Response

from chalicelib import clock, errors
from chalicelib.extensions.erasures import store
from chalicelib.extensions.erasures.queue import Erase
from chalicelib.http import auth, bodies, etag, responses
from chalicelib.http.operation import Operation

if TYPE_CHECKING:
    from chalicelib.extensions.erasures import models

routes = Blueprint(__name__)

# Longer than a request lasts. The message is sent before the commit, so that no crash leaves an erasure that never
# starts. If the commit fails, the message finds no erasure.
_START_SECONDS = 30


@routes.route("/v3/erasures", methods=["POST"])
@Operation(
    body="models.ErasureIn",
    data="models.Erasure",
    creates=True,
    raises=(errors.LimitReached,),
)
def create_erasure() -> Response:
    """Erase a person: find and remove all records of the workspace with their id, email or phone number.

    These are their conversations with all messages and analytics, their leads, the events about them, and stored
    responses of idempotent requests. An erasure starts after 30 seconds and takes at least two minutes; read it for its
    progress and receipt. A workspace may have five running erasures; a sixth erasure is rejected with 429.
    """
    body: models.ErasureIn = bodies.read()
    person = body.erasure.merge_into({})
    if not person:
        raise errors.Invalid.member("erasure", "must have userID, email or phone")
    row = store.new(auth.caller().workspace_id, person)
    Erase(row.workspace, row.erasure_id).send(_START_SECONDS)
    return etag.tagged(responses.success("Erasure created successfully", _render(row)), row)


@routes.route("/v3/erasures/{erasure_id}", methods=["GET"])
@Operation(data="models.Erasure", headers=("If-None-Match",), raises=(errors.NotFound,))
def read_erasure(erasure_id: str) -> Response:
    """Read the progress of an erasure and, when it is complete, its receipt. Neither identifies the person."""
    row = store.read(auth.caller().workspace_id, erasure_id)
    return etag.tagged(responses.success("Erasure retrieved successfully", _render(row)), row)


def _render(row: store.ErasureRow) -> dict[str, Any]:
    document = row.open()
    receipt = {"receipt": document["receipt"]} if "receipt" in document else {}
    return {
        "id": row.erasure_id,
        "status": "complete" if row.is_complete else "running",
        "createdAt": clock.iso(document["createdAt"]),
        "counts": document["counts"],
        **receipt,
    }
