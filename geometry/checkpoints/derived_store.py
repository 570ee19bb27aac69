"""Tensors that are computed from stored ones, beside these, as if they were stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.stores import (
    FLOATS,
    Consent,
    FloatArray,
    TensorInfo,
    TensorStore,
)
from geometry.checkpoints.transfer import Transfer


@dataclass(frozen=True, slots=True)
class Derived:
    """A computed tensor.

    Attributes
    ----------
    info
        Its description. Its type is one of floats, which tells its precision.
    sources
        The stored tensors from which it is computed.
    make
        Computes it from the stored ones.
    """

    info: TensorInfo
    sources: tuple[str, ...]
    make: Callable[..., npt.NDArray[Any]]


class DerivedStore:
    """A :class:`geometry.checkpoints.stores.TensorStore` with computed tensors.

    Parameters
    ----------
    store
        The stored tensors.
    derived
        The computed ones by name, which is perhaps that of a stored one that it replaces. A name
        may have none after all, if there is a stored one.
    at_hand
        Returns a computed one that takes no request; None: none does.
    """

    def __init__(
        self,
        store: TensorStore,
        derived: Mapping[str, Derived],
        at_hand: Callable[[str], Derived | None] | None = None,
    ) -> None:
        self.stored, self._derived = store, derived
        self._at_hand = at_hand or derived.get
        self.tensors: Mapping[str, TensorInfo] = _Index(store.tensors, derived)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The model's settings in the same file."""
        return self.stored.settings

    def known(self, name: str) -> TensorInfo | None:
        """Return an entry of the index; None if there is none, or it would need a request."""
        derived = self._at_hand(name)
        return self.stored.known(name) if derived is None else derived.info

    def read(self, name: str) -> FloatArray:
        """Read or compute a tensor."""
        if (derived := self._derived.get(name)) is None:
            return self.stored.read(name)
        made = derived.make(*map(self._source, derived.sources))
        wide = np.float64 if derived.info.dtype == "F64" else np.float32
        return np.ascontiguousarray(made, wide)

    def _source(self, name: str) -> npt.NDArray[Any]:
        """Return the numbers of a stored tensor, integers as they are stored."""
        is_float = self.stored.tensors[name].dtype in FLOATS
        return self.stored.read(name) if is_float else self.stored.read_stored(name)

    def read_stored(self, name: str) -> npt.NDArray[Any]:
        """Read a tensor of integers as stored."""
        return self.stored.read_stored(name)

    def check_files(self) -> None:
        """Raise FileChanged if a file has changed since it was opened."""
        self.stored.check_files()

    @property
    def bytes_read(self) -> int:
        """Bytes of stored tensors read so far."""
        return self.stored.bytes_read

    def bytes_to_fetch(self, *names: str) -> int:
        """Return the bytes that reading these tensors would transfer over the network."""
        return self.stored.bytes_to_fetch(*self._sources_of(names))

    def _sources_of(self, names: Iterable[str]) -> list[str]:
        """Return the stored tensors from which these are read or computed."""
        derived = {name: self._derived.get(name) for name in names}
        sources = ((name,) if d is None else d.sources for name, d in derived.items())
        return [name for some in sources for name in some]

    def through(self, transfer: Transfer) -> AbstractContextManager[None]:
        """Report this thread's reads in the block to ``transfer``, which can also cancel them."""
        return self.stored.through(transfer)

    def agree(self, to: Consent) -> None:
        """Record the user's consent to a large download, for as long as the store is open."""
        self.stored.agree(to)


class _Index(Mapping[str, TensorInfo]):
    """The entries of stored tensors, whose shapes may be read lazily, and of computed ones."""

    def __init__(self, stored: Mapping[str, TensorInfo], derived: Mapping[str, Derived]) -> None:
        self._stored, self._derived = stored, derived
        self._names = dict.fromkeys((*stored, *derived))

    def __getitem__(self, name: str) -> TensorInfo:
        derived = self._derived.get(name)
        return self._stored[name] if derived is None else derived.info

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
