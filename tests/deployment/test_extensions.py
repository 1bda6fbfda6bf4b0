"""The stage setting `extensions`, and the prices of disabled extensions."""

from typing import Any

import pytest

from infra.deploy import checks, extensions, idle_price, stack, stage
from infra.deploy.functions import declared_functions
from infra.deploy.idle_price import IdlePrice
from tests.deployment.test_functions import OUTPUTS
from tests.deployment.test_limits import CloudFormation


@pytest.fixture(autouse=True)
def _present(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a source tree that contains two extensions."""
    for module in (extensions, stage, stack):
        monkeypatch.setattr(module, "present", lambda: ("moons", "tides"))


def test_a_stage_has_all_extensions_unless_it_lists_some() -> None:
    assert stage.extensions({}) == ("moons", "tides")
    assert stage.extensions({"extensions": ["tides"]}) == ("tides",)
    assert stage.extensions({"extensions": []}) == ()


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        (["moons"], None),
        ([], None),
        (["suns"], "extensions of stage prod contains 'suns', which does not exist: use moons, tides."),
        ("moons", "extensions of stage prod has the wrong type: use a list of strings."),
        ([1], "extensions of stage prod has the wrong type: use a list of strings."),
    ],
)
def test_an_extension_that_does_not_exist_is_named(listed: Any, problem: str | None) -> None:
    if problem is None:
        checks.check_settings({"extensions": listed}, "prod")
    else:
        with pytest.raises(checks.NotReady) as failed:
            checks.check_settings({"extensions": listed}, "prod")
        assert failed.value.message == problem


def test_an_extension_that_is_off_is_listed_with_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    prices = {(): IdlePrice(1, 10, 20, 4), ("moons",): IdlePrice(2, 11, 22, 5)}
    monkeypatch.setattr(idle_price, "of_stage", lambda names: prices.get(tuple(names), prices[()]))
    assert extensions.describe_disabled(()) == [
        "extension moons is off: if enabled, it costs 1.46 dollars a month plus usage",
        "extension tides is off: if enabled, it costs 0.00 dollars a month plus usage",
    ]


@pytest.mark.parametrize("names", [(), ("moons",), ("moons", "tides")])
def test_the_stack_records_the_extensions_that_it_has_resources_for(names: tuple[str, ...]) -> None:
    cloudformation = CloudFormation("api")
    assert stack.extensions(cloudformation, "cams-prod") == ("moons", "tides")  # an earlier version's extension
    stack.apply(cloudformation, "cams-prod", "prod", stack.extensions_parameter(names))
    assert stack.extensions(cloudformation, "cams-prod") == names
    stack.retain_data_only(cloudformation, "cams-prod", "prod")
    assert stack.extensions(cloudformation, "cams-prod") == names


def test_core_alone_has_at_most_ten_functions_and_fourteen_alarms() -> None:
    assert len(declared_functions([])) <= 10
    assert idle_price.of_stage([]).alarms <= 14


def test_the_functions_get_the_extensions_of_the_stage() -> None:
    assert stage.variables("cams-prod", OUTPUTS, ("moons", "tides"))["CAMS_EXTENSIONS"] == "moons,tides"
    assert stage.variables("cams-prod", OUTPUTS, ())["CAMS_EXTENSIONS"] == ""
