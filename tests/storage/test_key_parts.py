"""No two records have the same key, because identifiers cannot contain the separators of keys and hashes."""

from itertools import product

import pytest

from chalicelib import errors, storage
from chalicelib.http import parameters
from chalicelib.ids import IDENTIFIER
from chalicelib.storage.rows import associated_data

# `#` joins the parts of a key; `/` joins the parts of associated data and of event hashes.
SEPARATORS = "#/"
PARTS = ("a", "b", "a.b", "a:b", "a|b", "a,b", "~", "-")


@pytest.mark.parametrize("separator", SEPARATORS)
def test_an_identifier_contains_no_separator(separator: str) -> None:
    for text in (separator, f"a{separator}b", f"a{separator}"):
        assert IDENTIFIER.fullmatch(text) is None
        for encoded in (text, text.replace("#", "%23").replace("/", "%2F")):
            with pytest.raises(errors.Invalid):
                parameters.identifier("agent_id", encoded)


def test_keys_and_associated_data_of_other_parts_differ() -> None:
    keys, data = [], []
    for count in (1, 2, 3):
        for parts in product(PARTS, repeat=count):
            keys.append(storage.join_key("01hzzzzzzzzzzzzzzzzzzzzzzz", *parts))
            data.append(associated_data("clients", parts, "document"))
    assert len({*keys}) == len(keys)
    assert len({*data}) == len(data)
