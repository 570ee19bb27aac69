"""The steps of a command, with progress bars on a terminal, and lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import typer

from geometry.checkpoints.plain_text import visible
from gui.commands.terminal import console, has_terminal, note
from gui.style.theme import format_count

if TYPE_CHECKING:
    from geometry.checkpoints.transfer import TransferProgress
    from geometry.models.model import PositionalModel
    from geometry.models.sources.source import Source
    from gui.commands.progress import Bars

T = TypeVar("T")
EVERY_S = 10.0
"""Seconds between two lines of progress, where standard error is no terminal."""


class Lines:
    """Progress as lines on standard error: one every few seconds, and the last one.

    There are none of what is done sooner.

    Parameters
    ----------
    steps
        Number of steps, if there are steps.
    """

    def __init__(self, steps: int = 0) -> None:
        self._steps, self._done = steps, 0
        self._due, self._waiting, self._any = time.monotonic() + EVERY_S, "", False

    def show(self, line: str) -> None:
        """Print a line if it is time, or keep it as the last one."""
        self._waiting = line
        if time.monotonic() >= self._due:
            self._print()

    def step(self, message: str, work: Callable[[], T]) -> T:
        """Show a step, and do it; return the result of the work."""
        self._done += 1
        self.show(f"{message}: {self._done} of {self._steps}")
        return work()

    def report(self, progress: TransferProgress) -> None:
        """Show the progress of a download, or of a long read."""
        from gui.commands.progress import amount_text

        waiting = f". {progress.waiting}" if progress.waiting else ""
        self.show(f"{progress.verb} {progress.what}: {amount_text(progress)}{waiting}")

    def close(self) -> None:
        """Print the last line, if there were others and it is new."""
        if self._any and self._waiting:
            self._print()

    def _print(self) -> None:
        note(self._waiting)
        self._due, self._waiting, self._any = time.monotonic() + EVERY_S, "", True


class Steps:
    """Does a command's work step by step, and shows it.

    ``report`` is called with a download's progress.
    """

    def __init__(self, shown: Bars | Lines) -> None:
        self._shown, self.report = shown, shown.report

    def __call__(self, message: str, work: Callable[[], T]) -> T:
        """Do one step, and return the result of the work."""
        return self._shown.step(message, work)


@contextmanager
def progress_bar(steps: int) -> Iterator[Steps]:
    """Yield the steps; with bars on standard error if that is a terminal, otherwise lines."""
    if not has_terminal():
        with closing(Lines(steps)) as lines:
            yield Steps(lines)
        return
    from gui.commands.progress import Bars

    with Bars(console(sys.stderr), steps) as bars:
        yield Steps(bars)


@contextmanager
def counting_bar(*, counted: bool) -> Iterator[Callable[..., None]]:
    """Yield a progress callback: a bar on standard error if that is a terminal, otherwise lines.

    It is called with the current work, how much of it is done, the whole, and optionally a text
    after the bar. With ``counted`` the numbers and the remaining time are shown too.
    """
    if not has_terminal():
        with closing(Lines()) as lines:

            def as_line(work: str, done: int, total: int, after: str = "") -> None:
                count = f"{format_count(done)} of {format_count(total)}" if counted else ""
                lines.show(f"{work}: {', '.join(part for part in (count, after) if part)}")

            yield as_line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    what, text = (
        TextColumn(part, markup=False) for part in ("{task.description}", "{task.fields[text]}")
    )
    count = (MofNCompleteColumn(), Remaining()) if counted else ()
    columns = (what, BarColumn(20), *count, text)
    with Progress(*columns, console=console(sys.stderr), transient=True) as bars:
        bar = bars.add_task("", text="")

        def report(work: str, done: int, total: int, after: str = "") -> None:
            bars.update(
                bar,
                description=visible(work),
                completed=done,
                total=total,
                text=visible(after),
            )

        yield report


def open_each(
    step: Steps, sources: Sequence[str], table: str | None, offline: bool, whole: bool, fresh: bool
) -> Iterator[PositionalModel]:
    """Open a command's sources in order; the chosen table is used for each that has it.

    Raises what :func:`open_in_step` does; at the end NoSuchTable, if no source has the table.
    """
    from geometry.models.sources.names import name_apart
    from geometry.models.sources.opening import NoSuchTable

    lacking: list[NoSuchTable] = []
    before: list[tuple[str, Source]] = []
    for source in sources:
        try:
            model = open_in_step(step, source, table, offline, whole, fresh)
        except NoSuchTable as error:
            if len(sources) == 1:
                raise
            lacking.append(error)
            model = open_in_step(step, source, None, offline, whole, fresh)
        name, model.name = model.name, name_apart(model.name, model.source, before)
        before.append((name, model.source))
        yield model
    if sources and len(lacking) == len(sources):
        raise NoSuchTable(f"No source has a tensor or side {table!r}.", lacking[0].candidates)


def open_in_step(
    step: Steps, source: str, table: str | None, offline: bool, whole: bool, fresh: bool
) -> PositionalModel:
    """Open a command's source, according to its options, as one of its steps.

    Raises typer.BadParameter: The options contradict each other.
    Raises HelixscopeError: It cannot be opened.
    """
    from gui.commands.headless import open_for_command

    if offline and fresh:
        raise typer.BadParameter("cannot be combined with --offline", param_hint="--fresh")
    work = partial(
        open_for_command,
        source,
        table,
        offline=offline,
        whole=whole,
        fresh=fresh,
        on_progress=step.report,
    )
    return step("Opening", work)
