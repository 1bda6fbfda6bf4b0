"""The table of the sessions question: a row for each store, instead of a row for each metric."""

from collections.abc import Mapping

ALONE, LOSSES, KILLS = "no faults", "every fifth response lost", "five writers killed"
SITUATIONS = (ALONE, LOSSES, KILLS)
LOST, DOUBLED, DISORDERED, FAILED = FATES = ("lost", "doubled", "out of order", "failed calls")
SECONDS, SERVICE_REQUESTS, DATABASE_REQUESTS = "seconds", "service requests", "DynamoDB requests"
READS, WRITES = "read units", "write units"
COSTS = (SECONDS, SERVICE_REQUESTS, DATABASE_REQUESTS, READS, WRITES)
_ABSENT = "–"
# (situation, metric) -> store -> figure
Figures = Mapping[tuple[str, str], Mapping[str, float]]


def lines(figures: Figures) -> list[str]:
    """Return the lines of the table. The costs are those without faults."""
    stores = figures[ALONE, LOST]
    heading = ["Store", *map(str.capitalize, SITUATIONS), *map(_capitalized, COSTS)]
    body = [
        [store, *(_fates(figures, case, store) for case in SITUATIONS), *(_cost(figures, one, store) for one in COSTS)]
        for store in stores
    ]
    head, *others = (f"| {' | '.join(cells)} |" for cells in (heading, *body))
    return [head, "|---" * len(heading) + "|", *others]


def _fates(figures: Figures, case: str, store: str) -> str:
    """Return the lost, doubled and disordered messages, and the failed calls if there are any."""
    numbers = [figures[case, metric].get(store) for metric in FATES]
    if numbers[0] is None:
        return _ABSENT
    *messages, failed = (f"{number:.0f}" for number in numbers if number is not None)
    return "/".join(messages) + (f" ({failed} failed)" if failed != "0" else "")


def _cost(figures: Figures, metric: str, store: str) -> str:
    number = figures[ALONE, metric].get(store)
    return _ABSENT if number is None else f"{number:.3g}"


def _capitalized(name: str) -> str:
    return name[0].upper() + name[1:]
