"""An agent's theme, the only member that is an object in the v2 form and a string in the v3 form (section 2.5)."""

import json

import pytest

from tests.assertions import canonical
from tests.contract.wire_models import converted, is_refused

THEME = {"themeType": "dark", "primary": "blue", "nineColorPallet": [[1, 2, 3], [4, 5.5, 6]]}


def test_the_v2_form_also_accepts_the_theme_as_json_text() -> None:
    agent = {"customThemeJSONString": json.dumps(THEME)}
    assert converted("agent_v2", agent) == {"customThemeJSONString": THEME}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("not JSON", id="not JSON"),
        pytest.param("", id="empty"),
        pytest.param("[]", id="array"),
        pytest.param("null", id="null"),
        pytest.param('{"primary": 5}', id="member of a wrong type"),
        pytest.param('{"nineColorPallet": [["5"]]}', id="text in the pallet"),
        pytest.param('{"nineColorPallet": [[NaN]]}', id="NaN"),
        pytest.param('{"nineColorPallet": [[1e999]]}', id="infinity"),
        pytest.param('{"notInTheTable": NaN}', id="NaN in an unknown member"),
        pytest.param('{"notInTheTable": [-Infinity]}', id="Infinity in an unknown member"),
        pytest.param('{"notInTheTable": 1e999}', id="a too large number in an unknown member"),
        pytest.param('{"notInTheTable": "\\ud800"}', id="lone surrogate"),
        pytest.param('{"notInTheTable": ' + "[" * 100_000 + "]" * 100_000 + "}", id="100,000 levels"),
        pytest.param('{"primary": "blue"} and more', id="text after the JSON"),
    ],
)
def test_the_v2_form_refuses_a_theme_with_invalid_json_text(text: str) -> None:
    assert is_refused("agent_v2", json.dumps({"customThemeJSONString": text}))


def test_the_v2_form_keeps_unknown_members_of_a_theme() -> None:
    theme = {**THEME, "notInTheTable": {"kept": [1, 2.5, None, True]}}
    for sent in (theme, json.dumps(theme)):
        kept = converted("agent_v2", {"customThemeJSONString": sent})
        assert canonical(kept) == canonical({"customThemeJSONString": theme})


def test_the_v3_form_keeps_the_text_of_the_theme_unchanged() -> None:
    agent = {"customThemeJSONString": '{ "primary":"blue",\n "anything": [] }'}
    assert converted("agent_v3", agent) == agent


def test_the_v3_form_refuses_the_theme_as_an_object() -> None:
    assert is_refused("agent_v3", json.dumps({"customThemeJSONString": THEME}))
