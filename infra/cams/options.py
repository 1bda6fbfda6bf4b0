"""What the commands take: options that several of them have, and the rules for what is typed."""

import re
from typing import Any

import click

from chalicelib.workspaces.models import YEAR

_UNITS = {"": 1, "s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}
_DURATION = re.compile(r"([0-9]{1,9})([smhd]?)")
_MOST_CHARACTERS = 200


class Duration(click.ParamType[int | None]):
    """Seconds, from `3600`, `30m`, `24h` or `7d`; a year at most. None, from `never`, where that is allowed."""

    name = "duration"

    def __init__(self, least: int = 1, *, never: bool = False) -> None:
        self._least = least
        self._never = never

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        """The seconds that `value` stands for."""
        if value == "never" and self._never:
            return None
        match = _DURATION.fullmatch(value)
        seconds = int(match[1]) * _UNITS[match[2]] if match else -1
        if not self._least <= seconds <= YEAR:
            others = " or never" if self._never else ""
            self.fail(f"must be seconds, or like 30m, 24h, 7d{others}; from {self._least}s to 365d.", param, ctx)
        return seconds


def text(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Callback of a name or an id: an unset variable of a shell is noticed here, and what no terminal can show."""
    if not value.strip() or len(value) > _MOST_CHARACTERS or not value.isprintable():
        raise click.BadParameter(f"must be 1 to {_MOST_CHARACTERS} printable characters.")
    return value


name = click.option("--name", required=True, callback=text, help="What people know it by.")
workspace = click.option(
    "--workspace", "workspace_id", required=True, metavar="WORKSPACE_ID", callback=text, help="Whose it is."
)
overlap = click.option(
    "--overlap", type=Duration(least=0), default="1d", show_default=True, help="How long the old one goes on."
)
yes = click.option("--yes", is_flag=True, help="Do not ask.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
