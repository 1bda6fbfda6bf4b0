"""A pytest plugin that ends a run with a line that shows the result, the cost and the number of deselected tests."""

import resource
import time
from typing import Any

import pytest

_LEFT, _CPU = "tests_left_out", "cpu_seconds"


class RunSummary:
    """A plugin that counts deselected tests and CPU seconds, including those of worker processes."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._started = time.monotonic()
        self._left = 0
        self._of_workers = 0.0

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Count the tests that a marker or `-k` deselects. Exclude long tests, which these runs never contain."""
        self._left += sum(item.get_closest_marker("long") is None for item in items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Send a worker's figures to the controller."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput.update({_LEFT: self._left, _CPU: _cpu_seconds()})

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add a worker's CPU seconds. The deselected tests are the same in every worker."""
        figures = getattr(node, "workeroutput", {})
        self._left = max(self._left, figures.get(_LEFT, 0))
        self._of_workers += figures.get(_CPU, 0.0)

    def pytest_unconfigure(self) -> None:
        """Print the line after pytest's summary."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or hasattr(self._config, "workeroutput"):
            return
        counts = {name: len(reporter.getreports(name)) for name in ("passed", "failed", "error", "skipped")}
        line = summary_line(counts, self._left, time.monotonic() - self._started, _cpu_seconds(self._of_workers))
        if line:
            reporter.write_line(line)


def summary_line(counts: dict[str, int], left: int, seconds: float, cpu_seconds: float) -> str:
    """Return the summary line. It is empty for a run without tests."""
    broken, run = counts["failed"] + counts["error"], sum(counts.values())
    if not run:
        return ""
    if broken:
        return f"{broken:,} of {run:,} tests failed; see the lines FAILED and ERROR above."
    line = "The test" if counts["passed"] == 1 else f"All {counts['passed']:,} tests"
    line += f" passed in {seconds:.0f} s ({cpu_seconds:.0f} s of CPU)."
    if counts["skipped"]:
        line += f" {counts['skipped']:,} were skipped; ARGS=-rs shows why."
    return line + (f" The other {left:,} run with `make test-all`." if left else "")


def _cpu_seconds(of_workers: float = 0.0) -> float:
    """Return the CPU seconds used by this process and its other children, plus those that the workers report."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = own.ru_utime + own.ru_stime
    return spent + (of_workers or children.ru_utime + children.ru_stime)


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin."""
    config.pluginmanager.register(RunSummary(config), "run_summary")
