"""The rules for the documents of an export, derived from the wire models of their kinds.

The functions of streams and the pages of lists expect documents that the service has written. An import therefore
accepts a member only with the type that its model declares. `shapes` checks the members that no model declares.
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

# The model of a record member, by kind.
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
# Members that responses omit, and that `shapes` checks.
_STORED_ONLY = {"conversation": {"retentionDays"}, "webhook": {"secrets"}}


# Rules for new values, such as the length of a password: an earlier release may have stored others.
_LIMITS = ("string_too_short", "string_too_long", "string_pattern_mismatch", "too_short", "too_long")


def find_problem(kind: str, record: dict[str, Any]) -> str | None:
    """Return the path and the rule of the first member that violates its model, without the value."""
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
    """Yield a sentence for each null. The service stores no null: in a request, null clears a member."""
    if isinstance(value, dict):
        yield from (
            f"record.{member}.{name} must not be null" for name in model.model_fields if value.get(name, 0) is None
        )


def _sentence(member: str, issue: errors.MemberIssue) -> str:
    steps = ["record", member, *issue["path"].split(".")] if issue["path"] else ["record", member]
    if issue["message"] == bodies.UNKNOWN:  # the name comes from the file and may be sensitive
        return f"{'.'.join(steps[:-1])} has a member that is not in its model"
    return f"{'.'.join(steps)} {issue['message']}"


def _without_stored_only(kind: str, value: Any) -> Any:
    hidden = _STORED_ONLY.get(kind, set())
    return {name: one for name, one in value.items() if name not in hidden} if isinstance(value, dict) else value


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)
