"""What is said of a transfer while it lasts. Knows no toolkit."""

from __future__ import annotations

from geometry.checkpoints.transfer import TransferProgress
from gui.style.theme import format_bytes, format_part

SMALL_PIECE = 200_000
"""Bytes that come in one go: a bar that fills for each of these only flickers."""


def transfer_lines(progress: TransferProgress | None) -> tuple[str, str]:
    """Say in two short lines how far a transfer is; the second one is empty but for a wait."""
    if progress is None:
        return "", ""
    if progress.waiting:
        why, _, then = progress.waiting.rstrip().rpartition(". ")
        return (f"{why}.", then) if why else (then, "")
    if progress.total <= 0 and progress.done:  # nobody said how long it is
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
    """Tell whether a bar can say how far it is."""
    return progress is not None and progress.total >= SMALL_PIECE
