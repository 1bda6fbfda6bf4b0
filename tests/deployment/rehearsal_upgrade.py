"""Step: a stage of the last release is upgraded to this version, and keeps its URL, records and webhooks."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from infra.local import children
from tests.deployment import cloud, rehearsal_kills
from tests.deployment.rehearsal import NAME, STAGE, Failed, run, until
from tests.deployment.rehearsal_client import Gateway
from tests.deployment.rehearsal_queues import Receiver
from tests.reliability.releases import LAST

_ACCOUNT_ROOT = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
_WAITING = {
    "turns": [{"from": "bot", "messages": [{"item": {"text": "Hello"}}]}],
    "metadata": {"state": "requested_chat"},
}
_RECORDS: dict[str, Any] = {
    "/v2/agents/former": {"title": "Former"},
    "/agents/former/interact/ann/state": _WAITING,
    "/v2/agents/former/analytics/ann": {"record": "load"},
    "/v2/clients/ann": {"name": "Ann"},
    "/v2/orgs/acme": {"name": "Acme"},
    "/v3/leads": {"lead": {"agentId": "former", "name": "Ann"}},
}
_READ = ("/v2/agents/former", "/v2/agents/former/convos", "/v2/clients/ann", "/v2/orgs/acme")
# These lists use indexes that the last release does not have.
_NEW_LISTS = {"/v3/leads": "data", "/v3/convos?inbox=true": "data", "/v3/agents/search": "agents"}


def upgrade(here: cloud.Cloud, directory: Path, settings: dict[str, Any]) -> str:
    """Deploy the last release to an empty account, upgrade and destroy it; return what was indexed. Raise Failed."""
    former = replace(here, project=_unpack(directory, settings), environment={**here.environment, **_ACCOUNT_ROOT})
    run(former, "-m", "infra.deploy", "deploy", "--stage", STAGE)
    api = Gateway(
        _address(here), _operate(former, "workspace", "create", "--name", "Former", "--json")["workspace_key"]
    )
    receiver = Receiver()
    api.call("POST", "/v3/webhooks", {"webhook": {"url": receiver.url, "events": ["agent_updated"]}})
    for path, body in _RECORDS.items():
        api.call("POST", path, body)
    before = {path: api.call("GET", path) for path in _READ}
    rehearsal_kills.chalice(here, here.project, "deploy", "--stage", STAGE)
    if _address(here) != api.address:
        raise Failed("The upgrade changed the API's URL.")
    if changed := [path for path in _READ if not _keeps(before[path], api.call("GET", path))]:
        raise Failed(f"After the upgrade, these records have other values: {changed}")
    indexed = run(here, "-m", "infra.cams", "index", **_variables(here))
    run(here, "-m", "infra.cams", "tallies", "recount", **_variables(here))
    if any(len(api.call("GET", path)[member]) != 1 for path, member in _NEW_LISTS.items()):
        raise Failed(f"After `infra.cams index`, a list omits a record: {indexed}")
    api.call("POST", "/v2/agents/former", {"title": "Upgraded"})
    until(lambda: bool(receiver.received), lambda: "no webhook arrived after the upgrade")
    run(here, "-m", "infra.deploy", "destroy", "--stage", STAGE, "--yes", "--delete-data")
    return indexed.strip()


def _unpack(directory: Path, settings: dict[str, Any]) -> Path:
    project = directory / "former"
    with ZipFile(LAST) as archive:
        archive.extractall(project)
    for name in (".uv", ".venv"):
        (project / name).symlink_to(children.ROOT / name)
    cloud.configure(project, {"local": {}, STAGE: settings})
    return project


def _variables(here: cloud.Cloud) -> dict[str, str]:
    configuration = here.sdk("lambda").get_function_configuration(FunctionName=NAME)
    variables: dict[str, str] = configuration["Environment"]["Variables"]
    return variables


def _operate(here: cloud.Cloud, *arguments: str) -> Any:
    return json.loads(run(here, "-m", "infra.cams", *arguments, **_variables(here)))


def _address(here: cloud.Cloud) -> str:
    (api,) = here.sdk("apigateway").get_rest_apis()["items"]
    return f"http://127.0.0.1:{here.port}/_aws/execute-api/{api['id']}/{STAGE}"


def _keeps(former: Any, current: Any) -> bool:
    """Return whether the current value has all members of the former one, with the same values."""
    if isinstance(former, dict):
        return isinstance(current, dict) and all(_keeps(value, current.get(key)) for key, value in former.items())
    if isinstance(former, list):
        return isinstance(current, list) and len(former) == len(current) and all(map(_keeps, former, current))
    return bool(former == current)
