"""A thin bar of progress."""

from __future__ import annotations

from PySide6.QtWidgets import QProgressBar

_STEPS = 1000


class ShareBar(QProgressBar):
    """A bar of the share that is done, indeterminate if that is unknown."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setTextVisible(False)
        self.setFixedHeight(4)
        self.setAccessibleName(name)
        self.setRange(0, 0)

    def show_share(self, share: float | None) -> None:
        """Show a share of 0 to 1; None if it is unknown."""
        end = 0 if share is None else _STEPS
        if self.maximum() != end:
            self.setRange(0, end)
        if share is not None:
            self.setValue(round(_STEPS * min(max(share, 0.0), 1.0)))
