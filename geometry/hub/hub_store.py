"""The tensors of a model on the Hub, each downloaded on first use, and cached."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import TensorUnavailable
from geometry.checkpoints.formats.gguf_store import QUANTISED, tensor_bytes, tensor_numbers
from geometry.checkpoints.formats.sharded_store import Shards
from geometry.checkpoints.stores import (
    INTEGERS,
    NO_SETTINGS,
    UNQUANTISED,
    Consent,
    FloatArray,
    Region,
    TensorInfo,
    integers,
    stored_dtype,
    unreadable,
)
from geometry.checkpoints.transfer import Transfer
from geometry.hub.hub_files import HubFiles
from geometry.hub.pieces import Bytes

Convert = Callable[[Region, Bytes], npt.NDArray[Any]]
"""Converts the bytes of a tensor into its numbers."""


class HubStore:
    """A :class:`geometry.checkpoints.stores.TensorStore` over files on the Hub.

    Parameters
    ----------
    files
        The model's files.
    regions
        Regions of tensors; for a model in several files, read on first use of each file.
    settings
        Settings stored with the tensors.
    """

    def __init__(
        self,
        files: HubFiles,
        regions: Mapping[str, Region],
        settings: Mapping[str, Any] = NO_SETTINGS,
    ) -> None:
        self.settings = settings
        self._files = files
        self._regions = regions
        self._tensors = _Index(regions)
        self._bytes_read = 0
        self._lock = threading.Lock()

    @property
    def in_one_file(self) -> bool:
        """Whether all of the index is known, since the model is in one file."""
        return not isinstance(self._regions, Shards)

    @property
    def server(self) -> str:
        """The endpoint that has the model, see :func:`geometry.hub.address.server_name`."""
        return self._files.server

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """The index. For a model in several files, looking up a shape may make a request."""
        return self._tensors

    def known(self, name: str) -> TensorInfo | None:
        """Return an entry of the index; None if there is none, or it would need a request."""
        regions = self._regions
        region = regions.at_hand(name) if isinstance(regions, Shards) else regions.get(name)
        return None if region is None else region.info

    def read_stored(self, name: str) -> npt.NDArray[Any]:
        """Read a tensor of integers as stored; it is downloaded unless cached."""
        region = self._regions[name]
        if region.info.dtype not in INTEGERS:
            raise TensorUnavailable(f"{unreadable(region.info)}.", UNQUANTISED)
        return self._read(region, integers)

    def read(self, name: str) -> FloatArray:
        """Read a tensor as float32 or float64, C-contiguous; it is downloaded unless cached.

        Tensors with non-finite numbers are returned but not cached: another download may be valid.

        Raises HubError, Cancelled: it cannot be downloaded, see
        :meth:`geometry.hub.client.Hub.open_file`; TensorUnavailable: the numbers are not
        floating-point.
        """
        region = self._regions[name]
        if region.info.dtype not in QUANTISED:
            stored_dtype(region.info)  # raises, before it is downloaded
        return self._read(region, tensor_numbers)

    def _read(self, region: Region, convert: Convert) -> npt.NDArray[Any]:
        data = self._files.kept_tensor(region)
        values = self._fetch(region, convert) if data is None else convert(region, data)
        with self._lock:
            self._bytes_read += tensor_bytes(region)
        return values

    def _fetch(self, region: Region, convert: Convert) -> npt.NDArray[Any]:
        with self._files.turn():
            # Another thread may have downloaded it meanwhile.
            data = self._files.kept_tensor(region)
            if data is not None:
                return convert(region, data)
            data = self._files.fetch_tensor(region)
            values = convert(region, data)
            if np.isfinite(values).all():
                self._files.keep(self._files.tensor_key(region.info.name), data)
            return values

    @property
    def bytes_read(self) -> int:
        """Bytes of tensor data read so far, from the cache or the network."""
        return self._bytes_read

    def bytes_to_fetch(self, *names: str) -> int:
        """Return the bytes to download for the tensors among these that are not cached.

        For a model in several files, this may make a request.
        """
        has, key = self._files.has, self._files.tensor_key
        missing = {name for name in names if not has(key(name))}
        return self._files.cost([self._regions[name] for name in missing])

    def check_files(self) -> None:
        """Do nothing: cached files are verified by their checksums."""

    def through(self, transfer: Transfer) -> AbstractContextManager[None]:
        """Report this thread's reads in the block to ``transfer``, which can also cancel them."""
        return self._files.through(transfer)

    def agree(self, to: Consent) -> None:
        """Record the user's consent to a large download, for as long as the store is open."""
        self._files.agree(to)


class _Index(Mapping[str, TensorInfo]):
    """Index whose names are known, and whose entries may be read later."""

    def __init__(self, regions: Mapping[str, Region]) -> None:
        self._regions = regions

    def __getitem__(self, name: str) -> TensorInfo:
        return self._regions[name].info

    def __contains__(self, name: object) -> bool:
        return name in self._regions

    def __iter__(self) -> Iterator[str]:
        return iter(self._regions)

    def __len__(self) -> int:
        return len(self._regions)
