"""A plain `chalice deploy` can be killed, continued and repeated in fresh clones with only Chalice installed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.deployment import clones, cloud, rehearsal_kills
from tests.deployment.rehearsal import STAGE

pytestmark = [pytest.mark.engine, pytest.mark.long]


def state(here: cloud.Cloud, project: Path) -> tuple[Any, set[str]]:
    """Return the API's entry in a clone's state file, and the ids of the account's event source mappings."""
    record = json.loads((project / ".chalice" / "deployed" / f"{STAGE}.json").read_text())
    (api,) = [one for one in record["resources"] if one["resource_type"] == "rest_api"]
    mappings = here.sdk("lambda").list_event_source_mappings()["EventSourceMappings"]
    return api, {one["UUID"] for one in mappings}


def test_a_deployment_that_is_killed_at_every_step_is_continued_from_another_clone(tmp_path: Path) -> None:
    with cloud.empty(tmp_path, {}) as here:
        first = clones.clone(tmp_path / "first", {STAGE: {"python_version": cloud.PYTHON_VERSION}})
        second = clones.copy(tmp_path / "first-source", tmp_path / "second")
        clones.only_chalice(tmp_path / "chalice")
        assert rehearsal_kills.deploy_with_kills(here, (first, second)) == 6
        rehearsal_kills.chalice(here, first, "deploy", "--stage", STAGE)
        rehearsal_kills.check_account(here)
        deployed = state(here, first)
        printed = rehearsal_kills.chalice(here, second, "deploy", "--stage", STAGE)
        assert "no function has changed" in printed and " -> " not in printed
        assert state(here, second) == deployed
        rehearsal_kills.check_account(here)
        assert rehearsal_kills.chalice(here, second, "url", "--stage", STAGE).strip() == deployed[0]["rest_api_url"]
        assert clones.changes(first) == clones.changes(second) == ""
