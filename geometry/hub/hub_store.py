"""The tensors of a model on the Hub, each downloaded on first use, and cached."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.errors import TensorUnavailable
from geometry.checkpoints.gguf_store import tensor_bytes, tensor_numbers
from geometry.checkpoints.sharded_store import Shards
from geometry.checkpoints.stores import (
    NO_SETTINGS,
    UNQUANTISED,
    Consent,
    FloatArray,
    Region,
    TensorInfo,
    unreadable,
)
from geometry.checkpoints.transfer import Transfer
from geometry.hub.hub_files import HubFiles, tensor_key


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
        """Raise TensorUnavailable: integers are not downloaded."""
        raise TensorUnavailable(f"{unreadable(self.tensors[name])}.", UNQUANTISED)

    def read(self, name: str) -> FloatArray:
        """Read a tensor as float32 or float64, C-contiguous; it is downloaded unless cached.

        Tensors with non-finite numbers are returned but not cached: another download may be valid.

        Raises HubError, Cancelled: it cannot be downloaded, see
        :meth:`geometry.hub.client.Hub.open_file`; TensorUnavailable: the numbers are not
        floating-point.
        """
        region = self._regions[name]
        data = self._files.kept_tensor(region)
        values = self._fetch(region) if data is None else tensor_numbers(region, data)
        with self._lock:
            self._bytes_read += tensor_bytes(region)
        return values

    def _fetch(self, region: Region) -> FloatArray:
        with self._files.turn():
            # Another thread may have downloaded it meanwhile.
            data = self._files.kept_tensor(region)
            if data is not None:
                return tensor_numbers(region, data)
            data = self._files.fetch_tensor(region)
            values = tensor_numbers(region, data)
            if np.isfinite(values).all():
                self._files.keep(tensor_key(region.info.name), data)
            return values

    @property
    def bytes_read(self) -> int:
        """Bytes of tensor data read so far, from the cache or the network."""
        return self._bytes_read

    def bytes_to_fetch(self, *names: str) -> int:
        """Return the bytes to download for the tensors among these that are not cached.

        For a model in several files, this may make a request.
        """
        missing = {name for name in names if not self._files.has(tensor_key(name))}
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
