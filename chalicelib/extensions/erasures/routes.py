"""The erasure endpoints. They accept only the workspace key, because an erasure deletes records of every kind."""

from typing import TYPE_CHECKING, Any

from chalice.app import Blueprint, Response

from chalicelib import clock, errors, extensions
from chalicelib.http import auth, bodies, etag, parameters, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation

if TYPE_CHECKING:
    from chalicelib.extensions.erasures import models, queue, store
else:
    queue = LazyModule("chalicelib.extensions.erasures.queue")
    store = LazyModule("chalicelib.extensions.erasures.store")

routes = Blueprint(__name__)

# Longer than any request takes. The message is sent before the commit, so that a crash cannot leave behind an erasure
# that is recorded but never starts. If the commit fails, the function finds no erasure and ignores the message.
_START_SECONDS = 30


@routes.route("/v3/erasures", methods=["POST"])
@Operation(
    body="models.ErasureIn",
    data="models.Erasure",
    creates=True,
    raises=(errors.LimitReached,),
)
def create_erasure() -> Response:
    """Erase a person: find and delete all records in the workspace that contain their id, email or phone number.

    The erasure deletes the person's conversations with all messages and analytics, their leads, events about them, and
    stored responses to idempotent requests. An erasure starts after 30 seconds and takes at least two minutes. Read the
    erasure to get its progress and receipt. A workspace may have five running erasures; a sixth is rejected with 429.
    """
    body: models.ErasureIn = bodies.read()
    person = body.erasure.merge_into({})
    reference = person.pop("reference", None)
    if not person:
        raise errors.Invalid.member("erasure", "must have userID, email or phone")
    if reference and any(value.casefold() in reference.casefold() for value in person.values()):
        raise errors.Invalid.member("erasure.reference", "must not contain the userID, email or phone")
    row = store.new(auth.caller().workspace_id, person, reference)
    if stage_act := extensions.service("stage_act"):
        stage_act(row.workspace, "erasures", row.erasure_id)
    queue.Erase(row.workspace, row.erasure_id).send(_START_SECONDS)
    return etag.tagged(responses.success("Erasure created successfully", _render(row)), row)


@routes.route("/v3/erasures", methods=["GET"])
@Operation(data="list[models.Erasure]", query=("limit", "cursor"))
def list_erasures() -> Response:
    """List the workspace's erasures, newest first. The response does not identify the persons."""
    rows, more = store.list_page(auth.caller().workspace_id, parameters.cursor(), parameters.limit())
    return responses.listing("Erasures retrieved successfully", [_render(row) for row in rows], more)


@routes.route("/v3/erasures/{erasure_id}", methods=["GET"])
@Operation(data="models.Erasure", headers=("If-None-Match",), raises=(errors.NotFound,))
def read_erasure(erasure_id: str) -> Response:
    """Read an erasure's progress and, once it is complete, its receipt. The response does not identify the person."""
    row = store.read(auth.caller().workspace_id, erasure_id)
    return etag.tagged(responses.success("Erasure retrieved successfully", _render(row)), row)


def _render(row: "store.ErasureRow") -> dict[str, Any]:
    document = row.open()
    optional: dict[str, Any] = {name: document[name] for name in ("reference", "receipt") if name in document}
    return {
        "id": row.erasure_id,
        "status": "complete" if row.is_complete else "running",
        "createdAt": clock.iso(document["createdAt"]),
        "counts": document["counts"],
        **optional,
    }
