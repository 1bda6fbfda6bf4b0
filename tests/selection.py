"""A pytest plugin that selects the tests for `make test`, which tests each behaviour once.

All other cases get the marker `whole`, and `make test-all` runs them:

    @whole                                      deselects the test: a count, a sweep or a build
    @each_value_once                            selects each value of each parameter of a matrix once
    @one_of_each(lambda member: member.type)    selects the first case for each result of the function
    @first_case                                 selects the first case

`pytest.param(..., marks=whole)` deselects a single parameter row.

If a behaviour does not depend on combinations of parameters, `zip_cycled` combines their values without a matrix.
"""

import inspect
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable
from itertools import cycle, islice
from typing import Any

import pytest

whole = pytest.mark.whole
each_value_once = pytest.mark.each_value_once


def one_of_each(rule: Callable[..., Hashable]) -> pytest.MarkDecorator:
    """Select the first case for each result of `rule`, which is called with the test's parameters by name."""
    # A mark that is called with only a function would decorate that function.
    return pytest.mark.one_of_each(rule=rule)


first_case = one_of_each(lambda: None)


def zip_cycled(*axes: Collection[Any]) -> list[tuple[Any, ...]]:
    """Return a row for each value of the longest axis. Values of shorter axes repeat cyclically."""
    return list(islice(zip(*map(cycle, axes), strict=False), max(map(len, axes))))


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers."""
    for line in (
        "whole: part of a matrix, a sweep or a count; runs only in `make test-all`",
        "each_value_once: `make test` runs each parameter value of the matrix once",
        "one_of_each(rule): `make test` runs the first case of each rule",
    ):
        config.addinivalue_line("markers", line)


@pytest.hookimpl(tryfirst=True)  # runs before pytest deselects tests by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases that `make test` does not run, and start with the longest modules.

    If a worker started a test on the local engine last, the other worker would be idle at the end.
    """
    items.sort(key=lambda item: item.get_closest_marker("engine") is None)
    tests = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and not any(item.iter_markers("long")):
            tests[item.parent, item.originalname].append(item)
    for cases in tests.values():
        for case in _deselected(cases):
            case.add_marker(whole)


def _deselected(cases: list[pytest.Function]) -> Iterable[pytest.Function]:
    one = cases[0].get_closest_marker("one_of_each")
    if one is not None:
        return _all_but_first(one.kwargs["rule"], cases)
    return _all_but_diagonal(cases) if cases[0].get_closest_marker("each_value_once") else []


def _all_but_first(rule: Callable[..., Hashable], cases: list[pytest.Function]) -> Iterable[pytest.Function]:
    names, seen = inspect.signature(rule).parameters, set()
    for case in cases:
        kind = rule(**{name: case.callspec.params[name] for name in names})
        if kind in seen:
            yield case
        seen.add(kind)


def _all_but_diagonal(cases: list[pytest.Function]) -> Iterable[pytest.Function]:
    """Return all cases except one per value of the longest parameter. Shorter parameters repeat their values."""
    axes = _axes(cases[0])
    values: list[list[tuple[int, ...]]] = [[] for _ in axes]
    places = []
    for case in cases:
        place = []
        for names, known in zip(axes, values, strict=True):
            value = tuple(id(case.callspec.params[name]) for name in names)
            if value not in known:
                known.append(value)
            place.append(known.index(value))
        places.append(place)
    diagonal = [[at % len(known) for known in values] for at in range(max(map(len, values)))]
    return [case for case, place in zip(cases, places, strict=True) if place not in diagonal]


def _axes(case: pytest.Function) -> list[list[str]]:
    """Return the parameter names, grouped by their `parametrize` marks."""
    listed = [mark.args[0] for mark in case.iter_markers("parametrize")]
    axes = [[name.strip() for name in (one.split(",") if isinstance(one, str) else one)] for one in listed]
    named = {name for names in axes for name in names}
    return axes + [[name] for name in case.callspec.params if name not in named]


def runs_part(config: pytest.Config) -> bool:
    """Return whether this run is a part of `make test-all`, which is `make test` or `make test-rest`."""
    chosen: Any = config.getoption("markexpr")
    return "whole" in chosen
