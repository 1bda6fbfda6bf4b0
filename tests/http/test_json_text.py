"""Tests of responses that are composed from JSON texts."""

import json
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.http import json_text


@pytest.mark.parametrize("document", [{}, {"b": None}, {"b": {}}])
def test_members_before_a_document_make_one_object(document: dict[str, Any]) -> None:
    text = json_text.with_members({"a": 1}, storage.encode_json(document).decode())
    assert json.loads(text) == {"a": 1, **document}
