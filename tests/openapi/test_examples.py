"""Every example in the OpenAPI document equals a real response."""

import itertools
import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib import clock, ids
from chalicelib.credentials import tokens
from chalicelib.openapi.examples import EXAMPLES
from chalicelib.sending import sender
from chalicelib.workspaces import store as workspaces
from tests import generated_docs
from tests.api import Api
from tests.openapi.document import ExampleValues, broken_rules, document, operations
from tests.openapi.examples import NOW, record_answers
from tests.operations import ROUTES


def answer_of_the_shop(request: sender.Request, read: Callable[[Any], None], deadline: float) -> tuple[None, None, int]:
    """Simulate the server of the tool in the examples."""
    pieces = iter(
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 27\r\n\r\n",
            b'{"number":"1042","open":0}\n',
        )
    )
    read(SimpleNamespace(receive=lambda: next(pieces)))
    return None, None, 87


@pytest.fixture
def example_api(engine: None, monkeypatch: pytest.MonkeyPatch) -> Api:
    """Return the API of a workspace that was created at the examples' timestamp; the clock is stopped."""
    counter = itertools.count()
    monkeypatch.setattr(clock, "milliseconds", lambda: NOW * 1000)
    # Lists are sorted by creation time.
    monkeypatch.setattr(ids, "new_id", lambda: ids.id_at(NOW * 1000, next(counter)))
    monkeypatch.setattr(sender, "send", answer_of_the_shop)
    return Api(workspaces.create("Examples").workspace_key)


def test_an_example_has_an_answer_and_a_body() -> None:
    shown = [one for one in operations() if one.body and one.name in EXAMPLES]
    assert [one.name for one in shown if one.body["examples"].keys() != one.answer["examples"].keys()] == []


def test_every_operation_of_the_specification_has_an_example() -> None:
    assert [one.name for one in operations() if "section" in ROUTES[one.route] and one.name not in EXAMPLES] == []


def test_every_example_equals_a_real_answer(example_api: Api) -> None:
    by_name = {one.name: one for one in operations()}
    values, answers = ExampleValues(), dict[tuple[str, str], Any]()
    for view, name in [(one, name) for one in EXAMPLES if one in by_name for name in EXAMPLES[one]]:
        operation, example = by_name[view], EXAMPLES[view][name]
        body = values.substitute(example.request)
        address = operation.address(**values.substitute(operation.path_values))
        answer = example_api.call(operation.method, address, body)
        values.learn(example.answer, answer.json)
        answers[view, name] = values.restore(answer.json)

        assert broken_rules(operation.answer["schema"], answer.json) == []
        assert broken_rules(operation.answer["schema"], answers[view, name]) == []
        assert body is None or broken_rules(operation.body["schema"], body) == []
    if generated_docs.is_update():
        record_answers(answers)
        return
    assert answers == {(view, name): EXAMPLES[view][name].answer for view, name in answers}


def test_no_example_contains_a_valid_token() -> None:
    candidates = re.findall(r"cams_\w+", json.dumps(document()))
    assert candidates
    assert [one for one in candidates if tokens.kind(one)] == []
