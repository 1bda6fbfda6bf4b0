"""Helpers for the rehearsal's steps, such as the stage's names, running commands, waiting and failing."""

import time
from collections.abc import Callable
from pathlib import Path

from tests.deployment import cloud

STAGE, NAME = "rehearsal", "cams-rehearsal"
ORIGIN = "https://widgets.example"
_TIMEOUT_SECONDS = 60.0


class Failed(Exception):
    """Raised if the rehearsal fails. The message contains the reason."""


def run(here: cloud.Cloud, *arguments: str, **variables: str) -> str:
    """Run Python with these arguments in the project; return the output. Raise Failed if the command fails."""
    done = here.run(*arguments, **variables)
    if done.returncode:
        raise Failed(f"`python {' '.join(arguments)}` exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def until(holds: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    """Wait until a condition holds. After a minute, raise Failed with the text that `otherwise` returns."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise Failed(f"After {_TIMEOUT_SECONDS:.0f} s {otherwise()}.")
        time.sleep(0.05)


def replace_text(path: Path, old: str, new: str) -> None:
    """Replace a text in a project file. Raise Failed if the file does not contain the text."""
    text = path.read_text()
    assert old in text, f"{path.name} no longer contains {old!r}"
    path.write_text(text.replace(old, new))
