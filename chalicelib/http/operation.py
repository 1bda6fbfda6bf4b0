"""Declares an endpoint on its view: its parameters, models and errors.

    @routes.route("/v3/agents/{agent_id}/tools", methods=["POST"])
    @Operation(body="models.ToolIn", data="models.Tool", creates=True, raises=(errors.NotFound, errors.TooLarge))
    def create_tool(agent_id: str) -> Response: ...

`bodies.read()` parses the body with the declared model, and the OpenAPI document is built from the declarations. Model
names are relative to the view's package. Models are imported on first use, so requests load only the models they need.
"""

import re
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, wraps
from importlib import import_module
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar, get_type_hints

from chalicelib.credentials import scopes
from chalicelib.errors import ApiError
from chalicelib.http import current_request
from chalicelib.ids import IDENTIFIER

# Default maximum size of a request body in bytes, enough for the largest record that can be stored.
MAX_BODY_BYTES = 2_000_000
# Default maximum number of members and elements in a request body. Each one takes up to a kilobyte of memory during
# validation.
MAX_BODY_VALUES = 80_000

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

_current: ContextVar["Operation"] = ContextVar("operation")


@dataclass(kw_only=True, eq=False)
class Operation:
    """Declare an endpoint. The view's docstring is its description.

    - `body`: the model of the request body, such as `"models.Client"`. With `body_optional`, an empty body means `{}`.
    - `max_bytes`, `max_values`: the maximum body size, and the maximum number of members and elements. Both are
      checked before parsing.
    - `data`: the type of `data` in the envelope, such as `"list[record.AgentV3]"`.
    - `bare`: the type of a response without an envelope.
    - `files`: the media types of a file response. A `Link` header connects its pages. With `data`, the
      media types that `Accept` can request instead of the envelope. These responses have no pages.
    - `query`, `headers`: the names of the query parameters and headers. Those in `requires` are mandatory.
    - `position`: the pattern of `cursor`, by default an identifier.
    - `bounded`: the list examines a bounded number of entries. A page may be short, the response contains `hasMore`,
      and a `limit` above the maximum is reduced to the maximum.
    - `members`, `optional_members`: the names of additional envelope members that all or some responses contain.
    - `raises`: the errors that are specific to this endpoint. The common errors (authentication, validation,
      availability) are derived from the other arguments.
    - `reads`: the endpoint changes nothing, although its method is not `GET`, so it needs only the read scope.
    - `creates`: the endpoint creates a record and returns it.
    - `upserts`: the endpoint also creates the record if it is missing. In that case, the status is 201.
    - `warns`: the response can contain `warnings` about members that are unknown, are ignored, refer to a missing
      record, or outlive the token.
    - `tag`: the resource, by default the view's package.
    """

    body: str | None = None
    body_optional: bool = False
    max_bytes: int = MAX_BODY_BYTES
    max_values: int = MAX_BODY_VALUES
    data: str | None = None
    bare: str | None = None
    files: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    position: re.Pattern[str] = IDENTIFIER
    bounded: bool = False
    members: tuple[str, ...] = ()
    optional_members: tuple[str, ...] = ()
    raises: tuple[type[ApiError], ...] = ()
    reads: bool = False
    creates: bool = False
    upserts: bool = False
    warns: bool = False
    tag: str = ""
    package: str = field(init=False)

    def __call__(self, view: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
        """Wrap the view; `current()` returns this declaration while it runs."""
        self.package = view.__module__.rpartition(".")[0]
        self.tag = self.tag or self.package.rpartition(".")[2]

        @wraps(view)
        def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
            token = _current.set(self)
            try:
                current_request.require_known_query(self.query)
                return view(*args, **kwargs)
            finally:
                _current.reset(token)

        run.operation = self  # type: ignore[attr-defined]
        return run

    @property
    def extension(self) -> str:
        """The name of the endpoint's extension, which is empty for core."""
        _, _, below = self.package.partition("chalicelib.extensions.")
        return below.partition(".")[0]

    def scope(self, method: str) -> str:
        """Return the scope that an access token needs to send this method."""
        return scopes.scope_for(self.tag, "GET" if self.reads else method)

    def resolve(self, type_name: str | None) -> Any:
        """Return the type for a name from `body`, `data` or `bare`, or None for an empty name."""
        return type_name and _resolve(self.package, type_name)


@cache
def _resolve(package: str, type_name: str) -> Any:
    modules = {name: import_module(f"{package}.{name}") for name in re.findall(r"(\w+)\.", type_name)}
    return get_type_hints(SimpleNamespace(__annotations__={"type": type_name}), modules, include_extras=True)["type"]


def current() -> Operation:
    """Return the declaration of the running view."""
    return _current.get()
