"""Every command of the README's tour gives the printed answer on a real local run."""

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
    """The tour's definition of `api`, and its commands with their printed answers, or None."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    tour = text[text.index("## Five minutes with curl") : text.index("## Credentials")]
    (definition,) = re.findall(r"```sh\n(api\(\).*?)```", tour, re.DOTALL)
    commands = []
    for block in re.findall(r"```console\n(.*?)```", tour, re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *answer = re.split(r"\n(?=\{)", step, maxsplit=1)
            commands.append((command, json.loads(answer[0]) if answer else None))
    return definition, commands


def matches(printed: Any, real: Any) -> bool:
    """Whether both are equal, except for the time and for `…`, which matches any text."""
    if isinstance(printed, dict) and isinstance(real, dict):
        return printed.keys() == real.keys() and all(matches(printed[name], real[name]) for name in printed)
    if isinstance(printed, list) and isinstance(real, list):
        return len(printed) == len(real) and all(map(matches, printed, real))
    if isinstance(printed, str) and isinstance(real, str):
        return re.fullmatch(re.escape(printed).replace("…", ".+"), real) is not None
    is_time = isinstance(printed, int) and printed > 10**9
    return abs(real - printed) < 10**9 if is_time else bool(printed == real and type(printed) is type(real))


def test_every_command_of_the_tour_gives_the_printed_answer(run: Run) -> None:  # noqa: F811
    definition, commands = steps()
    script = definition.replace(".local", str(run.directory)).replace(":8000", f":{run.port}")
    script += "".join(f"\n{command}\necho; echo '{MARK}'" for command, _ in commands)
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    answers = [json.loads(answer) if answer.strip() else None for answer in ran.stdout.split(MARK)[:-1]]
    assert len(answers) == len(commands) > 8
    for (command, printed), real in zip(commands, answers, strict=True):
        assert matches(printed, real), (command, real)
