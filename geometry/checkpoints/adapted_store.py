"""A model's tensors with those of an adapter: matrices with LoRA's changes, modules saved whole.

Layout and arithmetic are those of PEFT (``get_peft_model_state_dict``, ``get_delta_weight``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.derived_store import Derived, DerivedStore
from geometry.checkpoints.errors import TensorUnavailable
from geometry.checkpoints.stores import Consent, FloatArray, TensorInfo, TensorStore
from geometry.checkpoints.transfer import Transfer

PREFIX = "base_model.model."
SAVED = re.compile(r"\.(?:base_layer|modules_to_save(?:\.default)?|original_module)(?=\.)")
"""What PEFT writes into the names of the modules that it has wrapped."""
_PAIR = re.compile(r"(.+)\.lora_(embedding_)?A(?:\.default)?(?:\.weight)?", re.DOTALL)
_LITERAL = re.compile(r"\^?([\w.]+)", re.ASCII)
"""A pattern of modules that is only a name; others are not evaluated, as they can take forever."""
_OTHERS = ("use_qalora", "alora_invocation_tokens", "layer_replication", "use_bdlora")
"""Settings of variants of LoRA whose changes are others."""
_MAX_ALPHA = 1e6
"""Larger factors, also infinite ones, are of damaged settings."""
MERGE = "Merge it with PEFT: model.merge_and_unload(), and save the result."


class AdaptedStore(DerivedStore):
    """A :class:`geometry.checkpoints.stores.TensorStore` of a model with an adapter.

    Parameters
    ----------
    base
        The model's tensors.
    adapter
        The adapter's.
    settings
        Its ``adapter_config.json``.

    Attributes
    ----------
    saved, changed
        Names of the model's tensors that the adapter replaces, and of those that it changes.
    unknown
        Names of the adapter's tensors of which nothing is used.
    """

    def __init__(
        self, base: TensorStore, adapter: TensorStore, settings: Mapping[str, Any]
    ) -> None:
        self._adapter = adapter
        place = _Names(base).find
        plain = settings.get("peft_type") == "LORA" and not any(map(settings.get, _OTHERS))
        changes = dict(_lora(base, adapter, settings, place)) if plain else {}
        used = {name for derived in changes.values() for name in derived.sources}
        saved = {}
        for name in adapter.tensors:
            own = place(SAVED.sub("", name.removeprefix(PREFIX)))
            if own and name not in used and "lora_" not in name and "token_adapter" not in name:
                info = adapter.tensors[name]._replace(name=own)
                saved[own] = Derived(info, (name,), np.asarray)
        self.saved, self.changed = (
            tuple(saved),
            tuple(name for name in changes if name not in saved),
        )
        used |= {derived.sources[0] for derived in saved.values()}
        self.unknown = tuple(name for name in adapter.tensors if name not in used)
        super().__init__(base, changes | saved)

    def _source(self, name: str) -> npt.NDArray[Any]:
        return self._adapter.read(name) if name in self._adapter.tensors else super()._source(name)

    def check_files(self) -> None:
        """Raise FileChanged if a file of either has changed since it was opened."""
        super().check_files()
        self._adapter.check_files()

    @property
    def bytes_read(self) -> int:
        """Bytes of stored tensors read so far, of both."""
        return super().bytes_read + self._adapter.bytes_read

    def bytes_to_fetch(self, *names: str) -> int:
        """Return the bytes that reading these tensors would transfer, of both."""
        sources, own = set(self._sources_of(names)), self._adapter.tensors.keys()
        return self.stored.bytes_to_fetch(*(sources - own)) + self._adapter.bytes_to_fetch(
            *(sources & own)
        )

    @contextmanager
    def through(self, transfer: Transfer) -> Iterator[None]:
        """Report this thread's reads in the block to ``transfer``, which can also cancel them."""
        with super().through(transfer), self._adapter.through(transfer):
            yield

    def agree(self, to: Consent) -> None:
        """Record the user's consent to a large download, for as long as the store is open."""
        super().agree(to)
        self._adapter.agree(to)


class _Names:
    """The tensors of a model by the names that PEFT gives them: of the class that was trained.

    They have other first parts where the class has the model in it, or the other way round.
    """

    def __init__(self, base: TensorStore) -> None:
        self._names = set(base.tensors)
        self._shorter: dict[str, str | None] = {}
        for name in base.tensors:
            for shorter in _without_first(name):
                self._shorter[shorter] = None if shorter in self._shorter else name

    def find(self, name: str) -> str | None:
        """Return the model's tensor; None if there is none, or it is not certain which."""
        for candidate in (name, *_without_first(name)):
            if candidate in self._names:
                return candidate
        return self._shorter.get(name)


def _without_first(name: str) -> Iterator[str]:
    """Yield a name without its first part, and without its first two."""
    for _ in range(2):
        _, dot, name = name.partition(".")
        if dot:
            yield name


def _lora(
    base: TensorStore, adapter: TensorStore, settings: Mapping[str, Any], place: Any
) -> Iterator[tuple[str, Derived]]:
    """Yield the matrices with LoRA's changes by their names."""
    for name in adapter.tensors:
        if (found := _PAIR.fullmatch(name)) is None:
            continue
        module, embedding = found[1], bool(found[2])
        own = place(SAVED.sub("", f"{module.removeprefix(PREFIX)}.weight"))
        second = re.sub(r"A((?:\.default)?(?:\.weight)?)$", r"B\1", name)
        if own is None or second not in adapter.tensors:
            continue
        sources = [own, name, second]
        magnitude = (f"{module}.lora_magnitude_vector{end}" for end in ("", ".weight"))
        sources += [one for one in magnitude if one in adapter.tensors]
        info, rank = base.tensors[own], adapter.tensors[name].shape[:1]
        scale = _scale(settings, module.removeprefix(PREFIX), *rank)
        turned = embedding or settings.get("fan_in_fan_out") is True
        yield own, Derived(info, tuple(sources), _Merge(info, scale, turned=turned))


def _scale(settings: Mapping[str, Any], module: str, rank: int = 0) -> float | None:
    """Return the factor of a module's change; None if the settings do not give it."""
    patterns = settings.get("alpha_pattern")
    alpha = settings.get("lora_alpha")
    for pattern, own in (patterns if isinstance(patterns, dict) else {}).items():
        if (literal := _LITERAL.fullmatch(pattern)) is None:
            return None
        if f".{module}".endswith(f".{literal[1]}"):
            alpha = own
            break
    if isinstance(alpha, bool) or not isinstance(alpha, int | float):
        return None
    if not rank or not abs(alpha) < _MAX_ALPHA:
        return None
    return float(alpha / (math.sqrt(rank) if settings.get("use_rslora") is True else rank))


class _Merge:
    """W + B·A·scale, or W with the columns that DoRA's magnitudes give it."""

    def __init__(self, info: TensorInfo, scale: float | None, *, turned: bool) -> None:
        self._info, self._scale, self._turned = info, scale, turned

    def __call__(
        self, stored: FloatArray, a: FloatArray, b: FloatArray, *magnitude: FloatArray
    ) -> npt.NDArray[Any]:
        name = self._info.name
        if self._scale is None:
            raise TensorUnavailable(
                f"The factor of the adapter's change of {name} is not known.", MERGE
            )
        if not a.ndim == b.ndim == 2 or b.shape[1:] != a.shape[:1]:
            raise TensorUnavailable(f"The adapter's change of {name} is not a matrix.", MERGE)
        shape = (b.shape[0], a.shape[1])
        # By its shape, where that tells.
        turned = shape != stored.shape or (self._turned and shape == shape[::-1])
        if stored.shape != (shape[::-1] if turned else shape):
            raise TensorUnavailable(
                f"The adapter's change of {name}, {shape}, does not fit its shape, {stored.shape}.",
                MERGE,
            )
        matrix = (stored.T if turned else stored) + np.float64(self._scale) * (
            b.astype(np.float64) @ a
        )
        if magnitude:
            norms = np.linalg.norm(matrix, axis=1)
            if magnitude[0].size != len(norms) or not norms.all():
                raise TensorUnavailable(f"The magnitudes of {name} do not fit it.", MERGE)
            matrix *= (magnitude[0].reshape(-1) / norms)[:, None]
        whole: npt.NDArray[Any] = np.ascontiguousarray(matrix.T if turned else matrix)
        return whole
