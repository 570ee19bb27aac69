"""The bars of a terminal: the steps of a command, and what is fetched from the Hub meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from geometry.checkpoints.sizes import size_text
from geometry.checkpoints.transfer import TransferProgress

T = TypeVar("T")


class Bars(Progress):
    """Two bars at most, gone when the work is done; a sentence below them while it waits.

    What is fetched is told of by another thread, which takes no lock of its own: the display has
    its own order of locks.

    Parameters
    ----------
    console
        Where to.
    steps
        How many steps there will be.
    """

    def __init__(self, console: Console, steps: int) -> None:
        self._waiting = ""
        amount = TextColumn("{task.fields[amount]}")
        super().__init__(
            TextColumn("{task.description}"), BarColumn(20), amount, console=console, transient=True
        )
        self._total, self._done = steps, 0
        self._steps = self.add_task("", total=steps, amount="")
        self._transfer = self.add_task("", visible=False, amount="")

    def step(self, message: str, work: Callable[[], T]) -> T:
        """Do one step and show it; return what the work returns."""
        self._done += 1
        amount = f"{self._done} of {self._total}" if self._total > 1 else ""
        self.update(self._steps, description=message, amount=amount)
        result = work()
        self._waiting = ""
        self.update(self._transfer, visible=False)
        self.update(self._steps, completed=self._done)
        return result

    def tell(self, progress: TransferProgress) -> None:
        """Show how far a transfer is."""
        self._waiting = progress.waiting
        self.update(
            self._transfer,
            visible=True,
            description=f"Fetching {progress.what}",
            completed=progress.done,
            total=progress.total or 1,
            amount=amount_text(progress),
        )

    def get_renderables(self) -> Iterable[RenderableType]:
        """Give what is drawn; called with each refresh."""
        yield from super().get_renderables()
        if self._waiting:
            yield Text(self._waiting)


def amount_text(progress: TransferProgress) -> str:
    """Say how much has come and how fast: "1.2 MB of 3.1 MB, 820 kB/s"."""
    text = size_text(progress.done)
    if progress.total:
        text += f" of {size_text(progress.total)}"
    if progress.bytes_per_second is not None:
        text += f", {size_text(round(progress.bytes_per_second))}/s"
    return text
