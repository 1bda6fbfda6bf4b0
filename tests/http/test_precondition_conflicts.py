"""Preconditions if another writer saves after the check and before the save, and what preconditions cost.

`tests/reliability/test_two_writers.py` tests sixteen concurrent writers on an engine that is truly concurrent.
"""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import clock
from chalicelib.http import etag
from tests.api import Answer
from tests.assertions import refused
from tests.engine_requests import counted, lose_first_answer
from tests.guarantees import CaseCounter
from tests.http.conditional_requests import (
    CREATED_AT_ID,
    DELETES,
    RECORDS,
    REPLACED,
    REPLACED_AGAIN,
    SAVES,
    Save,
    Service,
    each_save,
    unknown_record,
)
from tests.http.conditional_requests import service as service
from tests.operations import ANALYTICS, STATE
from tests.selection import first_case

pytestmark = pytest.mark.guarantee("matched")


@pytest.fixture
def before_save(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Run an action once, after the preconditions are checked and before the record is saved."""
    monkeypatch.setattr(clock, "sleep", lambda duration: None)
    checked = etag.check_preconditions

    def run_once(action: Callable[[], object]) -> None:
        waiting = [action]

        def check(row: Any) -> Any:
            try:
                return checked(row)
            finally:
                for act in [waiting.pop()] if waiting else ():
                    act()

        monkeypatch.setattr(etag, "check_preconditions", check)

    return run_once


@each_save
@first_case
def test_if_match_does_not_overwrite_a_concurrent_save(
    save: Save, service: Service, before_save: Any, count_cases: CaseCounter
) -> None:
    values, read = service.create(save.record)
    others: list[Answer] = []
    before_save(lambda: others.append(service.send(save.operation, values, save.second)))
    answer = service.send(save.operation, values, save.first, If_Match=read)
    assert answer.status == 412, answer.text
    assert [one.status for one in others] == [200]
    assert service.tag(save.record, values) == others[0].headers["etag"]
    count_cases(states=1)


@first_case
@pytest.mark.parametrize("save", {one.record: one for one in SAVES.values() if one.record in DELETES}.values())
def test_if_match_does_not_delete_a_concurrent_save(save: Save, service: Service, before_save: Any) -> None:
    values, read = service.create(save.record)
    others: list[Answer] = []
    before_save(lambda: others.append(service.send(save.operation, values, save.second)))
    answer = service.send(RECORDS[save.record].deleted_by or "", values, If_Match=read)
    assert (answer.status, [one.status for one in others]) == (412, [200])
    assert service.tag(save.record, values) == others[0].headers["etag"]


@pytest.mark.parametrize("name", CREATED_AT_ID)
@first_case
def test_if_none_match_does_not_overwrite_a_concurrent_creation(name: str, service: Service, before_save: Any) -> None:
    values, _ = service.create(name)
    save = next(one for one in SAVES.values() if one.operation == CREATED_AT_ID[name])
    new = unknown_record(save.operation, values)
    others: list[Answer] = []
    before_save(lambda: others.append(service.send(save.operation, new, save.second)))
    answer = service.send(save.operation, new, save.first, If_None_Match="*")
    assert (answer.status, [one.status for one in others]) == (412, [200])
    assert service.tag(name, new) == others[0].headers["etag"]


def test_concurrent_replacements_without_a_precondition_conflict(service: Service, before_save: Any) -> None:
    values, _ = service.create("conversation")
    before_save(lambda: service.send(STATE, values, REPLACED_AGAIN))
    refused(service.send(STATE, values, REPLACED), 409, interaction=True, platform="vg", code="STALE")


# ---- costs and lost responses -----------------------------------------------------------------------


@each_save
@first_case
def test_a_precondition_adds_no_request(save: Save, service: Service) -> None:
    values, _ = service.create(save.record)
    for body in (save.first, save.second):
        service.send(save.operation, values, body)
    with counted() as without:
        service.send(save.operation, values, save.first)
    read = service.send(save.operation, values, save.second).headers["etag"]
    with counted() as requests:
        assert service.send(save.operation, values, save.first, If_Match=read).status == 200
    # Only an analytics write without a precondition does not read the record.
    assert requests - without == ({"GetItem": 1} if save.operation == ANALYTICS else {})
    assert without - requests == {}


@each_save
@first_case
def test_a_save_succeeds_if_the_database_s_answer_is_lost(save: Save, service: Service) -> None:
    values, read = service.create(save.record)
    with counted() as requests:
        read = service.send(save.operation, values, save.second, If_Match=read).headers["etag"]
    (write,) = {"PutItem", "UpdateItem", "TransactWriteItems"} & set(requests)
    if write == "TransactWriteItems":
        pytest.skip("DynamoDB recognises a repeated transaction by its token, but moto does not")
    with lose_first_answer(write):
        answer = service.send(save.operation, values, save.first, If_Match=read)
    assert answer.status == 200, answer.text
    assert service.tag(save.record, values) == answer.headers["etag"]
