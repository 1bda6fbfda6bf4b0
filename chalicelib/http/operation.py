"""The one declaration of an endpoint: what it takes, answers and raises, beside its view.

    @routes.route("/v3/agents/{agent_id}/tools", methods=["POST"])
    @operation(body="models.ToolIn", data="models.Tool", creates=True, raises=(errors.NotFound, errors.TooLarge))
    def create_tool(agent_id: str) -> Response: ...

`messages.body()` reads the body with the declared model, and the OpenAPI document is made of the declarations. Models
are named by their place in the view's package and imported at their first use: no request pays for the models of the
others.
"""

import re
from collections.abc import Callable
from contextvars import ContextVar
from functools import cached_property, wraps
from importlib import import_module
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar, get_type_hints

from chalicelib.errors import ApiError

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

_current: ContextVar["operation"] = ContextVar("operation")


class operation:  # noqa: N801 - it is used as a decorator
    """Declare an endpoint; the docstring of the view is its description.

    - `body`: the model of the request's body, as `"models.Client"`; with `body_optional` no body at all means `{}`.
    - `data`: the type of the envelope's `data`, as `"list[record.AgentV3]"`; `whole`: that of a bare answer.
    - `query`, `headers`: the parameters besides those of the path, by name.
    - `raises`: the errors of this endpoint. Those of every endpoint (no credential, a broken rule, a busy database, …)
      follow from the other arguments.
    - `creates`: it makes a new record and answers it.
    - `always`: members that its answer has although the type does not require them.
    - `examples`: a constant below `chalicelib.openapi.examples`, as `"tools.CREATE_TOOL"`.
    - `tag`: the resource, where that is not the view's package.
    """

    def __init__(
        self,
        *,
        body: str | None = None,
        body_optional: bool = False,
        data: str | None = None,
        whole: str | None = None,
        query: tuple[str, ...] = (),
        headers: tuple[str, ...] = (),
        raises: tuple[type[ApiError], ...] = (),
        creates: bool = False,
        always: tuple[str, ...] = (),
        examples: str | None = None,
        tag: str = "",
    ) -> None:
        self._body, self._data, self._whole = body, data, whole
        self.body_optional, self.query, self.headers, self.raises = body_optional, query, headers, raises
        self.creates, self.always, self.examples, self.tag = creates, always, examples, tag

    def __call__(self, view: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
        """The view, which can read its own declaration while it runs (`current`)."""
        self._package = view.__module__.rpartition(".")[0]
        self.tag = self.tag or self._package.rpartition(".")[2]

        @wraps(view)
        def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
            token = _current.set(self)
            try:
                return view(*args, **kwargs)
            finally:
                _current.reset(token)

        run.operation = self  # type: ignore[attr-defined]
        return run

    @cached_property
    def body(self) -> Any:
        """The body's model, None for an operation without a body."""
        return self._resolve(self._body)

    @cached_property
    def data(self) -> Any:
        """The type of the envelope's `data`, None where it has none."""
        return self._resolve(self._data)

    @cached_property
    def whole(self) -> Any:
        """The type of an answer without envelope, None where there is one."""
        return self._resolve(self._whole)

    def _resolve(self, named: str | None) -> Any:
        if named is None:
            return None
        modules = {name: import_module(f"{self._package}.{name}") for name in re.findall(r"(\w+)\.", named)}
        return get_type_hints(SimpleNamespace(__annotations__={"type": named}), modules, include_extras=True)["type"]


def current() -> operation:
    """The declaration of the view that is running."""
    return _current.get()
