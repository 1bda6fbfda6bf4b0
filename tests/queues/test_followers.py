"""All of a table's followers get each batch, and a failing extension delays core for at most an hour."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib import clock, errors, extensions, followers
from chalicelib.extensions import Extension
from chalicelib.queues.stream_batches import Follower
from tests.webhooks import pipeline

NOW = 1_795_000_000
TABLE = "conversations"


class Recorded:
    """A follower that records its batches. It raises `error` for each batch, and cannot read the record `damaged`."""

    def __init__(self, error: Exception | None = None, damaged: str = "") -> None:
        self.error, self.damaged, self.batches = error, damaged, list[list[str]]()
        self.follower: Follower[str] = Follower(self._read, self._write)

    def _read(self, record: dict[str, Any]) -> str:
        if record["eventID"] == self.damaged:
            raise ValueError("damaged")
        return str(record["eventID"])

    def _write(self, names: list[str]) -> None:
        if self.error:
            raise self.error
        self.batches.append(names)


@pytest.fixture
def patch(engine: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setattr(clock, "milliseconds", lambda: NOW * 1_000)
    yield monkeypatch


def follow(patch: pytest.MonkeyPatch, core: Recorded, *others: Recorded, age: int = 60) -> None:
    """Pass two records to core and to extensions. `age` is the records' age in seconds."""
    parts = [("", core.follower), *((f"extension {number}", one.follower) for number, one in enumerate(others))]
    patch.setattr(followers, "_followers", lambda table: iter(parts))
    written = {"ApproximateCreationDateTime": NOW - age, "Keys": {}, "SequenceNumber": "1"}
    records = [{"eventID": name, "dynamodb": written} for name in ("first", "second")]
    followers.follow_conversations({"Records": records}, None)  # type: ignore[attr-defined]


def letters() -> list[str]:
    return [json.loads(text)["record"]["eventID"] for text in pipeline.waiting("deliveries-dead")]


@pytest.mark.parametrize("age", [60, 7_200])
def test_all_followers_get_a_batch_that_core_cannot_process(patch: pytest.MonkeyPatch, age: int) -> None:
    core, other = Recorded(errors.Unavailable()), Recorded()
    with pytest.raises(errors.Unavailable):
        follow(patch, core, other, age=age)
    assert other.batches == [["first", "second"]]
    assert letters() == []


def test_the_stream_repeats_a_batch_that_an_extension_cannot_process(patch: pytest.MonkeyPatch) -> None:
    core, other, last = Recorded(), Recorded(errors.Unavailable()), Recorded()
    with pytest.raises(errors.Unavailable):
        follow(patch, core, other, last)
    assert core.batches == last.batches == [["first", "second"]]
    assert letters() == []


def test_an_extension_gives_up_after_an_hour(patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    core, other = Recorded(), Recorded(errors.Unavailable())
    follow(patch, core, other, age=followers.PATIENCE_SECONDS + 1)
    assert core.batches == [["first", "second"]]
    assert letters() == ["first", "second"]
    assert '"extension":"extension 0","abandonedRecords":2' in capsys.readouterr().out


def test_a_record_that_several_followers_cannot_read_is_one_dead_letter(patch: pytest.MonkeyPatch) -> None:
    core, other, last = Recorded(damaged="first"), Recorded(damaged="first"), Recorded(damaged="second")
    follow(patch, core, other, last)
    assert core.batches == other.batches == [["second"]]
    assert last.batches == [["first"]]
    assert letters() == ["first", "second"]


def test_a_dead_letter_waits_until_the_batch_is_not_repeated(patch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.Unavailable):
        follow(patch, Recorded(damaged="first"), Recorded(errors.Unavailable()))
    assert letters() == []


def test_a_listed_extension_without_a_folder_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAMS_EXTENSIONS", "missing")
    extensions.enabled.cache_clear()
    try:
        assert extensions.enabled() == ()
    finally:
        monkeypatch.undo()
        extensions.enabled.cache_clear()


def test_a_point_that_is_not_listed_is_no_hook() -> None:
    with pytest.raises(ValueError, match="no hook unknown"):
        extensions.hooks("unknown")


def test_an_unset_list_enables_every_extension_and_an_empty_one_none(monkeypatch: pytest.MonkeyPatch) -> None:
    extensions.enabled.cache_clear()
    monkeypatch.delenv("CAMS_EXTENSIONS", raising=False)
    assert tuple(one.name for one in extensions.enabled()) == extensions.present()
    extensions.enabled.cache_clear()
    monkeypatch.setenv("CAMS_EXTENSIONS", "")
    assert extensions.enabled() == tuple[Extension]()
    monkeypatch.undo()
    extensions.enabled.cache_clear()
