"""The innermost middleware: it runs the view in a unit of work and commits what the view staged.

When another write came first the view is run again, at most ten times; a view therefore decides from what it reads, and
builds its answer from memory. With an `Idempotency-Key` the same commit also puts the key with the answer, if it is not
there yet: effect and answer happen together or not at all, and a second request gets the stored answer.
"""

from collections.abc import Callable

from chalice.app import Request, Response

from chalicelib import errors, queues, storage
from chalicelib.http import idempotency

_GetResponse = Callable[[Request], Response]


def commit(request: Request, get_response: _GetResponse) -> Response:
    """Middleware. Raises what the first staged step that fails says, and KeyReused."""
    if request.method == "GET":
        return get_response(request)
    key = idempotency.requested_key(request)
    if key is None:
        return storage.retry_on_conflict(lambda: _run(request, get_response))
    return _run_once(request, get_response, key)


def _run_once(request: Request, get_response: _GetResponse, key: idempotency.Key) -> Response:
    """The answer that is stored under the key, or that of a run which stores it there."""
    if stored := idempotency.find(key):
        return idempotency.replay(stored)
    try:
        response = storage.retry_on_conflict(lambda: _run(request, get_response, key))
    except idempotency.AlreadyAnswered as answered:
        return idempotency.replay(answered.stored)
    except errors.ApiError:
        # An identical request may have been committed since, or this one, with its outcome lost.
        if stored := idempotency.find_committed(key):
            return idempotency.replay(stored)
        raise
    if response.status_code >= 400 and (stored := idempotency.find_committed(key)):
        return idempotency.replay(stored)
    return response


def _run(request: Request, get_response: _GetResponse, key: idempotency.Key | None = None) -> Response:
    """Run the view once; commit unless it refuses. Chalice answers with a response where a view raises."""
    with storage.unit_of_work() as unit:
        response = get_response(request)
        if response.status_code >= 400:
            unit.discard()
        elif key is not None:
            idempotency.stage(key, response, unit.messages)
    for queue, text in unit.messages:
        queues.send(queue, [text])
    return response
