"""Tests of the extensions, one folder per extension.

The folder's module `support` adds the extension to the core tests.

Each member of `support` is optional:
- `CHOSEN`: values for path variables that only the extension's operations have.
- `PATH_VALUES`: a function for each path variable that returns the example value for a path.
- `OTHER_IDS`: for each operation that accepts only records of a kind, the names of their ids by path variable.
- `TESTED_PARAMETERS`, `TESTED_SAVES`: query parameters, and operations with `If-Match`, that the extension's own tests
  cover.
- `OWN_PARAMETERS`: for each operation, query parameters whose rules differ from those with the same name in core. The
  extension's own tests cover them.
- `TIMES`: query parameters in Unix seconds.
- `COSTS`: arguments of `Case` in `operation_cases`; `cost_values(api)` returns their path values.
- `CREATION_COSTS`: arguments of `Case` in `operation_cases`, for operations that create core records.
- `CREATED_WHEN_NAMED`: entries of `operations.CREATED_WHEN_NAMED`. These operations respond with 201.
- `CREATED_BY`, `RECORDS`, `REPEATED`: entries of `operations.CREATED_BY`, arguments of `Record` in `test_preconditions`
  and of `Case` in `replay_cases`.
- `LISTS`, `PAGE_COSTS`: entries of `LISTS` in `test_longest_ids` and of `PAGES` in `test_growing_lists`.
- `READS`: operations that change nothing, although their method is not `GET`.
- `NO_WRITES`: arguments of `Case` in `replay_cases` that change no record.
- `NOT_IDEMPOTENT`: entries of the set in `reliability.sweep`.
- `DELETIONS`: arguments of `Case` in `reliability.sweep` for operations that delete core records.
- `LOOKS`: entries of `_LOOKS` in `reliability.sweep`.
- `QUEUES`: the names of the extension's queues.
- `TOO_LARGE`: entries of `TOO_LARGE` in `test_error_responses`.
- `wrong_members()`: entries of `WRONG` in `bad_input.wrong_members`.
- `reach_conflicts(patch)`: makes the requests conflict for which no stored record causes a conflict.
- `reach_limits(patch)`: makes every request that creates a record exceed its limit.
- `reach_record_limits(patch)`: makes every request that creates core records exceed the limit of their size.
- `populate(workspace_id, ids, mark)`: creates the records that its operations need, and adds their ids to `ids`.
- `queue_functions(workspace_id, agent_id, client_id)`: returns the queue functions by name, each with a message of each
  kind.
- `add_rows(workspace_id)`: stores rows that no operation creates.
- `fill_agent(workspace_id, agent_id)`: adds records that are deleted together with an agent.
- `run_functions()`: runs the functions so that they make every call to DynamoDB, KMS and SQS.
- `clear_caches()`: clears the caches that a process keeps across requests.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from chalicelib import extensions

QueueFunctions = dict[str, tuple[Callable[..., Any], list[str]]]
"""Queue functions by name, each with a message of each kind."""


def require(*names: str) -> None:
    """Skip the calling test module if one of these extensions is off."""
    for name in names:
        if not extensions.has(name):
            pytest.skip(f"The extension {name} is off.", allow_module_level=True)


def are_all_on() -> bool:
    """Return whether every extension with tests is on."""
    return all(extensions.has(path.parent.name) for path in Path(__file__).parent.glob("*/__init__.py"))


def joined(member: str) -> dict[str, Any]:
    """Return the entries of a mapping, merged from all `support` modules."""
    return {name: value for one in _support() for name, value in getattr(one, member, {}).items()}


def listed(member: str) -> list[Any]:
    """Return the elements of a list, joined from all `support` modules."""
    return [element for one in _support() for element in getattr(one, member, ())]


def populate(workspace_id: str, ids: dict[str, str], mark: str) -> None:
    """Create extension records for the records with these ids; a secret and other texts contain `mark`.

    Add the ids of further records to `ids`.
    """
    call("populate", workspace_id, ids, mark)


def call(function: str, *arguments: Any) -> list[Any]:
    """Call a function in every `support` module that defines it; return the results."""
    return [getattr(one, function)(*arguments) for one in _support() if hasattr(one, function)]


def queue_functions(workspace_id: str, agent_id: str, client_id: str) -> QueueFunctions:
    """Return the queue functions of the extensions by name, each with a message of each kind."""
    found = call("queue_functions", workspace_id, agent_id, client_id)
    return {name: entry for functions in found for name, entry in functions.items()}


@cache
def _support() -> list[ModuleType]:
    return [
        import_module(f"{__name__}.{extension.name}.support")
        for extension in extensions.enabled()
        if (Path(__file__).parent / extension.name / "support.py").exists()
    ]
