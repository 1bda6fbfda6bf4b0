"""A bot that replies with `inReplyTo` never talks over a person, and each message gets at most one reply.

`CAMS_RACES=1000000 .venv/bin/python -m pytest -n 0 -m long tests/reliability/test_one_voice.py` runs a million races.
"""

import logging
import os

import pytest

from tests.api import Api
from tests.guarantees import CaseCounter
from tests.reliability.raced_replies import Races, ask_question
from tests.selection import whole

pytestmark = pytest.mark.guarantee("voice")

MANY, SEED = int(os.environ.get("CAMS_RACES", "50000")), int(os.environ.get("CAMS_SEED", "7"))
# The least share of races with each outcome. Otherwise, most races would not be races.
SHARE = 0.05


@pytest.fixture
def races(api: Api) -> Races:
    ask_question(api)
    return Races(api, SEED)


@pytest.mark.parametrize("count", [100, pytest.param(500, marks=whole)])
def test_no_reply_follows_an_acknowledged_takeover(count: int, races: Races, count_cases: CaseCounter) -> None:
    with races.on_moto():
        for _ in range(count):
            races.run()
    assert_raced(races, count)
    count_cases(faults=count, states=count)


def test_of_twenty_bots_at_most_one_replies(races: Races, count_cases: CaseCounter) -> None:
    with races.on_moto():
        for _ in range(10):
            races.run(bots=20)
    count_cases(faults=200, states=200)


@pytest.mark.parametrize("count", [pytest.param(2_000, marks=whole), pytest.param(MANY, marks=pytest.mark.long)])
def test_no_reply_follows_a_takeover_in_many_races(count: int, races: Races, count_cases: CaseCounter) -> None:
    logging.disable()  # a log line takes a tenth of a race
    with races.on_dictionaries():
        for _ in range(count):
            races.run()
    logging.disable(logging.NOTSET)
    assert_raced(races, count)
    count_cases(faults=count, states=count)


@whole
def test_both_engines_cause_the_same_outcomes(api: Api, races: Races) -> None:
    again = Races(api, SEED)
    with races.on_moto():
        for _ in range(500):
            races.run()
    with again.on_dictionaries():
        for _ in range(500):
            again.run()
    assert again.outcomes == races.outcomes


def assert_raced(races: Races, count: int) -> None:
    outcomes = [races.outcomes[name] for name in ("stored", "HUMAN_CHATTING", "OUTDATED", "repeated")]
    assert min(outcomes) >= count * SHARE, races.outcomes
    assert sum(outcomes[:3]) == count
