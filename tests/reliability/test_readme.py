"""Every command in the README's tour prints the documented response on a real local run."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.test_local_run import Run, run  # noqa: F401 - the fixture

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
MARK = "== end of an answer =="


def steps() -> tuple[str, list[tuple[str, Any]]]:
    """Return the README's definition of `api`, and its commands with the documented responses or None."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (definition,) = re.findall(r"```sh\n(api\(\).*?)```", text, re.DOTALL)
    commands = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *answer = re.split(r"\n(?=\{)", step, maxsplit=1)
            commands.append((command, json.loads(answer[0]) if answer else None))
    return definition, commands


def matches(printed: Any, real: Any) -> bool:
    """Return whether both texts are equal apart from times. `…` matches any text."""
    if isinstance(printed, dict) and isinstance(real, dict):
        return printed.keys() == real.keys() and all(matches(printed[name], real[name]) for name in printed)
    if isinstance(printed, list) and isinstance(real, list):
        return len(printed) == len(real) and all(map(matches, printed, real))
    if isinstance(printed, str) and isinstance(real, str):
        return re.fullmatch(re.escape(printed).replace("…", ".+"), real) is not None
    is_time = isinstance(printed, int) and printed > 10**9
    return abs(real - printed) < 10**9 if is_time else bool(printed == real and type(printed) is type(real))


def output(run: Run, *lines: str) -> str:  # noqa: F811
    """Return the output of a shell whose environment selects another port and directory."""
    environment = {**os.environ, "PORT": str(run.port), "STATE": str(run.directory)}
    return subprocess.run(
        ["bash", "-c", "\n".join(lines)], capture_output=True, text=True, check=True, env=environment
    ).stdout


def test_every_command_gives_the_printed_answer_with_another_port_and_state(run: Run) -> None:  # noqa: F811
    definition, commands = steps()
    printed_text = output(run, definition, *(f"{command}\necho '{MARK}'" for command, _ in commands))
    answers = [json.loads(answer) if answer.strip() else None for answer in printed_text.split(f"{MARK}\n")[:-1]]
    assert len(answers) == len(commands) > 8
    for (command, printed), real in zip(commands, answers, strict=True):
        assert matches(printed, real), (command, real)


def test_every_answer_ends_with_a_newline(run: Run) -> None:  # noqa: F811
    definition, commands = steps()
    assert output(run, definition, commands[0][0]).endswith("}\n")
