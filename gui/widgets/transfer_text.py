"""Texts about the progress of a download."""

from __future__ import annotations

from geometry.checkpoints.transfer import TransferProgress
from gui.style.theme import format_bytes, format_part

SMALL_PIECE = 200_000
"""Smaller pieces (bytes) arrive at once, and a bar for each would only flicker."""


def transfer_lines(progress: TransferProgress | None) -> tuple[str, str]:
    """Describe a download's progress in two short lines; the second is used only for waits."""
    if progress is None:
        return "", ""
    if progress.waiting:
        why, _, then = progress.waiting.rstrip().rpartition(". ")
        return (f"{why}.", then) if why else (then, "")
    if progress.total <= 0 and progress.done:  # unknown size
        return f"Fetching {progress.what}: {format_bytes(progress.done)} so far", ""
    if progress.total <= 0:
        return f"Asking for {progress.what}…", ""
    if not is_measured(progress):
        return f"Reading {progress.what}…", ""
    text = format_part(progress.done, progress.total)
    if progress.bytes_per_second is not None and progress.done < progress.total:
        text += f" · {format_bytes(progress.bytes_per_second)}/s"
    return text, ""


def is_measured(progress: TransferProgress | None) -> bool:
    """Return whether a download's progress can be shown as a bar."""
    return progress is not None and progress.total >= SMALL_PIECE
