"""Cold start: the instructions up to a function's first response, compared with a bare SDK client and frameworks.

Every start is a process with one package and the standard library. The minimum is compiled botocore, trimmed as in the
package of CAMS (`infra.package.trim`). It creates a DynamoDB client with the settings of CAMS, and reads one item where
the others read an agent. CAMS also looks up the credential and decrypts the data key. Another row shows botocore as
published. CAMS runs with all extensions, and once without them.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from boto3.dynamodb.types import TypeSerializer

from benchmarks import packages, stack_process
from benchmarks.packages import Package
from benchmarks.results import OURS, Goal, Row, row
from benchmarks.stack_process import AGENT
from infra import tables
from infra.local.children import Engine
from infra.package import trim
from tests.deployment import package_runs
from tests.reliability.engine_fixture import client, running_engine

CORE, FLOOR, PUBLISHED = "CAMS without extensions", "bare SDK", "bare SDK as published"
CLIENT, READ = "import and client", "first agent read"
POWERTOOLS, FASTAPI = "Powertools as documented", "FastAPI + Mangum as documented"
# Peer -> its requirements.
PEERS = {
    POWERTOOLS: ("aws-lambda-powertools", "pydantic", "boto3"),
    FASTAPI: ("fastapi", "mangum", "pydantic", "boto3"),
}
# Package -> its module and handler.
_HANDLERS = {
    OURS: ("app", "app"),
    CORE: ("app", "app"),
    POWERTOOLS: ("cold_powertools", "handler"),
    FASTAPI: ("cold_fastapi", "handler"),
}
EVENTS = {
    "fan-out": ("chalicelib.webhooks.functions", "fan_out_agents"),
    "deliver": ("chalicelib.webhooks.functions", "deliver"),
    "maintain": ("chalicelib.maintenance", "maintain"),
}
MOST_INSTRUCTIONS, MOST_OF_EVENTS = 1.20, 1.10
_METRIC = "M instructions"
_TABLE, _KEY = "peer-agents", "id"

# The settings of `chalicelib.storage.client`.
_SETTINGS = (
    "connect_timeout=1, read_timeout=4, parameter_validation=False, max_pool_connections=64, user_agent='cams', "
    "retries={'mode': 'standard', 'total_max_attempts': 4}"
)
_BARE = (
    "from botocore.config import Config; from botocore.session import Session; "
    f"sdk = Session().create_client('dynamodb', config=Config({_SETTINGS}))"
)
_BARE_READ = f"{_BARE}; sdk.get_item(TableName='{_TABLE}', Key={{'{_KEY}': {{'S': '{AGENT}'}}}}, ConsistentRead=True)"
_VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
# The file system of a function is read-only, so Python writes no bytecode.
_ALWAYS = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}

Key = tuple[str, str]
"""A case and a contender."""


class Situation(NamedTuple):
    """The environment of every start, and a request for an existing agent."""

    environment: dict[str, str]
    event: dict[str, Any]


class Start(NamedTuple):
    """A process: package, code and complete environment."""

    package: Path
    code: str
    environment: dict[str, str]


def measure(quick: bool) -> list[Row]:
    """Build the packages and count their starts. A quick run omits the peers."""
    peers = [] if quick else [*PEERS]
    with tempfile.TemporaryDirectory() as name, running_engine(Path(name)) as engine:
        built = {
            OURS: packages.ours(Path(name)),
            CORE: packages.ours(Path(name) / "core", ()),
            FLOOR: packages.installed(["botocore"], trim.trim_files),
            PUBLISHED: packages.installed(["botocore"]),
            **{peer: packages.peer(_HANDLERS[peer][0], PEERS[peer]) for peer in peers},
        }
        situation = prepare(engine, built[OURS].directory)
        _check_answers(built, situation)
        keys = [(READ, contender) for contender in built]
        keys += [(CLIENT, FLOOR), (CLIENT, PUBLISHED), *((event, OURS) for event in EVENTS)]
        starts = {key: start_of(key, built[key[1]].directory, situation) for key in keys}
        counted = count(starts)
    # A function for events reads no data at its start.
    idle = {contender: counted[CLIENT, contender] for contender in (FLOOR, PUBLISHED)}
    return [
        row(READ, _METRIC, {name: counted[READ, name] for name in built}, Goal("<=", MOST_INSTRUCTIONS, FLOOR)),
        *(
            row(event, _METRIC, {OURS: counted[event, OURS], **idle}, Goal("<=", MOST_OF_EVENTS, FLOOR))
            for event in EVENTS
        ),
        row("package, zipped", "bytes", {name: one.size for name, one in built.items()}, Goal("<=", 1, PUBLISHED)),
    ]


def prepare(engine: Engine, package: Path) -> Situation:
    """Store an agent through the package, and a copy in native maps for the peers."""
    where = engine.environment
    tables.create_missing(lambda service: client(engine, service))
    _, token = package_runs.new_workspace(where)
    created = package_runs.request(token, "POST", f"/v2/agents/{AGENT}", {"title": "Support"})
    event = json.loads(stack_process.case(stack_process.READ).event(token))
    _, answer = package_runs.run(package, "app", [created, ("app", event)], where).answers
    _copy(json.loads(answer["body"])["data"], client(engine, "dynamodb"))
    return Situation(where, event)


def start_of(key: Key, package: Path, situation: Situation) -> Start:
    """Return the start of a contender in a case."""
    case, name = key
    module, handler = EVENTS.get(case) or _HANDLERS.get(name, ("", ""))
    if name in (FLOOR, PUBLISHED):
        code = _BARE if case == CLIENT else _BARE_READ
    else:
        code = f"import json, os, {module}; {module}.{handler}(json.loads(os.environ['EVENT']), None)"
    event = {"Records": []} if case in EVENTS else situation.event
    return Start(package, code, {**situation.environment, "EVENT": json.dumps(event)})


def count(starts: Mapping[Key, Start]) -> dict[Key, float]:
    """Return the millions of instructions of each start. Two starts run in parallel, because load affects no count."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(starts, pool.map(_instructions, starts.values()), strict=True))


def _instructions(start: Start) -> float:
    # Exit without clean-up, because a function stays alive after its response.
    code = f"import os, sys; sys.path.insert(0, {str(start.package)!r}); {start.code}; os._exit(0)"
    command = [*_VALGRIND, sys.executable, "-s", "-S", "-c", code]
    environment = {**start.environment, **_ALWAYS}
    ran = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False)
    total = re.search(r"I\s+refs:\s+([0-9,]+)", ran.stderr)
    if ran.returncode or total is None:
        raise ValueError(f"{start.code} cannot be counted: {ran.stderr[-2000:]}")
    return int(total[1].replace(",", "")) / 1e6


def _copy(agent: dict[str, Any], sdk: Any) -> None:
    sdk.create_table(
        TableName=_TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": _KEY, "AttributeType": "S"}],
        KeySchema=[{"AttributeName": _KEY, "KeyType": "HASH"}],
    )
    sdk.put_item(TableName=_TABLE, Item={name: TypeSerializer().serialize(value) for name, value in agent.items()})


def _check_answers(built: Mapping[str, Package], situation: Situation) -> None:
    """Raise ValueError unless all contenders with a handler return the same response."""
    answers: list[Sequence[Any]] = []
    for name, (module, handler) in _HANDLERS.items():
        if name in built:
            run = package_runs.run(built[name].directory, module, [(handler, situation.event)], situation.environment)
            answers.append((run.answers[0]["statusCode"], json.loads(run.answers[0]["body"])))
    if any(answer != answers[0] or answer[0] != 200 for answer in answers):
        raise ValueError(f"The responses differ: {answers}")
