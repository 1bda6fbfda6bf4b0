"""A random plan for visits in the 90 days before a given time. The same arguments always return the same plan.

The number of visits varies with the hour and the weekday, and grows slowly. Some visitors talk to the agent, a few of
these visitors ask for a person, and some leave their address.
"""

import itertools
import random
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from infra.demo import texts
from infra.demo.texts import Dialogue

DAYS = 90
SEED = 38
_HOUR = 3_600
_DAY = 24 * _HOUR
# Seconds from the start of the last planned hour to the end of the plan, so that no visit is in the current hour.
_QUIET = 3 * _HOUR
# Indexed by UTC hour.
_CLOCK = (2, 1, 1, 1, 2, 4, 9, 18, 34, 48, 54, 50, 40, 44, 52, 54, 50, 42, 36, 38, 40, 30, 16, 7)
_WEEK = (100, 96, 92, 95, 104, 62, 54)  # starting on Monday
_VISITS = 2.6  # per conversation
_LOADS = (70, 22, 8)  # the weights for zero, one and two more page loads
_AGAIN = (20_000, 40 * 60 * 1_000)  # milliseconds later
_LEADS, _HANDOFFS, _ENDED = 0.12, 0.07, 0.8
# The newest handoffs are still open. These minutes before the end of the plan, visitors requested a person who has not
# answered yet, or who has taken over. Some waiting conversations are assigned.
_WAITS, _CHATS = (4, 19, 47, 200, 1_380, 1_700, 3_050, 4_480), (33, 210, 1_320, 1_900, 2_900, 4_300)
_ASSIGNED_WAITS = (47, 1_700)
_SECONDS_TO_ANSWER = (20, 180)


class Visit(NamedTuple):
    """An agent's visitor, who arrives at `at` (Unix milliseconds). `ident` contains 80 random bits for ids.

    `again` contains the times of the visitor's later page loads.
    """

    agent: str
    visitor: str
    at: int
    ident: int
    language: str
    country: str
    origin: str
    browser: str
    platform: str
    again: list[int]
    talk: "Talk | None"


class Talk(NamedTuple):
    """The visitor's and the agent's lines with their times in Unix seconds, and the conversation's current state.

    `handoff_at` is the time when the visitor requested a person, or None. `writer` is the name of the person who wrote
    the last line, or None.
    """

    name: str
    email: str
    lines: list[tuple[int, str]]
    tags: list[str]
    handoff_at: int | None
    state: str | None
    assigned: str | None
    writer: str | None
    lead: bool

    @property
    def end(self) -> int:
        """The Unix second after the last line."""
        return self.lines[-1][0] + 1


def draw(moment: int, conversations: int, seed: int = SEED) -> list[Visit]:
    """Return the visits in the 90 days before `moment` (Unix seconds), oldest first. `conversations` visitors chat."""
    chance = random.Random(seed)
    hours = [*range((moment - DAYS * _DAY) // _HOUR * _HOUR + _HOUR, moment - _QUIET, _HOUR)]
    weights = [_weight(hour, (hour - hours[0]) / (DAYS * _DAY), chance) for hour in hours]
    starts = chance.choices(hours, weights, k=round(conversations * _VISITS))
    times = sorted(start * 1_000 + chance.randrange(_HOUR * 1_000) for start in starts)
    talking = set(chance.sample(range(len(times)), conversations))
    visits = [_visit(at, number in talking, chance) for number, at in enumerate(times)]
    return sorted(_hand_off(visits, moment, chance), key=lambda visit: visit.at)


def _pick(weights: dict[str, int], chance: random.Random) -> str:
    """Return a random name, chosen by weight."""
    return chance.choices([*weights], [*weights.values()])[0]


def _weight(hour: int, age: float, chance: random.Random) -> float:
    weekday = (hour // _DAY + 3) % 7  # 1 January 1970 was a Thursday
    return _CLOCK[hour // _HOUR % 24] * _WEEK[weekday] * (0.7 + 0.6 * age) * chance.uniform(0.8, 1.2)


def _visit(at: int, talks: bool, chance: random.Random) -> Visit:
    agent = _pick({texts.HOTEL: 62, texts.SHOP: 38}, chance)
    language, ident = _pick(texts.LANGUAGES, chance), chance.getrandbits(80)
    return Visit(
        agent,
        f"visitor-{ident & 0xFFFFFFFFFF:010x}",
        at,
        ident,
        language,
        chance.choice(texts.COUNTRIES[language]),
        _pick(texts.ORIGINS, chance),
        _pick(texts.BROWSERS, chance),
        _pick(texts.PLATFORMS, chance),
        [at + chance.randrange(*_AGAIN) for _ in range(chance.choices((0, 1, 2), _LOADS)[0])],
        _talk(agent, language, at // 1_000, chance) if talks else None,
    )


def _talk(agent: str, language: str, start: int, chance: random.Random) -> Talk:
    dialogue: Dialogue = chance.choice(texts.DIALOGUES[agent, language])
    asks, name = chance.random() < _HANDOFFS, chance.choice(texts.NAMES[language])
    lines = _timed(dialogue.lines, start + chance.randint(3, 25), chance)
    return Talk(
        name,
        f"{name.lower().replace(' ', '.')}@example.com".encode("ascii", "ignore").decode(),
        lines,
        [dialogue.tag, *(["vip"] if chance.random() < 0.04 else [])],
        lines[-1][0] + chance.randint(10, 75) if asks else None,
        "ended_chat" if asks or chance.random() < _ENDED else None,
        None,
        None,
        chance.random() < _LEADS,
    )


def _timed(lines: Iterable[str], second: int, chance: random.Random) -> list[tuple[int, str]]:
    """Return alternating lines of a visitor and an agent, the first at `second`. Agents answer within seconds."""
    timed = []
    for number, line in enumerate(lines):
        timed.append((second, line))
        second += chance.randint(1, 4) if number % 2 == 0 else chance.randint(10, 75)
    return timed


def _hand_off(visits: list[Visit], moment: int, chance: random.Random) -> Iterator[Visit]:
    """Yield the visits, the newest first. Each request for a person is followed by a question, and mostly an answer."""
    questions = {key: itertools.cycle(dialogues) for key, dialogues in texts.QUESTIONS.items()}
    people = itertools.cycle(texts.CLIENTS)
    states = iter([*((wait, "requested_chat") for wait in _WAITS), *((chat, "human-chatting") for chat in _CHATS)])
    for visit in reversed(visits):
        if visit.talk is None or visit.talk.handoff_at is None:
            yield visit
            continue
        minutes, state = next(states, (0, "ended_chat"))
        question, person = next(questions[visit.agent, visit.language]), next(people)
        *lines, (second, answer) = _timed(
            (*texts.HANDOFF[visit.language], *question.lines), visit.talk.handoff_at, chance
        )
        talk = visit.talk._replace(
            lines=visit.talk.lines + lines, tags=[*dict.fromkeys((*visit.talk.tags, question.tag))], state=state
        )
        if state == "requested_chat":
            talk = talk._replace(assigned=person if minutes in _ASSIGNED_WAITS else None)
        else:
            answered = (second + chance.randint(*_SECONDS_TO_ANSWER), answer)
            writer = texts.CLIENTS[person]["name"]
            talk = talk._replace(lines=[*talk.lines, answered], assigned=person, writer=writer)
        visit = visit._replace(talk=talk)
        yield _moved(visit, moment - minutes * 60) if minutes else visit


def _moved(visit: Visit, handoff_at: int) -> Visit:
    """Return a visit with the request for a person at this time, and without later page loads."""
    talk = visit.talk
    if talk is None or talk.handoff_at is None:
        return visit
    seconds = handoff_at - talk.handoff_at
    lines = [(second + seconds, line) for second, line in talk.lines]
    return visit._replace(
        at=visit.at + seconds * 1_000, again=[], talk=talk._replace(lines=lines, handoff_at=handoff_at)
    )
