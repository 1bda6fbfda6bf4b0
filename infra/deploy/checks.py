"""Checks that run before a deployment changes anything. Each error message names the remedy."""

from __future__ import annotations

import ipaddress
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from socket import inet_aton, inet_ntoa
from typing import Any
from urllib.parse import urlsplit

import click
from boto3.session import Session
from botocore.exceptions import BotoCoreError, ClientError
from botocore.utils import is_valid_uri

from infra import extension_parts
from infra.deploy import (
    chalice_state,
    extensions,
    limits,
    operator_email,
    policies,
    runtimes,
    sdk_errors,
    setting_types,
    stack,
    stage,
)
from infra.deploy.function import APPLICATION
from infra.deploy.functions import declared_functions
from infra.package import wheels
from infra.tables import declared, list_names, resolve

Sdk = Callable[[str], Any]

_STAGE_NAME = re.compile(r"[a-z][a-z0-9]{0,15}")
# The lowest and highest Python versions that Chalice runs on.
_PYTHON_VERSIONS = ((3, 10), (3, 14))


class NotReady(click.ClickException):
    """A check failed, and the stage has not been changed."""


def validate_stage_name(_: click.Context, __: click.Parameter, value: str) -> str:
    """Return the value of `--stage`. Resource names contain the value; `local` is reserved for local runs.

    Raise NotReady, because BadParameter would print the usage of `infra.deploy` instead of `chalice deploy`.
    """
    if not _STAGE_NAME.fullmatch(value) or value == "local":
        raise NotReady(
            f"The stage {value!r} has an invalid name: use 1 to 16 of a-z and 0-9, a letter first, no `local`."
        )
    return value


def run_all(session: Session, name: str, stage_name: str) -> None:
    """Run all checks, with AWS calls last. `name` is the stack name. Raise NotReady if a check fails."""
    _check_python()
    _check_packages()
    require_cloud(session)
    _check_limits(stage.without_null(stage.read(stage_name)), stage_name)
    _check_account(session, stage_name)
    require_own_region(session, name)
    _check_stack(session.client, name)


def check_settings(settings: stage.Settings, stage_name: str) -> None:
    """Raise NotReady for a setting that AWS or an extension of the stage would reject."""
    _check_limits(settings, stage_name)
    modules = extension_parts.modules("settings", stage.extensions(settings))
    for problem in (problem for module in modules for problem in module.problems(settings, stage_name)):
        raise NotReady(problem)


def _check_limits(settings: stage.Settings, stage_name: str) -> None:
    modules = (setting_types, extensions, limits, operator_email, runtimes)
    for problem in (one for module in modules for one in module.problems(settings, stage_name)):
        raise NotReady(problem)
    architecture = stage.architecture(settings)
    if architecture not in wheels.PLATFORMS:
        known = " or ".join(sorted(wheels.PLATFORMS))
        raise NotReady(f"lambda_architecture of stage {stage_name} is {architecture!r}: use {known}.")


def require_cloud(session: Session) -> None:
    """Raise NotReady unless the session has a region and a valid endpoint that is not on this machine.

    A shell that has sourced the local run's environment has an endpoint on this machine. The deployment rehearsal sets
    CAMS_DEPLOY_TO_EMULATOR because it deploys to such an endpoint on purpose.
    """
    require_region(session)
    is_rehearsal = os.environ.get("CAMS_DEPLOY_TO_EMULATOR") == "1"
    for name, value in os.environ.items():
        if not name.startswith("AWS_ENDPOINT_URL") or not value:
            continue
        if not _is_url(value):
            raise NotReady(f"{name} is not a valid URL: correct it, or unset it.")
        if not is_rehearsal and _is_loopback(urlsplit(value).hostname or ""):
            raise NotReady(
                f"{name} points at this machine, as in the environment of `make run`: use another shell, or unset it."
            )


def _is_url(text: str) -> bool:
    """Return whether the SDK accepts the text as an endpoint URL."""
    try:
        return bool(is_valid_uri(text))
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    host = host.removesuffix(".")
    with suppress(OSError):
        host = inet_ntoa(inet_aton(host))  # accepts the same notations as C libraries, such as 127.1
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def require_region(session: Session) -> str:
    """Return the session's region. Raise NotReady if no region is set, because there is no default."""
    if not session.region_name:
        raise NotReady(sdk_errors.NO_REGION)
    return str(session.region_name)


def require_own_region(session: Session, name: str) -> None:
    """Raise NotReady if another region uses the stage's roles, because role names are unique per account."""
    region, iam = require_region(session), session.client("iam")
    for role in (f"{name}-{function.name}" for function in declared_functions()):
        others = {arn.split(":", 5)[3] for arn in _policy_resources(iam, role)} - {region, "", "*"}
        if others:
            raise NotReady(
                f"{name} is deployed in region {', '.join(sorted(others))}, and its role {role} exists once for the "
                f"account: use that region, or choose another stage name for {region}."
            )


def _policy_resources(iam: Any, role: str) -> list[str]:
    """Return the ARNs in a role's policy."""
    resources_of_statements = [statement["Resource"] for statement in policies.deployed_statements(iam, role)]
    listed = (one if isinstance(one, list) else [one] for one in resources_of_statements)
    return [resource for resources in listed for resource in resources if resource.startswith("arn:")]


def require_restorable(cloudformation: Any, source: str, target: str) -> None:
    """Raise NotReady if `source` is missing, or if `target` exists and was not left by an interrupted restore."""
    if stack.status(cloudformation, source) is None:
        raise NotReady(f"There is no stack {source} in this account and region.")
    state = stack.status(cloudformation, target)
    if reason := stack.blocking_reason(state, target):
        raise NotReady(reason)
    if state not in (None, "IMPORT_COMPLETE", *stack.NEVER_CREATED):
        raise NotReady(f"The stack {target} exists: choose another TO, or finish its restore with `chalice deploy`.")


def _check_python() -> None:
    lowest, highest = _PYTHON_VERSIONS
    if not lowest <= sys.version_info[:2] <= highest:
        supported = "{}.{} to {}.{}".format(*lowest, *highest)
        raise NotReady(f"A deployment runs on Python {supported}, not {sys.version.split()[0]}: run `make install`.")


def _check_packages() -> None:
    """Raise NotReady unless the installed packages are the tested versions of the requirements files."""
    for line in [line for path in extension_parts.requirements() for line in path.read_text("utf-8").splitlines()]:
        package, _, version = line.partition("#")[0].strip().partition("==")
        if not package:
            continue
        try:
            installed = metadata.version(package)
        except metadata.PackageNotFoundError:
            installed = "missing"
        if not version or installed != version:
            raise NotReady(f"CAMS requires {line.strip()}, but {package} is {installed} here: run `make install`.")


def _check_account(session: Session, stage_name: str) -> None:
    region = require_region(session)
    try:
        account = session.client("sts").get_caller_identity()["Account"]
    except (BotoCoreError, ClientError) as error:
        raise NotReady(sdk_errors.sentence(error)) from error
    known = chalice_state.place(stage_name)
    if known and known != (region, account):
        raise NotReady(
            f"Stage {stage_name} is in account {known[1]}, region {known[0]}, but the credentials are for account "
            f"{account}, region {region}: use the stage's credentials, or choose another stage. If both accounts have "
            f"such a stage, delete .chalice/deployed/{stage_name}.json first."
        )


def _check_stack(sdk: Sdk, name: str) -> None:
    status = stack.status(sdk("cloudformation"), name)
    if reason := stack.blocking_reason(status, name):
        raise NotReady(reason)
    if status in (None, *stack.NEVER_CREATED) and (orphans := _existing_tables(sdk("dynamodb"), name)):
        raise NotReady(
            f"Tables of {name} exist without a stack {name}. If `make restore` was interrupted, repeat it; "
            f"otherwise, run `make adopt STAGE={name.removeprefix(f'{APPLICATION}-')}`, or delete {', '.join(orphans)}."
        )


def _existing_tables(dynamodb: Any, name: str) -> list[str]:
    """Return the tables of the template that exist in the account."""
    return sorted(
        {resolve(table["TableName"], name) for table in declared("AWS::DynamoDB::Table")} & list_names(dynamodb)
    )


def stack_name(stage_name: str) -> str:
    """Return the stack name, such as `cams-prod`. It is also the prefix of the stage's resource names."""
    return f"{APPLICATION}-{stage_name}"
