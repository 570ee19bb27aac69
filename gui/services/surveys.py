"""Recognising surveys of many checkpoints by their file names."""

from __future__ import annotations

ENDINGS = (".parquet", ".parquet.parts")


def is_survey(source: str) -> bool:
    """Return whether a source is the file of a survey, or a running one's folder of parts."""
    return source.rstrip("/\\").lower().endswith(ENDINGS)
