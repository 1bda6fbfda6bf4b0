"""What a deployment needs, checked before anything is changed: each failure is one sentence that says what to do."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any

import click
from boto3.session import Session
from botocore.exceptions import BotoCoreError, ClientError

from infra.deploy import stack, stage
from infra.deploy.functions import APPLICATION
from infra.tables import declared

Sdk = Callable[[str], Any]

_STAGE = re.compile(r"[a-z][a-z0-9]{0,15}")
# What both Chalice and Lambda know.
_PYTHONS = ((3, 10), (3, 14))


class NotReady(click.ClickException):
    """Something is missing or in the way."""


def stage_name(_: click.Context, __: click.Parameter, value: str) -> str:
    """Callback of the option: names are made of it, and `local` is the run on this machine."""
    if not _STAGE.fullmatch(value) or value == "local":
        raise click.BadParameter("must be 1 to 16 of a-z and 0-9, a letter first, and not `local`.")
    return value


def everything(session: Session, name: str, chosen: str) -> None:
    """All checks, those that ask the cloud last."""
    _python()
    _packages()
    _identity(session, chosen)
    _nothing_in_the_way(session.client, name)


def region(session: Session) -> str:
    """The region, which has no default."""
    if not session.region_name:
        raise NotReady("No region: set AWS_DEFAULT_REGION, or AWS_PROFILE to a profile that has one.")
    return str(session.region_name)


def _python() -> None:
    lowest, highest = _PYTHONS
    if not lowest <= sys.version_info[:2] <= highest:
        known = "{}.{} to {}.{}".format(*lowest, *highest)
        raise NotReady(f"The functions get the Python that deploys them: use {known}, not {sys.version.split()[0]}.")


def _packages() -> None:
    """What ships was tested in the versions of requirements.txt: no others, and none missing."""
    for line in (stage.ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines():
        package, _, version = line.partition("#")[0].strip().partition("==")
        if not package:
            continue
        try:
            installed = metadata.version(package)
        except metadata.PackageNotFoundError:
            installed = "missing"
        if not version or installed != version:
            raise NotReady(f"requirements.txt asks for {line.strip()}, and it is {installed} here: `make install`.")


def _identity(session: Session, chosen: str) -> None:
    place = region(session)
    try:
        account = session.client("sts").get_caller_identity()["Account"]
    except (BotoCoreError, ClientError) as error:
        raise NotReady(f"No valid credentials: set AWS_PROFILE, or log in. ({' '.join(str(error).split())})") from error
    variables = stage.recorded(chosen).get("environment_variables", {})
    known = variables.get("CAMS_STREAM_AGENTS", "").split(":")[3:5]
    if known and known != [place, account]:
        raise NotReady(
            f"Stage {chosen} is in account {known[1]}, region {known[0]}, and these credentials are for account "
            f"{account}, region {place}: use those of the stage, or another stage."
        )


def _nothing_in_the_way(sdk: Sdk, name: str) -> None:
    state = stack.status(sdk("cloudformation"), name)
    if sentence := stack.why_not(state, name):
        raise NotReady(sentence)
    if state is None and (orphans := _tables(sdk("dynamodb"), name)):
        raise NotReady(
            f"There are tables of {name} but no stack {name}: import them into one (docs/operate.md), or delete "
            f"{', '.join(orphans)}."
        )


def _tables(dynamodb: Any, name: str) -> list[str]:
    """The tables of the template that are there."""
    wanted = {one["TableName"]["Fn::Sub"].replace("${Name}", name) for one in declared("AWS::DynamoDB::Table")}
    pages = dynamodb.get_paginator("list_tables").paginate()
    return sorted(wanted.intersection(*[[table for page in pages for table in page["TableNames"]]]))


def name_of(chosen: str) -> str:
    """What the names of a stage begin with."""
    return f"{APPLICATION}-{chosen}"
