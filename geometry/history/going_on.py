"""How far a training has come by the files that it writes, to follow it while it goes on."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from geometry.checkpoints.config import read_json
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import checkpoints_in
from geometry.checkpoints.formats.position_log import LOG_NAME, LoggedTables, read_log
from geometry.checkpoints.identity import Identity, identity_of
from geometry.checkpoints.stored_step import stored_step
from geometry.history.origins import Origin
from geometry.history.record import read_history
from geometry.models.notes import FILE_NAME as NOTES
from geometry.models.sources.history_steps import FILE_NAME


@dataclass(frozen=True, slots=True)
class LoggedEnd:
    """The end of a training so far; equal to another one if that is the same record.

    Attributes
    ----------
    step
        The last one.
    time
        When it was recorded, in seconds since 1970.
    ended
        Whether the training has closed its log.
    """

    step: int
    time: float
    ended: bool = field(compare=False)


def end_of(log: LoggedTables) -> LoggedEnd | None:
    """Return the end of a log; None if it has no record."""
    if not len(log.records):
        return None
    last = log.records[-1]
    return LoggedEnd(int(last["step"]), float(last["time"]), log.ended)


def progress_of(origin: Origin) -> Hashable:
    """Return what differs once a training has written more; a :class:`LoggedEnd` if it has a step.

    It takes a few requests to the disk, of which none reads a table but that of a new record.

    Parameters
    ----------
    origin
        Where its history is; on this machine.

    Returns
    -------
    Hashable
        None if the history is not one that a training may still write, or is no longer there.

    Raises
    ------
    SourceError
        A log is damaged, or a folder cannot be read.
    """
    path = Path(origin.source)
    if origin.kind == "file" and path.name == LOG_NAME:
        return end_of(read_log(path))
    try:
        if origin.kind == "rewritten":
            return _version(path, identity_of(path))
        notes = path.with_name(NOTES)
        if origin.kind == "file" and path.name == FILE_NAME and notes.is_file():
            return _recorded(path, identity_of(path), notes, identity_of(notes))
        if origin.kind in ("file", "inside"):
            return identity_of(path)
        if origin.kind == "folder":
            steps = checkpoints_in(path)
            return tuple(step for step, _ in steps), identity_of(steps[-1][1]) if steps else None
    except OSError:
        pass
    return None


@lru_cache(maxsize=64)
def _recorded(path: Path, identity: Identity, notes: Path, _version_of_notes: Identity) -> Hashable:
    """Return the last step of a history, and whether its training is finished by its notes."""
    try:
        finished = read_json(notes).get("finished")
        step = int(read_history(path).steps[-1])
    except SourceError:
        finished = None
    if not isinstance(finished, bool):  # notes of another program
        return identity
    return LoggedEnd(step, identity.mtime_ns / 1e9, finished)


@lru_cache(maxsize=64)
def _version(path: Path, identity: Identity) -> Hashable:
    """Return the step in a version of a file; its identity alone while it is being written."""
    try:
        step = stored_step(path)
    except SourceError:
        step = None
    return identity if step is None else LoggedEnd(step, identity.mtime_ns / 1e9, ended=False)
