"""Loading a model off the GUI thread: read, fit, measure."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.plain_text import visible
from geometry.measures.norms import NormProfile, norm_profile
from geometry.models.sources.source import Source
from geometry.pca.curve import Curve
from geometry.pca.first_look import first_look
from geometry.pca.range_pca import RangePCA
from gui.scene.drawable import check_drawable
from gui.scene.shown_range import inside
from gui.services.origins import note_origin
from gui.state.values import MAX_TABLES, FirstRange, ModelRow

if TYPE_CHECKING:
    from geometry.hub.network import Network
    from geometry.models.model import PositionalModel
    from gui.state.session import Session

MAX_RECENT = 8
MAX_SURVEYS = 4


@dataclass(frozen=True, eq=False, slots=True)
class Opened:
    """A loaded model with everything needed to show it."""

    model: PositionalModel
    fast: RangePCA
    curve: Curve
    norms: NormProfile
    # The table that it was opened with: the request's, or the one remembered for its source.
    table: str | None = None


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request to open a source."""

    source: Source
    # Tensor to use as the position table; None for that of the family, or with ``if_there`` for the
    # one last chosen for the source.
    table: str | None = None
    positions: tuple[int, int] | None = None  # Range to show first; that of first_range if None
    whole: bool = False  # Whether the user agreed to the download of a whole file
    fresh: bool = False  # Whether to ask the Hub for the revision's current commit
    again: bool = False  # Whether it is reopened because its files have changed
    clip: bool = False  # Whether the range is clipped to the table
    later: bool = False  # Whether it is a later step of the training of the shown model
    if_there: bool = False  # Whether to open it with its default table if it has no such table
    # The sources that a project names, while the user has not agreed to look them up on the Hub.
    unasked: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class InitialView:
    """Initial display: components on the axes, norms centred or raw, which positions and tables."""

    components: tuple[int, int, int]
    norms_centred: bool
    first_range: FirstRange = "typical"
    tables: Mapping[str, str] = field(default_factory=dict)  # Chosen before, by the ids of sources


def load(wanted: OpenRequest, look: InitialView, network: Callable[[], Network]) -> Opened:
    """Open a source and compute its initial display.

    Parameters
    ----------
    network
        Creates the access to the Hub; not called for local sources.

    Raises
    ------
    geometry.checkpoints.errors.HelixscopeError
        If the source cannot be opened or drawn, or has no such positions. Its notes list the
        formats that were tried.
    """
    try:
        return _load(wanted, look, network)
    except HelixscopeError as error:
        from geometry.models.sources.locating import tried

        for line in tried(wanted.source):
            error.add_note(visible(line))
        raise


def _load(wanted: OpenRequest, look: InitialView, network: Callable[[], Network]) -> Opened:
    from geometry.models.sources.locating import located
    from geometry.models.sources.opening import NoSuchTable, open_model

    source, table = located(wanted.source), wanted.table
    if wanted.if_there:
        table = table or look.tables.get(source.id)
    # An adapter's model may be on the Hub.
    through = network() if source.model.kind == "hub" or wanted.whole else None
    try:
        model = open_model(source, table=table, network=through)
    except NoSuchTable:
        if not wanted.if_there:
            raise
        table = None
        model = open_model(source, network=through)
    with ThreadPoolExecutor(1) as beside:
        drawable = beside.submit(check_drawable, model)
        beside.submit(note_origin, model)
        beside.submit(lambda: model.warnings)  # cached, as the window shows them at once
        norms = norm_profile(model.stored_W_pos, centred=look.norms_centred)
        usual = look.first_range if model.of_text else "all"
        positions = wanted.positions or first_range(norms.outliers, model.n_positions, usual)
        if wanted.clip:
            positions = inside(positions, model.n_positions)
        # A first look is cheaper than an exact fit, which follows later.
        curve = first_look(model.stored_W_pos, positions, look.components)
        drawable.result()
        return Opened(model, RangePCA(lambda: model.W_pos), curve, norms, table)


def first_range(
    outliers: Collection[int], n_positions: int, wanted: FirstRange = "typical"
) -> tuple[int, int]:
    """Return the range to show first: by default without position 0 and outliers at either end.

    Of GPT-2 these are positions 1 to 1022, since the last one was never trained.

    Parameters
    ----------
    outliers
        Positions with outlying norms.
    wanted
        The user's choice.
    """
    first, end = min(1, n_positions - 1), n_positions - 1
    if wanted != "typical":
        return (0, end) if wanted == "all" else (first, end)
    last, aside = end, frozenset(outliers)
    while first in aside:
        first += 1
    while last in aside:
        last -= 1
    # If most positions are outliers, the range is not shortened.
    return (first, last) if 2 * (last - first) >= n_positions else (min(1, end), end)


def first_source(last: str) -> tuple[Source | None, Source | None]:
    """Return the source to open at start: the last source, or else the best local model.

    Parameters
    ----------
    last
        The last open source; "" at the first start.

    Returns
    -------
    source : Source or None
        None if there is none.
    instead : Source or None
        The source to open if the download of ``source`` fails; None if there is none.
    """
    from geometry.models.sources.catalogue import read_catalogue
    from geometry.models.sources.locating import is_here, may_ask_hub, path_exists

    source = Source.parse(last)
    if last and (path_exists(last) or is_here(source)):
        return source, None
    models = (Source.parse(entry.id) for entry in read_catalogue())
    best = next((one for one in models if one.kind != "computed" and is_here(one)), None)
    return (source, best) if last and may_ask_hub(source) else (best, None)


def list_models() -> tuple[ModelRow, ...]:
    """List the catalogue with the state of its models, and further models of the Hub cache."""
    from geometry.models.sources.catalogue import read_catalogue
    from geometry.models.sources.local_models import cached_models, state

    listed = tuple(ModelRow(entry, state(entry)) for entry in read_catalogue())
    return listed + tuple(ModelRow(entry, "cached") for entry in cached_models())


def not_there(sources: Iterable[Source], surveys: Iterable[str] = ()) -> frozenset[str]:
    """Return ids and files of recent sources and surveys that no longer exist.

    These are files, and derivatives of missing models.
    """
    from geometry.models.sources.locating import is_here, path_exists

    def is_there(source: Source) -> bool:
        if source.of is not None:
            return is_here(source)
        return not os.path.isabs(source.id) or path_exists(source.id)

    gone = (source.id for source in sources if not is_there(source))
    # A running survey may only have its parts, and no file yet.
    files = (file for file in surveys if not any(map(path_exists, (file, f"{file}.parts"))))
    return frozenset((*gone, *files))


def remember(session: Session, source: Source) -> None:
    """Put a source at the front of the recent ones, on a disk by its absolute path.

    One in memory cannot be opened later.
    """
    if source.model.kind == "memory":
        return
    source = Source.parse(source.id)
    others = (other for other in session.recent if other != source)
    session.recent = (source, *others)[:MAX_RECENT]


def remember_table(session: Session, source: Source, table: str | None) -> None:
    """Note which table a source was opened with, for the next time; None for its default."""
    if source.model.kind == "memory":
        return
    others = {other: of for other, of in session.tables.items() if other != source.id}
    tables = others if table is None else {**others, source.id: table}
    if tables != session.tables:
        session.tables = MappingProxyType(dict([*tables.items()][-MAX_TABLES:]))


def remember_survey(session: Session, path: str) -> None:
    """Put the file of a survey at the front of the recent ones."""
    others = (other for other in session.surveys if other != path)
    session.surveys = (path, *others)[:MAX_SURVEYS]


def forget_recent(session: Session) -> None:
    """Empty the lists of recent sources and surveys, and forget the tables chosen for them."""
    session.recent = session.surveys = ()
    session.tables = MappingProxyType({})


def has_versions(model: PositionalModel) -> bool:
    """Return whether the Hub may have a newer version of an open model."""
    address = model.source.address
    if model.commit is None or address is None:
        return False
    return not model.commit.startswith(address.revision)
