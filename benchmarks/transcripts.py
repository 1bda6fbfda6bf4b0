"""Test conversations: support chats, equal in every run, with a realistic compression ratio.

A message has 120 to 200 bytes of text, built from sentence templates with words, names, numbers, dates and codes. The
text compresses about three times with zlib, like real chats. Repeated text would compress a hundred times, random
bytes not at all.
"""

import base64
import hashlib
import json
import random
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, chain, islice
from typing import Any, TypedDict

Message = TypedDict("Message", {"mid": str, "from": str, "type": str, "text": str, "ts": int})
"""A message in the common form. Every store must return it before the timing starts."""

_START = 1_790_000_000
_LONGEST_PAUSE = 90
_BLOCK = 1_000
_SHORTEST, _LONGEST = 120, 200
# The first number of messages outside `transcript`.
_OTHERS = 1_000_000
_ENDS = (".", ".", ".", ".", "!", "?", "...", " :)")

# Sentence templates. Most words are placeholders, so that sentences vary as in real chats.
_SENTENCES = {
    "human": """
        {person} {could} {verb} {the} {quality} {thing} {when}|{the} {thing} {fails} {since} {person} {could} {verb} it
        {please} {verb} {the} {thing} {of} {person} to {place} {when}|{why} {could} {person} {verb} {the} {thing}
        {the} {quality} {thing} and {the} {thing} {of} order {code} {fails} {when}|{hello}, {name} {of} {place} here
        {please} {verb} {number} {thing}s {when}, {since} {the} {thing} {fails}|{hello}, {why} {the} {thing} {fails}
        {person} paid {amount} {when} {since} {the} {quality} {thing} {fails}|{since} {when}, {person} {could} {verb} it
        {why} not {verb} {the} {quality} {thing} {of} {name} on {date}|{no}, {the} {quality} one, {since} that {fails}
    """,
    "agent": """
        {hello} {name}, {the} {thing} {of} order {code} {could} {verb} {when}
        {please} {verb} {the} {quality} {thing} {when}|{person} {of} {place} {could} {verb} {the} {thing} on {date}
        {no}, {the} {thing} {fails} {since} {person} {could} {verb}
        {please} {verb} {the} {thing} and {verb} {the} {quality} {thing} {when}
        {amount} {of} {the} {thing} comes back {when}|{why} {person} {could} {verb} {the} {quality} {thing}, {name}
        {the} {thing} {fails} {since} {the} {thing} {fails}
        {since} {when}, {number} {quality} {thing}s {of} {place} {could} {verb}
        {please} wait {number} minutes {since} it {fails}
    """,
}
_WORDS = {
    "hello": """hi|hello|hey there|good morning|good evening|thanks|thank you|many thanks|great|right|all right|well
        ok|sorry|I see|of course|no problem|sure|perfect|dear all""",
    "no": "no|not quite|nearly|I do not think so|I am afraid not|yes|yes indeed|I believe so|exactly|maybe|not yet",
    "please": """please|could you|would you|can somebody|do|then|now|kindly|you may|you can|just|first|next
        it is best to|we will|let us|I have to|I want to|I tried to|remember to|there is no need to""",
    "why": """why|how|when|where|who says that|is it true that|I wonder why|nobody told me that|can it be that
        I read that|the manual says that|are you sure that|what happens if|does it matter that""",
    "could": """could|can|cannot|will|will not|would|would not|should|did|did not|does not|wants to|tried to|has to
        forgot to|is going to|was able to|might|offered to|never managed to|asked me to|used to""",
    "since": """since|because|but|although|so|and then|until|before|while|unless|which is why|after which|if|when""",
    "of": "of|for|from|at|near|with|without|behind|beside|by|like|instead of|except for|together with",
    "the": """the|a|my|our|your|their|this|that|another|every|no|any|her|his|some other|the first|the last|the only
        the same|one|neither|which|the wrong|the right|half of the""",
    "verb": """change cancel return repair replace order open close update restart move book pay renew track send check
        install connect upgrade download print register confirm collect exchange insure measure paint clean charge
        unlock rename share sign export translate deliver refund extend pause borrow sell wrap carry weigh cut fold
        warm cool wash dry hang lift push pull turn hold keep lose find remember forget describe explain draw copy
        answer believe choose compare deliver divide empty enter examine fill finish follow guess hide improve invite
        join label lend load lock mark mention mix notice offer pack plan point post prefer prepare press promise
        protect prove publish reach recognise record reduce refuse release remove report request rescue save search
        separate settle shorten show sort split start steer stop store stretch suggest supply support switch teach
        test throw tie touch trade train trust try understand use visit wake warn watch welcome write""",
    "thing": """order invoice router kettle subscription password account ticket parcel sofa lamp jacket phone charger
        laptop screen keyboard booking room flight train seat menu table contract policy claim meter heater boiler
        fridge oven bicycle helmet tyre battery camera lens printer cartridge address card voucher coupon warranty
        manual app calendar form photo passport visa luggage garden fence roof window curtain carpet mattress bottle
        bridge brush bucket building button cabinet cable cake chair chart clock cloth coat coin comb cup cushion desk
        dish door drawer engine envelope file filter flag floor flower folder fork frame gate glass glove guitar hammer
        handle hat hinge hook hose iron jar key knife ladder leaf letter lid list magnet map mirror mouse nail needle
        net newspaper note package paint pan pedal pen pencil piano picture pillow pipe plate plug pocket pot pump
        radio ring rope ruler sail scale shelf shirt shoe shovel skirt soap sock spade speaker spoon spring stamp stick
        stove strap suitcase sweater switch tap tent thread tool towel toy tray trolley tube umbrella valve van vase
        wallet watch wheel whistle wire zip""",
    "quality": """small large cheaper faster blue green wooden second newest older better simple quiet heavy lighter
        yearly monthly digital printed used broken missing spare temporary permanent direct local safe warm
        waterproof portable wireless double angry awkward bent bitter brave bright brown calm careful clever cold
        common complete crooked curly damp dark dear deep delicate dirty dusty early easy empty equal exact fair false
        famous flat free fresh full gentle golden good grey happy hard hollow honest huge kind late lazy lonely long
        loose loud low main mild modern narrow neat new nice normal odd open orange pale plain polite poor possible
        pretty private proud public pure purple quick rare raw ready real red regular rich ripe rough round rude sad
        serious sharp short shy silver slow smooth soft sore special square steep sticky stiff strange strong sudden
        sweet tall thick thin tidy tight tiny tired true ugly useful usual vague valid violet weak wet white whole wide
        wild wise wrong yellow young""",
    "person": """I|we|you|they|somebody|nobody|everybody|my sister|my brother|a colleague|our neighbour|the manager
        the landlord|my daughter|your driver|an electrician|the accountant|a friend|the assistant|our supplier
        the plumber|her doctor|his teacher|my mother|the office|the shop|the bank|the school|your website|the courier
        the hotel|the airline|a customer|the technician|the warehouse|my partner|the previous owner|the insurance""",
    "name": """Anna Ben Chloe David Elif Farid Greta Hassan Ines Jonas Katja Liam Maria Nadia Oscar Priya Quentin Rosa
        Samir Tanja Umar Vera Willem Xenia Yusuf Zoe Andrea Bruno Carla Dmitri Emma Fiona Gustav Hannah Igor Julia
        Kofi Lena Marek Noor Olga Pavel Rahel Sven Teresa Ulrich Victor Wanda Yara Zoran""",
    "place": """Utrecht Lyon Leeds Porto Graz Ghent Turin Malmö Cork Bilbao Aarhus Basel Cracow Leipzig Nantes Bath
        Bergen Tartu Zagreb Seville Bremen Delft Padua Brno Galway Antwerp York Toulouse Kassel Trieste Riga Split
        Linz Murcia Odense Tours Derby Siena Ulm Varna Bruges Perth Cadiz Lund Mainz Oulu Pisa Reims Sofia Vigo""",
    "fails": """stops|does not start|shows nothing|is empty|gets too hot|asks for a code|is refused|turns itself off
        loses the connection|comes back unpaid|makes a noise|is the wrong colour|does not fit|never arrives
        forgets everything|goes to the old address|opens twice|says that it is busy|is a size too small|works again
        looks different|leaks|smells of smoke|feels loose|was sold out|costs more|needs a signature|has no label
        blinks|came open|runs slowly|was left outside|is in the way|cannot be read|expired|arrived late|fell down
        is on its way|has been paid|will be collected|needs a new part|is covered|got wet|is still there|was stolen""",
    "when": """yesterday|this morning|last week|two days ago|on Monday|on Friday|in March|since the update|at noon
        before the weekend|next month|tonight|after the holidays|an hour ago|within three days|as soon as possible
        once more|every day|twice a week|for years|at half past nine|in the evening|by tomorrow|right away|at last
        again|for the third time|without asking|by mistake|on purpose|in the end|for free|by post|over the phone
        on the train|at the counter|in a hurry|at home|abroad|from abroad|on the stairs|downstairs|in the rain""",
}


def transcript(count: int) -> list[Message]:
    """Return the first `count` messages of the conversation, of the user and the agent in turn."""
    blocks = (_messages(start, _BLOCK, _START + start * _LONGEST_PAUSE) for start in range(0, count, _BLOCK))
    return list(islice(chain.from_iterable(blocks), count))


def other(messages: Sequence[Message], count: int, nth: int = 0) -> list[Message]:
    """Return `count` messages that follow these and are not in `transcript`. Each `nth` gives other messages."""
    return _messages(_OTHERS * (nth + 1), count, messages[-1]["ts"])


def transcript_of(size: int) -> list[Message]:
    """Return a conversation whose turns are exactly `size` bytes of JSON. Its last message fills the rest."""
    messages = transcript(size // 200)
    # Equal for every message; the list's brackets count as the commas between messages.
    overhead = document_size(messages[:1]) - len(messages[0]["text"].encode()) - 1
    sizes = accumulate(overhead + len(message["text"].encode()) for message in messages)
    messages = messages[: sum(so_far < size - _LONGEST for so_far in sizes)]
    filling = " ".join(message["text"] for message in other(messages, 20))
    text = messages[-1]["text"] + _cut(filling, size - document_size(messages))
    made: list[Message] = [*messages[:-1], {**messages[-1], "text": text}]
    if document_size(made) != size:
        raise AssertionError(f"built {document_size(made)} bytes instead of {size}")
    return made


def turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages as turns for the state route."""
    return [{"from": one["from"], "messages": [_wire_message(one)], "ts": one["ts"]} for one in messages]


def document_size(messages: Sequence[Message]) -> int:
    """Return the JSON size of the turns in the state route's answer: one message each."""
    answered = [{"from": one["from"], "messages": _wire_message(one), "ts": one["ts"]} for one in messages]
    return len(json.dumps(answered, ensure_ascii=False, separators=(",", ":")).encode())


def _wire_message(one: Message) -> dict[str, Any]:
    item = {"text": one["text"]}
    return {"mid": one["mid"], "from": one["from"], "type": one["type"], "item": item, "ts": one["ts"]}


@lru_cache(maxsize=256)
def _messages(first: int, count: int, moment: int) -> list[Message]:
    draw = random.Random(first)
    made: list[Message] = []
    for number in range(first, first + count):
        moment += draw.randint(3, _LONGEST_PAUSE)
        sender = ("human", "agent")[number % 2]
        made.append({"mid": _mid(number), "from": sender, "type": "text", "text": _text(draw, sender), "ts": moment})
    return made


def _mid(number: int) -> str:
    """Return 12 characters that do not compress, like generated ids."""
    return base64.urlsafe_b64encode(hashlib.blake2b(str(number).encode(), digest_size=9).digest()).decode()


def _text(draw: random.Random, sender: str) -> str:
    length, text = draw.randint(_SHORTEST, _LONGEST), ""
    while len(text.encode()) < _SHORTEST:
        sentence = _PLACE.sub(lambda found: _word(draw, found[1]), draw.choice(_CHOICES[sender]))
        text = f"{text} {sentence[0].upper()}{sentence[1:]}{draw.choice(_ENDS)}".lstrip()
    return _cut(text, length)


def _word(draw: random.Random, kind: str) -> str:
    if kind == "number":
        return str(draw.randint(2, 60))
    if kind == "amount":
        return f"€{draw.randint(3, 400)}.{draw.choice(('00', '50', '95', '99'))}"
    if kind == "code":
        return "".join(draw.choices("ABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=7))
    if kind == "date":
        return f"{draw.randint(1, 28)} {draw.choice(('January', 'March', 'May', 'July', 'October', 'December'))}"
    return draw.choice(_CHOICES[kind])


def _cut(text: str, size: int) -> str:
    """Return at most `size` bytes of the text, without cutting a character."""
    return text.encode()[:size].decode(errors="ignore")


def _split(text: str) -> list[str]:
    return [one.strip() for one in re.split(r"\||\n" if "|" in text else r"\s", text) if one.strip()]


_PLACE = re.compile(r"\{(\w+)\}")
_CHOICES = {kind: _split(text) for kind, text in {**_SENTENCES, **_WORDS}.items()}
