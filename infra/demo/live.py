"""Conversations that go on while the demonstration runs, through the API, as a widget and a bot would hold them."""

import random
import secrets
import time
from collections.abc import Iterator

from infra.demo import plan, texts
from infra.demo.service import Service

# At a time.
_TALKS = 2
_PAUSE = (0.8, 2.2)  # seconds between two messages


def converse(service: Service, seconds: float) -> None:
    """Hold conversations for some seconds, two at a time. Each ends with a lead, a request for a person, or neither."""
    end = time.monotonic() + seconds
    chance = random.Random()
    talks: list[Iterator[None]] = []
    while time.monotonic() < end:
        while len(talks) < _TALKS:
            talks.append(_talk(service, chance))
        talk = talks.pop(0)
        if next(talk, False) is None:
            talks.append(talk)
            time.sleep(min(chance.uniform(*_PAUSE), max(0.0, end - time.monotonic())))


def _talk(service: Service, chance: random.Random) -> Iterator[None]:
    """Send one message for each `next`."""
    agent, language = chance.choice([*texts.DIALOGUES])
    visitor, name = f"visitor-{secrets.token_hex(5)}", chance.choice(texts.NAMES[language])
    origin = plan.pick(texts.ORIGINS, chance)
    load = {
        "record": "load",
        "userID": visitor,
        "countryCode": chance.choice(texts.COUNTRIES[language]),
        "langCode": language,
        "browser": plan.pick(texts.BROWSERS, chance),
        "platform": plan.pick(texts.PLATFORMS, chance),
        "origin": origin,
    }
    service.call("POST", f"/v2/agents/{agent}/analytics/{visitor}", load)
    convo, asks = f"/v3/agents/{agent}/convos/{visitor}", chance.random() < 0.3
    dialogue = chance.choice(texts.DIALOGUES[agent, language])
    for number, line in enumerate((*dialogue.lines, *(texts.HANDOFF[language] if asks else ()))):
        sender = ("human", "bot")[number % 2]
        message = {"from": sender, "type": "text", "item": {"text": line}, "ts": int(time.time())}
        service.call("POST", f"/agents/{agent}/interact/{visitor}/messages", {"messages": [message]})
        if number == 0:
            found = {"userName": name, "origin": origin, "tags": [dialogue.tag]}
            service.call("PATCH", convo, {"conversation": found})
        yield
    if asks:
        service.call("PATCH", convo, {"conversation": {"state": "requested_chat"}})
    elif chance.random() < 0.5:
        lead = {"agentId": agent, "name": name, "email": plan.email_of(name), "channel": origin}
        service.call("POST", "/v3/leads", {"lead": lead})
