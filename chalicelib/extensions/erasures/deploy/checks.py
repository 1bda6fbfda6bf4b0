"""The check for erasures in `make verify`."""

from collections.abc import Iterator

from chalicelib.extensions.erasures.queue import Erase
from infra.verify import tour
from infra.verify.visit import Visit


def check_erasure(visit: Visit) -> Iterator[str]:
    """Check that an erasure finds the tour's conversation.

    The check invokes the function, which would otherwise start after 30 seconds.
    """
    response = visit.client.send("POST", "/v3/erasures", {"erasure": {"userID": tour.PERSON}})
    if response.status != 200:
        yield f"POST /v3/erasures returned {response.status}: {response.body}."
        return
    erasure_id = response.body["data"]["id"]
    yield from visit.invoke("erase", Erase(visit.workspace.workspace_id, erasure_id))
    erasure = visit.client.send("GET", f"/v3/erasures/{erasure_id}").body["data"]
    if not erasure["counts"].get("conversations"):
        yield f"The erasure of the tour's person found no conversation: check the log of {visit.stage.name}-erase."


CHECKS = {"erasure": check_erasure}
