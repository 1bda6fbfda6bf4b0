"""Why a goal is missed, where we know that it cannot be met: the tables say so beside the row.

A goal that is missed without an entry here fails the quick run. The entry stays away as soon as the goal is met:
`tests/benchmarks/test_report.py` fails on a reason that nothing needs.
"""

# (question, case, metric) -> a sentence.
REASONS: dict[tuple[str, str, str], str] = {}
