"""Helpers that run `python -m infra.cams workspace`, and check which credentials the API still accepts."""

from click.testing import CliRunner, Result

from infra.operator.commands import cams
from tests.api import Api

SUSPENDED = (403, "WORKSPACE_SUSPENDED")


def run(*arguments: str, answer: str | None = None) -> Result:
    """Run an operator command."""
    return CliRunner().invoke(cams, ["workspace", *arguments], input=answer)


def succeed(*arguments: str) -> Result:
    """Run an operator command; assert that it succeeds."""
    ran = run(*arguments)
    assert ran.exit_code == 0, ran.output
    return ran


def answer_to(token: str, path: str = "/v3/agents") -> tuple[int, str | None]:
    """Send a request with this credential; return the response's status and error code."""
    answer = Api(token).get(path)
    return answer.status, answer.json.get("code")
