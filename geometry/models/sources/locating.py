"""Where a source is, which only the disk tells: for jobs, and not for the GUI thread."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import check_link
from geometry.hub.address import HubAddress
from geometry.models.sources.catalogue import SAMPLE, canonical, read_catalogue
from geometry.models.sources.local_models import is_kept, locate, locate_address
from geometry.models.sources.source import PART, Source

if TYPE_CHECKING:
    from geometry.hub.tensor_cache import TensorCache

MAX_NAMES = 5_000
"""Entries of a folder that are compared with a name."""


def located(source: Source) -> Source:
    """Return a source with the absolute path of a file or folder that is there.

    A path that cannot be accessed is of the kind "path", too, and a file that is missing in a
    folder that is there: it is not looked for on the Hub.
    """
    if source.of is not None:
        from geometry.models.sources.token_rows import LISTS  # with what opens models

        what, of = source.what, located(source.of)
        if source.kind == "tokens" and what not in LISTS:
            with suppress(OSError, ValueError, RuntimeError):  # reported when it is opened
                what = str(Path(what).expanduser().resolve())
        return replace(source, id=f"{source.kind}:{what},{of.id}", of=of)
    if source.kind not in ("hub", "path") or source.linked:
        return source
    try:
        path = Path(source.text).expanduser()
        if _exists(path):
            return replace(source, kind="path", id=str(path.resolve()), address=None)
        check_link(path)
        named = source.address is not None and source.address.file and "://" not in source.text
        if named and Path(path.parts[0]).is_dir():
            return replace(source, kind="path", address=None)
    except (SourceError, OSError, ValueError, RuntimeError):
        return replace(source, kind="path", address=None)
    return source


def path_exists(source: str | Path) -> bool:
    """Return whether a source is an accessible local file or folder, or a layer or step in one."""
    try:
        return _exists(Path(source))
    except OSError:  # a disconnected disk, or no access
        return False


def _exists(path: Path) -> bool:
    return path.exists() or (bool(PART.fullmatch(path.name)) and path.parent.exists())


def may_ask_hub(source: Source) -> bool:
    """Return whether opening a source may need a request, also for what it is derived from."""
    return located(source.model).kind == "hub"


def local_path(source: Source) -> Path:
    """Return the path that a source stands for, if it is one: also of what is bundled."""
    folder = locate(SAMPLE) if source.kind == "bundled" else None
    return Path(source.text).expanduser() if folder is None else folder.parent / source.text


def is_here(source: Source) -> bool:
    """Return whether a model opens without the network."""
    if source.kind == "computed":
        return True
    if source.of is not None:
        with suppress(SourceError, OSError, ValueError, RuntimeError):
            return is_here(source.of) or local_path(source.of).exists()
        return False
    if source.kind == "bundled":
        return locate(SAMPLE) is not None
    return source.address is not None and is_address_here(source.address)


def is_address_here(address: HubAddress, cache: TensorCache | None = None) -> bool:
    """Return whether a model on the Hub opens without the network; the user's cache if None."""
    return locate_address(address) is not None or is_kept(canonical(address), cache)


def tried(source: Source) -> list[str]:
    """Return a line for each thing that a source was tried as, and names that are similar."""
    if source.kind not in ("hub", "path") or source.linked:
        return []
    path = Path(os.path.abspath(os.path.expanduser(source.text)))
    there = path_exists(path)
    lines = [f"As a file or folder: {path}, {'found' if there else 'not found'}."]
    if (address := source.address) is None:
        lines.append("As a model on the Hub: not tried, since it is not an id such as owner/name.")
    else:
        lines.append(f"As a model on the Hub: {address.repo}, revision {address.revision}.")
    if there:
        return lines
    beside = get_close_matches(path.name, _names(path.parent))
    if beside:
        lines.append(f"Similar names in {path.parent}: {', '.join(beside)}.")
    known = {entry.id for entry in read_catalogue()}
    known |= {name.rpartition("/")[2] for name in known}
    similar = [name for name in get_close_matches(source.text, known) if name != source.text]
    if similar:
        lines.append(f"Similar names of models: {', '.join(similar)}.")
    return lines


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, MAX_NAMES)]
    except (OSError, ValueError):
        return []
