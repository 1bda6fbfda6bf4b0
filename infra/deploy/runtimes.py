"""The Python versions that the functions may run on, and the dates on which Lambda ends support for them.

The dates come from AWS's page "Building Lambda functions with Python"
(https://docs.aws.amazon.com/lambda/latest/dg/lambda-python.html). A test compares the dates with those in cfn-lint, and
fails 90 days before each date. When the test fails, remove the version here and choose a later default for new stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple


class Runtime(NamedTuple):
    """The last days on which Lambda patches a runtime, and creates and updates functions with it."""

    deprecated: date
    create_blocked: date
    update_blocked: date


RUNTIMES = {
    "3.11": Runtime(date(2027, 6, 30), date(2027, 7, 31), date(2027, 8, 31)),
    "3.12": Runtime(date(2028, 10, 31), date(2028, 11, 30), date(2029, 1, 10)),
    "3.13": Runtime(date(2029, 6, 30), date(2029, 7, 31), date(2029, 8, 31)),
    "3.14": Runtime(date(2029, 6, 30), date(2029, 7, 31), date(2029, 8, 31)),
}
# No version is supported longer. Support for 3.14 ends on the same day, and fewer machines have Python 3.14 to
# compile the package.
DEFAULT = "3.13"
_DAYS_TO_WARN = 365


def version(settings: Mapping[str, Any]) -> str:
    """Return the functions' Python version."""
    return str(settings.get("python_version") or DEFAULT)


def problems(settings: Mapping[str, Any], stage: str) -> Iterator[str]:
    """Yield an error if Lambda or this version of CAMS does not support the stage's Python version."""
    if version(settings) not in RUNTIMES:
        known = ", ".join(RUNTIMES)
        yield (
            f"The functions of stage {stage} cannot run on Python {version(settings)}: set its python_version in "
            f".chalice/config.json to one of {known}."
        )


def warning(settings: Mapping[str, Any], stage: str, today: date) -> str:
    """Return a warning if support for the stage's Python version ends within a year, otherwise an empty string."""
    chosen = version(settings)
    end = RUNTIMES[chosen]
    if (end.deprecated - today).days > _DAYS_TO_WARN:
        return ""
    return (
        f"Lambda stops patching Python {chosen} on {end.deprecated}, and updating its functions on "
        f'{end.update_blocked}: set "python_version": "{DEFAULT}" of stage {stage} in .chalice/config.json, and deploy.'
    )
