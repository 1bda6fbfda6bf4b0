"""Shared fixtures: an empty engine with the template's tables, a workspace, and an API client per credential.

Most tests run on moto in this process; tests of behaviour that moto gets wrong run on the local engine
(`tests/reliability`). The environment is set before any of our modules is imported, as in a deployment.
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

import pytest
from moto import mock_aws
from moto.sqs.models import sqs_backends

from chalicelib import clock, queues, settings, storage
from chalicelib.agents import store as agents
from chalicelib.http import auth
from chalicelib.storage import keyring
from chalicelib.workspaces import store as workspaces
from infra import tables
from tests import direct_moto, extensions, moto_backups, moto_tables
from tests.api import Api
from tests.cached_fixtures import restore_or_create
from tests.sending.sockets import audited, empty_cache, names, private, public_only, watch  # noqa: F401 - fixtures

PassTime = Callable[[int], None]

_cloud = mock_aws()
moto_backups.use()
direct_moto.attach(storage.sdk_client("dynamodb"))


@pytest.fixture
def engine() -> Iterator[None]:
    """An empty engine with the template's resources, and empty caches.

    Tables and queues are emptied, not created again, which saves a fifth of a second per test.
    """
    _cloud.start(reset=False)
    if not moto_tables.tables():
        tables.create_missing(storage.sdk_client, settings.table_prefix())
    clear()
    yield
    clear_caches()
    _cloud.stop(remove_data=False)


def clear() -> None:
    """Empty every table, stream and queue, and every cache."""
    clear_caches()
    for table in moto_tables.tables().values():
        table.items.clear()
    moto_tables.drop_history()
    waiting = sqs_backends["123456789012"]["eu-west-1"]
    for queue in waiting.queues:
        waiting.purge_queue(queue)


def clear_caches() -> None:
    """Empty every cache that a process keeps between requests."""
    auth.clear_cache()
    agents._known_agents.clear()
    workspaces._known_retention.clear()
    keyring.current.cache_clear()
    keyring.find.cache_clear()
    queues._url.cache_clear()
    extensions.call("clear_caches")


@pytest.fixture
def workspace(engine: None) -> workspaces.NewWorkspace:
    """A workspace with its first key and token."""
    made, is_old = restore_or_create("workspace", lambda: workspaces.create("Test"))
    if is_old:
        keyring.current()  # creating a workspace caches its data key
    return made


@pytest.fixture
def other_workspace(engine: None) -> workspaces.NewWorkspace:
    """A second workspace."""
    return workspaces.create("Other")


@pytest.fixture
def api(workspace: workspaces.NewWorkspace) -> Api:
    """An API client with the workspace key."""
    return Api(workspace.workspace_key)


@pytest.fixture
def agent_id(api: Api) -> str:
    """The id of an agent of the workspace, created through v2."""
    _, is_old = restore_or_create("agent", lambda: api.post("/v2/agents/support", {"title": "Support"}))
    if is_old:
        api.get("/v2/agents/support")  # a request caches the credential
    return "support"


@pytest.fixture
def pass_time(monkeypatch: pytest.MonkeyPatch) -> PassTime:
    """Stop both clocks; return a function that advances them by some seconds."""
    start, passed = clock.milliseconds(), 0

    def move(seconds: int) -> None:
        nonlocal passed
        passed += seconds

    monkeypatch.setattr(clock, "milliseconds", lambda: start + passed * 1000)
    monkeypatch.setattr(clock, "monotonic", lambda: float(passed))
    auth.clear_cache()
    return move


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call of the clock returns a later time, so that the order of creation is unambiguous."""
    real, last = clock.milliseconds, [0]

    def tick() -> int:
        last[0] = max(real(), last[0] + 1)
        return last[0]

    monkeypatch.setattr(clock, "milliseconds", tick)
