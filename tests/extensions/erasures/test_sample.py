"""The restore check decrypts a sample of records, which includes an erasure's search."""

import pytest

from tests.api import Api
from tests.deployment.test_sample import long_conversation as long_conversation
from tests.deployment.test_sample import output


def test_the_search_of_an_erasure_is_sampled(long_conversation: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert long_conversation.post("/v3/erasures", {"erasure": {"email": "Canary@example.com"}}).status == 200
    assert "2 document, 1 search" in output(capsys)["workspaces"]  # the workspace and the erasure
