"""An opened model, as scripts and notebooks use it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import RangeError
from geometry.checkpoints.result import ResultDict
from geometry.claims.claims import Verdict, check_claims
from geometry.claims.measurements import Measurements, Scope
from geometry.claims.scalar_results import QUANTITIES, Scalar, scalar_results
from geometry.models.model import PositionalModel
from geometry.models.sources.live import open_live
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from gui.export.viewer import ShownCurve, caption_of
from gui.notebook.explained import explained
from gui.notebook.progress import progress

if TYPE_CHECKING:
    from pandas import DataFrame

    from gui.notebook.figure import NotebookFigure


FIRST_COLUMNS = ["statement", "value", "expected", "outcome", "p_adjusted"]
"""Of a data frame of claims: what fits a cell."""


class OpenedModel:
    """A model that was opened: its matrices, its numbers, and pictures of them.

    It has all attributes of :class:`geometry.PositionalModel`, such as ``W_pos``, ``W_E``,
    ``n_heads`` and ``weight(name, layer)``.

    Parameters
    ----------
    reopen
        Opens it, now and when it is refreshed.
    positions
        First and last position, both inclusive, of what depends on a range; those of
        ``usual_positions`` if None.

    Raises
    ------
    HelixscopeError
        It cannot be opened, or has no such range.
    """

    def __init__(
        self,
        reopen: Callable[[], PositionalModel],
        positions: tuple[int, int] | None = None,
    ) -> None:
        self._reopen = reopen
        self._positions = None if positions is None else range_of(positions)
        self.refresh()

    @explained()
    def refresh(self) -> OpenedModel:
        """Open it again, as what was opened is now; returns itself."""
        self.model = self._reopen()
        self.measured = Measurements(self.model, Scope(self._positions))
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("model", "measured"):
            raise AttributeError(name)
        with explained():
            return getattr(self.model, name)

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *dir(self.model)})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.W_pos, dtype=dtype, copy=copy)

    # ---- numbers ----------------------------------------------------------------------------

    @property
    def positions(self) -> tuple[int, int]:
        """First and last position that are measured, both inclusive."""
        return self.measured.shown

    @property
    def chosen_positions(self) -> tuple[int, int] | None:
        """The range that was chosen when it was opened; None for the usual one."""
        return self._positions

    @explained()
    def over(self, first: int, last: int) -> OpenedModel:
        """Return the same model, measured over another range of positions.

        Raises
        ------
        RangeError
            The range leaves the table.
        """
        model = self.model
        return OpenedModel(lambda: model, (first, last))

    @property
    def numbers(self) -> Mapping[str, float | int | str | None]:
        """All single numbers of the table by name; None for those that it does not have."""
        return ResultDict({one.quantity.key: one.value for one in self._scalars()})

    @explained()
    def _scalars(self) -> tuple[Scalar, ...]:
        return self.measured.once(
            ("scalars", self.positions), lambda: scalar_results(self.model, self.positions)
        )

    @explained()
    def verdicts(self) -> tuple[Verdict, ...]:
        """Check all claims about the model; see :func:`geometry.check_claims`."""

        def check() -> tuple[Verdict, ...]:
            with progress("Checking claims") as report:
                return check_claims(self.measured, report)

        return self.measured.once(("verdicts", self.positions), check)

    @explained()
    def claims(self) -> DataFrame:
        """Return the verdicts on all claims as a table.

        Returns
        -------
        pandas.DataFrame
            By the claim's id: its statement, the quantity with its bound (``expected``) and
            ``value``, the deciding ``null`` with the range of 90 % of it and its draws, ``p``, p
            corrected for all claims, the ``outcome``, and why there is none.

        Raises
        ------
        HelixscopeError
            pandas is not installed.
        """
        from pandas import DataFrame

        from gui.panels.claims.words import COLUMNS

        verdicts = self.verdicts()
        columns = {
            name: [_cell(read(verdict)) for verdict in verdicts] for name, read in COLUMNS.items()
        }
        frame = DataFrame(columns).set_index("id").rename(columns={"measured": "value"})
        return frame[[*FIRST_COLUMNS, *frame.columns.difference(FIRST_COLUMNS, sort=False)]]

    @explained()
    def table(self, *others: Any) -> DataFrame:
        """Return the single numbers of this and other models, a row for each.

        Parameters
        ----------
        others
            What :func:`helixscope.open` has opened, or opens.

        Returns
        -------
        pandas.DataFrame
            By the name of the model; the columns are those of ``helixscope table``.

        Raises
        ------
        HelixscopeError
            pandas is not installed.
        """
        from pandas import DataFrame

        models = (self, *_opened(others))
        columns: dict[str, list[Any]] = {"model": [one.name for one in models]}
        each = [one.numbers for one in models]
        for quantity in QUANTITIES:
            columns[quantity.key] = [numbers[quantity.key] for numbers in each]
        return DataFrame(columns).set_index("model")

    @explained()
    def report(
        self, folder: str | os.PathLike[str] | None = None, *, beside: Any = ()
    ) -> dict[str, Any]:
        """Measure everything, and write it with its figures if there is a folder.

        Parameters
        ----------
        folder
            Of ``report.json`` and the figures, as of ``helixscope report``; created if missing.
        beside
            Another model or several, for the claims about groups: what :func:`helixscope.open` has
            opened, or opens.

        Returns
        -------
        dict
            What ``report.json`` has.

        Raises
        ------
        HelixscopeError
            A file cannot be written.
        """
        from gui.commands.report_files import FIGURES, ReportFiles, ReportRequest

        models = [one.model for one in _opened(beside)]
        if folder is None:
            from geometry.claims.report import report

            return report(self.model, positions=self._positions, beside=models)
        files = ReportFiles(self.model, ReportRequest(Path(folder), self._positions), models)
        with progress("Reporting") as tell:
            for done, (_, work) in enumerate(files.steps()):
                tell(done / (1 + len(FIGURES)))
                work()
        return files.content

    # ---- pictures ---------------------------------------------------------------------------

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the figures, for :meth:`figure`."""
        from gui.panels.table import FIGURES

        return tuple(FIGURES)

    @explained()
    def figure(self, name: str = "helix", *, beside: Any = ()) -> NotebookFigure:
        """Draw a figure.

        Parameters
        ----------
        name
            One of :attr:`figures`.
        beside
            Another model or several to draw with it, where the figure has room for them: what
            :func:`helixscope.open` has opened, or opens.

        Raises
        ------
        HelixscopeError
            There is no such figure, or the model lacks something for it.
        """
        from gui.notebook.figure import draw

        return draw(name, [(one.measured, one.verdicts) for one in (self, *_opened(beside))])

    @explained()
    def save(self, file: str | os.PathLike[str], *, small: bool = False) -> Path:
        """Save the curve, or the table of positions.

        Parameters
        ----------
        file
            ``.html``: a page with the curve, turnable; ``.png``, ``.svg``, ``.pdf``: the figure
            "helix"; ``.npy``: the rows; ``.csv``: positions, norms and coordinates; ``.tsv``: the
            rows for TensorBoard's projector, with ``metadata.tsv`` beside them.
        small
            Of a page: at most 300 kB, made for a frame of 600 × 400 pixels.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        HelixscopeError
            It cannot be written, or has another ending.
        """
        from gui.notebook.saving import PICTURES, save

        path = Path(file)
        if path.suffix.lower() in PICTURES:
            return self.figure().save(path)
        return save(self.measured, path, small=small)

    # ---- how it is shown --------------------------------------------------------------------

    def __repr__(self) -> str:
        model = self.model
        table = f"  {model.table}: {model.n_positions} × {model.d_model}"
        place = "in memory" if model.source.kind == "memory" else model.source
        return f"{model.name} ({place})\n{table}\n  {caption_of(self.measured)}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        if not self.model.no_table:
            curve = ShownCurve.of(self.measured)
            bundle |= {"text/html": curve.html(), "image/png": curve.png()}
        return bundle


def opener(thing: Any) -> Callable[..., PositionalModel]:
    """Return what opens a source, or what is in memory; see :func:`helixscope.open`."""
    if isinstance(thing, str | os.PathLike | Source):
        return partial(_of_source, thing)
    if isinstance(thing, PositionalModel):
        return lambda **_: thing
    if isinstance(thing, OpenedModel):
        return lambda **_: thing.model
    return partial(open_live, thing)


def _opened(models: Any) -> list[OpenedModel]:
    """Return models that are opened, of one or of several things."""
    several = isinstance(models, Sequence) and not isinstance(models, str)
    return [
        one if isinstance(one, OpenedModel) else OpenedModel(partial(opener(one), name=""))
        for one in (models if several else (models,))
    ]


def range_of(positions: Any) -> tuple[int, int]:
    """Return a first and a last position; RangeError if it is another thing."""
    try:
        first, last = (index(position) for position in positions)
    except (TypeError, ValueError):
        raise RangeError(
            f"{positions!r} is not a range of positions.",
            "Use the first and the last position, such as (1, 127).",
        ) from None
    return first, last


def _of_source(source: str | os.PathLike[str] | Source, *, name: str, **chosen: Any) -> Any:
    model = open_model(source, **chosen)
    model.name = name or model.name
    return model


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else str(value)
