"""The log file for tracebacks and warnings, of the window and of commands."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

from platformdirs import user_log_path


def log_path() -> Path:
    """Return the path of the log file."""
    return user_log_path("helixscope", appauthor=False) / "helixscope.log"


def start_log() -> logging.Handler:
    """Start logging to the file, including libraries' warnings; the first entry creates it.

    Returns the handler, which discards entries if the folder is not writable.
    """
    handler: logging.Handler = logging.NullHandler()
    path = log_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # File names and answers of servers may contain what UTF-8 cannot represent.
        handler = _LogFile(
            path,
            maxBytes=1 << 20,
            backupCount=1,
            delay=True,
            encoding="utf-8",
            errors="backslashreplace",
        )
    except OSError:
        pass  # a read-only home must not prevent the start
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)
    logging.captureWarnings(True)
    return handler


@contextmanager
def logged() -> Iterator[None]:
    """Log to the file while the block runs."""
    handler = start_log()
    try:
        yield
    finally:
        logging.captureWarnings(False)
        logging.getLogger().removeHandler(handler)
        handler.close()


class _LogFile(RotatingFileHandler):
    """A log file that ignores a full disk instead of writing errors to the terminal."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Drop the entry."""
