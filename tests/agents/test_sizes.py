"""The largest agent and the largest number that can be stored."""

import random
from base64 import b64encode
from typing import Any

import pytest

from tests.api import Api
from tests.assertions import refused, stored

NOISE = b64encode(random.Random(0).randbytes(450_000)).decode()  # incompressible


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("POST", "/v2/agents/new", {"description": NOISE}, id="create v2"),
        pytest.param("POST", "/v3/agents", {"agent": {"description": NOISE}}, id="create v3"),
        pytest.param("POST", "/v2/agents/support", {"description": NOISE}, id="edit v2"),
        pytest.param("PATCH", "/v3/agents/support", {"agent": {"vectorDb": [NOISE]}}, id="change v3"),
    ],
)
def test_a_too_large_record_is_refused_and_not_stored(
    method: str, path: str, body: Any, api: Api, agent_id: str
) -> None:
    before = stored()
    refused((api.post if method == "POST" else api.patch)(path, body), 413)
    assert stored() == before


def test_a_long_prompt_is_stored(api: Api, agent_id: str) -> None:
    prompt = "You help. 😀 " * 100_000
    assert api.post(f"/v2/agents/{agent_id}", {"vg_systemPrompt": prompt}).data["vg_systemPrompt"] == prompt
    assert api.get(f"/v2/agents/{agent_id}").json["vg_systemPrompt"] == prompt


@pytest.mark.parametrize("number", ["1" + "0" * 300 + "e50", "1e400"], ids=["long and e50", "e400"])
def test_a_number_that_overflows_is_refused_everywhere(api: Api, agent_id: str, number: str) -> None:
    raw = f'{{"agent":{{"vectorDb":{number}}}}}'.encode()
    assert api.call("PATCH", "/v3/agents/support", raw).status in (400, 415)
    api.patch("/v3/agents/support", {"agent": {"customThemeJSONString": f'{{"x":{number}}}'}})
    assert api.get("/v2/agents/support").status == 200
