"""The context of a question: quick or full, the shared engine, and progress output."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from infra.local.children import Engine
from tests.reliability.engine_fixture import running_engine

Item = TypeVar("Item")


class Run:
    """One run of the suite. A context manager: it stops everything that it started."""

    def __init__(self, console: Console, *, quick: bool, pairs: int | None = None) -> None:
        self.quick, self.pairs = quick, pairs
        self.title = ""
        self._console = console
        self._open = ExitStack()

    def __enter__(self) -> "Run":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @cached_property
    def engine(self) -> Engine:
        """The local engine, started on first use and shared by all questions and peers."""
        directory = self._open.enter_context(tempfile.TemporaryDirectory())
        return self._open.enter_context(running_engine(Path(directory)))

    def each(self, items: Sequence[Item], task: str, name: Callable[[Item], str] = lambda item: "") -> Iterator[Item]:
        """Yield the items, and show the task and its progress.

        A terminal shows a bar; a log gets one line at the start.
        """
        if not self._console.is_terminal:
            self._console.print(f"{self.title}: {task} ({len(items)})", highlight=False)
            yield from items
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console, transient=True) as bars:
            bar = bars.add_task(f"{self.title}: {task}", total=len(items))
            for item in items:
                bars.update(bar, description=f"{self.title}: {task} {name(item)}".rstrip())
                yield item
                bars.advance(bar)
