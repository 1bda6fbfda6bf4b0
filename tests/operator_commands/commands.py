"""Helpers that run the operator command `cams`, and check which tokens the API accepts."""

import json
from typing import Any

from click.testing import CliRunner, Result

from chalicelib.http import auth
from infra.operator.commands import cams
from tests.api import Api

DAY = 24 * 60 * 60
EDGE = "/v2/agents/support"


def run(*arguments: str, answer: str | None = None) -> Result:
    """Run a command; return its result."""
    return CliRunner().invoke(cams, arguments, input=answer)


def run_json(*arguments: str) -> Any:
    """Run a command that must succeed; return its JSON output."""
    ran = run(*arguments, "--json")
    assert ran.exit_code == 0, ran.stderr
    return json.loads(ran.stdout)


def status_of(token: str, path: str = "/v3/agents") -> int:
    """Return the status of a request with this token, without the credential cache."""
    auth.clear_cache()
    return Api(token).get(path).status
