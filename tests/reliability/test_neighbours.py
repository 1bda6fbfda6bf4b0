"""In the local run, a misbehaving workspace delays another workspace's webhooks by at most a second."""

from pathlib import Path

import pytest

from tests.reliability import neighbours

pytestmark = [pytest.mark.engine, pytest.mark.long]

_SECONDS = 40.0
_MOST_LATER = 1.0


@pytest.mark.parametrize("case", [one for one in neighbours.CASES if one != neighbours.NOTHING])
def test_a_neighbour_waits_at_most_a_second_longer(case: str, tmp_path: Path) -> None:
    waits = neighbours.measure(case, _SECONDS, tmp_path / "run")
    assert waits.others > 0
    assert neighbours.percentile(waits.disturbed) <= neighbours.percentile(waits.quiet) + _MOST_LATER
