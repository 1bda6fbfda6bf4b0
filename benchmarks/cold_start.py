"""What a function costs before its first answer, beside a bare handler that only makes the SDK's client.

python -m benchmarks.cold_start [--rounds 15]

Prints one table: instructions (counted by valgrind, the same in every run) and CPU time (median of interleaved
rounds), each with its ratio to the bare handler, which has the SDK as it is published, compiled. "As published" is the
package that Chalice makes of the requirements alone: sources, which Python compiles at every start, as a function
cannot write.
"""

import argparse
import compileall
import json
import os
import py_compile
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import chalice

from infra import tables
from infra.local import children
from infra.local.children import Engine
from infra.package import build, wheels
from infra.package.__main__ import zipped
from tests.deployment import package_runs
from tests.reliability.engine_fixture import client, running_engine

_BARE = "from botocore.session import Session; sdk = Session().create_client('dynamodb')"
_BARE_READ = (
    f"{_BARE}; sdk.get_item(TableName='cams-agents', Key={{'workspace': {{'S': '-'}}, 'agent_id': {{'S': '-'}}}})"
)
_READ = "import json, os, app; print(app.app(json.loads(os.environ['EVENT']), None)['statusCode'])"


class Start(NamedTuple):
    """A process to measure: what it is called, the packages it has, what it runs."""

    name: str
    package: Path
    code: str


def main() -> None:
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_start")
    parser.add_argument("--rounds", type=int, default=15, help="how often CPU time is measured")
    rounds: int = parser.parse_args().rounds
    if shutil.which("valgrind") is None:
        sys.exit("Instructions are counted by valgrind, which is not installed.")
    with tempfile.TemporaryDirectory() as name, running_engine(Path(name) / "engine") as engine:
        directory = Path(name)
        published, compiled, ours = directory / "published", directory / "compiled", directory / "ours"
        _plain(published)
        shutil.copytree(published, compiled)
        compileall.compile_dir(
            compiled, quiet=2, workers=0, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )
        build.stage(directory / "staged", wheels.HERE)
        package = zipped(directory / "staged")
        with zipfile.ZipFile(package) as archive:
            archive.extractall(ours)
        starts = [
            Start("bare: the SDK's client", compiled, _BARE),
            Start("bare, with one read", compiled, _BARE_READ),
            Start("API as published", published, "import app"),
            Start("API", ours, "import app"),
            Start("API, with its first read of an agent", ours, _READ),
            Start("fan-out and deliver", ours, "import chalicelib.webhooks.streams"),
            Start("sweep", ours, "import chalicelib.agents.functions"),
        ]
        environment = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", **_prepared(engine, ours)}
        _show(starts, environment, rounds)
        whole = shutil.make_archive(str(directory / "published"), "zip", published)
        print(f"\npackage: {Path(whole).stat().st_size:,} bytes as published, {package.stat().st_size:,} bytes now")


def _plain(directory: Path) -> None:
    for file in wheels.of(build.ROOT / "requirements.txt", wheels.HERE):
        (directory / file.path).parent.mkdir(parents=True, exist_ok=True)
        (directory / file.path).write_bytes(file.content)
    (directory / "chalice").mkdir()
    for module in ("__init__.py", "app.py"):
        shutil.copyfile(Path(chalice.__file__).with_name(module), directory / "chalice" / module)
    shutil.copyfile(build.ROOT / "app.py", directory / "app.py")
    shutil.copytree(build.ROOT / "chalicelib", directory / "chalicelib", ignore=shutil.ignore_patterns("__pycache__"))


def _prepared(engine: Engine, package: Path) -> dict[str, str]:
    """The environment of every start: an engine with an agent, and the request that reads it."""
    where = children.address_of(engine.url)
    tables.create_missing(lambda service: client(engine, service))
    _, token = package_runs.new_workspace(where)
    created = package_runs.request(token, "POST", "/v2/agents/support", {"title": "Support"})
    package_runs.run(package, "app", [created], where)
    _, event = package_runs.request(token, "GET", "/v3/agents/support")
    return {**where, "EVENT": json.dumps(event)}


def _show(starts: list[Start], environment: dict[str, str], rounds: int) -> None:
    instructions = [_instructions(start, environment) for start in starts]
    times = [[_cpu_seconds(start, environment) for start in starts] for _ in range(rounds)]
    medians = [statistics.median(column) for column in zip(*times, strict=True)]
    print(f"{'':<40}{'instructions':>16}{'ratio':>8}{'CPU':>10}{'ratio':>8}")
    for start, count, seconds in zip(starts, instructions, medians, strict=True):
        ratios = count / instructions[0], seconds / medians[0]
        print(f"{start.name:<40}{count / 1e6:>14,.0f} M{ratios[0]:>8.2f}{seconds * 1000:>7.0f} ms{ratios[1]:>8.2f}")


def _command(start: Start) -> list[str]:
    code = f"import sys; sys.path.insert(0, {str(start.package)!r}); {start.code}"
    return [sys.executable, "-s", "-S", "-c", code]


def _instructions(start: Start, environment: dict[str, str]) -> int:
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    counted = subprocess.run([*valgrind, *_command(start)], env=environment, capture_output=True, text=True, check=True)
    found = re.search(r"I\s+refs:\s+([0-9,]+)", counted.stderr)
    if found is None:
        raise ValueError("valgrind has counted nothing")
    return int(found[1].replace(",", ""))


def _cpu_seconds(start: Start, environment: dict[str, str]) -> float:
    process = subprocess.Popen(_command(start), env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ValueError(f"{start.name} has failed")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
