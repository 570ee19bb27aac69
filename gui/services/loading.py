"""What opening a model takes, done off the GUI thread: read, fit, measure."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from geometry.measures.norms import NormProfile, norm_profile
from geometry.pca.curve import Curve
from geometry.pca.first_look import first_look
from geometry.pca.range_pca import RangePCA
from gui.state.session import ModelRow

if TYPE_CHECKING:
    from geometry.hub.network import Network
    from geometry.models.model import PositionalModel


@dataclass(frozen=True, eq=False, slots=True)
class Opened:
    """All that showing a newly opened model needs."""

    model: PositionalModel
    fast: RangePCA
    curve: Curve
    norms: NormProfile


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to open.

    Attributes
    ----------
    source
        Folder, file, or a model's id on the Hub.
    table
        Tensor to take as the position table, or None for what the family says.
    positions
        Range to show first; 1 to the last position if None.
    whole
        Whether the user agreed to the download of a whole file.
    fresh
        Whether to ask the Hub which commit the revision is now.
    """

    source: str
    table: str | None = None
    positions: tuple[int, int] | None = None
    whole: bool = False
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class InitialView:
    """How to show it first: the components on the axes, and norms centred or raw."""

    components: tuple[int, int, int]
    norms_centred: bool


def open_from(
    source: str,
    network: Callable[[], Network],
    opener: Callable[..., PositionalModel] | None = None,
    *,
    table: str | None = None,
) -> PositionalModel:
    """Open a source, from this machine or from the Hub.

    Parameters
    ----------
    source
        Folder, file, or a model's id on the Hub.
    network
        Makes what a model from the Hub goes through; not called for what lies on this machine.
    opener
        ``geometry.models.sources.open_source`` unless a test brings its own.
    table
        Tensor to take as the position table, or None for what the family says.

    Raises
    ------
    geometry.checkpoints.errors.HelixscopeError
        If the source cannot be opened.
    """
    from geometry.models.sources import is_on_hub, open_source

    through = network() if is_on_hub(source) else None
    return (opener or open_source)(source, table=table, network=through)


def load(
    wanted: Wanted,
    look: InitialView,
    network: Callable[[], Network],
    opener: Callable[..., PositionalModel] | None = None,
) -> Opened:
    """Open a source and compute what is shown of it first.

    Parameters
    ----------
    wanted, look
        What to open, and how to show it.
    network, opener
        As for :func:`open_from`.

    Raises
    ------
    geometry.checkpoints.errors.HelixscopeError
        If the source cannot be opened or has no such positions.
    """
    model = open_from(wanted.source, network, opener, table=wanted.table)
    end = model.n_positions - 1
    stored = model.stored_W_pos
    with ThreadPoolExecutor(1) as beside:
        norms = beside.submit(lambda: norm_profile(model.W_pos, centred=look.norms_centred))
        # A look costs less than an exact fit or preparing for many fast ones: both come later.
        curve = first_look(stored, wanted.positions or (min(1, end), end), look.components)
        return Opened(model, RangePCA(model.W_pos), curve, norms.result())


def first_source(last: str) -> tuple[str | None, str | None]:
    """Return what to open at start: the last source, else the best model that is here.

    Parameters
    ----------
    last
        What was open last; "" at the first start.

    Returns
    -------
    source : str or None
        A path or a model's id; None if there is nothing to open.
    instead : str or None
        What to open if ``source`` has to be fetched and cannot be; None if there is nothing.
    """
    from geometry.models.catalogue import is_here, read_catalogue
    from geometry.models.computed import is_computed
    from geometry.models.sources import is_on_hub

    if last and (path_exists(last) or is_here(last)):
        return last, None
    models = (entry.id for entry in read_catalogue() if not is_computed(entry.id))
    best = next((name for name in models if is_here(name)), None)
    return (last, best) if last and is_on_hub(last) else (best, None)


def path_exists(source: str | Path) -> bool:
    """Tell whether a source is a file or folder that can be seen on this machine."""
    try:
        return Path(source).exists()
    except OSError:  # a disk that is away, a folder of somebody else's by now
        return False


def list_models() -> tuple[ModelRow, ...]:
    """Read the catalogue and what of it is on this machine, then what else the Hub cache has."""
    from geometry.models.catalogue import cached_models, read_catalogue, state

    listed = tuple(ModelRow(entry, state(entry)) for entry in read_catalogue())
    return listed + tuple(ModelRow(entry, "cached") for entry in cached_models())


def remembered_name(source: str) -> str:
    """Return a source as it is remembered: paths absolute, models by their ids on the Hub."""
    from geometry.hub.address import parse_address
    from geometry.models.catalogue import SAMPLE, canonical
    from geometry.models.computed import computed_source, is_computed

    if is_computed(source):
        return computed_source(source)
    path = Path(source).expanduser()
    if source != SAMPLE and path_exists(path):
        return str(path.resolve())
    address = parse_address(source)
    return source if address is None else str(canonical(address))


def has_versions(model: PositionalModel) -> bool:
    """Tell whether the Hub may have a newer version of a model than the one that is open."""
    from geometry.hub.address import parse_address
    from geometry.models.sources import is_on_hub

    if model.commit is None or not is_on_hub(model.source):
        return False
    address = parse_address(model.source)
    return address is not None and not model.commit.startswith(address.revision)


def short_name(source: str) -> str:
    """Return what a source is called in messages: a model's name, or its folder's or file's.

    The same as in captions once it is open: "gpt2" for "openai-community/gpt2" and for the address
    of its page, "gpt2@refs/pr/3" for a revision of it.
    """
    from geometry.hub.address import parse_address
    from geometry.models.computed import computed_name, is_computed

    if is_computed(source):
        return computed_name(source)
    address = parse_address(source)
    if address is not None:
        return address.short
    parts = source.rstrip("/\\").replace("\\", "/").split("/")
    # A snapshot in the Hub cache is named by its commit; the model's name is two folders up.
    if len(parts) > 2 and parts[-2] == "snapshots" and parts[-3].startswith("models--"):
        return parts[-3].rsplit("--", 1)[-1]
    return source if parts[-1][-1:] in ("", ":") else parts[-1]
