"""A name's initials always have the same colour, with enough contrast in light and dark."""

import re

import pytest

from chalicelib.extensions.console.presentation import rendering
from chalicelib.extensions.console.presentation.initials import initials
from tests.api import Api
from tests.extensions.console.browser import Browser

_NAMES = [f"Visitor {number}" for number in range(100)]
_RULE = re.compile(r"\.(hue-\d) \{ background: light-dark\((\S+), (\S+)\); color: light-dark\((\S+), (\S+)\); \}")


def _hue(html: str) -> str:
    return html.partition('class="avatar ')[2].partition('"')[0]


def _luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(
    ("name", "expected"),
    [("noor visser", "NV"), ("Can", "C"), ("Iris de Boer", "IB"), ("Ann Ann", "A"), ("(Bo) Lee", "L"), ("…", "?")],
)
def test_the_initials_are_those_of_the_first_and_last_words(name: str, expected: str) -> None:
    assert re.fullmatch(rf'<em class="avatar hue-\d" aria-hidden="true">{re.escape(expected)}</em>', initials(name))


def test_the_stylesheet_has_a_readable_colour_for_every_name() -> None:
    (sheet,) = [text for file, text in rendering.assets().items() if file.suffix == ".css"]
    rules = _RULE.findall(sheet)
    assert {_hue(initials(name)) for name in _NAMES} == {rule[0] for rule in rules}
    for _, *colours in rules:
        for ground, text in (colours[::2], colours[1::2]):
            low, high = sorted((_luminance(ground), _luminance(text)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (ground, text)


def test_a_name_has_the_same_colour_in_the_list_and_in_its_conversation(signed_in: Browser, workspace_api: Api) -> None:
    metadata = {"userName": "Ann Lee", "state": "requested_chat"}
    assert workspace_api.post("/agents/support/interact/ann/state", {"metadata": metadata}).status == 200
    pages = [signed_in.open(path).text for path in ("/overview", "/convos", "/convos/support/ann")]
    assert [initials("Ann Lee") in page for page in pages] == [True] * 3
