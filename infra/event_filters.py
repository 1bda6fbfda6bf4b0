"""Apply the deployment's event filters, in the local run and to replayed records. This module has no side effects.

The function tables declare the filters as Lambda event patterns. This module implements the rules that the filters use:
exact strings, `prefix`, and `exists` with the value true. All other rules are rejected.
https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html documents the pattern syntax.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from infra.deploy.functions import declared_functions

Pattern = Mapping[str, Any]
Filter = Callable[[Mapping[str, Any]], bool]


def of_function(name: str) -> Filter:
    """Return a predicate that is true if Lambda passes a record to the function `name`.

    Raise ValueError for an unknown function or for a rule that this module does not implement.
    """
    declared = [
        function.mapping_settings.get("FilterCriteria", {})
        for function in declared_functions()
        if function.name == name
    ]
    if not declared:
        raise ValueError(f"{name} is not a declared function (infra/deploy/functions.py).")
    patterns = [json.loads(filter_["Pattern"]) for filter_ in declared[0].get("Filters", [])]
    for pattern in patterns:
        require_supported(pattern, name)
    return lambda record: not patterns or any(matches(pattern, record) for pattern in patterns)


def require_supported(pattern: Pattern, function: str) -> None:
    """Raise ValueError if a pattern contains a rule that this module does not implement."""
    for member, rules in pattern.items():
        if isinstance(rules, dict):
            require_supported(rules, function)
        elif not (isinstance(rules, list) and rules and all(map(_is_supported, rules))):
            raise ValueError(
                f"The filter of {function} has a rule for {member} that infra/event_filters.py does not "
                "implement: implement it there."
            )


def matches(pattern: Pattern, event: Any) -> bool:
    """Return whether an event has every member of the pattern with a value that any of the member's rules accepts."""
    return isinstance(event, Mapping) and all(
        matches(rules, event.get(member))
        if isinstance(rules, dict)
        else member in event and any(_accepts(rule, event[member]) for rule in rules)
        for member, rules in pattern.items()
    )


def _is_supported(rule: Any) -> bool:
    if not isinstance(rule, dict):
        return isinstance(rule, str)
    is_prefix = rule.keys() == {"prefix"} and isinstance(rule["prefix"], str)
    return is_prefix or (rule.keys() == {"exists"} and rule["exists"] is True)


def _accepts(rule: Any, value: Any) -> bool:
    """Return whether a rule accepts the value of an existing member. `exists` accepts every value except an object."""
    if isinstance(rule, str):
        return bool(value == rule)
    if "prefix" in rule:
        return isinstance(value, str) and value.startswith(rule["prefix"])
    return not isinstance(value, Mapping)
