"""The local run applies the deployment's event filters as Lambda does."""

import dataclasses
from typing import Any

import pytest

from infra import event_filters
from infra.deploy import functions

CHANGE = {
    "eventName": "MODIFY",
    "dynamodb": {"Keys": {"item": {"S": "agent#support"}}, "NewImage": {"received": {"B": "AA=="}}},
}


@pytest.mark.parametrize(
    ("pattern", "is_match"),
    [
        pytest.param({"eventName": ["INSERT", "MODIFY"]}, True, id="one of several strings"),
        pytest.param({"eventName": ["INSERT"]}, False, id="another string"),
        pytest.param({"dynamodb": {"Keys": {"item": {"S": [{"prefix": "agent#"}]}}}}, True, id="prefix"),
        pytest.param({"dynamodb": {"Keys": {"item": {"S": [{"prefix": "tool#"}]}}}}, False, id="another prefix"),
        pytest.param({"dynamodb": {"NewImage": {"received": {"B": [{"exists": True}]}}}}, True, id="exists"),
        pytest.param({"dynamodb": {"NewImage": {"outcome": {"S": [{"exists": True}]}}}}, False, id="does not exist"),
        pytest.param({"dynamodb": {"OldImage": {"outcome": {"S": ["failed"]}}}}, False, id="no image"),
        pytest.param({"dynamodb": {"NewImage": [{"exists": True}]}}, False, id="exists accepts no object"),
        pytest.param({"dynamodb": {"Keys": {"item": {"N": [{"prefix": "1"}]}}}}, False, id="another type"),
        pytest.param({"eventName": ["MODIFY"], "userIdentity": {"type": ["Service"]}}, False, id="both members"),
    ],
)
def test_a_pattern_matches_as_in_lambda(pattern: dict[str, Any], is_match: bool) -> None:
    event_filters.require_supported(pattern, "any")
    assert event_filters.matches(pattern, CHANGE) == is_match


@pytest.mark.parametrize(
    "rules",
    [
        [{"anything-but": ["INSERT"]}],
        [{"numeric": [">", 1]}],
        [{"exists": False}],
        [{"prefix": "a", "suffix": "b"}],
        [{"prefix": 1}],
        [None],
        [1],
        [],
        "INSERT",
    ],
    ids=repr,
)
def test_another_rule_is_refused_by_name(rules: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"The filter of fan_out_leads has a rule for S that .* does not implement"):
        event_filters.require_supported({"dynamodb": {"Keys": {"item": {"S": rules}}}}, "fan_out_leads")


def test_each_function_of_a_stream_has_the_filter_of_its_deployment() -> None:
    for function in functions.declared_functions():
        if function.stream:
            passes = event_filters.of_function(function.name)
            declared = function.mapping_settings["FilterCriteria"]["Filters"]
            assert passes({}) is (not declared), function.name


def test_one_of_several_filters_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    filters = [{"Pattern": '{"eventName": ["INSERT"]}'}, {"Pattern": '{"eventName": ["MODIFY"]}'}]
    leads = next(one for one in functions.declared_functions() if one.name == "fan_out_leads")
    changed = dataclasses.replace(leads, mapping_settings={"FilterCriteria": {"Filters": filters}})
    monkeypatch.setattr(event_filters, "declared_functions", lambda: [changed])
    passes = event_filters.of_function("fan_out_leads")
    assert [passes({"eventName": name}) for name in ("INSERT", "MODIFY", "REMOVE")] == [True, True, False]


def test_an_unknown_function_is_refused() -> None:
    with pytest.raises(ValueError, match="fan_out_moons is not a declared function"):
        event_filters.of_function("fan_out_moons")
