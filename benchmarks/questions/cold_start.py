"""Cold start: the cost before a function's first answer, compared with a bare SDK client and common frameworks.

Every start is a process with one package and the standard library. The floor is the SDK's published core, compiled. It
creates the database's client, and reads one item where the others read an agent. CAMS also looks up the credential and
decrypts the data key in that read. The package of CAMS has a trimmed SDK (`infra.package.trim`), so the same client is
also measured with the trimmed SDK; the goals compare with the published one. "Without bytecode" is the default of the
packaging tools. Python then compiles all sources at every start, because a function cannot write files.
"""

import json
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from boto3.dynamodb.types import TypeSerializer

from benchmarks.overhead.cases import Case, normalize
from benchmarks.results import Goal, Row, row
from benchmarks.run import Run
from benchmarks.starts import packages, processes
from benchmarks.starts.packages import Package
from benchmarks.starts.processes import Start
from infra import tables
from infra.local.children import Engine
from tests.deployment import package_runs
from tests.reliability.engine_fixture import client

TITLE = "Cold start: CPU before the first answer, and package size"

OURS, FLOOR, AGAIN, TRIMMED = "ours", "floor", "A/A", "trimmed SDK"
CLIENT, READ, SOURCES = "import and client", "first agent read", "first agent read, without bytecode"
VERSUS_IDLE = "first agent read, compared with an idle client"
# The requirements of each peer, then the module and handler of each package.
PEERS = {
    "Powertools": ("aws-lambda-powertools", "pydantic", "boto3"),
    "FastAPI + Mangum": ("fastapi", "mangum", "pydantic", "boto3"),
}
_HANDLERS = {
    OURS: ("app", "app"),
    "Powertools": ("cold_powertools", "handler"),
    "FastAPI + Mangum": ("cold_fastapi", "handler"),
}
EVENTS = {
    "fan-out": ("chalicelib.webhooks.functions", "fan_out_agents"),
    "deliver": ("chalicelib.webhooks.functions", "deliver"),
    "cascade": ("chalicelib.maintenance", "maintain"),
}
MOST_INSTRUCTIONS, MOST_CPU, MOST_OF_EVENTS = 1.25, 1.15, 1.10
_LIMITS = dict.fromkeys((READ, VERSUS_IDLE), (MOST_INSTRUCTIONS, MOST_CPU)) | dict.fromkeys(
    EVENTS, (MOST_OF_EVENTS, MOST_OF_EVENTS)
)
_ROUNDS, _QUICK_ROUNDS, _SOURCES_ROUNDS = 5, 3, 2
_AGENT, _TABLE, _KEY = "support", "peer-agents", "id"

_BARE = "from botocore.session import Session; sdk = Session().create_client('dynamodb')"
_BARE_READ = f"{_BARE}; sdk.get_item(TableName='{_TABLE}', Key={{'{_KEY}': {{'S': '{_AGENT}'}}}}, ConsistentRead=True)"

Key = tuple[str, str]  # a case and a contender
Value = TypeVar("Value")


class Situation(NamedTuple):
    """The environment of every start, and a request for an existing agent."""

    environment: dict[str, str]
    event: dict[str, Any]


def measure(run: Run) -> list[Row]:
    """Build the packages and measure their starts. The quick run has only the first read, without peers."""
    peers = [] if run.quick else list(PEERS)
    with tempfile.TemporaryDirectory() as name:
        made = _build(run, peers, Path(name))
        situation = prepare(run.engine, made[OURS].compiled)
        counts = _counts(made, peers, situation)
        others = [] if run.quick else [TRIMMED, *peers]
        starts = _starts(made, others, situation, (READ,) if run.quick else (CLIENT, READ, *EVENTS))
        sources = {} if run.quick else _starts(made, others, situation, (SOURCES,))
        return [
            *_instructions(run, starts, others),
            *_cpu(run, starts, others, _QUICK_ROUNDS if run.quick else _ROUNDS),
            *(_cpu(run, sources, others, _SOURCES_ROUNDS) if sources else ()),
            *counts,
        ]


def prepare(engine: Engine, package: Path) -> Situation:
    """Store an agent through the package, and a copy in native maps for the peers."""
    where = engine.address
    tables.create_missing(lambda service: client(engine, service))
    _, token = package_runs.new_workspace(where)
    created = package_runs.request(token, "POST", f"/v2/agents/{_AGENT}", {"title": "Support"})
    event = json.loads(Case("", "GET", "/v3/agents/{agent_id}", {"agent_id": _AGENT}).event(token))
    _, answer = package_runs.run(package, "app", [created, ("app", event)], where).answers
    _copy(json.loads(answer["body"])["data"], client(engine, "dynamodb"))
    return Situation(where, event)


def start_of(name: str, package: Path, case: str, situation: Situation) -> Start:
    """Return the start of a contender in a case."""
    module, handler = EVENTS.get(case) or _HANDLERS.get(name, ("", ""))
    if name in (FLOOR, AGAIN, TRIMMED):
        code = _BARE if case == CLIENT else _BARE_READ
    elif case == CLIENT:
        code = f"import {module}"
    else:
        code = f"import json, os, {module}; {module}.{handler}(json.loads(os.environ['EVENT']), None)"
    event = {"Records": []} if case in EVENTS else situation.event
    return Start(f"{name}, {case}", package, code, {**situation.environment, "EVENT": json.dumps(event)})


def _copy(agent: dict[str, Any], sdk: Any) -> None:
    if _TABLE not in sdk.list_tables()["TableNames"]:
        sdk.create_table(
            TableName=_TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": _KEY, "AttributeType": "S"}],
            KeySchema=[{"AttributeName": _KEY, "KeyType": "HASH"}],
        )
    sdk.put_item(TableName=_TABLE, Item={name: TypeSerializer().serialize(value) for name, value in agent.items()})


def _build(run: Run, peers: Sequence[str], directory: Path) -> dict[str, Package]:
    made = {}
    sdks = [FLOOR] if run.quick else [FLOOR, TRIMMED]
    for name in run.each([OURS, *sdks, *peers], "packages", str):
        if name == OURS:
            made[name] = packages.ours(directory, sources=not run.quick)
        elif name == FLOOR:
            made[name] = packages.bare()
        elif name == TRIMMED:
            made[name] = packages.trimmed(directory)
        else:
            made[name] = packages.peer(_HANDLERS[name][0], PEERS[name])
    return made


def _counts(made: Mapping[str, Package], peers: Sequence[str], situation: Situation) -> list[Row]:
    """Count modules and clients of a first read, and the package's size. All answers must be equal."""
    read = ("app", situation.event)
    ran = {OURS: package_runs.run(made[OURS].compiled, "app", [read], situation.environment)}
    for name in peers:
        module, handler = _HANDLERS[name]
        ran[name] = package_runs.run(made[name].compiled, module, [(handler, situation.event)], situation.environment)
    answers = {name: normalize(one.answers[0]) for name, one in ran.items()}
    if any(answer != answers[OURS] or answer[0] != 200 for answer in answers.values()):
        raise ValueError(f"The answers differ: {answers}")
    counted = {
        "modules": ("compiled in the first read", 0, {name: len(_end(one)["compiled"]) for name, one in ran.items()}),
        "clients": (
            "created in the first read",
            1,
            {name: _end(one)["clients"]["DynamoDB"] for name, one in ran.items()},
        ),
    }
    sizes = {name: made[name].size for name in ran}
    return [
        *(
            _row(case, metric, "", found, None, peers, Goal("<=", most))
            for metric, (case, most, found) in counted.items()
        ),
        _row("package, zipped", "bytes", "bytes", sizes, None, peers),
    ]


def _end(ran: package_runs.Ran) -> dict[str, Any]:
    return ran.after_each[-1]


def _starts(
    made: Mapping[str, Package], peers: Sequence[str], situation: Situation, cases: Sequence[str]
) -> dict[Key, Start]:
    starts = {}
    for case in cases:
        for name in (OURS,) if case in EVENTS else (OURS, FLOOR, *peers):
            package = made[name].sources if case == SOURCES else made[name].compiled
            starts[case, name] = start_of(name, package, case, situation)
    return starts


def _instructions(run: Run, starts: Mapping[Key, Start], peers: Sequence[str]) -> list[Row]:
    counts = processes.instructions(list(starts.values()), lambda names: run.each(names, "instructions", str))
    found = _with_bare_clients(dict(zip(starts, counts, strict=True)))
    return [
        _row(case, "instructions", "M", _of(found, case), found[_floor(case), FLOOR], peers, *_goals(case, 0))
        for case in _cases(found)
    ]


def _cpu(run: Run, starts: Mapping[Key, Start], peers: Sequence[str], rounds: int) -> list[Row]:
    """Return CPU time as ratios to the floor of the same round, and the floor's second run as A/A."""
    repeated = _cases(starts)[-1] if READ not in _cases(starts) else READ
    both = {**starts, (repeated, AGAIN): starts[repeated, FLOOR]}
    measured = processes.cpu_seconds(list(both.values()), run.each(range(rounds), "rounds of CPU time"))
    seconds = _with_bare_clients(dict(zip(both, measured, strict=True)))
    ratios = {
        (case, name): [one / floor for one, floor in zip(taken, seconds[_floor(case), FLOOR], strict=True)]
        for (case, name), taken in seconds.items()
    }
    medians = {key: statistics.median(taken) for key, taken in ratios.items()}
    lower, _, upper = statistics.quantiles(ratios[repeated, OURS], n=4)
    return [
        *(_row(case, "CPU", "x", _of(medians, case), 1.0, peers, *_goals(case, 1)) for case in _cases(seconds)),
        row("cold_start", repeated, "CPU, lower quartile", "x", lower, floor=1.0),
        row("cold_start", repeated, "CPU, upper quartile", "x", upper, floor=1.0),
        row("cold_start", repeated, "CPU, A/A", "x", medians[repeated, AGAIN], floor=1.0),
    ]


def _with_bare_clients(values: dict[Key, Value]) -> dict[Key, Value]:
    """Add the first reads as compared with an idle client, and the trimmed SDK to the cases that use its idle client.

    The quick run has no idle client, and adds nothing.
    """
    if (CLIENT, FLOOR) not in values:
        return values
    bare = (FLOOR, AGAIN, TRIMMED)
    reads = {(VERSUS_IDLE, name): one for (case, name), one in values.items() if case == READ and name not in bare}
    idle = {(case, TRIMMED): values[CLIENT, TRIMMED] for case in (VERSUS_IDLE, *EVENTS)}
    return {**values, **reads, **idle}


def _goals(case: str, number: int) -> list[Goal]:
    return [Goal("<=", _LIMITS[case][number], "floor")] if case in _LIMITS else []


def _cases(values: Mapping[Key, object]) -> list[str]:
    return list(dict.fromkeys(case for case, _ in values))


def _floor(case: str) -> str:
    """Return the floor's case for a case: an event function reads nothing at its start."""
    return CLIENT if case == VERSUS_IDLE or case in EVENTS else case


def _of(values: Mapping[Key, float], case: str) -> dict[str, float]:
    return {name: value for (one, name), value in values.items() if one == case}


def _row(
    case: str,
    metric: str,
    unit: str,
    values: Mapping[str, float],
    floor: float | None,
    peers: Sequence[str],
    *goals: Goal,
) -> Row:
    others = {name: values[name] for name in peers if name in values}
    return row("cold_start", case, metric, unit, values[OURS], peers=others, floor=floor, goals=goals)
