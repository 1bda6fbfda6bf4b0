"""The rehearsal (`make rehearse`), which deploys and destroys a stage in an emulated account with the real commands.

    python -m tests.deployment.rehearse [--break policy|stream]

The rehearsal deploys and verifies a stage, creates a workspace, calls every operation through the gateway, and waits
for the webhooks of the deployed functions. Then it deploys again, restores into a second stage, disables and re-enables
all extensions, and destroys both stages. At the end, it upgrades a stage of the last release. It prints each step with
its duration. With `--break`, the rehearsal must fail.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from chalicelib.extensions import present
from chalicelib.storage import layouts
from infra import extension_parts
from infra.deploy.functions import declared_functions
from infra.package import wheels
from tests.deployment import (
    clones,
    cloud,
    deployer,
    rehearsal_kills,
    rehearsal_updates,
    rehearsal_upgrade,
    restored,
    upgraded,
)
from tests.deployment.rehearsal import NAME, ORIGIN, STAGE, Failed, replace_text, run, until
from tests.deployment.rehearsal_adoption import adopt_deleted_stack, read_kept
from tests.deployment.rehearsal_client import Gateway
from tests.deployment.rehearsal_domain import check_domain
from tests.deployment.rehearsal_extensions import disable, enable
from tests.deployment.rehearsal_monitoring import EMAIL, check_monitoring
from tests.deployment.rehearsal_operations import call_every_operation
from tests.deployment.rehearsal_queues import EVENT_TYPES, Receiver, await_webhooks, check_other_queues
from tests.deployment.rehearsal_redrive import check_redrive
from tests.deployment.rehearsal_responses import check_gateway_responses
from tests.deployment.rehearsal_verify import BREAKS, check_failures


def main() -> None:
    """Run the rehearsal. At the first failure, print a message and exit with status 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--break", dest="broken", choices=BREAKS, help="break this part on purpose")
    parser.add_argument("--keep", action="store_true", help="keep the directory that contains the logs")
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="cams-rehearsal-"))
    started = time.monotonic()
    try:
        rehearse(directory, arguments.broken)
    except Failed as reason:
        sys.exit(f"\nThe rehearsal failed after {time.monotonic() - started:.1f} s: {reason}")
    finally:
        if arguments.keep:
            click.echo(f"The logs are in {directory}.")
        else:
            shutil.rmtree(directory, ignore_errors=True)
    click.echo(f"\nThe rehearsal took {time.monotonic() - started:.1f} s.")


def rehearse(directory: Path, broken: str | None = None) -> None:
    """Run all steps in `directory`, after breaking the part `broken`. Raise Failed at the first failure."""
    with ExitStack() as stack:
        with _step("wheels"):
            _download_wheels()
        with _step("empty cloud"):
            variables = {"CAMS_WEBHOOK_ALLOW_PRIVATE": "1", "CAMS_CORS_ORIGIN": ORIGIN}
            settings = {**_LIMITS, "environment_variables": variables}
            here = stack.enter_context(cloud.empty(directory, settings))
            second = clones.copy(here.project, directory / "second")
            clones.only_chalice(directory / "chalice")
        with _step("half a stage"):
            _deploy_half(here)
        if broken:
            BREAKS[broken](here.project)
        with _step("a missing permission"):
            deployer.check_missing_permission(here)
        deployer.become(here)
        if not broken:
            with _step("killed deployments") as note:
                note(f"{rehearsal_kills.deploy_with_kills(here, (here.project, second))} kills")
        with _step("deploy"):
            address = _deploy(here, rehearsal_updates.NEW_STAGE if broken else rehearsal_updates.UNCHANGED)
        with _step("account"):
            _check_functions(here)
            rehearsal_kills.check_account(here)
        if not broken and (changes := clones.changes(here.project)):
            raise Failed(f"The deployment changed files of the clone:\n{changes}")
        with _step("verify"):
            check_failures(here)
        with _step("workspace"):
            api = Gateway(address, _create_workspace(here)["workspace_key"])
        with _step("operations") as note:
            receiver = Receiver()
            webhook = {"url": receiver.url, "events": sorted(EVENT_TYPES - {"webhook_test"})}
            endpoint = api.call("POST", "/v3/webhooks", {"webhook": webhook})["data"]
            api.call("POST", f"/v3/webhooks/{endpoint['id']}/test")
            note(f"{call_every_operation(api)} calls")
        with _step("gateway responses") as note:
            note(f"{check_gateway_responses(here, api)} cases")
        with _step("domain"):
            check_domain(here, api)
        with _step("limits"):
            _check_limits(here)
        with _step("monitoring") as note:
            note(f"{check_monitoring(here)} alarms")
        with _step("webhooks") as note:
            note(f"{await_webhooks(receiver)} received")
        with _step("other queues"):
            check_other_queues(here, receiver)
        with _step("redrive") as note:
            note(check_redrive(here, api, receiver))
        with _step("deploy again"):
            before, here = _mappings(here), replace(here, project=second)
            upgraded.release_next_layout(here.project)
            cloud.forget_settings(here.project)
            if _deploy(here, rehearsal_updates.NEW_VERSION) != address:
                raise Failed("The second deployment changed the URL of the API.")
            if _mappings(here) != before:
                raise Failed("The second deployment replaced or changed event source mappings.")
            api.call("GET", "/v3/agents")
            check_gateway_responses(here, api)
            _check_limits(here)
            upgraded.check_written(here, NAME, layouts.CURRENT)
        with _step("adopt"):
            kept = read_kept(here, api)
            adopt_deleted_stack(here)
        with _step("switch layout"):
            if _deploy(here, rehearsal_updates.NEW_SETTINGS) != address or read_kept(here, api) != kept:
                raise Failed("The deployment after an adoption has another URL, other keys or other records.")
            upgraded.check_written(here, NAME, layouts.CURRENT + 1)
            api.call("GET", "/v3/agents")
            upgraded.check_refusal(here, STAGE)
        with _step("restore") as note:
            note(f"{_restore(here, api, receiver)} records")
        if present():
            with _step("no extensions") as note:
                note(f"{disable(here, api)} functions")
            with _step("all extensions") as note:
                note(f"{enable(here, api)} functions")
        with _step("destroy"):
            _destroy(here)
        with _step("upgrade") as note:
            note(rehearsal_upgrade.upgrade(here, directory, settings))


def _download_wheels() -> None:
    """Download the wheels for Lambda's platform unless they are cached. Only this step uses the network."""
    try:
        for _ in wheels.unpack_files(extension_parts.requirements(), wheels.LAMBDA):
            pass
    except wheels.BuildError as error:
        raise Failed(f"{error} Check that pip can reach its package index.") from error


def _deploy(here: cloud.Cloud, figures: str) -> str:
    """Run `chalice deploy`, which must print these figures; return the API's URL in the emulator."""
    printed = rehearsal_kills.chalice(here, here.project, "deploy", "--stage", STAGE)
    _print_steps(printed)
    rehearsal_updates.check_updates(here, printed, figures)
    return _address(here, STAGE)


def _print_steps(printed: str) -> None:
    click.echo("\n".join(f"    {line}" for line in printed.partition("\n\n")[0].splitlines()))


def _address(here: cloud.Cloud, stage: str) -> str:
    resources = json.loads((here.project / ".chalice" / "deployed" / f"{stage}.json").read_text())["resources"]
    (api_id,) = {one["rest_api_id"] for one in resources if one["resource_type"] == "rest_api"}
    return f"http://127.0.0.1:{here.port}/_aws/execute-api/{api_id}/{stage}"


def _deploy_half(here: cloud.Cloud) -> None:
    """Run Chalice alone, as an older version would, without the guard and with a different function."""
    functions, requirements = here.project / "chalicelib/webhooks/functions.py", here.project / "requirements.txt"
    originals = {path: path.read_text() for path in (functions, requirements)}
    replace_text(functions, '"fan_out_agents")', '"fan_out_retired")')
    requirements.write_text("")
    code = "import sys; from chalice.cli import main; sys.exit(main())"
    ran = here.run("-c", code, "deploy", "--stage", STAGE, CAMS_DEPLOYER="1")
    for path, text in originals.items():
        path.write_text(text)
    roles, functions_left = _names(here)
    if not ran.returncode or (roles, functions_left) != ({NAME}, {f"{NAME}-fan_out_retired"}):
        raise Failed(f"Expected half a stage, not {roles | functions_left}:\n{ran.stdout}{ran.stderr}")


def _check_functions(here: cloud.Cloud) -> None:
    """Check that the account has exactly the application's functions and roles."""
    roles, functions = _names(here)
    if functions != {f"{NAME}-check", *(one.deployed_name(NAME) for one in declared_functions())}:
        raise Failed(f"The account's functions differ from the application's:  {functions}")
    of_check = {one for one in roles if one.startswith(f"{NAME}-CheckRole-")}
    if len(of_check) != 1 or roles - of_check != {f"{NAME}-{one.name}" for one in declared_functions()}:
        raise Failed(f"The account's roles differ from the application's:  {roles}")


def _names(here: cloud.Cloud) -> tuple[set[str], set[str]]:
    """Return the names of all roles and functions in the account."""
    roles = here.sdk("iam").list_roles()["Roles"]
    functions = here.sdk("lambda").list_functions()["Functions"]
    return {one["RoleName"] for one in roles}, {one["FunctionName"] for one in functions}


def _create_workspace(here: cloud.Cloud) -> dict[str, str]:
    variables = here.sdk("lambda").get_function_configuration(FunctionName=NAME)["Environment"]["Variables"]
    printed = run(here, "-m", "infra.cams", "workspace", "create", "--name", "Rehearsal", "--json", **variables)
    created: dict[str, str] = json.loads(printed)
    return created


# The operator's settings for the stage, because the emulator's account may be too small for the defaults.
_LIMITS: dict[str, Any] = {
    "throttle": {"rate": 500, "burst": 200},
    "alarms_email": EMAIL,
    "lambda_functions": {"deliver": {"reserved_concurrency": 5}, "deliver_slow": {"reserved_concurrency": 2}},
}


def _check_limits(here: cloud.Cloud) -> None:
    """Check the throttle and the reserved concurrency."""
    (api,) = here.sdk("apigateway").get_rest_apis()["items"]
    settings = here.sdk("apigateway").get_stage(restApiId=api["id"], stageName=STAGE)["methodSettings"]["*/*"]
    if {name: settings[f"throttling{name.title()}Limit"] for name in _LIMITS["throttle"]} != _LIMITS["throttle"]:
        raise Failed(f"The stage has a different throttle: {settings}")
    for name, wanted in _LIMITS["lambda_functions"].items():
        found = here.sdk("lambda").get_function_concurrency(FunctionName=f"{NAME}-{name}")
        if found.get("ReservedConcurrentExecutions") != wanted["reserved_concurrency"]:
            raise Failed(f"The reserved concurrency of {name} is not {wanted}: {found}")


def _mappings(here: cloud.Cloud) -> dict[str, Any]:
    """Return every event source mapping with its settings."""
    found = here.sdk("lambda").list_event_source_mappings()["EventSourceMappings"]
    return {one["UUID"]: {key: value for key, value in one.items() if key not in _VOLATILE} for one in found}


_VOLATILE = {"LastModified", "LastProcessingResult", "StateTransitionReason"}


def _restore(here: cloud.Cloud, api: Gateway, receiver: Receiver) -> int:
    """Finish an interrupted `make restore`, compare and use both stages, and destroy the restored stage.

    Return the number of restored records.
    """
    for path, body in restored.RECORDS.items():
        api.call("POST", path, body, {"Idempotency-Key": path.replace("/", "-")})  # stores responses
    keys = _enabled_keys(here)
    try:
        before = restored.read_settled_tables(here, NAME)
        moment = restored.begin(here, NAME)
        restore = ["restore", "--stage", STAGE, "--at", moment, "--to", restored.STAGE]
        printed = run(here, "-m", "infra.deploy", *restore)
        _print_steps(printed)
        rehearsal_updates.check_updates(here, printed, rehearsal_updates.NEW_STAGE)
        found = restored.read_tables(here, restored.NAME)
        records = restored.check_records(before, found, restored.read_tables(here, NAME))
        restored.check_settings(here, NAME)
    except AssertionError as error:
        raise Failed(str(error)) from error
    copy = Gateway(_address(here, restored.STAGE), api.token)
    for stage in (api, copy):
        received = len(receiver.received)
        stage.call("POST", "/v2/agents/restored", {"title": "Created after the restore"})
        until(lambda before=received: len(receiver.received) > before, lambda: "no webhook arrived after the restore")  # type: ignore[misc]
    run(here, "-m", "infra.deploy", "destroy", "--stage", restored.STAGE, "--yes", "--delete-data")
    if _enabled_keys(here) != keys:
        raise Failed("Destroying the restored stage deleted a key of the first stage, or kept its own key.")
    api.call("GET", "/v3/agents")
    return records


def _enabled_keys(here: cloud.Cloud) -> set[str]:
    """Return the ids of the account's keys that are not pending deletion."""
    kms = here.sdk("kms")
    described = [kms.describe_key(KeyId=one["KeyId"])["KeyMetadata"] for one in kms.list_keys()["Keys"]]
    return {one["KeyId"] for one in described if one["KeyState"] == "Enabled"}


def _destroy(here: cloud.Cloud) -> None:
    run(here, "-m", "infra.deploy", "destroy", "--stage", STAGE, "--yes")
    tables = here.sdk("dynamodb").list_tables()["TableNames"]
    if f"{NAME}-agents" not in tables:
        raise Failed("`destroy` without --delete-data deleted the data.")
    run(here, "-m", "infra.deploy", "destroy", "--stage", STAGE, "--yes", "--delete-data")
    remaining = {
        "functions": here.sdk("lambda").list_functions()["Functions"],
        "event source mappings": here.sdk("lambda").list_event_source_mappings()["EventSourceMappings"],
        "APIs": here.sdk("apigateway").get_rest_apis()["items"],
        "roles": here.sdk("iam").list_roles()["Roles"],
        "tables": here.sdk("dynamodb").list_tables()["TableNames"],
        "queues": here.sdk("sqs").list_queues().get("QueueUrls", []),
        "log groups": here.sdk("logs").describe_log_groups()["logGroups"],
        "buckets": here.sdk("s3").list_buckets()["Buckets"],
        "alarms": here.sdk("cloudwatch").describe_alarms()["MetricAlarms"],
    }
    for kind, found in remaining.items():
        if found:
            raise Failed(f"`destroy` left {kind}: {found}")


@contextmanager
def _step(what: str) -> Iterator[Callable[[str], None]]:
    started, notes = time.monotonic(), list[str]()
    yield notes.append
    click.echo(f"  {what:<18} {time.monotonic() - started:5.1f} s  {' '.join(notes)}")


if __name__ == "__main__":
    main()
