"""What the headless commands show while they work, on a terminal only."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")


class Step(Protocol):
    """Does one step of a command's work and shows it."""

    def __call__(self, message: str, work: Callable[[], T]) -> T:
        """Return what the work returns."""


@contextmanager
def progress_bar(steps: int) -> Iterator[Step]:
    """Give what does the steps; a bar follows them on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda message, work: work()
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=steps)

        def step(message: str, work: Callable[[], T]) -> T:
            bar.update(task, description=message)
            done = work()
            bar.advance(task)
            return done

        yield step


def print_table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table on standard output; into a file or a pipe every cell in full."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*titles, box=None)
    for row in rows:
        table.add_row(*row)
    console = Console()
    (console if console.is_terminal else Console(width=200)).print(table)
