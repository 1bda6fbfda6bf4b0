"""The innermost middleware, which runs the view in a unit of work and commits the writes that the view staged.

If another write commits first, the view runs again (`storage.retry_on_conflict`). Therefore, a view must base its
decisions only on its reads, and build its response in memory. Any writes that it commits separately must be idempotent.

If the request has an `Idempotency-Key`, the same commit also stores the key and the response, provided that the key is
new. A repeated request then receives the stored response. If a request stages no writes, its response is not stored,
because running the request again is harmless.
"""

from collections.abc import Callable, Container, Iterable, Mapping

from chalice.app import Request, Response

from chalicelib import errors, queues, storage
from chalicelib.http import auth, idempotency
from chalicelib.storage.stored_responses import StoredResponseRow

_GetResponse = Callable[[Request], Response]


def commit(routes: Mapping[str, Container[str]], request: Request, get_response: _GetResponse) -> Response:
    """Run the view, and commit its writes (middleware).

    Raise the error of the first staged step that fails, KeyReused, or Invalid for a malformed key.

    `routes` contains each route's methods, because an unsupported method returns 405 regardless of the key.
    """
    if request.method not in routes[request.context["resourcePath"]]:
        return get_response(request)
    key = idempotency.key_of(request)
    if request.method == "GET":
        return get_response(request)
    stored_response = idempotency.find(key) if key else None
    if stored_response is None:
        try:
            response, stored_response = storage.retry_on_conflict(lambda: _run(request, get_response, key))
        except idempotency.AlreadyCommitted as error:
            stored_response = error.stored_response
        except errors.ApiError:
            # An identical request may have been committed, or an earlier attempt at this request may have succeeded
            # although its outcome was lost.
            stored_response = idempotency.find_committed(key) if key else None
            if stored_response is None:
                raise
    return idempotency.replay(stored_response) if stored_response else response


def _run(
    request: Request, get_response: _GetResponse, key: idempotency.RequestKey | None
) -> tuple[Response, StoredResponseRow | None]:
    """Run the view once, commit its writes and the key, if there is one, and return the response.

    Chalice has already turned a view's error into a response. A view that stages no writes may have read the effect of
    an identical request. In that case, return the stored response to that request.
    """
    stored_response = None
    with storage.written_by(auth.author()), storage.unit_of_work() as unit:
        response = get_response(request)
        if response.status_code >= 400:
            unit.discard()
        if key and unit.has_writes:
            idempotency.stage(key, response, unit.messages)
        elif key:
            stored_response = idempotency.find_committed(key)
    if stored_response is None:
        send(unit.messages)
    return response, stored_response


def send(messages: Iterable[tuple[str, str]]) -> None:
    """Send a committed unit's messages. Each message consists of a queue name and a text."""
    for queue, text in messages:
        queues.send(queue, [text], auth.caller().workspace_id)
