"""Locating the training history of an open model, and its checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from geometry.checkpoints.files import checkpoints_in, steps_around
from geometry.checkpoints.steps import steps_of
from geometry.history.versions import file_of, versions_of
from geometry.hub.address import HubAddress
from geometry.models.model import PositionalModel
from geometry.models.sources.catalogue import canonical
from geometry.models.sources.history_steps import StepStore, history_in, steps_inside
from geometry.models.sources.layer_tables import LayerStore
from geometry.models.sources.local_models import locate_address
from geometry.models.sources.opening import name_of
from geometry.models.sources.source import Source

if TYPE_CHECKING:
    from geometry.hub.network import Network
    from geometry.hub.tensor_cache import TensorCache


@dataclass(frozen=True, slots=True)
class Origin:
    """Location of a history.

    Attributes
    ----------
    kind
        "file": ``history.safetensors`` or ``positions.log``; "layers": positions inside a model,
        whose layers are its steps; "inside": a file with several state dicts; "folder": a folder of
        checkpoints; "rewritten": a checkpoint of which several versions were opened, see
        :mod:`geometry.history.versions`; "hub": a model on the Hub, which may have checkpoints as
        revisions.
    source
        The path of the file or the folder; the model's id.
    name
        Of the model, for captions.
    shape
        (n_positions, d_model) of the open model's table, the same for its history.
    table
        The ``table`` argument of ``open_model``; None for the default.
    """

    kind: Literal["file", "layers", "inside", "folder", "rewritten", "hub"]
    source: str
    name: str
    shape: tuple[int, int]
    table: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A checkpoint of a history.

    Attributes
    ----------
    step
        Of training.
    source
        Its source for :func:`geometry.models.sources.opening.open_model`.
    commit
        Its commit on the Hub; None for a local checkpoint.
    here
        Whether it needs no download.
    """

    step: int
    source: Source
    commit: str | None = None
    here: bool = True


def find_history(model: PositionalModel) -> Origin | None:
    """Find an open model's training history, by file names only.

    First ``history.safetensors`` or ``positions.log`` beside the model; then other state dicts in
    its file; then steps in the model's folder, or beside it if it is one of them, such as
    ``checkpoint-1000`` (see :func:`geometry.checkpoints.files.checkpoints_in`); then earlier
    versions of its file that were opened; then, for a model on the Hub, its revisions, which are
    not listed here.

    Returns
    -------
    Origin or None
        None if there is none, as for a bare or computed table, and for a step of a history, which
        is not the model at its end.

    Raises
    ------
    SourceError
        The model's folder cannot be read.
    """
    if model.computed or isinstance(model.store, StepStore):
        return None
    shape, home = (model.n_positions, model.d_model), model.home
    if isinstance(model.store, LayerStore):
        return Origin("layers", str(model.store.tables.file.path), model.name, shape)
    if home is not None:
        if (path := history_in(home)) is not None:
            return Origin("file", str(path), model.name, shape)
        if steps_inside(model):
            return Origin("inside", model.source.id, model.name, shape)
        # An adapter has the tokenizer of its model, in another folder.
        opened = Path(model.source.id) if model.source.kind == "path" else home
        opened = opened if opened.is_dir() else opened.parent
        places = dict.fromkeys((home.absolute(), opened.absolute()))
        found = (checkpoints_in(place) or steps_around(place) for place in places)
        if steps := next(filter(None, found), ()):
            folder = steps[-1][1].parent
            beside = folder != home or _is_one(model, steps)
            name = name_of(folder) if beside else model.name
            return Origin("folder", str(folder), name, shape, _table(model))
        if versions_of(model) is not None:
            return own_file(model, "rewritten")
    if model.source.address is None:
        return None
    repo = canonical(model.source.address).repo
    return Origin("hub", repo, HubAddress(repo).short, shape, _table(model))


def own_file(model: PositionalModel, kind: Literal["file", "rewritten"] = "file") -> Origin | None:
    """Return an open model's own file, which a training may rewrite; None if it has none."""
    file, shape = file_of(model), (model.n_positions, model.d_model)
    return None if file is None else Origin(kind, str(file), model.name, shape)


def _is_one(model: PositionalModel, steps: tuple[tuple[int, Path], ...]) -> bool:
    """Return whether a model was opened from one of the files of steps."""
    return Path(model.source.id) in (path.resolve() for _, path in steps)


def _table(model: PositionalModel) -> str | None:
    """Return the ``table`` argument that opens this table; None for the default."""
    choice = model.table_choice
    return None if model.sides and choice == model.sides[0] else choice


def list_snapshots(origin: Origin, network: Network | None = None) -> tuple[Snapshot, ...]:
    """List a history's checkpoints by increasing step.

    Parameters
    ----------
    origin
        A folder, or a model on the Hub.
    network
        Access to the Hub, for one request; offline, cached checkpoints are listed. The default
        network if None.

    Returns
    -------
    tuple of Snapshot
        Empty if the model has no checkpoints.

    Raises
    ------
    SourceError
        The folder cannot be read.
    HubError, Cancelled
        The Hub could not be reached, or the network's transfer was cancelled.
    ValueError
        The origin is a single file, which lists its steps itself.
    """
    if origin.kind not in ("folder", "hub"):
        raise ValueError(f"{origin.source} is read by read_history")
    if origin.kind == "folder":
        snapshots = [
            Snapshot(step, Source.parse(str(path)))
            for step, path in checkpoints_in(Path(origin.source))
        ]
    else:
        from geometry.hub.network import default_network

        snapshots = list(_revisions(origin.source, network or default_network()))
    by_step = {snapshot.step: snapshot for snapshot in reversed(snapshots)}
    return tuple(by_step[step] for step in sorted(by_step))


def _revisions(repo: str, network: Network) -> Iterator[Snapshot]:
    """Yield the checkpoints among a model's revisions on the Hub, branches first."""
    revisions = network.revisions(repo)
    steps = steps_of(revision.name for revision in revisions)
    for revision in revisions:
        if revision.name in steps:
            address = HubAddress(repo, revision.name)
            here = is_here(address, revision.commit, network.cache)
            source = Source.parse(str(address))
            yield Snapshot(steps[revision.name], source, revision.commit, here)


def is_here(address: HubAddress, commit: str | None, cache: TensorCache) -> bool:
    """Return whether a revision is cached, at this commit."""
    from geometry.hub.checkpoint import is_snapshot_kept, known_commit

    folder = locate_address(address)
    if folder is not None and folder.name == commit:
        return True
    # The order matters: the first waits for pending cache writes.
    return is_snapshot_kept(cache, address) and known_commit(cache, address) == commit
