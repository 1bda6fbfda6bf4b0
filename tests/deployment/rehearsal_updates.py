"""Step: a deployment prints how many functions it created and updated, and pins their Python version."""

import re

from infra.deploy.functions import declared_functions
from tests.deployment import cloud
from tests.deployment.rehearsal import NAME, Failed

_UPLOADED, _COUNT = r"uploaded (9|1\d)\.\d MB; ", len(declared_functions())
UNCHANGED = "no function has changed"
NEW_STAGE = rf"{_UPLOADED}created {_COUNT} functions"
NEW_VERSION = rf"{_UPLOADED}updated {_COUNT} functions in \d+\.\d s; versions were mixed for \d+\.\d s"
NEW_SETTINGS = rf"updated {_COUNT} functions in \d+\.\d s"


def check_updates(here: cloud.Cloud, printed: str, figures: str) -> None:
    """Raise Failed unless a deployment has printed these figures and pinned the Python version."""
    if not re.search(rf"^ *{figures}$", printed, re.MULTILINE):
        raise Failed(f"The deployment did not print {figures!r}:\n{printed}")
    listed = {one["FunctionName"]: one["Runtime"] for one in here.sdk("lambda").list_functions()["Functions"]}
    runtimes = {listed[one.deployed_name(NAME)] for one in declared_functions()}
    if runtimes != {f"python{cloud.PYTHON_VERSION}"}:
        raise Failed(f"The functions run on {runtimes}.")
