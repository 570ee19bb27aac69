"""The log: tracebacks and warnings go to a file, of the window and of the commands without it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

from platformdirs import user_log_path


def log_path() -> Path:
    """Return the file that tracebacks and warnings are logged to."""
    return user_log_path("helixscope", appauthor=False) / "helixscope.log"


def start_log() -> logging.Handler:
    """Log to the file from now on, warnings of libraries too; it is made with the first entry.

    Returns
    -------
    What does it; without a place to write to, nothing is logged.
    """
    handler: logging.Handler = logging.NullHandler()
    path = log_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = _LogFile(path, maxBytes=1 << 20, backupCount=1, delay=True, encoding="utf-8")
    except OSError:
        pass  # a read-only home is no reason not to start
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
    """A file that may be on a full disk: that is no reason to write to the terminal instead."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Let the entry go."""
