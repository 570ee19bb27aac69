"""Models that are on this machine: in packages, in the Hub cache, or downloaded piece by piece."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import first_int, read_json
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import weights_in
from geometry.checkpoints.formats.sharded_store import (
    MAX_NAME_LENGTH,
    is_file_name,
    read_weight_map,
)
from geometry.checkpoints.stores import open_regular
from geometry.hub.address import SERVER_FILE, HubAddress, endpoint, server_name
from geometry.models.families.model_types import FAMILIES, PARTS
from geometry.models.recognition.without_table import (
    ALIBI,
    RELATIVE,
    RELATIVE_IN_TWO,
    ROTARY,
    WITHOUT_TABLE,
)
from geometry.models.sources.catalogue import (
    BUNDLED,
    CatalogueEntry,
    canonical,
    find_entry,
    short_name,
)
from geometry.models.sources.formulas import is_computed

if TYPE_CHECKING:
    from geometry.hub.tensor_cache import TensorCache

MAX_NUMBERS = 2**28
"""A size beyond this is that of no table."""

State = Literal["bundled", "computed", "installed", "cached", "online"]

HUB_CACHE_GROUP = "In your Hub cache"
"""Group of the models in the Hub cache that are not in the catalogue."""
FETCHED_GROUP = "Downloaded before"
"""Group of those that were downloaded piece by piece."""


def locate(entry: CatalogueEntry | str, revision: str | None = None) -> Path | None:
    """Find a model on this machine, without the network.

    Parameters
    ----------
    entry
        An entry of the catalogue, or any model's id on the Hub.
    revision
        A branch, tag or commit; None for the main branch.

    Returns
    -------
    The checkpoint's folder (in an installed package, or a snapshot in the Hub cache), or None.
    """
    known = find_entry(entry) if isinstance(entry, str) else entry
    if known is not None and revision is None and (folder := _in_package(known)) is not None:
        return folder
    names = [known.id, short_name(known.id)] if known is not None else []
    if isinstance(entry, str):
        names.insert(0, entry)
    return next(filter(None, (_in_cache(name, revision) for name in names)), None)


def state(entry: CatalogueEntry) -> State:
    """Return where a model is: bundled, in a package, in a cache, or online.

    A computed model is always available.
    """
    if is_computed(entry.id):
        return "computed"
    if _in_package(entry) is not None:
        return "bundled" if entry.id in BUNDLED else "installed"
    return "cached" if locate(entry) is not None or is_kept(HubAddress(entry.id)) else "online"


def locate_address(address: HubAddress) -> Path | None:
    """Find a model on this machine, like :func:`locate`; or its file, if one is named."""
    if address.file:
        snapshot = snapshot_of(address)
        file = None if snapshot is None else snapshot / address.file
        return file if file is not None and file.is_file() else None
    return locate(address.repo, None if address.revision == "main" else address.revision)


def is_kept(address: HubAddress, cache: TensorCache | None = None) -> bool:
    """Return whether a model is in the cache of piecewise downloads; the user's own if None."""
    from geometry.hub import checkpoint
    from geometry.hub.tensor_cache import default_cache

    return checkpoint.is_kept(cache or default_cache(), address)


def _in_package(entry: CatalogueEntry) -> Path | None:
    """Find the checkpoint in its package, without importing the package."""
    if entry.folder is None:
        return None
    package, _, inside = entry.folder.partition("/")
    spec = importlib.util.find_spec(package)
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        folder = Path(place) / inside
        if (folder / "config.json").is_file():
            return folder
    return None


def hub_cache() -> Path:
    """Return the user's standard Hub cache, by the same variables as huggingface_hub.

    Its own constant is not used: it is fixed on import, and the import is slow.
    """
    home = os.getenv("XDG_CACHE_HOME", "~/.cache")
    home = os.getenv("HF_HOME", os.path.join(home, "huggingface"))
    cache = os.getenv("HUGGINGFACE_HUB_CACHE", os.path.join(home, "hub"))
    return Path(os.path.expandvars(os.getenv("HF_HUB_CACHE", cache))).expanduser()


def _in_cache(name: str, revision: str | None) -> Path | None:
    """Find a model's snapshot in the Hub cache, if its configuration and weights are there.

    Does not use huggingface_hub's ``try_to_load_from_cache``, whose import would dominate the
    start-up time. The layout is documented under "Understand caching" in its guide: ``refs`` holds
    a file for each branch and tag, with the commit, and ``snapshots`` a folder for each.
    """
    folder = _snapshot(name, revision)
    if folder is None or not (folder / "config.json").is_file():
        return None
    return folder if _is_complete(folder) else None


def snapshot_of(address: HubAddress) -> Path | None:
    """Return a model's snapshot in the Hub cache, also if it is not complete."""
    revision = None if address.revision == "main" else address.revision
    return _snapshot(address.repo, revision)


def _snapshot(name: str, revision: str | None) -> Path | None:
    model = hub_cache() / f"models--{name.replace('/', '--')}"
    if _is_of_another_server(model):
        return None
    commit = read_reference(model, revision or "main") or revision or ""
    # A commit that is not a plain name would lead out of the folder.
    if not is_file_name(commit):
        return None
    folder = model / "snapshots" / commit
    return folder if folder.is_dir() else None


def _is_of_another_server(model: Path) -> bool:
    """Return whether we downloaded a model of the Hub cache from another endpoint than today's.

    Downloads of other programs have no such note, and count for every endpoint.
    """
    try:
        with open_regular(model / SERVER_FILE) as file:
            return file.read(MAX_NAME_LENGTH + 1).decode("utf-8") != server_name(endpoint())
    except (OSError, ValueError, SourceError):
        return False


def read_reference(model: Path, revision: str) -> str | None:
    """Return the commit of a branch or tag of a model's folder in the Hub cache, or None."""
    try:
        with open_regular(model / "refs" / revision) as file:
            commit = file.read(MAX_NAME_LENGTH + 1).decode("utf-8").strip()
    except (OSError, ValueError, SourceError):
        return None
    return commit if is_file_name(commit) else None


def is_superseded(folder: Path, address: HubAddress, cache: TensorCache | None = None) -> bool:
    """Return whether our cache has a newer commit of a model than the Hub cache.

    Of two recorded commits of a branch, the later record counts.

    Parameters
    ----------
    folder
        Its folder, from :func:`locate_address`.
    address
        The requested address.
    cache
        The cache of piecewise downloads; the user's own if None.
    """
    folder = folder.parent if folder.is_file() else folder
    reference = folder.parent.parent / "refs" / address.revision
    if folder.parent.name != "snapshots":
        return False
    from geometry.hub.keeping import wait_until_kept
    from geometry.hub.tensor_cache import default_cache

    known, cache = canonical(address), cache or default_cache()
    wait_until_kept(cache.root, known.repo)
    ours = cache.resolved(known.repo, known.revision)
    if ours is None or ours[0] == folder.name:
        return False
    try:
        return ours[1] > reference.stat().st_mtime and is_kept(known, cache)
    except OSError:  # requested by commit
        return False


def _is_complete(folder: Path) -> bool:
    """Return whether a download has its weights, with all their parts."""
    try:
        weights = weights_in(folder)
        if not weights.name.endswith(".index.json"):
            return True
        shards = set(read_weight_map(weights.name, read_json(weights)).values())
        return all((folder / shard).is_file() for shard in shards)
    except (SourceError, OSError):
        return False


def cached_models() -> tuple[CatalogueEntry, ...]:
    """List the models on this machine that the catalogue lacks.

    First those in the user's Hub cache, then those downloaded piece by piece, most recently used
    first; these include other revisions of the catalogue's models.
    """
    cached = tuple(_cached())
    known = {entry.id for entry in cached}
    return cached + tuple(entry for entry in _kept() if entry.id not in known)


def _cached() -> Iterator[CatalogueEntry]:
    root = hub_cache()
    names = sorted(path.name for path in root.glob("models--*")) if root.is_dir() else []
    for name in names:
        identity = name.removeprefix("models--").replace("--", "/")
        try:
            with reading(name):
                entry = _in_hub_cache(identity)
        except (SourceError, OSError):
            # Another program's half-written file must not hide the other models.
            continue
        if entry is not None:
            yield entry


def _in_hub_cache(identity: str) -> CatalogueEntry | None:
    """Describe a model of the user's Hub cache, unless the catalogue has it or it does not open."""
    if find_entry(identity) is not None or (folder := _in_cache(identity, None)) is None:
        return None
    config = read_json(folder / "config.json")
    return _describe(HubAddress(identity), config, HUB_CACHE_GROUP) if _opens(config) else None


def _kept() -> Iterator[CatalogueEntry]:
    from geometry.hub.checkpoint import kept_models
    from geometry.hub.tensor_cache import default_cache

    for address, config in kept_models(default_cache()):
        if find_entry(str(address)) is None:
            yield _describe(address, config, FETCHED_GROUP)


def _describe(address: HubAddress, config: dict[str, Any], group: str) -> CatalogueEntry:
    family = config.get("model_type")
    family = family if isinstance(family, str) else ""
    parts = [config.get(key) for key in PARTS.get(family, ())]
    settings = next((part for part in parts if isinstance(part, dict)), config)
    return CatalogueEntry(
        id=str(address),
        title=address.short,
        group=group,
        n_positions=_size(settings, ("n_positions", "max_position_embeddings")),
        d_model=_size(settings, ("n_embd", "hidden_size", "d_model", "dim")),
        note=f"{f'A {family}' if family else 'A'} model on this machine.",
    )


def _size(settings: dict[str, Any], keys: tuple[str, ...]) -> int:
    """Return the size under one of the keys; 0 if there is none, or it is out of bounds."""
    try:
        size = first_int(settings, keys) or 0
    except SourceError:  # of a model that does not open
        return 0
    return size if 0 < size <= MAX_NUMBERS else 0


def _opens(config: dict[str, Any]) -> bool:
    """Return whether a configuration belongs to a family with positions."""
    family = config.get("model_type")
    if not isinstance(family, str):
        return False
    inside = WITHOUT_TABLE.get(family) in (ROTARY, ALIBI, RELATIVE, RELATIVE_IN_TWO)
    return inside or family in FAMILIES or family in PARTS
