"""Step: a version that adds a stored layout is deployed in two steps.

All functions in this module raise AssertionError if a check fails.
"""

from pathlib import Path

from chalicelib.storage import layouts
from infra.deploy.functions import declared_functions
from infra.local import children
from tests.deployment import cloud

_LAYOUTS = Path("chalicelib", "storage", "layouts.py")
_VERSION = "9.0.0"


def release_next_layout(project: Path) -> None:
    """Turn the project into a version with an additional layout."""
    text = (children.ROOT / _LAYOUTS).read_text()
    last = f'{layouts.CURRENT}: "{layouts.READABLE[layouts.CURRENT]}"'
    assert last in text
    (project / _LAYOUTS).write_text(text.replace(last, f'{last}, {layouts.CURRENT + 1}: "{_VERSION}"'))


def check_written(here: cloud.Cloud, name: str, layout: int) -> None:
    """Check that every function in the deployed stage writes this layout."""
    for function in (one.deployed_name(name) for one in declared_functions()):
        found = here.sdk("lambda").get_function_configuration(FunctionName=function)["Environment"]["Variables"]
        assert found["CAMS_STORED_LAYOUT"] == str(layout), f"{function} writes layout {found['CAMS_STORED_LAYOUT']}."


def check_refusal(here: cloud.Cloud, stage: str) -> None:
    """Check that a deployment rejects the earlier version, because that version cannot read the records."""
    (here.project / _LAYOUTS).write_text((children.ROOT / _LAYOUTS).read_text())
    done = here.run("-m", "infra.deploy", "deploy", "--stage", stage)
    assert f"deploy version {_VERSION} or a later one" in done.stderr, f"An earlier version was deployed: {done.stdout}"
    release_next_layout(here.project)
