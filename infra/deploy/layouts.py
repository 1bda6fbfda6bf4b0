"""The stored layout that functions write: the newest layout that this version and the deployed functions can read.

While a deployment replaces the functions, old and new functions run side by side. Each function's environment lists the
layouts that it reads. A stack parameter records the last written layout and is kept with the tables.
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
# The layout that all functions used before deployments recorded layouts.
_FIRST = "2"


def choose(sdk: Callable[[str], Any], name: str, stage: str) -> int:
    """Return the layout to write. Raise NotReady if this version cannot read the stage's records."""
    deployed = list(_deployed(sdk("lambda"), name))
    parameters = stack.parameters_of(sdk("cloudformation"), name, _PARAMETERS)
    written = int(parameters.get("StoredLayout") or (_FIRST if deployed else CURRENT))
    if written not in READABLE:
        first = parameters["StoredLayoutVersion"] if written > CURRENT else READABLE[min(READABLE)]
        known = " and ".join(map(str, READABLE))
        raise NotReady(
            f"Stage {stage} has records in layout {written}, but version {__version__} reads only {known}: deploy "
            f"version {first} {'or a later one instead' if written > CURRENT else 'first'}."
        )
    # The layout is never older than `written`: otherwise, a deployment would accept an earlier version that cannot read
    # the records.
    return max({written}.union(set(READABLE).intersection(*deployed)))


def parameters(layout: int) -> dict[str, str]:
    """Return the stack parameters that record the layout."""
    return dict(zip(_PARAMETERS, (str(layout), READABLE[layout]), strict=True))


def recorded(layout: int) -> dict[str, str]:
    """Return the stack parameters for a layout that functions write. Raise NotReady if this version cannot read it."""
    if layout not in READABLE:
        raise NotReady(
            f"The functions write layout {layout}, which version {__version__} does not read: use the deployed version."
        )
    return parameters(layout)


def variables(layout: int) -> dict[str, str]:
    """Return the functions' environment variables: the layout that they write, and the layouts that they read."""
    return {VARIABLE: str(layout), READABLE_VARIABLE: ",".join(map(str, READABLE))}


def next_step(layout: int, stage: str) -> str:
    """Return a notice for the operator if the stage still writes an older layout, otherwise an empty string."""
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
