"""`make run ARGS="--extensions …"` selects a local run's extensions."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chalicelib.extensions import present
from infra.local import run as local_run
from infra.local.children import ROOT
from infra.tables import declared
from tests.reliability.runs import Run, ask, begin, end, engine_client, free_port, kill
from tests.selection import whole


@contextmanager
def running(directory: Path, *options: str) -> Iterator[Run]:
    """Run the service with these options inside the block."""
    run = begin(directory, free_port(), *options)
    try:
        yield run
        end(run, signal.SIGINT)
    finally:
        kill(run)


def marked(run: Run) -> set[str]:
    """Return the extensions that a run's OpenAPI document names."""
    with urllib.request.urlopen(f"http://127.0.0.1:{run.port}/openapi.json") as answer:
        return {tag["x-extension"] for tag in json.load(answer)["tags"] if "x-extension" in tag}


def tables(run: Run) -> dict[str, Any]:
    """Return a run's tables, and whether each has a stream."""
    client = engine_client(run, "dynamodb")
    described = [client.describe_table(TableName=name)["Table"] for name in client.list_tables()["TableNames"]]
    return {table["TableName"]: "StreamSpecification" in table for table in described}


def declared_tables(extensions: list[str] | None) -> dict[str, bool]:
    return {
        table["TableName"]["Fn::Sub"].replace("${Name}", "cams"): "StreamSpecification" in table
        for table in declared("AWS::DynamoDB::Table", extensions)
    }


@whole
@pytest.mark.engine
def test_a_run_without_extensions_has_core_alone_and_the_next_run_has_all(tmp_path: Path) -> None:
    with running(tmp_path, "--extensions", "none") as run:
        key = run.credentials["workspace_key"]
        assert ask(run, "POST", "/v2/agents/support", key, {"title": "Support"})[0] == 200
        assert (marked(run), tables(run)) == (set(), declared_tables([]))
        assert ask(run, "GET", "/console/any/overview", key)[0] == 404
        assert run.output.count("console") == 0
        assert run.environment["CAMS_EXTENSIONS"] == "''"
        demonstration = [sys.executable, "-m", "infra.demo", "--state", str(tmp_path)]
        refused = subprocess.run(demonstration, cwd=ROOT, capture_output=True, text=True, check=False)
        assert refused.stderr == (
            "Error: The demonstration needs the extensions console and reports: start `make run` with them.\n"
        )
    with running(tmp_path) as run:
        assert ask(run, "GET", "/v3/agents/support", key)[1]["data"]["title"] == "Support"
        assert marked(run) == {*present()} - {"console", "mcp"}  # their routes are not in the document
        assert tables(run) == declared_tables(None)


def test_an_extension_that_does_not_exist_is_named(tmp_path: Path) -> None:
    state = ["--state", str(tmp_path / "state")]
    refused = CliRunner().invoke(local_run.main, ["--extensions", "moons", *state])
    assert refused.exit_code == 2
    known = ", ".join(["none", *present()])
    assert refused.stderr.splitlines()[-1].endswith(f"there is no extension 'moons': use {known}.")
    assert not (tmp_path / "state").exists()
