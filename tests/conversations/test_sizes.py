"""The largest accepted state, response and metadata; anything larger is rejected."""

import json
import os
from itertools import count

from chalicelib.conversations.state import MAX_TURNS_BYTES
from chalicelib.http import responses
from chalicelib.storage import encode_json
from tests.api import Api
from tests.conversations.turns import STATE, items, long_turns, message, turns


def test_two_mebibytes_are_stored_replaced_and_read_back(api: Api) -> None:
    for seed in ("a", "b"):
        sent = long_turns(MAX_TURNS_BYTES, seed)
        assert api.post(STATE, {"turns": sent}).status == 200
        read = api.post(STATE)
        assert [turn["messages"] for turn in read.json["turns"]] == sent[0]["messages"]
        assert responses.fits(read.text)


def test_one_byte_more_is_too_large_and_nothing_is_written(api: Api) -> None:
    api.post(STATE, {"turns": turns(message("a"))})
    before = items()
    answer = api.post(STATE, {"turns": long_turns(MAX_TURNS_BYTES + 1)})
    assert (answer.status, answer.json["code"]) == (413, "TOO_LARGE")
    assert items() == before


def test_old_turns_are_omitted_if_the_answer_would_be_too_large(api: Api) -> None:
    quotes = turns(message("a", text='"' * (MAX_TURNS_BYTES // 2 - 1000)))
    api.post(STATE, {"turns": quotes})
    answer = api.post(STATE, {"turns": turns(message("b", text='"' * (MAX_TURNS_BYTES // 2 - 1000)))})
    assert answer.status == 200
    assert "oldTurns" not in answer.json
    assert len(json.dumps(answer.text)) < responses.RESPONSE_LIMIT


def test_a_state_too_large_for_an_answer_is_refused_and_not_stored(api: Api) -> None:
    before = items()
    many = turns(*({} for _ in range(200_000)))
    assert len(encode_json(many)) < MAX_TURNS_BYTES
    assert api.post(STATE, {"turns": many}).status == 413
    assert items() == before


def test_metadata_too_large_for_a_page_of_the_list_is_refused(api: Api) -> None:
    before = items()
    answer = api.post(STATE, {"metadata": {"userName": os.urandom(40_000).hex()}})
    assert answer.status == 413
    assert items() == before


def test_a_small_request_cannot_produce_a_huge_answer(api: Api) -> None:
    before = items()
    answer = api.post(STATE, {"turns": [{"note": "x" * 500_000, "messages": [{}] * 300}]})
    assert answer.status == 413
    assert items() == before


def test_a_stored_state_can_be_read_after_its_agent_has_grown(api: Api) -> None:
    many = turns(*({"from": "bot", "item": {"t": "é" * 15}, "ts": number} for number in range(25_000)))
    assert "agentData" in api.post(STATE, {"turns": many}).json
    for name in ("branding", "lang"):
        assert api.post("/v2/agents/support", {name: '"' * 240_000}).status == 200
    answer = api.post(STATE)
    assert (answer.status, len(answer.json["turns"])) == (200, 25_000)
    assert "agentData" not in answer.json


def test_compressible_metadata_is_limited_by_its_json(api: Api) -> None:
    assert api.post(STATE, {"metadata": {"userName": "a" * 70_000}}).status == 413


def test_any_number_of_new_messages_fits_the_transaction(api: Api) -> None:
    """A quotation mark takes up two bytes in JSON, and each long message is stored as a separate item."""
    noise = (os.urandom(600).hex() for _ in count())
    sent = turns(*(message(f"m{number}", item={"x": next(noise) + '"' * 12_300}) for number in range(80)))
    assert api.post(STATE, {"turns": sent}).status == 200
    short = [{"note": "n" * 900, "from": "bot", "messages": [{"mid": f"{number:x}"} for number in range(5_500)]}]
    assert api.post(STATE, {"turns": short}).status == 200
    long = turns(*(message(f"l{number}", item={"text": os.urandom(25_000).hex()}) for number in range(41)))
    assert api.post(STATE, {"turns": long}).status == 200
