"""The rules for a tool's request. The console checks them, because the API stores any text as a method or URL."""

import re
from collections.abc import Iterator, Sequence

from chalicelib import errors
from chalicelib.http.lazy_module import LazyModule
from chalicelib.storage import Document

_sender = LazyModule("chalicelib.sending.sender")
METHODS, PLACES = ("GET", "POST", "PUT", "PATCH", "DELETE"), ("", "path", "query", "header", "body")
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_MAX_NAME = 100  # characters of a name in a rule


def require(change: Document, parameters: Sequence[Document]) -> None:
    """Raise Invalid if a changed method or URL breaks a rule. `parameters` are the tool's after the change."""
    issues: list[errors.MemberIssue] = [
        *_issues("method", _rule_of_method(change.get("method"))),
        *_issues("serverUrl", _rule_of_url(change.get("serverUrl"), parameters)),
    ]
    if issues:
        raise errors.Invalid("", issues)


def _issues(path: str, rule: str | None) -> Iterator[errors.MemberIssue]:
    if rule is not None:
        yield {"path": path, "message": rule}


def _rule_of_method(method: str | None) -> str | None:
    return None if method is None or method in METHODS else f"must be one of {', '.join(METHODS)}"


def _rule_of_url(url: str | None, parameters: Sequence[Document]) -> str | None:
    """Return the rule that a URL breaks, or None. Arguments of parameters in the path replace names in braces."""
    if not url:
        return None
    rule: str | None = _sender.check_url(_PLACEHOLDER.sub("x", url))
    if rule is not None:
        return rule
    known = {parameter.get("key") for parameter in parameters if parameter.get("in") == "path"}
    unknown = next((name for name in _PLACEHOLDER.findall(url) if name not in known), None)
    return unknown and f"needs a parameter with the place Path and the name {unknown[:_MAX_NAME]}"
