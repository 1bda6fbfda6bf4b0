"""The stored layout that the functions write: the newest that both this version and the deployed functions read.

While a deployment replaces the functions, old and new ones run side by side. The environment of each function lists the
layouts that it reads. A stack parameter records the layout that was last written; it remains with the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from chalicelib import __version__
from chalicelib.storage.layouts import CURRENT, READABLE
from infra.deploy import stack
from infra.deploy.checks import NotReady
from infra.deploy.functions import declared_functions
from infra.deploy.sdk_errors import unless_missing

VARIABLE, READABLE_VARIABLE = "CAMS_STORED_LAYOUT", "CAMS_READABLE_LAYOUTS"
_PARAMETERS = ("StoredLayout", "StoredLayoutVersion")
# Before deployments recorded layouts, every function read and wrote this one.
_FIRST = "2"


def choose(sdk: Callable[[str], Any], name: str, stage: str) -> int:
    """Return the layout to write. Raise NotReady if this version cannot read the records that the stage has written."""
    deployed = list(_deployed(sdk("lambda"), name))
    parameters = stack.parameters_of(sdk("cloudformation"), name, _PARAMETERS)
    written = int(parameters.get("StoredLayout") or (_FIRST if deployed else CURRENT))
    if written not in READABLE:
        first = parameters["StoredLayoutVersion"] if written > CURRENT else READABLE[min(READABLE)]
        known = " and ".join(map(str, READABLE))
        raise NotReady(
            f"Stage {stage} has records of layout {written}, but version {__version__} reads only {known}: deploy "
            f"version {first} {'or a later one instead' if written > CURRENT else 'first'}."
        )
    # Never less than `written`: otherwise a deployment would accept an earlier version that cannot read the records.
    return max({written}.union(set(READABLE).intersection(*deployed)))


def parameters(layout: int) -> dict[str, str]:
    """Return the parameters of the stack that record the layout."""
    return dict(zip(_PARAMETERS, (str(layout), READABLE[layout]), strict=True))


def recorded(layout: int) -> dict[str, str]:
    """Return the stack parameters for a layout that functions write. Raise NotReady if this version cannot read it."""
    if layout not in READABLE:
        raise NotReady(f"The functions write layout {layout}, which version {__version__} does not read: use theirs.")
    return parameters(layout)


def variables(layout: int) -> dict[str, str]:
    """Return the environment variables of the functions: the layout that they write, and those that they read."""
    return {VARIABLE: str(layout), READABLE_VARIABLE: ",".join(map(str, READABLE))}


def next_step(layout: int, stage: str) -> str:
    """Return a sentence for the operator if the stage still writes an older layout, otherwise an empty text."""
    if layout == CURRENT:
        return ""
    return (
        f"Stage {stage} still writes layout {layout}, which the functions before this deployment read: run "
        f"`chalice deploy --stage {stage}` again to write layout {CURRENT}."
    )


def _deployed(awslambda: Any, name: str) -> Iterator[set[int]]:
    """For each deployed function, yield the layouts that it reads."""
    for function in declared_functions():
        deployed = function.deployed_name(name)
        if configuration := unless_missing(awslambda.get_function_configuration, FunctionName=deployed):
            readable = configuration.get("Environment", {}).get("Variables", {}).get(READABLE_VARIABLE, _FIRST)
            yield set(map(int, readable.split(",")))
