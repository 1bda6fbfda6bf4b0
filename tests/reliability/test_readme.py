"""The README's tour is true: every command is run against a real local run, and answers as it is printed there."""

import json
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
    """The tour's definition of `api`, and its commands with the answers that the README prints, None for no answer."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    tour = text[text.index("## Five minutes with curl") : text.index("## Credentials")]
    (definition,) = re.findall(r"```sh\n(api\(\).*?)```", tour, re.DOTALL)
    commands = []
    for block in re.findall(r"```console\n(.*?)```", tour, re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *answer = re.split(r"\n(?=\{)", step, maxsplit=1)
            commands.append((command, json.loads(answer[0]) if answer else None))
    return definition, commands


def same(printed: Any, real: Any) -> bool:
    """Equal, but for `…` in a text, which stands for anything, and for the time."""
    if isinstance(printed, dict) and isinstance(real, dict):
        return printed.keys() == real.keys() and all(same(printed[name], real[name]) for name in printed)
    if isinstance(printed, list) and isinstance(real, list):
        return len(printed) == len(real) and all(map(same, printed, real))
    if isinstance(printed, str) and isinstance(real, str):
        return re.fullmatch(re.escape(printed).replace("…", ".+"), real) is not None
    is_time = isinstance(printed, int) and printed > 10**9
    return abs(real - printed) < 10**9 if is_time else bool(printed == real and type(printed) is type(real))


def test_every_command_of_the_tour_answers_as_it_is_printed(run: Run) -> None:  # noqa: F811
    definition, commands = steps()
    script = definition.replace(".local", str(run.directory)).replace(":8000", f":{run.port}")
    script += "".join(f"\n{command}\necho; echo '{MARK}'" for command, _ in commands)
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    answers = [json.loads(answer) if answer.strip() else None for answer in ran.stdout.split(MARK)[:-1]]
    assert len(answers) == len(commands) > 8
    for (command, printed), real in zip(commands, answers, strict=True):
        assert same(printed, real), (command, real)
