"""The rules for documents in an export, derived from the wire models of their kinds.

Stream functions and list pages expect documents that the service has written. Therefore, imports accept a member only
if it has the type that its model declares. `shapes` checks members that no model declares.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from chalicelib import errors
from chalicelib.agents.record import AgentV3
from chalicelib.analytics.models import AnalyticsRecord
from chalicelib.clients.models import Client
from chalicelib.conversations.models import ConvoMetaV3, TurnOut
from chalicelib.http import bodies
from chalicelib.leads.models import Lead
from chalicelib.organisations.models import Organisation
from chalicelib.tools.models import Tool
from chalicelib.webhooks.models import NewWebhook

# Models of record members, keyed by kind.
_MODELS: dict[str, dict[str, Any]] = {
    "client": {"document": Client},
    "organisation": {"document": Organisation},
    "agent": {"document": AgentV3, "summary": AgentV3},
    "tool": {"document": Tool},
    "lead": {"document": Lead},
    "analytics": {"load": AnalyticsRecord, "convo": AnalyticsRecord},
    "conversation": {"metadata": ConvoMetaV3, "turns": list[TurnOut]},
    "webhook": {"document": NewWebhook},
}
# Members that responses omit and `shapes` checks.
_STORED_ONLY = {"conversation": {"retentionDays"}, "webhook": {"secrets"}}


# Rules for new values only, such as password length: earlier releases may have stored values that violate them.
_LIMITS = ("string_too_short", "string_too_long", "string_pattern_mismatch", "too_short", "too_long")


def find_problem(kind: str, record: dict[str, Any]) -> str | None:
    """Return the path and rule of the first member that violates its model, without the member's value."""
    return next(_problems(kind, record), None)


def _problems(kind: str, record: dict[str, Any]) -> Iterator[str]:
    for member, model in _MODELS.get(kind, {}).items():
        if member in record:
            yield from _nulls(member, model, record[member])
            try:
                _adapter(model).validate_python(_without_stored_only(kind, record[member]))
            except ValidationError as error:
                details = error.errors(include_url=False, include_context=False, include_input=False)
                yield from (
                    _sentence(member, bodies.issue_of(detail)) for detail in details if detail["type"] not in _LIMITS
                )


def _nulls(member: str, model: Any, value: Any) -> Iterator[str]:
    """Yield an error for each null. The service never stores nulls, because null clears a member in a request."""
    if isinstance(value, dict):
        yield from (
            f"record.{member}.{name} must not be null" for name in model.model_fields if value.get(name, 0) is None
        )


def _sentence(member: str, issue: errors.MemberIssue) -> str:
    steps = ["record", member, *issue["path"].split(".")] if issue["path"] else ["record", member]
    if issue["message"] == bodies.UNKNOWN:  # the name comes from the file and may be sensitive
        return f"{'.'.join(steps[:-1])} has a member that its model does not declare"
    return f"{'.'.join(steps)} {issue['message']}"


def _without_stored_only(kind: str, value: Any) -> Any:
    hidden = _STORED_ONLY.get(kind, set())
    return {name: one for name, one in value.items() if name not in hidden} if isinstance(value, dict) else value


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)
