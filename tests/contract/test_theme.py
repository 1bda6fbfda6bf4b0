"""An agent's theme, the only member that is an object in the v2 form and a string in the v3 form (section 2.5)."""

import json

import pytest

from tests.assertions import canonical
from tests.contract.wire_models import converted, is_refused

THEME = {"themeType": "dark", "primary": "blue", "nineColorPallet": [[1, 2, 3], [4, 5.5, 6]]}


def test_the_v2_form_also_accepts_the_theme_as_json_text() -> None:
    agent = {"customThemeJSONString": json.dumps(THEME)}
    assert converted("agent_v2", agent) == {"customThemeJSONString": THEME}


INVALID_TEXTS = {
    "not JSON": "not JSON",
    "empty": "",
    "array": "[]",
    "null": "null",
    "member of a wrong type": '{"primary": 5}',
    "text in the pallet": '{"nineColorPallet": [["5"]]}',
    "NaN": '{"nineColorPallet": [[NaN]]}',
    "infinity": '{"nineColorPallet": [[1e999]]}',
    "NaN in an unknown member": '{"notInTheTable": NaN}',
    "Infinity in an unknown member": '{"notInTheTable": [-Infinity]}',
    "a too large number in an unknown member": '{"notInTheTable": 1e999}',
    "lone surrogate": '{"notInTheTable": "\\ud800"}',
    "100,000 levels": '{"notInTheTable": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "text after the JSON": '{"primary": "blue"} and more',
}


@pytest.mark.parametrize("text", INVALID_TEXTS.values(), ids=INVALID_TEXTS)
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
