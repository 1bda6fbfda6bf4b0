"""Options that several commands share, and the validation of their values."""

import re
from typing import Any

import click

from chalicelib.workspaces.models import YEAR

_UNITS = {"": 1, "s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}
_DURATION = re.compile(r"([0-9]{1,9})([smhd]?)")
_MAX_CHARACTERS = 200


class Duration(click.ParamType[int | None]):
    """A duration from `least` seconds to a year, parsed from values such as `3600`, `30m`, `24h` or `7d`.

    With `never=True`, `never` parses to None.
    """

    name = "duration"

    def __init__(self, least: int = 1, *, never: bool = False) -> None:
        self._least = least
        self._never = never

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        """Parse `value` to seconds. Fail with a usage error if it is invalid or out of range."""
        if value == "never" and self._never:
            return None
        match = _DURATION.fullmatch(value)
        seconds = int(match[1]) * _UNITS[match[2]] if match else -1
        if not self._least <= seconds <= YEAR:
            never = " or never" if self._never else ""
            self.fail(
                f"must be seconds, or a duration such as 30m, 24h or 7d{never}; from {self._least}s to 365d.",
                param,
                ctx,
            )
        return seconds


def printable_text(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Reject an empty name or id, for example from an unset shell variable, or an unprintable one. A click callback."""
    if not value.strip() or len(value) > _MAX_CHARACTERS or not value.isprintable():
        raise click.BadParameter(f"must be 1 to {_MAX_CHARACTERS} printable characters.")
    return value


def optional_text(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Check an option like `printable_text`, unless the option is omitted."""
    return None if value is None else printable_text(context, parameter, value)


name = click.option("--name", required=True, callback=printable_text, help="The display name.")
workspace = click.option(
    "--workspace", "workspace_id", required=True, metavar="WORKSPACE_ID", callback=printable_text, help="The workspace."
)
overlap = click.option(
    "--overlap", type=Duration(least=0), default="1d", show_default=True, help="How long the old secret keeps working."
)
yes = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
