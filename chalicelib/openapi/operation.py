"""What an operation takes and answers, said beside its view for the OpenAPI document. It changes nothing."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

View = TypeVar("View", bound=Callable[..., Any])


class Operation(NamedTuple):
    """The body's model; the type of the envelope's `data`, or of the whole answer where there is no envelope;
    the query parameters by name."""

    body: Any
    data: Any
    whole: Any
    query: tuple[str, ...]


def operation(
    *, body: Any = None, data: Any = None, whole: Any = None, query: tuple[str, ...] = ()
) -> Callable[[View], View]:
    """Note on a view what `Operation` says; the view's docstring is the operation's description."""

    def note(view: View) -> View:
        view.operation = Operation(body, data, whole, query)  # type: ignore[attr-defined]
        return view

    return note
