"""The help of every command."""

from collections.abc import Iterator

import click
import pytest

from infra.operator.commands import cams
from tests.selection import one_of_each


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


EVERY = dict(commands(cams))


@one_of_each(lambda path: len(path))
@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_has_a_one_sentence_summary(path: tuple[str, ...]) -> None:
    sentence = EVERY[path].get_short_help_str(limit=60)
    assert sentence.endswith(".")
    assert "..." not in sentence


@one_of_each(lambda path: len(path))
@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_option_has_a_help_text(path: tuple[str, ...]) -> None:
    options = [one for one in EVERY[path].params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []


def test_every_command_that_prints_data_can_print_json() -> None:
    without = {
        " ".join(path)
        for path, one in EVERY.items()
        if not isinstance(one, click.Group) and not any("--json" in option.opts for option in one.params)
    }
    assert without == {
        "key revoke", "token revoke", "agent-key revoke", "data-key rotate", "leads index", "tallies recount",
        "workspace suspend", "workspace resume", "workspace export", "workspace import", "conversations export",
            "redrive-streams",
    }  # fmt: skip
