"""The first program in docs/openai.md, with the service in the same process."""

import re
from functools import partial

import httpx2
import openai
import pytest

from tests import extensions
from tests.api import Api
from tests.extensions.openai.sdk import Transport
from tests.generated_docs import ROOT

extensions.require("openai")

PAGE = (ROOT / "docs/openai.md").read_text(encoding="utf-8")
PROGRAM, _ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_program_runs(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(openai, "OpenAI", partial(openai.OpenAI, http_client=httpx2.Client(transport=Transport())))
    key = api.get("/v2/agents/support").json["SECRET_API_KEY"]
    exec(PROGRAM, {"agent_key": key, "cams_url": "https://cams.test"})
    assert re.search(r"^[0-9a-z]{26} Hello$", capsys.readouterr().out, re.MULTILINE)
    (listed,) = api.get("/v3/agents/support/convos?label=order:1001").data
    assert listed["lastMessage"] == "Hello"
