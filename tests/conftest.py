"""Shared fixtures, such as an empty engine with the template's tables, a workspace, and an API client.

Most tests run on moto in this process. Where moto differs from AWS, tests run on the local engine
(`tests/reliability`). The environment is set before any CAMS module is imported, as in a deployment.
"""

import os

os.environ.update(
    AWS_DEFAULT_REGION="eu-west-1",
    AWS_ACCESS_KEY_ID="testing",
    AWS_SECRET_ACCESS_KEY="testing",
    AWS_ACCOUNT_ID_ENDPOINT_MODE="disabled",
    MOTO_SQS_ENFORCE_STRICT_QUEUE_PURGE_BEHAVIOUR="false",
)
os.environ.pop("AWS_ENDPOINT_URL", None)

from collections.abc import Callable, Iterator

import moto.core  # noqa: F401 - before chalicelib.storage, whose session calls the handlers that are known then
import pytest

from chalicelib import clock, storage
from chalicelib.http import auth
from chalicelib.storage import keyring
from chalicelib.workspaces import store as workspaces
from tests import fast_moto
from tests.api import Api
from tests.engines import clear, clear_caches, new_engine
from tests.fast_moto import restore_or_create
from tests.sending.sockets import audited, empty_cache, names, private, public_only, watch  # noqa: F401 - fixtures

PassTime = Callable[[int], None]
StopClock = Callable[[float], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option that disables the fast path."""
    parser.addoption("--plain-moto", action="store_true", help="run all tests without tests/fast_moto.py")


def pytest_configure(config: pytest.Config) -> None:
    """Enable the fast path."""
    if not config.getoption("plain_moto"):
        fast_moto.use(storage.sdk_client("dynamodb"))
        fast_moto.attach(storage.sdk_client("dynamodbstreams"))


@pytest.fixture
def fast_path(request: pytest.FixtureRequest) -> None:
    """Skip a test that needs the fast path if the path is disabled."""
    if request.config.getoption("plain_moto"):
        pytest.skip("--plain-moto disables the fast path")


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[None]:
    """Provide an empty engine with the template's resources, and clear all caches."""
    if request.config.getoption("plain_moto"):
        with new_engine():
            yield
    else:
        with fast_moto.kept_engine():
            clear()
            yield
            clear_caches()


@pytest.fixture
def workspace(engine: None) -> workspaces.NewWorkspace:
    """Create a workspace with its first key and token."""
    made, is_old = restore_or_create("workspace", lambda: workspaces.create("Test"))
    if is_old:
        keyring.current()  # creating a workspace caches its data key
    return made


@pytest.fixture
def other_workspace(engine: None) -> workspaces.NewWorkspace:
    """Create a second workspace."""
    return workspaces.create("Other")


@pytest.fixture
def api(workspace: workspaces.NewWorkspace) -> Api:
    """Return an API client with the workspace key."""
    return Api(workspace.workspace_key)


@pytest.fixture
def agent_id(api: Api) -> str:
    """Create an agent in the workspace through the v2 API, and return its id."""
    _, is_old = restore_or_create("agent", lambda: api.post("/v2/agents/support", {"title": "Support"}))
    if is_old:
        api.get("/v2/agents/support")  # the first request caches the credential
    return "support"


@pytest.fixture
def pass_time(monkeypatch: pytest.MonkeyPatch) -> PassTime:
    """Stop both clocks, and return a function that advances them by a number of seconds."""
    start, passed = clock.milliseconds(), 0

    def move(seconds: int) -> None:
        nonlocal passed
        passed += seconds

    monkeypatch.setattr(clock, "milliseconds", lambda: start + passed * 1000)
    monkeypatch.setattr(clock, "monotonic", lambda: float(passed))
    auth.clear_cache()
    return move


@pytest.fixture
def midday(pass_time: PassTime) -> None:
    """Stop both clocks at the next midday in UTC. In the first hour of a day, reports read two days' recent counts."""
    pass_time((12 * 3_600 - clock.seconds()) % 86_400)


@pytest.fixture
def stop_clock(monkeypatch: pytest.MonkeyPatch) -> StopClock:
    """Return a function that stops the clock at a Unix time in seconds."""
    return lambda seconds: monkeypatch.setattr(clock, "milliseconds", lambda: round(seconds * 1000))


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the pauses between attempts."""
    monkeypatch.setattr(clock, "sleep", lambda _: None)


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each clock reading later than the last, so that the creation order is unambiguous."""
    real, last = clock.milliseconds, [0]

    def tick() -> int:
        last[0] = max(real(), last[0] + 1)
        return last[0]

    monkeypatch.setattr(clock, "milliseconds", tick)
