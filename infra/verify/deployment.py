"""The deployed stage that the checks read, and the remarks that they report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import click

from infra.deploy import chalice_state, checks, stack, streams
from infra.deploy.function import Function
from infra.deploy.functions import declared_functions
from infra.deploy.policies import Outputs

Sdk = Callable[[str], Any]
NOT_BY_DEPLOYMENT = "`chalice deploy` does not repair it: docs/operate.md, Verify"
"""The remedy for a resource that was changed outside CloudFormation, which only compares templates."""


class Note(str):
    """A remark of a check. Every other text of a check is a problem."""


class Deployment(NamedTuple):
    """A deployed stage. `name` is the stack's, such as `cams-prod`; `address` is the URL of the API."""

    sdk: Sdk
    stage: str
    name: str
    outputs: Outputs
    api_id: str
    address: str
    extensions: tuple[str, ...]

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions of core and of the stage's extensions."""
        return declared_functions(self.extensions)


def locate(sdk: Sdk, stage: str, address: str | None) -> Deployment:
    """Find the stage in the account.

    `address` replaces the URL of the API; `{api}` and `{stage}` in it stand for the ids of the API and of its stage.
    Raise ClickException if the stack or the API does not exist.
    """
    sdk = lru_cache(sdk)
    name = checks.stack_name(stage)
    outputs = stack.outputs(sdk("cloudformation"), name)
    extensions = stack.extensions(sdk("cloudformation"), name)
    api = chalice_state.locate_api(sdk, stage, name)
    if not outputs or api is None:
        raise click.ClickException(f"Stage {stage} is not deployed in this account and region: run `chalice deploy`.")
    with suppress(click.ClickException):  # the check of the tables reports a missing stream
        outputs = streams.current_streams(sdk("dynamodb"), name, outputs, extensions)
    url = address.replace("{api}", api["rest_api_id"]).replace("{stage}", stage) if address else api["rest_api_url"]
    return Deployment(sdk, stage, name, outputs, api["rest_api_id"], url.rstrip("/"), extensions)
