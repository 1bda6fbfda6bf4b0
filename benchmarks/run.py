"""What a question gets to measure with: how thorough to be, the engine all share, and a way to show how far it is."""

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
    """One run of the suite. A context: what was started for it ends with it."""

    def __init__(self, console: Console, *, quick: bool) -> None:
        self.quick = quick
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
        """The local engine, started when it is first asked for; one for all questions and peers."""
        directory = self._open.enter_context(tempfile.TemporaryDirectory())
        return self._open.enter_context(running_engine(Path(directory)))

    def each(self, items: Sequence[Item], doing: str, name: Callable[[Item], str] = lambda item: "") -> Iterator[Item]:
        """The items one after the other; what is being done, and how much of it is done, is shown meanwhile.

        A terminal shows a bar; a log gets one line when it begins, so that neither is silent for long.
        """
        if not self._console.is_terminal:
            self._console.print(f"{self.title}: {doing} ({len(items)})", highlight=False)
            yield from items
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console, transient=True) as bars:
            task = bars.add_task(f"{self.title}: {doing}", total=len(items))
            for item in items:
                bars.update(task, description=f"{self.title}: {doing} {name(item)}".rstrip())
                yield item
                bars.advance(task)
