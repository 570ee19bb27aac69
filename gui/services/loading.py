"""Loading a model off the GUI thread: read, fit, measure."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.plain_text import visible
from geometry.measures.norms import NormProfile, norm_profile
from geometry.pca.curve import Curve
from geometry.pca.first_look import first_look
from geometry.pca.range_pca import RangePCA
from gui.scene.drawable import check_drawable
from gui.scene.shown_range import inside
from gui.services.origins import note_origin
from gui.services.surveys import is_survey
from gui.state.values import MAX_TABLES, FirstRange, ModelRow

if TYPE_CHECKING:
    from geometry.hub.network import Network
    from geometry.models.model import PositionalModel
    from geometry.models.sources.derived import Derived
    from gui.state.session import Session

MAX_RECENT = 8
MAX_SURVEYS = 4
_PART = re.compile(r"(layer|step) \d+")
"""The last part of a source that is one of several tables in a folder."""
_NAMES: dict[str, str] = {}
"""Remembered names of sources that a job has looked up on the disk."""


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

    source: str  # Folder, file, or a model's id on the Hub
    # Tensor to use as the position table; None for that of the family, or with ``if_there`` for the
    # one last chosen for the source.
    table: str | None = None
    positions: tuple[int, int] | None = None  # Range to show first; that of first_range if None
    whole: bool = False  # Whether the user agreed to the download of a whole file
    fresh: bool = False  # Whether to ask the Hub for the revision's current commit
    again: bool = False  # Whether it is reopened because its files have changed
    clip: bool = False  # Whether the range is clipped to the table
    if_there: bool = False  # Whether to open it with its default table if it has no such table
    # The sources that a project names, while the user has not agreed to look them up on the Hub.
    unasked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InitialView:
    """Initial display: components on the axes, norms centred or raw, which positions and tables."""

    components: tuple[int, int, int]
    norms_centred: bool
    first_range: FirstRange = "typical"
    tables: Mapping[str, str] = field(default_factory=dict)  # Chosen before, by remembered names


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
        Creates the access to the Hub; not called for local sources.
    table
        Tensor to use as the position table, or None for that of the family.

    Raises
    ------
    geometry.checkpoints.errors.HelixscopeError
        If the source cannot be opened.
    """
    from geometry.models.sources.opening import may_ask_hub, open_model

    through = network() if may_ask_hub(source) else None
    return (opener or open_model)(source, table=table, network=through)


def load(
    wanted: OpenRequest,
    look: InitialView,
    network: Callable[[], Network],
    opener: Callable[..., PositionalModel] | None = None,
) -> Opened:
    """Open a source and compute its initial display.

    Parameters
    ----------
    network, opener
        As for :func:`open_from`.

    Raises
    ------
    geometry.checkpoints.errors.HelixscopeError
        If the source cannot be opened or drawn, or has no such positions. Its notes list the
        formats that were tried.
    """
    try:
        return _load(wanted, look, network, opener)
    except HelixscopeError as error:
        from geometry.models.sources.tried import tried

        for line in tried(wanted.source):
            error.add_note(visible(line))
        raise


def _load(
    wanted: OpenRequest,
    look: InitialView,
    network: Callable[[], Network],
    opener: Callable[..., PositionalModel] | None,
) -> Opened:
    from geometry.models.sources.opening import NoSuchTable

    name, table = remembered_name(wanted.source), wanted.table
    if wanted.if_there:
        table = table or look.tables.get(name)
    try:
        model = open_from(wanted.source, network, opener, table=table)
    except NoSuchTable:
        if not wanted.if_there:
            raise
        table = None
        model = open_from(wanted.source, network, opener)
    check_drawable(model)
    with ThreadPoolExecutor(1) as beside:
        fast = beside.submit(RangePCA, model.W_pos)
        beside.submit(note_origin, model)
        norms = norm_profile(model.W_pos, centred=look.norms_centred)
        usual = look.first_range if model.of_text else "all"
        positions = wanted.positions or first_range(norms.outliers, model.n_positions, usual)
        if wanted.clip:
            positions = inside(positions, model.n_positions)
        # A first look is cheaper than an exact fit, which follows later.
        curve = first_look(model.stored_W_pos, positions, look.components)
        return Opened(model, fast.result(), curve, norms, table)


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


def first_source(last: str) -> tuple[str | None, str | None]:
    """Return the source to open at start: the last source, or else the best local model.

    Parameters
    ----------
    last
        The last open source; "" at the first start.

    Returns
    -------
    source : str or None
        A path or a model's id; None if there is none.
    instead : str or None
        The source to open if the download of ``source`` fails; None if there is none.
    """
    from geometry.models.sources.catalogue import is_here, read_catalogue
    from geometry.models.sources.computed import is_computed
    from geometry.models.sources.opening import may_ask_hub

    if last and (path_exists(last) or is_here(last)):
        return last, None
    models = (entry.id for entry in read_catalogue() if not is_computed(entry.id))
    best = next((name for name in models if is_here(name)), None)
    return (last, best) if last and may_ask_hub(last) else (best, None)


def path_exists(source: str | Path) -> bool:
    """Return whether a source is an accessible local file or folder, or a layer or step in one."""
    path = Path(source)
    try:
        return path.exists() or (bool(_PART.fullmatch(path.name)) and path.parent.exists())
    except OSError:  # a disconnected disk, or no access
        return False


def list_models() -> tuple[ModelRow, ...]:
    """List the catalogue with the state of its models, and further models of the Hub cache."""
    from geometry.models.sources.catalogue import cached_models, read_catalogue, state

    listed = tuple(ModelRow(entry, state(entry)) for entry in read_catalogue())
    return listed + tuple(ModelRow(entry, "cached") for entry in cached_models())


def not_there(sources: Iterable[str]) -> frozenset[str]:
    """Return the recent sources that no longer exist: files, and derivatives of missing models."""
    return frozenset(source for source in sources if not _is_there(source))


def _is_there(source: str) -> bool:
    from geometry.models.sources.catalogue import is_here
    from geometry.models.sources.derived import is_derived

    if is_derived(source):
        return is_here(source)
    # A running survey may only have its parts, and no file yet.
    files = (source, f"{source}.parts") if is_survey(source) else (source,)
    return not os.path.isabs(source) or any(map(path_exists, files))


def remembered_name(source: str) -> str:
    """Return a source in the form in which it is remembered: absolute paths, ids on the Hub.

    It accesses the disk, so it is for jobs; :func:`known_name` does not.
    """
    from geometry.models.sources.catalogue import is_bundled
    from geometry.models.sources.computed import is_computed

    if is_computed(source):
        return known_name(source)
    if (derived := derived_from(source)) is not None:
        from geometry.models.sources.token_rows import LISTS

        what = derived.what
        if derived.kind == "tokens" and what not in LISTS:
            with suppress(OSError, ValueError, RuntimeError):  # reported when it is opened
                what = str(Path(what).expanduser().resolve())
        name = replace(derived, what=what, of=remembered_name(derived.of)).source
    else:
        name = _name_by_form(source)
        with suppress(OSError, ValueError, RuntimeError):
            path = Path(source).expanduser()
            if not is_bundled(source) and path_exists(path):
                name = str(path.resolve())
    _NAMES[source] = name
    return name


def known_name(source: str) -> str:
    """Return the last result of :func:`remembered_name`; if there is none, a name by form."""
    return _NAMES.get(source) or _name_by_form(source)


def _name_by_form(source: str) -> str:
    from geometry.hub.address import parse_address
    from geometry.models.sources.catalogue import canonical, is_bundled
    from geometry.models.sources.computed import computed_source, is_computed

    if is_computed(source):
        return computed_source(source)
    if (derived := derived_from(source)) is not None:
        return replace(derived, of=known_name(derived.of)).source
    path = os.path.expanduser(source)
    if is_bundled(source) or os.path.isabs(path):
        return path
    address = parse_address(source)
    return source if address is None else str(canonical(address))


def is_of_hub(source: str) -> bool:
    """Return whether the source of an open model is its id on the Hub; without disk access."""
    from geometry.models.sources.catalogue import address_in, is_bundled
    from geometry.models.sources.computed import is_computed
    from geometry.models.sources.derived import is_derived

    name = known_name(source)
    own = is_bundled(name) or is_computed(name) or is_derived(name) or os.path.isabs(name)
    return not own and address_in(name) is not None


def remember(session: Session, source: str) -> None:
    """Put a source at the front of the recent ones."""
    others = (other for other in session.recent if other != source)
    session.recent = (source, *others)[:MAX_RECENT]


def remember_table(session: Session, source: str, table: str | None) -> None:
    """Note which table a source was opened with, for the next time; None for its default."""
    others = {other: of for other, of in session.tables.items() if other != source}
    tables = others if table is None else {**others, source: table}
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
    from geometry.hub.address import parse_address

    if model.commit is None or not is_of_hub(model.source):
        return False
    address = parse_address(model.source)
    return address is not None and not model.commit.startswith(address.revision)


def whole_name(source: str) -> str:
    """Return the full name of a source, for messages about unknown names: with its Hub owner."""
    from geometry.hub.address import parse_address
    from geometry.models.sources.computed import is_computed

    named = is_computed(source) or derived_from(source) is not None
    address = None if named else parse_address(source)
    return short_name(source) if address is None else str(address)


def short_name(source: str) -> str:
    """Return the name of a source in messages: that of the model, its folder or its file.

    The same as in captions once it is open: "gpt2" for "openai-community/gpt2" and for the address
    of its page, "gpt2@refs/pr/3" for a revision of it.
    """
    from geometry.hub.address import parse_address
    from geometry.models.sources.catalogue import is_bundled
    from geometry.models.sources.computed import computed_name, is_computed
    from geometry.models.sources.opening import GENERIC

    if is_bundled(source):
        return source
    if is_computed(source):
        return computed_name(source)
    if (derived := derived_from(source)) is not None:
        return derived.name(short_name(derived.of))
    address = parse_address(source)
    if address is not None:
        return address.short
    parts = source.rstrip("/\\").replace("\\", "/").split("/")
    # A Hub snapshot's folder is named by its commit; the model's name is two folders up.
    if len(parts) > 2 and parts[-2] == "snapshots" and parts[-3].startswith("models--"):
        return parts[-3].rsplit("--", 1)[-1]
    if len(parts) > 1 and _PART.fullmatch(parts[-1]):
        return visible(" · ".join(parts[-2:]))
    if len(parts) > 1 and parts[-2] and GENERIC.fullmatch(parts[-1]):
        return visible(parts[-2])
    return visible(source if parts[-1][-1:] in ("", ":") else parts[-1])


def derived_from(source: str) -> Derived | None:
    """Return the derivation that a source describes; None for other sources."""
    from geometry.models.sources.derived import find_derived

    with suppress(SourceError):  # an invalid form, reported when it is opened
        return find_derived(source)
    return None
