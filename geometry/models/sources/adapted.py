"""A model with an adapter of PEFT: the adapter's folder opens as the model that it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geometry.checkpoints.adapted_store import AdaptedStore
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import adapter_settings, weights_in
from geometry.checkpoints.identity import FolderFiles
from geometry.checkpoints.network_paths import host_of
from geometry.checkpoints.plain_text import some_of, visible
from geometry.checkpoints.stores import TensorStore
from geometry.checkpoints.tokenizer_files import FILES
from geometry.models.model import PositionalModel
from geometry.models.recognition.candidates import named_like_positions
from geometry.models.sources.locating import is_address_here
from geometry.models.sources.source import Source

if TYPE_CHECKING:
    from geometry.hub.tensor_cache import TensorCache

BASE = "base_model_name_or_path"


def find_base(
    weights: Path, settings: Mapping[str, Any], cache: TensorCache | None = None
) -> Source | None:
    """Return the model of an adapter, if it is on this machine; None if it is not.

    It is searched as a path, also from the adapter's folder and beside it, where it may have been
    copied with the adapter; and as a model on the Hub that has been downloaded. A path that names
    another computer is not accessed.

    Raises
    ------
    SourceError
        It is an adapter itself.
    """
    name = settings.get(BASE)
    if not isinstance(name, str) or not name or host_of(name):
        return None
    for path in _places(weights.parent, name):
        with suppress(OSError, ValueError, RuntimeError):
            path = path.resolve()
            if path not in (weights.parent.resolve(), weights.resolve()) and _has_model(path):
                return Source.parse(str(path))
    source = base_on_hub(settings)
    return source if source is not None and is_base_here(source, cache) else None


def is_base_here(base: Source, cache: TensorCache | None) -> bool:
    """Return whether a model on the Hub was downloaded; into the user's cache if None."""
    return base.address is not None and is_address_here(base.address, cache)


def base_on_hub(settings: Mapping[str, Any]) -> Source | None:
    """Return the model of an adapter, if its name is that of one on the Hub."""
    name, revision = settings.get(BASE), settings.get("revision")
    if not isinstance(name, str) or not name:
        return None
    at = f"@{revision}" if isinstance(revision, str) and revision else ""
    source = Source.parse(f"hf://{name}{at}")  # whatever is in the current folder
    return source if source.address is not None else None


def _places(folder: Path, name: str) -> Iterator[Path]:
    path = Path(name).expanduser()
    yield path
    if not path.is_absolute():
        yield folder / path
    yield folder.parent / path.name


def _has_model(path: Path) -> bool:
    """Return whether a path is that of weights; SourceError if these are an adapter."""
    if not path.exists():
        return False
    try:
        weights = weights_in(path) if path.is_dir() else path
    except SourceError:
        return False
    if adapter_settings(weights) is not None:
        raise _is_adapter(str(path))
    return True


def _is_adapter(name: str) -> SourceError:
    return SourceError(
        f"{visible(name)}, of which this is an adapter, is an adapter itself.",
        "Merge that one with its model first, with PEFT's merge_and_unload.",
    )


_opening: ContextVar[bool] = ContextVar("_opening", default=False)
"""Whether the model of an adapter is being opened."""


@contextmanager
def opening_base(name: str) -> Iterator[None]:
    """Open the model of an adapter in the block; ``name`` is the adapter's.

    Raises SourceError: the adapter is itself opened as such a model.
    """
    if _opening.get():
        raise _is_adapter(name)
    token = _opening.set(True)
    try:
        yield
    finally:
        _opening.reset(token)


def open_adapted(
    adapter: TensorStore,
    settings: Mapping[str, Any],
    model: PositionalModel,
    source: Source,
    name: str,
    folder: Path | None = None,
    commit: str | None = None,
) -> PositionalModel:
    """Open a model with an adapter.

    Parameters
    ----------
    adapter, settings
        The adapter's tensors, and its ``adapter_config.json``.
    model
        The model, opened with the chosen table.
    source, name
        Of the adapter, which the user opened.
    folder
        That of the adapter; None on the Hub.
    commit
        That of the adapter on the Hub.

    Raises
    ------
    SourceError
        They do not fit.
    """
    store = AdaptedStore(model.store, adapter, settings)
    place = model.layers.architecture
    stored = model.store.tensors.get(place.table)
    resized = place.table in store.saved and store.tensors[place.table] != stored
    own = folder is not None and any((folder / file).is_file() for file in FILES)
    return PositionalModel(
        store,
        replace(
            place,
            notes=(*place.notes, *_notes(store, settings, place.table, model.source.name)),
            lenient=place.lenient or resized,
        ),
        source=source,
        name=name,
        folder=folder if own else model.folder or folder,
        commit=commit,
        beside=None if folder is None else FolderFiles(folder, FILES),
        making=model.making,
    )


def _notes(
    store: AdaptedStore, settings: Mapping[str, Any], table: str, base: str
) -> Iterator[str]:
    whose = "the model's"
    if table in store.saved:
        whose = "the adapter's, which was trained"
    elif table in store.changed:
        whose = "the model's with the adapter's change"
    kind = settings.get("peft_type")
    kind = f" ({kind})" if isinstance(kind, str) and len(kind) < 40 else ""
    yield f"An adapter{kind} of {visible(base)}: {table or 'P'} is {whose}."
    if store.changed:
        yield f"The adapter's changes are added to {len(store.changed)} matrices."
    if store.unknown:
        yield (
            f"{len(store.unknown)} tensors of the adapter are not used: "
            f"{some_of(list(store.unknown), 2)}."
        )
    others = [name for name in store.saved if named_like_positions(name) and name != table]
    if others:
        yield f"The adapter has more tables of positions: {some_of(others, 3)}."
