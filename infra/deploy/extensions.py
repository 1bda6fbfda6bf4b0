"""The stage setting `extensions`, and the price of an extension.

    "extensions": ["console", "history"]

Without this setting, a stage has all extensions that are present in `chalicelib/extensions`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from chalicelib.extensions import present
from infra.deploy import idle_price
from infra.deploy.stage import Settings


def problems(settings: Settings, stage_name: str) -> Iterator[str]:
    """Yield an error for each configured extension that is not present. `setting_types` checks the type."""
    for name in settings.get("extensions", ()):
        if name not in present():
            known = ", ".join(present()) or "an empty list, because there is none"
            yield f"extensions of stage {stage_name} contains {name!r}, which does not exist: use {known}."


def describe_disabled(extensions: Collection[str]) -> list[str]:
    """Return a line for each disabled extension, with the monthly price that it would add to an idle stage."""
    base = idle_price.of_stage(extensions).dollars
    return [
        f"extension {name} is off: if enabled, it costs "
        f"{idle_price.of_stage([*extensions, name]).dollars - base:.2f} dollars a month plus usage"
        for name in present()
        if name not in extensions
    ]
