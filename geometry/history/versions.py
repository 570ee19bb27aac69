"""A checkpoint that a training rewrites in place, such as nanoGPT's ``ckpt.pt``: a step each time.

The tables of the versions that this process has opened are logged in a temporary folder. What
another process has opened is not there: it may be of another training.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from geometry.checkpoints.errors import FileChanged, SourceError
from geometry.checkpoints.files import weights_in
from geometry.checkpoints.formats.position_log import LOG_NAME, read_log
from geometry.checkpoints.stored_step import stored_step
from geometry.history.position_log import PositionLog
from geometry.models.model import PositionalModel

MAX_RECORDS = 256
"""Number of logged versions at which half of them are left out, see :class:`PositionLog`."""
MAX_NUMBERS = 2**24
"""Numbers of the largest table that is logged."""

_Key = tuple[Path, str, tuple[int, ...]]
_logs: dict[_Key, PositionLog] = {}
_folders: list[TemporaryDirectory[str]] = []
_lock = Lock()


def log_version(model: PositionalModel) -> bool:
    """Log the table of an open model if its file has the step of a training.

    Returns
    -------
    bool
        Whether a training may write more versions of the file. If it is doing so, and the file has
        changed since it was opened, this version is left out.
    """
    key, table = _key(model), model.stored_W_pos
    if key is None or table.size > MAX_NUMBERS:
        return False
    try:
        step = stored_step(key[0])
        if step is None:
            return False
        model.check_files()
    except FileChanged:
        return True
    except SourceError:
        return key in _logs
    with _lock:
        if key not in _logs:
            folder = TemporaryDirectory(prefix="helixscope-", ignore_cleanup_errors=True)
            _folders.append(folder)
            _logs[key] = PositionLog(folder.name, single=True, max_records=MAX_RECORDS)
        _logs[key](step, table)
    return True


def versions_of(model: PositionalModel) -> Path | None:
    """Return the log with the versions of an open model's file; None without an earlier one."""
    key = _key(model) if _logs else None
    log = None if key is None else _logs.get(key)
    return log.file if log is not None and len(read_log(log.file).records) > 1 else None


def file_of(model: PositionalModel) -> Path | None:
    """Return the file that an open model was read from; None if it is of another kind."""
    if model.source.kind != "path":
        return None
    path = Path(model.source.id)
    try:
        return weights_in(path) if path.is_dir() else path
    except SourceError:
        return None


def _key(model: PositionalModel) -> _Key | None:
    path = file_of(model)
    if path is None or path.name == LOG_NAME:
        return None
    return path, model.table, model.stored_W_pos.shape
