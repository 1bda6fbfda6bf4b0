"""The help text of every command."""

from collections.abc import Iterator

import click

from chalicelib.extensions import has
from infra.operator.commands import cams


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


EVERY = dict(commands(cams))


def test_every_command_has_a_one_sentence_summary() -> None:
    summaries = {path: command.get_short_help_str(limit=60) for path, command in EVERY.items()}
    assert {path: text for path, text in summaries.items() if not text.endswith(".") or "..." in text} == {}


def test_every_option_has_a_help_text() -> None:
    options = [(*path, one) for path, command in EVERY.items() for one in command.params]
    assert [one for one in options if isinstance(one[-1], click.Option) and not one[-1].help] == []


def test_every_command_that_prints_data_can_print_json() -> None:
    without = {
        " ".join(path)
        for path, one in EVERY.items()
        if not isinstance(one, click.Group) and not any("--json" in option.opts for option in one.params)
    }
    assert without == {
        "key revoke", "token revoke", "agent-key revoke", "data-key rotate", "index", "tallies recount",
        "workspace suspend", "workspace resume", "workspace export", "workspace import", "redrive-streams",
        *(["conversations export"] if has("transcripts") else []),
    }  # fmt: skip
