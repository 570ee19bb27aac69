"""Progress bars on a terminal: for the steps of a command, and for downloads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from geometry.checkpoints.plain_text import visible
from geometry.checkpoints.sizes import size_text
from geometry.checkpoints.transfer import TransferProgress

T = TypeVar("T")


class Bars(Progress):
    """Up to two transient bars, with a sentence below during waits.

    Downloads are reported by another thread, without a lock of their own, which could deadlock with
    the display's.
    """

    def __init__(self, console: Console, steps: int) -> None:
        self._waiting = ""
        what, amount = (
            TextColumn(text, markup=False)
            for text in ("{task.description}", "{task.fields[amount]}")
        )
        super().__init__(what, BarColumn(20), amount, console=console, transient=True)
        self._total, self._done = steps, 0
        self._steps = self.add_task("", total=steps, amount="")
        self._transfer = self.add_task("", visible=False, amount="")

    def step(self, message: str, work: Callable[[], T]) -> T:
        """Do one step and show it; return the result of the work."""
        self._done += 1
        amount = f"{self._done} of {self._total}" if self._total > 1 else ""
        self.update(self._steps, description=visible(message), amount=amount)
        result = work()
        self._waiting = ""
        self.update(self._transfer, visible=False)
        self.update(self._steps, completed=self._done)
        return result

    def report(self, progress: TransferProgress) -> None:
        """Show the progress of a download, or of a long read."""
        self._waiting = progress.waiting
        self.update(
            self._transfer,
            visible=True,
            description=visible(f"{progress.verb} {progress.what}"),
            completed=progress.done,
            total=progress.total or 1,
            amount=amount_text(progress),
        )

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the content of the display; called with each refresh."""
        yield from super().get_renderables()
        if self._waiting:
            yield Text(visible(self._waiting))


def amount_text(progress: TransferProgress) -> str:
    """Format the amount and speed: "1.2 MB of 3.1 MB, 820 kB/s"."""
    text = size_text(progress.done)
    if progress.total:
        text += f" of {size_text(progress.total)}"
    if progress.bytes_per_second is not None:
        text += f", {size_text(round(progress.bytes_per_second))}/s"
    return text
