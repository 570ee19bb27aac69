"""Progress of what takes longer than a second, in a terminal or below a cell."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

AFTER_S = 1.0
"""Seconds before anything is shown."""


@contextmanager
def progress(work: str) -> Iterator[Callable[[float], None]]:
    """Yield a function that reports the share which is done; what it shows goes at the end."""
    if _in_notebook():
        begin, shown = time.monotonic(), list[Any]()

        def report(share: float) -> None:
            if time.monotonic() - begin < AFTER_S:
                return
            text = {"text/plain": f"{work}: {share:.0%}"}
            if shown:
                shown[0].update(text, raw=True)
            else:
                shown.append(
                    sys.modules["IPython"].display.display(text, raw=True, display_id=True)
                )

        try:
            yield report
        finally:
            for handle in shown:
                handle.update({"text/plain": ""}, raw=True)
        return
    from tqdm import tqdm

    with tqdm(total=1.0, desc=work, delay=AFTER_S, leave=False, disable=None, unit="") as bar:
        bar.bar_format = "{desc}: {percentage:.0f}%|{bar:20}| {remaining} left"
        yield lambda share: bar.update(share - bar.n) and None


def _in_notebook() -> bool:
    """Return whether this is a kernel of Jupyter."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None
