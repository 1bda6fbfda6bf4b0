"""Handles ids that equal a word in another route, such as an agent whose id is `import` (`/v3/agents/import`).

API Gateway prefers the literal route. If that route lacks a method, the method belongs to the route with the variable.
`chalice_guard` declares these methods to API Gateway, and `Service` calls the view of the route with the variable.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from chalice.app import Chalice


class Service(Chalice):
    """A Chalice app in which a literal path's missing methods reach the route with the variable."""

    def __call__(self, event: Any, context: Any) -> dict[str, Any]:
        """Handle an HTTP request event."""
        return super().__call__(with_variable(self.routes, event), context)


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
