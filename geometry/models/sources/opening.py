"""Opening a source: a folder, a file, or a model by its id, from this machine or from the Hub."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geometry.checkpoints.adapters import AdapterAlone, adapter_error
from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import read_json
from geometry.checkpoints.errors import FileChanged, NoPositionalEmbeddings, NoStepYet, SourceError
from geometry.checkpoints.files import (
    ArchiveStore,
    adapter_settings,
    checkpoints_in,
    open_part,
    open_store,
    steps_around,
    weights_in,
)
from geometry.checkpoints.formats.gguf_store import TOKENS, GgufStore, part_names
from geometry.checkpoints.formats.position_log import LOG_NAME
from geometry.checkpoints.identity import FolderFiles
from geometry.checkpoints.plain_text import visible
from geometry.checkpoints.quantised import SETTINGS_FILE, dequantised, settings_of
from geometry.checkpoints.settings_beside import settings_beside
from geometry.checkpoints.stores import TensorStore, cannot_read, check_link, reading_file
from geometry.checkpoints.suffixes import TABLE_SUFFIXES
from geometry.checkpoints.tokenizer_files import FILES
from geometry.hub.address import HubAddress
from geometry.hub.faults import BaseAway, HubError
from geometry.models.checked_settings import check_settings
from geometry.models.layers import Layers
from geometry.models.model import PositionalModel
from geometry.models.notes import FILE_NAME as NOTES
from geometry.models.notes import Making, read_making
from geometry.models.recognition.architecture import Architecture
from geometry.models.recognition.candidates import NoSuchTable, UnknownArchitecture
from geometry.models.recognition.choice import Choice, choice_of
from geometry.models.recognition.finding import find_architecture, settled
from geometry.models.recognition.gguf_settings import read_settings
from geometry.models.recognition.spellings import as_in_torch, heads_by_shape
from geometry.models.sources.adapted import (
    base_on_hub,
    find_base,
    is_base_here,
    open_adapted,
    opening_base,
)
from geometry.models.sources.catalogue import BUNDLED, canonical, read_catalogue, with_entry
from geometry.models.sources.computed import open_computed
from geometry.models.sources.extended import open_extended
from geometry.models.sources.history_steps import (
    HISTORY_NAMES,
    NoStep,
    find_step,
    open_step,
    steps_inside,
)
from geometry.models.sources.labelled_rows import open_array, open_rows
from geometry.models.sources.layer_tables import find_layers, open_layer
from geometry.models.sources.local_models import (
    is_superseded,
    locate,
    locate_address,
    read_reference,
)
from geometry.models.sources.locating import local_path, located
from geometry.models.sources.memory import open_held
from geometry.models.sources.resampled import open_resampled
from geometry.models.sources.rotary_pair import open_pair
from geometry.models.sources.source import FORMS, GENERIC, Source
from geometry.models.sources.token_rows import open_token_rows

if TYPE_CHECKING:
    from geometry.hub.checkpoint import HubCheckpoint
    from geometry.hub.network import Network

__all__ = ["NoSuchTable", "UnknownArchitecture", "open_model"]

_NEEDED = {
    "tokens": "a list",
    "table": "a table or a family",
    "resampled": "a size",
    "pair": "a pair",
    "extended": "a method, two numbers of rows",
}
"""What the source of each derived kind names beside a model."""
_MAKERS = {"pair": open_pair, "resampled": open_resampled, "extended": open_extended}
"""Functions that open a derived table, by the kind of source, except for "tokens", which may also
need the network."""
_STEP = re.compile(
    r"(model_|checkpoint_)?(best|last|latest|final)([.-].*)?"
    r"|(epoch|step|iter|state_step|global_step|model|checkpoint|ckpt|tokens)[-_=]?\d.*|\d{1,15}",
    re.IGNORECASE,
)
"""Names of files that say only which step of a training it is."""

_PART = re.compile(r"-\d{5}-of-\d{5}$")
"""The end of the name of a split GGUF file's part."""

_COMMIT = re.compile(r"[0-9a-f]{40}")
"""Name of a snapshot's folder in the Hub cache."""

_ATTEMPTS = 3
"""How often local files that change while they are opened are opened again before giving up."""


def open_model(
    source: str | os.PathLike[str] | Source,
    *,
    table: str | None = None,
    family: str | None = None,
    first_rows: int | None = None,
    network: Network | None = None,
) -> PositionalModel:
    """Open a checkpoint, reading only its configuration, its index and P.

    Parameters
    ----------
    source
        "sample", the bundled model; "sinusoidal" or "sinusoidal:512x128", a computed table (see
        :mod:`geometry.models.sources.formulas`); a folder in the Hugging Face layout; a file
        (safetensors, torch's zip format, npy, npz, GGUF), or a table of numbers (see
        :mod:`geometry.models.sources.labelled_rows`); what is made of a model, such as
        "tokens:weekdays,gpt2" (see :data:`geometry.models.sources.source.FORMS`); or a model's id,
        perhaps with "@revision", or the address of its page; a folder of positions inside a model,
        or "/layer 3" of it (see :mod:`geometry.models.sources.layer_tables`), of which
        "sample/inside" is bundled; "/step 500" of a training with a history (see
        :mod:`geometry.models.sources.history_steps`). A model is searched in the installed
        packages, the Hub cache and our own cache; from the Hub itself only what is needed is
        downloaded, and cached. The model of an adapter is downloaded if the network is ``whole``.
    table
        The tensor to use as positions, where no family fits, or some of its rows, such as
        "pe.weight[2:]"; or one of a model's sides: "encoder", "decoder", "text" or "vision". Or all
        that was chosen as one text, as :attr:`PositionalModel.table_choice` returns it:
        "pe.weight;family=roberta;first-rows=2".
    family
        The family as which it is read, whatever its configuration says: a ``model_type`` of
        transformers, or the name of another code, such as "nanogpt" or "timm".
    first_rows
        Number of rows of the table before position 0; that of the family if None.
    network
        Access to the Hub and the cache; the defaults if None.

    Raises
    ------
    SourceError
        It cannot be opened; for a model on the Hub usually a :class:`geometry.hub.faults.HubError`.
    Cancelled
        The network's transfer was cancelled.
    NoStepYet
        The folder is empty, or its log of positions, or it has only the notes of a training: it is
        that of a training which has just begun.
    NoPositionalEmbeddings
        The family stores no table of positions.
    UnknownArchitecture
        No known family fits; one of its ``candidates`` can be given as ``table``.
    NoSuchTable
        The source has no such tensor or side.
    """
    source = located(Source.of_any(source))
    text, table = source.text, choice_of(table, family, first_rows)
    if source.kind == "memory":
        return open_held(source, table)
    if source.kind == "table" and source.of is not None:
        return open_model(source.of, table=source.what, network=network)
    if (one_table := _one_table(source)) is not None:
        if table is not None:
            raise _no_choice(source, table)
        return one_table()
    if source.kind in FORMS:
        return _open_derived(source, table, network)
    if source.kind == "bundled":
        if text not in BUNDLED or (folder := locate(text)) is None:
            raise SourceError("The bundled model is missing.", "Reinstall Helixscope.")
        return _open(folder, source, text, table)
    if source.address is None:
        if source.linked:
            raise SourceError(
                f"{text} is no link to a model.", "Use one such as helixscope://open?model=gpt2."
            )
        path = _path(text)
        return _open(_snapshot(path), source, name_of(path), table, network)
    if network is None or not network.fresh:
        folder = locate_address(source.address)
        cache = None if network is None else network.cache
        if folder is not None and not is_superseded(folder, source.address, cache):
            return _open(folder, source, source.name, table, network)
    return _fetch(source, source.address, table, network)


def _open_derived(source: Source, table: str | None, network: Network | None) -> PositionalModel:
    """Open what is derived from a model, with the consent to downloads that was given."""
    if source.of is None:
        raise SourceError(
            f"{visible(source.text)!r} should name {_NEEDED[source.kind]} and a model.",
            f"Use the form {FORMS[source.kind]}.",
        )
    model = open_model(source.of, table=table, network=network)
    if source.kind != "tokens":
        return _MAKERS[source.kind](source, model)
    if network is None:
        return open_token_rows(source, model, whole=False)
    if network.whole:
        model.agree("whole files")
        model.agree("tokenizer")
    with model.through(network.transfer):
        return open_token_rows(source, model, whole=network.whole)


def _one_table(source: Source) -> Callable[[], PositionalModel] | None:
    """Return what opens a source that always has one table, so that none can be chosen."""
    if source.kind == "computed":
        return partial(open_computed, source)
    if source.kind not in ("bundled", "path"):
        return None
    with suppress(OSError, ValueError, RuntimeError):  # _path raises the error
        path = local_path(source)
        if (layers := find_layers(path)) is not None:
            return partial(open_layer, *layers, source)
        step = find_step(path)
        if step is not None and step[0].name not in HISTORY_NAMES:
            return partial(_open_item, *step, source)
        if step is not None:
            return partial(open_step, *step, source, partial(open_model, step[0].parent))
    return None


def _open_item(file: Path, step: int, source: Source) -> PositionalModel:
    """Open one of the state dicts in a file, by its step."""
    whole = open_model(file)
    tables = steps_inside(whole)
    if step not in tables:
        has = f"It has {len(tables)}, up to step {max(tables)}." if tables else f"Open {file}."
        raise NoStep(f"{file} has no step {step}.", has)
    return _open(file, source, f"{whole.name} · step {step}", tables[step])


def _no_choice(source: Source, table: str) -> NoSuchTable:
    choice = Choice.parse(table)
    if choice.table:
        return NoSuchTable(f"{source.text!r} is one table, and has no tensor {choice.table!r}.", ())
    return NoSuchTable(f"{source.text!r} is one table, read in one way.", (), "Open it as it is.")


def _path(text: str) -> Path:
    """Return the local path of a source.

    Raises
    ------
    SourceError
        It does not exist, or cannot be accessed.
    """
    try:
        path = Path(text).expanduser()
        if text and path.exists():
            return path
        check_link(path)
    except PermissionError as error:
        raise cannot_read(Path(text), error) from error
    except (OSError, ValueError, RuntimeError) as error:
        raise SourceError(f"{text!r} is not a path: {error}.", "Check the path.") from error
    raise SourceError(f"{text!r} does not exist.", "Check the path.")


def _open(
    path: Path, source: Source, name: str, table: str | None, network: Network | None = None
) -> PositionalModel:
    """Open local files; again if they are replaced meanwhile, as a training run does."""
    with reading_file(path):
        for _ in range(_ATTEMPTS - 1):
            with suppress(FileChanged):
                return _open_once(path, source, name, table, network)
        return _open_once(path, source, name, table, network)


def _open_once(
    path: Path, source: Source, name: str, table: str | None, network: Network | None
) -> PositionalModel:
    log = path / LOG_NAME
    try:
        weights = weights_in(path) if path.is_dir() else path
    except SourceError:
        if not log.is_file():
            if (path / NOTES).is_file():
                why = f"The training in {path} has no step yet."
                raise NoStepYet(why, "Wait for the first one.") from None
            raise
        weights = log
    if weights.name == LOG_NAME:
        if table is not None:
            raise _no_choice(source, table)
        return open_step(weights, None, source)
    if weights.suffix.lower() in TABLE_SUFFIXES:
        if table is not None:
            raise _no_choice(source, table)
        return open_rows(weights, source, name)
    settings = adapter_settings(weights)
    away = None if settings is None else base_on_hub(settings)
    if settings is not None:
        agreed = away if network is not None and network.whole else None
        cache = None if network is None else network.cache
        if (base := find_base(weights, settings, cache) or agreed) is not None:
            adapter = open_part(weights)
            with opening_base(source.full_name):
                model = open_model(base, table=table, network=network)
            return open_adapted(adapter, settings, model, source, name, weights.parent)
    bare = weights.suffix in (".npy", ".npz")
    # Before anything is read.
    beside = None if bare else FolderFiles(weights.parent, FILES)
    try:
        store = open_store(weights)
    except AdapterAlone as error:
        if away is None:
            raise
        raise BaseAway(weights.name, away.full_name) from error
    if bare:
        # A bare table: a configuration next to it need not belong to it.
        store = as_in_torch(store)
        place = replace(place_of(store, {}, table), notes=())  # an array needs no notes
        return open_array(weights, store, place, source, name)
    folder = weights.parent
    config_file = folder / "config.json"
    place_of_tokenizer = folder
    if isinstance(store, GgufStore):  # a configuration beside it need not belong to it
        config = read_settings(store.index, store, weights.name)
        if TOKENS in store.index.lengths:
            place_of_tokenizer = weights.with_name(part_names(weights.name)[0])
    elif isinstance(store, ArchiveStore):
        config = dict(store.settings) if "model_type" in store.settings else {}
    else:
        config = read_json(config_file) if config_file.is_file() else {}
    quantisation = folder / SETTINGS_FILE
    own = {"quantization_config": read_json(quantisation)} if quantisation.is_file() else {}
    store, note = dequantised(store, {**own, **config})
    store = as_in_torch(store)
    place = with_note(place_of(store, config, table, weights), note)
    if path.is_dir():
        place = with_note(place, _steps_note(weights))
    making, why = read_making(folder)
    place, making = with_note(place, why), with_entry(making, source.address)
    commit = folder.name if folder.parent.name == "snapshots" else ""
    return PositionalModel(
        store,
        place,
        source=source,
        name=name,
        folder=place_of_tokenizer,
        commit=commit if _COMMIT.fullmatch(commit) else None,
        beside=beside,
        making=making,
    )


def _steps_note(weights: Path) -> str:
    """Return a sentence about the other steps of a training, of which these weights are shown."""
    steps = steps_around(weights) or checkpoints_in(weights.parent)
    if len(steps) < 2:
        return ""
    own = [path for _, path in steps if path in (weights, *weights.parents)]
    return (
        f"{(own or [weights])[0].name} is shown, of {len(steps)} steps of a training from "
        f"{steps[0][1].name} to {steps[-1][1].name}: the Training panel and “helixscope timelapse” "
        "show all of them."
    )


def place_of(
    store: TensorStore, config: Mapping[str, Any], table: str | None, weights: Path | None = None
) -> Architecture:
    """Find the position table, and which of its rows is position 0.

    Without a configuration by the settings in the file or, of local ``weights``, beside it, if they
    can be used: they may be of something else.
    """
    stored, where, notes = store.settings, "the weights", []
    heads = heads_by_shape(store)
    try:
        if weights is not None and not config and not stored:
            stored, where = settings_beside(weights)
            notes = [f"Settings are those of {where} beside the weights."] if stored else []
    except FileChanged:
        raise
    except SourceError as error:
        notes = [f"Settings beside the weights are passed over: {error}"]
    if heads is not None and not config:
        stored = {**stored, "n_head": heads}
    try:
        place = settled(store, find_architecture(store.tensors, config, table, stored))
        if stored:
            check_settings(Layers(store, place))
    except (FileChanged, HubError, NoPositionalEmbeddings, UnknownArchitecture):
        raise
    except SourceError as error:
        if not stored:
            raise
        notes = [f"The settings in {where} are passed over: {error}"]
        place = settled(store, find_architecture(store.tensors, config, table))
    return replace(place, notes=(*place.notes, *notes))


def with_note(place: Architecture, note: str) -> Architecture:
    return replace(place, notes=(*place.notes, note)) if note else place


def _fetch(
    source: Source, address: HubAddress, table: str | None, network: Network | None
) -> PositionalModel:
    """Open a model from the cache and the Hub."""
    from geometry.hub.checkpoint import open_checkpoint
    from geometry.hub.faults import NotOnHub, Offline
    from geometry.hub.hub_files import DAMAGED
    from geometry.hub.keeping import opening
    from geometry.hub.network import default_network

    text = source.text
    try:
        network = network or default_network()
        with opening(), reading(text, DAMAGED):
            checkpoint = open_checkpoint(canonical(address), network)
            if checkpoint.adapter is not None:
                return _fetch_adapted(checkpoint, checkpoint.adapter, source, table, network)
            model = _model_of(checkpoint, source, table)
    except Offline as error:
        raise Offline(
            f"{text} is not on this machine, and Helixscope is offline.", error.advice
        ) from error
    except NotOnHub as error:
        if error.missing != "repository" or "://" in text:
            raise
        raise NotOnHub(
            f"There is no file or folder {text!r} here, and {error}",
            error.advice,
            missing=error.missing,
        ) from error
    checkpoint.keep(chosen=table is not None)
    return model


def _fetch_adapted(
    checkpoint: HubCheckpoint,
    settings: Mapping[str, Any],
    source: Source,
    table: str | None,
    network: Network,
) -> PositionalModel:
    """Open a model with an adapter on the Hub; what it is an adapter of needs consent, too."""
    base = base_on_hub(settings)
    if base is None:
        raise adapter_error(source.full_name, settings)
    if not (network.whole or is_base_here(base, network.cache)):
        raise BaseAway(source.full_name, base.full_name)
    with opening_base(source.full_name):
        model = open_model(base, table=table, network=network)
    commit = checkpoint.commit
    adapted = open_adapted(checkpoint.store, settings, model, source, source.name, commit=commit)
    checkpoint.keep(chosen=True)  # it opens without the network only where its model does
    return adapted


def _model_of(checkpoint: HubCheckpoint, source: Source, table: str | None) -> PositionalModel:
    """Create the model; on failure, remove what was cached for it, unless a choice is needed."""
    try:
        store, gguf = checkpoint.store, checkpoint.gguf
        config = checkpoint.config
        if gguf is not None:
            config = read_settings(gguf, store, checkpoint.file)
        # Without settings, those of several files are known once the index of each was downloaded.
        known = store.in_one_file or settings_of(config)
        whole, note = dequantised(store, config, remote=True) if known else (store, "")
        whole = as_in_torch(whole)
        return PositionalModel(
            whole,
            with_note(place_of(whole, config, table), note),
            source=source,
            name=source.name,
            folder=checkpoint.tokenizer_folder,
            commit=checkpoint.commit,
            making=with_entry(Making(), source.address),
        )
    except (NoSuchTable, UnknownArchitecture):
        checkpoint.keep(chosen=True)  # another table of it is opened next
        raise
    # Any exception, even a bug of ours, passes through.
    except Exception:
        checkpoint.drop()
        raise


def _snapshot(path: Path) -> Path:
    """Return the newest snapshot of a model's folder in the Hub cache; other folders unchanged."""
    with reading_file(path):
        if not (path / "snapshots").is_dir() or (path / "config.json").is_file():
            return path
        commit = read_reference(path, "main")
        if commit is not None and (wanted := path / "snapshots" / commit).is_dir():
            return wanted
        # A link of the cache that leads nowhere is left out.
        snapshots = [item for item in (path / "snapshots").iterdir() if item.is_dir()]
        return max(snapshots, key=lambda item: item.stat().st_mtime, default=path)


def name_of(path: Path) -> str:
    """Return a short name of a checkpoint's folder or file, for captions.

    That of the model, of its training if all have the same, and the step if there are several.
    """
    full = Path(os.path.abspath(path))
    folder, step = full, ""
    if not full.is_dir():
        if not GENERIC.fullmatch(full.stem):
            if not _STEP.fullmatch(full.stem):
                return _PART.sub("", full.stem)
            step = f" · {full.stem}"
        folder = full.parent
    cached = [part for part in full.parts if part.startswith("models--")]
    if cached:
        return cached[-1].rsplit("--", 1)[-1]
    if GENERIC.fullmatch(folder.name):
        for entry in read_catalogue():
            if entry.folder is not None and locate(entry) == folder:
                return entry.title
    names = (part.name for part in (folder, *folder.parents) if not GENERIC.fullmatch(part.name))
    return (next(names, "") or folder.name) + step
