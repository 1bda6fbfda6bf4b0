"""JSON in parts: names, strings and other values, also of a truncated text."""

import pytest

from chalicelib.extensions.console.presentation.json_parts import json_parts


def test_names_strings_and_other_values_are_told_apart() -> None:
    parts = [part for part in json_parts('{\n  "a": ["\\"x", true, -1.5]\n}') if part.kind]
    assert parts == [("name", '"a"'), ("string", '"\\"x"'), ("value", "true"), ("value", "-1.5")]


@pytest.mark.parametrize("text", ['"' + '\\"' * 99, '"b\\', '"b'])
def test_a_truncated_string_is_one_part(text: str) -> None:
    """Otherwise, each quote in it would be tried up to the end of the text, in quadratic time."""
    assert [part for part in json_parts(f'["a", {text}') if part.kind] == [("string", '"a"'), ("string", text)]
