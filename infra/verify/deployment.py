"""The deployed stage that the checks read, and the notes that they report."""

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
    """A note from a check. Every other text from a check is a problem."""


class Deployment(NamedTuple):
    """A deployed stage. `name` is the stack name, such as `cams-prod`; `address` is the API's URL."""

    sdk: Sdk
    stage: str
    name: str
    outputs: Outputs
    api_id: str
    address: str
    extensions: tuple[str, ...]

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions of core and the stage's extensions."""
        return declared_functions(self.extensions)


def locate(sdk: Sdk, stage: str, address: str | None) -> Deployment:
    """Find the stage in the account.

    `address` replaces the API's URL; in `address`, `{api}` and `{stage}` are placeholders for the API id and its stage.
    Raise ClickException if the stack or the API does not exist.
    """
    sdk = lru_cache(sdk)
    name = checks.stack_name(stage)
    outputs = stack.outputs(sdk("cloudformation"), name)
    extensions = stack.extensions(sdk("cloudformation"), name)
    api = chalice_state.locate_api(sdk, stage, name)
    if not outputs or api is None:
        raise click.ClickException(f"Stage {stage} is not deployed in this account and region: run `chalice deploy`.")
    with suppress(click.ClickException):  # the table check reports missing streams
        outputs = streams.current_streams(sdk("dynamodb"), name, outputs, extensions)
    url = address.replace("{api}", api["rest_api_id"]).replace("{stage}", stage) if address else api["rest_api_url"]
    return Deployment(sdk, stage, name, outputs, api["rest_api_id"], url.rstrip("/"), extensions)
