"""Reading a record in an unknown layout fails with a 503, and only known layouts are written."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib.storage import layouts
from tests.api import Api
from tests.assertions import refused
from tests.builders import state_body

STATE = "/agents/support/interact/ann/state"


@contextmanager
def newer_version() -> Iterator[None]:
    """Run the block as a version that writes a newer layout."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layouts, "READABLE", {**layouts.READABLE, 31: "9.0.0"})
        patch.setenv("CAMS_STORED_LAYOUT", "31")
        yield


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v3/agents/support", None),
        ("GET", "/v3/agents", None),
        ("PATCH", "/v3/agents/support", {"agent": {"title": "Changed"}}),
        ("POST", STATE, {}),
        ("POST", STATE, state_body("again")),
        ("GET", "/v2/agents/support/convos", None),
    ],
)
def test_a_record_of_an_unknown_layout_is_a_503_that_says_so(api: Api, method: str, path: str, body: Any) -> None:
    with newer_version():
        api.post("/v2/agents/support", {"title": "Support"})
        api.post(STATE, state_body("first"))
        assert api.call(method, path, body).status == 200
    answer = api.call(method, path, body)
    assert refused(answer, 503, interaction=path == STATE) == layouts.UnknownLayout.sentence
    assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize("setting", ["1", "32", "two"])
def test_a_layout_that_the_version_does_not_read_is_never_written(
    api: Api, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAMS_STORED_LAYOUT", setting)
    answer = api.post("/v2/agents/support", {"title": "Support"})
    assert "CAMS_STORED_LAYOUT must be one of" in refused(answer, 503)
