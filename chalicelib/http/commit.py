"""The innermost middleware: runs the view in a unit of work and commits the writes that the view staged.

If another write came first, the view runs again (`storage.retry_on_conflict`). Therefore a view decides only from what
it reads, and builds its response in memory. What it writes in a unit of its own must be harmless to repeat.

With an `Idempotency-Key`, the same commit stores the key with the response, on the condition that the key is new. The
effect and the response are stored together, and a repeated request is replayed. A request that stages no write stores
no response, because running the request again has no effect either.
"""

from collections.abc import Callable, Container, Iterable, Mapping

from chalice.app import Request, Response

from chalicelib import errors, queues, storage
from chalicelib.http import auth, idempotency

_GetResponse = Callable[[Request], Response]


def commit(routes: Mapping[str, Container[str]], request: Request, get_response: _GetResponse) -> Response:
    """Middleware. Raises the error of the first staged step that fails, KeyReused, and Invalid for a malformed key.

    `routes` has the methods of each route: an unsupported method is a 405, whatever its key.
    """
    if request.method not in routes[request.context["resourcePath"]]:
        return get_response(request)
    key = idempotency.requested_key(request)
    if request.method == "GET":
        return get_response(request)
    if key is None:
        return storage.retry_on_conflict(lambda: _run(request, get_response))
    return _run_once(request, get_response, key)


def _run_once(request: Request, get_response: _GetResponse, key: idempotency.Key) -> Response:
    """Return the response stored under the key; if there is none, run the view and store its response."""
    if stored := idempotency.find(key):
        return idempotency.replay(stored)
    try:
        return storage.retry_on_conflict(lambda: _run(request, get_response, key))
    except idempotency.AlreadyAnswered as answered:
        return idempotency.replay(answered.stored)
    except errors.ApiError:
        # An identical request, or an earlier attempt of this one whose outcome was lost, may have committed.
        if stored := idempotency.find_committed(key):
            return idempotency.replay(stored)
        raise


def _run(request: Request, get_response: _GetResponse, key: idempotency.Key | None = None) -> Response:
    """Run the view once; commit unless it fails. Chalice has already turned an error of the view into a response."""
    with storage.written_by(auth.author()), storage.unit_of_work() as unit:
        response = get_response(request)
        if response.status_code >= 400:
            unit.discard()
        if key is not None and unit.has_writes:
            idempotency.stage(key, response, unit.messages)
        elif key is not None and (stored := idempotency.find_committed(key)):
            # The view ran after an identical request, and found its effect: an error, or nothing left to change.
            return idempotency.replay(stored)
    send(unit.messages)
    return response


def send(messages: Iterable[tuple[str, str]]) -> None:
    """Send the messages of a unit that has been committed: queues and texts."""
    for queue, text in messages:
        queues.send(queue, [text], auth.caller().workspace_id)
