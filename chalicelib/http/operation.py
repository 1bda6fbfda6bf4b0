"""What an operation takes and answers, said beside its view for the OpenAPI document. It changes nothing.

Types are named, as `"models.Client"` or `"list[record.AgentV3]"`, by their place in the view's package, and looked up
when somebody asks: no request pays for the models of all others.
"""

import re
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any, TypeVar, get_type_hints

View = TypeVar("View", bound=Callable[..., Any])


class Operation:
    """The body's model; the type of the envelope's `data`, or of the whole answer where there is no envelope;
    the query parameters and the request's own headers by name."""

    def __init__(
        self, package: str, body: Any, data: Any, whole: Any, query: tuple[str, ...], headers: tuple[str, ...], tag: str
    ) -> None:
        self._package, self._body, self._data, self._whole = package, body, data, whole
        self.query, self.headers, self.tag = query, headers, tag

    @property
    def body(self) -> Any:
        """The body's model, None for an operation without a body."""
        return self._found(self._body)

    @property
    def data(self) -> Any:
        """The type of the envelope's `data`, None where it has none."""
        return self._found(self._data)

    @property
    def whole(self) -> Any:
        """The type of an answer without envelope, None where there is one."""
        return self._found(self._whole)

    def _found(self, named: Any) -> Any:
        if not isinstance(named, str):
            return named
        modules = {name: import_module(f"{self._package}.{name}") for name in re.findall(r"(\w+)\.", named)}
        return get_type_hints(SimpleNamespace(__annotations__={"type": named}), modules, include_extras=True)["type"]


def operation(
    *,
    body: Any = None,
    data: Any = None,
    whole: Any = None,
    query: tuple[str, ...] = (),
    headers: tuple[str, ...] = (),
    tag: str | None = None,
) -> Callable[[View], View]:
    """Note on a view what `Operation` says; the view's docstring is the operation's description."""

    def note(view: View) -> View:
        package = view.__module__.rpartition(".")[0]
        own = tag or package.rpartition(".")[2]
        view.operation = Operation(package, body, data, whole, query, headers, own)  # type: ignore[attr-defined]
        return view

    return note
