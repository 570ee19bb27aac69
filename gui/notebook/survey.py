"""A survey as a data frame: sources in processes of their own, what is in memory in this one."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geometry.checkpoints.children import start_own
from geometry.checkpoints.errors import HelixscopeError
from geometry.survey.dispatch import HubGivesUp
from geometry.survey.populations import Entry
from geometry.survey.rows import Row, RowSettings, columns, failed_row, model_row
from geometry.survey.run import check_installed
from gui.commands.terminal import note
from gui.notebook.opened import OpenedModel, opener, range_of

if TYPE_CHECKING:
    from pandas import DataFrame


def survey_of(
    things: Any,
    out: str | os.PathLike[str] | None,
    positions: tuple[int, int] | None,
    **options: str | int | None,
) -> DataFrame:
    """Measure several models; see :func:`helixscope.survey`."""
    from pandas import concat, read_parquet

    if isinstance(things, Mapping):
        things = [OpenedModel(partial(opener(one), name=str(name))) for name, one in things.items()]
    positions = None if positions is None else range_of(positions)
    things = [things] if _is_source(things) or not isinstance(things, Iterable) else list(things)
    sources = [os.fspath(one) for one in things if _is_source(one)]
    live = [one for one in things if not _is_source(one)]
    rows = [_row(one, RowSettings(positions)) for one in live]
    if not sources:
        return _frame(rows)
    check_installed()
    with tempfile.TemporaryDirectory(prefix="helixscope-") as folder:
        file = Path(folder, "survey.parquet") if out is None else Path(out)
        span = None if positions is None else "-".join(map(str, positions))
        given = {"out": file, "positions": span, **options}
        words = [f"--{key}={value}" for key, value in given.items() if value is not None]
        unanswered = _run(*words, *sources)
        frame = read_parquet(file) if file.is_file() or not unanswered else _frame([])
    missing = [one for one in sources if one not in set(frame["source"])] if unanswered else []
    rows[:0] = [failed_row(Entry(one, ""), unanswered, temporary=True) for one in missing]
    frames = [one for one in (frame, _frame(rows)) if len(one)]
    return concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]


def _frame(rows: list[Row]) -> DataFrame:
    """Return rows as a data frame, its types as they are read from a survey's file."""
    from pandas import DataFrame

    frame = DataFrame(rows, columns=[name for name, _ in columns(0)])
    numbers = [name for name, kind in columns(0) if kind in ("count", "share", "number")]
    return frame.astype({name: "float64" for name in numbers if frame[name].isna().any()})


def _is_source(thing: Any) -> bool:
    return isinstance(thing, str | os.PathLike)


def _row(thing: Any, settings: RowSettings) -> Row:
    name = str(getattr(thing, "name", "") or type(thing).__name__)
    try:
        model = opener(thing)(name="")
        return model_row(Entry(model.name, ""), model, settings)
    except HelixscopeError as error:
        return failed_row(Entry(name, ""), str(error), temporary=False)


def _run(*arguments: str) -> str:
    """Run the command in a subprocess, which a script can start without a guard of its own.

    What it reports goes to standard error, in a notebook below the cell; the last line, if it
    fails, into the error.

    Returns
    -------
    str
        Why some sources have no row: the Hub cannot be asked for now. "" if all have.
    """
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with start_own("survey", *arguments, variables={}, text=True, **pipes) as process:
        assert process.stderr is not None
        last = ""
        try:
            for line in process.stderr:
                if last:
                    note(last)
                last = line.rstrip("\n")
        except BaseException:
            process.terminate()
            raise
    last = last.strip().removeprefix("helixscope: ")
    if process.returncode not in (0, HubGivesUp.exit_status):
        raise HelixscopeError(last or "The survey ended unexpectedly.")
    if last:
        note(last)
    return last if process.returncode else ""
