"""Which tests `make test` runs: each behaviour once. The others are marked `whole` and left to `make test-all`.

    @whole                                      a count, a sweep, a build: all of the test is left
    @each_value_once                            a matrix: each value of each parameter is in one case
    @one_of_each(lambda member: member.type)    a list: the first case of each rule, by the values of the parameters
    @one_of_each(lambda: None)                  a list of one rule: the first case

A single row of parameters is left with `pytest.param(..., marks=whole)`.
"""

import inspect
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest

whole = pytest.mark.whole
each_value_once = pytest.mark.each_value_once


def one_of_each(rule: Callable[..., Hashable]) -> pytest.MarkDecorator:
    """Leave all cases of a test but the first one for each value of `rule`, a function of its parameters by name."""
    # A mark's only argument must not be a function: it would be the one that is decorated.
    return pytest.mark.one_of_each(rule=rule)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers."""
    for line in (
        "whole: part of a matrix, a sweep or a count; left to `make test-all`",
        "each_value_once: of the test's matrix, `make test` runs each value of each parameter once",
        "one_of_each(rule): of the test's cases, `make test` runs the first one of each rule",
    ):
        config.addinivalue_line("markers", line)


@pytest.hookimpl(tryfirst=True)  # before pytest selects by markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases that `make test` leaves."""
    tests = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and not any(item.iter_markers("long")):
            tests[item.parent, item.originalname].append(item)
    for cases in tests.values():
        for case in _left(cases):
            case.add_marker(whole)


def _left(cases: list[pytest.Function]) -> Iterable[pytest.Function]:
    one = cases[0].get_closest_marker("one_of_each")
    if one is not None:
        return _but_the_first(one.kwargs["rule"], cases)
    return _but_the_diagonal(cases) if cases[0].get_closest_marker("each_value_once") else []


def _but_the_first(rule: Callable[..., Hashable], cases: list[pytest.Function]) -> Iterable[pytest.Function]:
    names, seen = inspect.signature(rule).parameters, set()
    for case in cases:
        kind = rule(**{name: case.callspec.params[name] for name in names})
        if kind in seen:
            yield case
        seen.add(kind)


def _but_the_diagonal(cases: list[pytest.Function]) -> Iterable[pytest.Function]:
    """All but one case for each value of the longest parameter; the shorter ones begin again where they end."""
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
    """The names of the parameters; together those of one list."""
    listed = [mark.args[0] for mark in case.iter_markers("parametrize")]
    axes = [[name.strip() for name in (one.split(",") if isinstance(one, str) else one)] for one in listed]
    named = {name for names in axes for name in names}
    return axes + [[name] for name in case.callspec.params if name not in named]


def runs_part(config: pytest.Config) -> bool:
    """Whether this run is one of the parts of `make test-all`: `make test`, or the rest."""
    chosen: Any = config.getoption("markexpr")
    return "whole" in chosen
