"""The Chalice app, and ids that equal a word in another route, such as the conversation id `export`.

API Gateway prefers the literal route. If that route lacks a method, the method belongs to the route with the variable.
`chalice_guard` declares these methods to API Gateway, and `Service` calls the view of the route with the variable.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from chalice.app import Chalice, Request, Response, RestAPIEventHandler


class _ViewHandler(RestAPIEventHandler):
    """Runs a request's view. No response is binary, and the middleware `cors.allow_pages` sets all CORS headers."""

    def _validate_binary_response(self, *_: Any) -> bool:
        return True

    def _cors_enabled_for_route(self, *_: Any) -> bool:
        return False


class Service(Chalice):
    """A Chalice app in which a literal path's missing methods reach the route with the variable."""

    def __call__(self, event: Any, context: Any) -> dict[str, Any]:
        """Handle an HTTP request event."""
        return self._chain(Request(with_variable(self.routes, event), context)).to_dict()

    @cached_property
    def _chain(self) -> Callable[[Request], Response]:
        """The middleware chain. Chalice would build it in each request."""
        view = _ViewHandler(self.routes, self.api, self.log, self.debug)
        middlewares = [view._global_error_handler, *self._get_middleware_handlers("http")]
        return view._build_middleware_handlers(middlewares, self._run_view)

    def _run_view(self, request: Request) -> Response:
        view = _ViewHandler(self.routes, self.api, self.log, self.debug)
        view.current_request = request
        return view._main_rest_api_handler(request.to_original_event(), request.lambda_context)


def with_variable(routes: Mapping[str, Container[str]], event: Any) -> Any:
    """Return the event, or an event for the route with the variable if the literal path lacks the method."""
    context = event.get("requestContext", {})
    literal, method = context.get("resourcePath"), context.get("httpMethod")
    if literal not in routes or method in routes[literal]:
        return event
    path = next((path for path in _variable_paths(routes, literal) if method in routes[path]), None)
    if path is None:
        return event
    values = {**(event.get("pathParameters") or {}), **_words(literal, path)}
    return {**event, "pathParameters": values, "requestContext": {**context, "resourcePath": path}}


def missing_methods(routes: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield each method that a literal path lacks: the literal path, the path with the variable, and the method."""
    for literal in routes:
        for path in _variable_paths(routes, literal):
            yield from ((literal, path, method) for method in routes[path] if method not in routes[literal])


def _variable_paths(paths: Iterable[str], literal: str) -> Iterator[str]:
    """Yield the paths that differ from `literal` only by variables in place of words."""
    for path in paths:
        pairs = [*zip(path.split("/"), literal.split("/"), strict=False)]
        if path != literal and path.count("/") == literal.count("/") and all(_covers(*pair) for pair in pairs):
            yield path


def _covers(segment: str, word: str) -> bool:
    return segment == word or (segment.startswith("{") and not word.startswith("{"))


def _words(literal: str, path: str) -> dict[str, str]:
    """Return, for each variable in `path`, the word at its position in `literal`."""
    pairs = zip(path.split("/"), literal.split("/"), strict=True)
    return {segment[1:-1]: word for segment, word in pairs if segment != word}
