"""What opening a model takes, done off the GUI thread: read, fit, measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from geometry.curve import Curve
from geometry.first_look import first_look
from geometry.norms import NormProfile, norm_profile
from geometry.range_pca import RangePCA
from gui.session import ModelRow

if TYPE_CHECKING:
    from geometry.model import PositionalModel


@dataclass(frozen=True, eq=False, slots=True)
class Opened:
    """All that showing a newly opened model needs."""

    model: PositionalModel
    fast: RangePCA
    curve: Curve
    norms: NormProfile


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to open and how to show it first; ``positions`` None means 1 to the last."""

    source: str
    table: str | None
    positions: tuple[int, int] | None
    components: tuple[int, int, int]
    norms_centred: bool


def load(wanted: Wanted, opener: Callable[..., PositionalModel] | None = None) -> Opened:
    """Open a source and compute what is shown of it first.

    Parameters
    ----------
    wanted
        What to open.
    opener
        ``geometry.sources.open_source`` unless a test brings its own.

    Raises
    ------
    geometry.errors.HelixscopeError
        If the source cannot be opened or has no such positions.
    """
    if opener is None:
        from geometry.sources import open_source

        opener = open_source
    model = opener(wanted.source, table=wanted.table)
    end = model.n_positions - 1
    fast = RangePCA(model.W_pos)
    # A look costs less than an exact fit or than preparing for many fast ones: both come later.
    curve = first_look(model.W_pos, wanted.positions or (min(1, end), end), wanted.components)
    return Opened(model, fast, curve, norm_profile(model.W_pos, centred=wanted.norms_centred))


def first_source(last: str) -> str | None:
    """Return what to open at start: the last source if it is still here, else the best model.

    Parameters
    ----------
    last
        What was open last; "" at the first start.

    Returns
    -------
    str or None
        A path or catalogue id that opens without a network; None if there is none.
    """
    from geometry.catalogue import locate, read_catalogue

    if last and _is_here(last):
        return last
    return next((entry.id for entry in read_catalogue() if locate(entry) is not None), None)


def _is_here(source: str) -> bool:
    from geometry.catalogue import locate

    try:
        return Path(source).exists() or locate(source) is not None
    except OSError:  # a disk that is away, a folder of somebody else's by now
        return False


def list_models() -> tuple[ModelRow, ...]:
    """Read the catalogue and what of it is on this machine, then what else the Hub cache has."""
    from geometry.catalogue import cached_models, read_catalogue, state

    listed = tuple(ModelRow(entry, state(entry)) for entry in read_catalogue())
    return listed + tuple(ModelRow(entry, "cached") for entry in cached_models())


def remembered_name(source: str) -> str:
    """Return a source as it is remembered: paths absolute, ids as they are."""
    path = Path(source).expanduser()
    return str(path.resolve()) if path.exists() else source


def short_name(source: str) -> str:
    """Return the last part of a path or id, for messages."""
    return source.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1] or source
