"""The rows of the suite: the figures of CAMS and of each peer, the goal, and whether it is met.

A row contains numbers only. `None` marks a peer that does not support the case.
"""

import importlib.metadata
import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

HERE = Path(__file__).parent
LATEST = HERE / "results" / "latest.json"

Question = Literal["state", "overhead", "cold_start", "listing", "fanout", "growth", "scale", "neighbour", "poison"]
Against = Literal["", "floor", "best peer", "worst peer", "A/A"]
# Metrics that are equal in every run and can fail a commit; times are not.
EXACT = frozenset(
    {"requests", "read units", "write units", "capacity units", "bytes", "modules", "clients", "instructions"}
)


# Dollars for a million units: the list price for on-demand use in us-east-1 as of 2025. A write is five times a read.
PRICES = {"read units": 0.125, "write units": 0.625}


class Goal(NamedTuple):
    """The target of `ours`: at most or at least `limit`, multiplied by the figure of `of` (the floor or a peer)."""

    relation: Literal["<=", ">="]
    limit: float
    of: str = ""

    def __str__(self) -> str:
        limit = f"{self.limit:g}" if self.limit < 1000 else f"{self.limit:,.0f}"
        return f"{self.relation} {limit}" + (f" x {self.of}" if self.of else "")


class Row(TypedDict):
    """One row of a table and of the results file."""

    question: Question
    case: str
    metric: str
    unit: str
    ours: float | None
    peers: dict[str, float | None]
    floor: float | None
    goal: str | None
    holds: bool | None


def row(
    question: Question,
    case: str,
    metric: str,
    unit: str,
    ours: float | None,
    *,
    peers: Mapping[str, float | None] = {},
    floor: float | None = None,
    goals: Sequence[Goal] = (),
) -> Row:
    """Return a row with its goals evaluated; `holds` is None without a goal."""
    made: Row = {
        "question": question,
        "case": case,
        "metric": metric,
        "unit": unit,
        "ours": ours,
        "peers": dict(peers),
        "floor": floor,
        "goal": ", ".join(map(str, goals)) or None,
        "holds": None,
    }
    if goals:
        made["holds"] = all(_holds(made, goal) for goal in goals)
    return made


def _holds(made: Row, goal: Goal) -> bool:
    if made["ours"] is None:
        return False
    limit = goal.limit * _measure_of(made, goal.of)
    return made["ours"] <= limit if goal.relation == "<=" else made["ours"] >= limit


def _measure_of(made: Row, of: str) -> float:
    peers = [value for value in made["peers"].values() if value is not None]
    if of == "best peer":
        return min(peers, default=math.inf)
    if of == "worst peer":
        return max(peers, default=math.inf)
    value = 1.0 if not of else made["floor"] if of == "floor" else made["peers"][of]
    if value is None:
        raise ValueError(f"{made['case']}, {made['metric']}: {of} has no figure")
    return value


def is_exact(made: Row) -> bool:
    """Whether the row is equal in every run, so that it can fail a commit."""
    return made["metric"] in EXACT


def document(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the content of the results file: `{machine, versions, rows}`."""
    return {"machine": _machine(), "versions": _versions(), "rows": list(rows)}


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write the results file; rows of other questions stay unchanged."""
    asked = {one["question"] for one in rows}
    kept = [one for one in read(path)["rows"] if one["question"] not in asked] if path.exists() else []
    order = list(Question.__args__)  # type: ignore[attr-defined]
    both = sorted([*kept, *rows], key=lambda one: order.index(one["question"]))
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document(both), indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """Read a results file."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _machine() -> dict[str, Any]:
    cpus = Path("/proc/cpuinfo")  # Linux only; the architecture is the fallback
    lines = cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": names[0] if names else "unknown",
        "cores": os.cpu_count(),
    }


def _versions() -> dict[str, str]:
    packages = {one.metadata["Name"].lower(): one.version for one in importlib.metadata.distributions()}
    return {"python": platform.python_version()} | {name: packages[name] for name in _NAMED if name in packages}


_NAMED = (
    "chalice",
    "botocore",
    "boto3",
    "pynamodb",
    "pydantic",
    "cryptography",
    "langchain-community",
    "langgraph",
    "langgraph-checkpoint-aws",
    "aws-lambda-powertools",
    "fastapi",
    "mangum",
)
