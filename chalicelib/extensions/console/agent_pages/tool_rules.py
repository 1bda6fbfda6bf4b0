"""The rules for a tool. The console checks them, because the API stores any text as a name, method or URL."""

import re
from collections.abc import Iterable, Iterator

from chalicelib import errors
from chalicelib.http.lazy_module import LazyModule
from chalicelib.storage import Document

_sender = LazyModule("chalicelib.sending.sender")
METHODS, PLACES = ("GET", "POST", "PUT", "PATCH", "DELETE"), ("", "path", "query", "header", "body")
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_MAX_NAME = 100  # characters of a name in a rule
_MAX_MISSING = 10  # the parameters that the form adds at once


def require(tool: Document, change: Document) -> None:
    """Raise Invalid if a change makes a tool break a rule. A tool that the API stored may break rules already."""
    after = {**tool, **change}
    issues: list[errors.MemberIssue] = [
        *_issues("name", _rule_of_name(change.get("name"))),
        *_issues("method", _rule_of_method(change.get("method"))),
        *_issues("serverUrl", _rule_of_url(change.get("serverUrl")) or _rule_of_names(tool, after)),
    ]
    if issues:
        raise errors.Invalid("", issues)


def _issues(path: str, rule: str | None) -> Iterator[errors.MemberIssue]:
    if rule is not None:
        yield {"path": path, "message": rule}


def _rule_of_name(name: str | None) -> str | None:
    return "must not contain spaces" if name and re.search(r"\s", name) else None


def _rule_of_method(method: str | None) -> str | None:
    return None if method is None or method in METHODS else f"must be one of {', '.join(METHODS)}"


def _rule_of_url(url: str | None) -> str | None:
    rule: str | None = _sender.check_url(_PLACEHOLDER.sub("x", url)) if url else None
    return rule


def _rule_of_names(before: Document, after: Document) -> str | None:
    """Return the rule that the names in braces in a URL break, or None. Each needs a parameter in the path.

    Check them after a change of the URL or of the parameters in the path.
    """
    names, known = _names(after)
    if (names, known) == _names(before):
        return None
    unknown = next((name for name in names if name not in known), None)
    return unknown and f"needs a parameter with the place Path and the name {unknown[:_MAX_NAME]}"


def missing_names(url: str, parameters: Iterable[Document]) -> list[str]:
    """Return the names in braces in a URL that have no parameter in the path, each once, up to a maximum."""
    names, known = _names({"serverUrl": url, "fields": parameters})
    return [name for name in dict.fromkeys(names) if name not in known and len(name) <= _MAX_NAME][:_MAX_MISSING]


def _names(tool: Document) -> tuple[list[str], set[str]]:
    """Return the names in braces in a tool's URL, and the names of its parameters in the path."""
    fields = tool.get("fields") or ()
    return _PLACEHOLDER.findall(tool.get("serverUrl") or ""), {
        one.get("key") for one in fields if one.get("in") == "path"
    }
