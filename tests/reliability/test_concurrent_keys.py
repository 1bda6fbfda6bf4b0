"""If sixteen callers send the same request and `Idempotency-Key`, the request takes effect only once."""

import json
from collections.abc import Iterator

import pytest

from tests.guarantees import CaseCounter
from tests.reliability.engine_fixture import client
from tests.reliability.processes import Service, output, service
from tests.selection import whole

pytestmark = [pytest.mark.engine, pytest.mark.guarantee("repeated")]

PROCESSES, THREADS, EACH, KEYS = 4, 4, 5, 3


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("keys")) as running:
        yield running


@whole
def test_each_key_creates_one_agent_and_all_callers_get_the_same_answer(
    served: Service, count_cases: CaseCounter
) -> None:
    agents = set()
    for key in (f"key-{number}" for number in range(KEYS)):
        callers = [
            served.start("tests.reliability.repeating_clients", "create", key, THREADS, EACH) for _ in range(PROCESSES)
        ]
        answers = [json.loads(line) for caller in callers for line in output(caller)]
        assert len(answers) == PROCESSES * THREADS * EACH
        assert {(status, code) for status, code, *_ in answers} == {(200, None)}
        texts = {text for *_, text in answers}
        assert len(texts) == 1
        assert sum(not replayed for _, _, replayed, _ in answers) == 1
        agents.add(json.loads(texts.pop())["data"]["id"])
        count_cases(requests=len(answers))
    stored = client(served.engine, "dynamodb").scan(TableName="cams-agents")["Items"]
    assert {item["agent_id"]["S"] for item in stored} == {*agents, "support"}
    assert len(agents) == KEYS
