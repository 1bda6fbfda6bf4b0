"""Each operation in the specification succeeds on unmodified moto, and its response matches the OpenAPI document."""

from typing import NamedTuple

import pytest

from chalicelib.workspaces import store as workspaces
from tests import operations
from tests.assertions import stored
from tests.moto_tables import restore, snapshot
from tests.openapi import document

SPECIFICATION = [name for name, one in operations.ROUTES.items() if "section" in one and one["credential"] != "none"]
DESCRIBED = {one.route: one for one in document.operations()}


class Stage(NamedTuple):
    """A workspace with one record of every kind, and its rows."""

    headers: dict[str, str]
    ids: dict[str, str]
    rows: bytes


@pytest.fixture(scope="module")
def populated(engine: None) -> Stage:
    headers = {"Authorization": f"Bearer {workspaces.create('Contract').workspace_key}"}
    ids = operations.populate(headers, "first", {**operations.CHOSEN})
    return Stage(headers, ids, snapshot())


@pytest.fixture
def stage(populated: Stage) -> Stage:
    """Restore the workspace to its state before the first test."""
    restore(populated.rows)
    return populated


@pytest.mark.parametrize("name", SPECIFICATION)
def test_an_operation_succeeds_and_its_answer_matches_the_document(name: str, stage: Stage) -> None:
    answer = operations.send(name, stage.headers, stage.ids, "second")
    assert answer.status == 200, answer.text
    assert document.broken_rules(DESCRIBED[name].answer["schema"], answer.json) == []


@pytest.mark.parametrize("name", [name for name in SPECIFICATION if 412 in DESCRIBED[name].statuses])
def test_an_operation_with_a_stale_version_changes_no_row(name: str, stage: Stage) -> None:
    before = stored()
    answer = operations.send(name, {**stage.headers, "If-Match": '"stale"'}, stage.ids, "second")
    assert answer.status == 412, answer.text
    assert stored() == before
