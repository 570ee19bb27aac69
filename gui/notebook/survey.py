"""A survey as a data frame: sources in processes of their own, what is in memory in this one."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geometry.checkpoints.children import start_own
from geometry.checkpoints.errors import HelixscopeError
from geometry.survey.populations import Entry
from geometry.survey.rows import Row, RowSettings, failed_row, model_row
from geometry.survey.run import check_installed
from gui.commands.terminal import note
from gui.notebook.opened import OpenedModel, opener

if TYPE_CHECKING:
    from pandas import DataFrame


def survey_of(
    things: Any,
    out: str | os.PathLike[str] | None,
    positions: tuple[int, int] | None,
    **options: str | int | None,
) -> DataFrame:
    """Measure several models; see :func:`helixscope.survey`."""
    from pandas import DataFrame, concat, read_parquet

    if isinstance(things, Mapping):
        things = [OpenedModel(partial(opener(one), name=str(name))) for name, one in things.items()]
    things = [things] if _is_source(things) else list(things)
    sources = [os.fspath(one) for one in things if _is_source(one)]
    live = [one for one in things if not _is_source(one)]
    rows = [_row(one, RowSettings(positions)) for one in live]
    names = dict.fromkeys(name for row in rows for name in row)
    here = DataFrame({name: [row.get(name) for row in rows] for name in names})
    if not sources:
        return here
    check_installed()
    with tempfile.TemporaryDirectory(prefix="helixscope-") as folder:
        file = Path(folder, "survey.parquet") if out is None else Path(out)
        span = None if positions is None else "-".join(map(str, positions))
        given = {"out": file, "positions": span, **options}
        _run(*(f"--{key}={value}" for key, value in given.items() if value is not None), *sources)
        frame = read_parquet(file)
    return concat([frame, here], ignore_index=True) if rows else frame


def _is_source(thing: Any) -> bool:
    return isinstance(thing, str | os.PathLike)


def _row(thing: Any, settings: RowSettings) -> Row:
    name = str(getattr(thing, "name", "") or type(thing).__name__)
    try:
        model = opener(thing)(name="")
        return model_row(Entry(model.name, ""), model, settings)
    except HelixscopeError as error:
        return failed_row(Entry(name, ""), str(error), temporary=False)


def _run(*arguments: str) -> None:
    """Run the command in a subprocess, which a script can start without a guard of its own.

    What it reports goes to standard error, in a notebook below the cell; the last line, if it
    fails, into the error.
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
    if process.returncode:
        raise HelixscopeError(
            last.strip().removeprefix("helixscope: ") or "The survey ended unexpectedly."
        )
    if last:
        note(last)
