"""The layers of a checkpoint: matrices read on demand, in one orientation."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.config import flag
from geometry.checkpoints.errors import TensorUnavailable
from geometry.checkpoints.stores import UNQUANTISED, FloatArray, TensorStore, unreadable
from geometry.models.families.stack import NOT_ADDED, TABLE_ALONE, Stack, in_layer
from geometry.models.matrices import WEIGHTS, WeightName, orient
from geometry.models.parts import does_not_fit, read_part, why_missing
from geometry.models.recognition.architecture import N_HEADS, Architecture
from geometry.models.schemes.lags import MAX_HEADS

MAX_LAYERS = 2_000
"""Maximum layers in a configuration: ten times those of any model. Panels have a row or a curve for
each layer, as for each head."""

PACKED = ("qweight", "weight_packed", "W_q", "weight._data", "weight._data._data")
"""Names of quantised matrices in place of "weight": of GPTQ and AWQ, of compressed-tensors, of HQQ,
and of quanto."""

FULL = "Open the full checkpoint of this model."
GAINS_LESS_1 = "apply_layernorm_1p"
"""Megatron's setting for norms whose gains are stored minus 1."""
LEARNED = "Open a model with learned positions."
OTHER_FAMILY = "Open a model of another family."


_WEIGHT = re.compile(r"(weight|kernel|scale|gamma)$|(?<=[./])[wg]$|W(?=_[A-Z]$)")
"""What tells the name of a matrix or a gain from that of its bias."""


def bias_of(name: str) -> str:
    """Return the name of the bias of a matrix, or of a norm's gain."""
    return _WEIGHT.sub(lambda found: "bias" if len(found[0]) > 1 else "b", name)


def vector_names(name: str) -> tuple[str, ...]:
    """Return a vector's name, and others that a norm's gain or bias may have in its place.

    They are gamma and beta in BERT's first checkpoints, which were converted from TensorFlow; a
    bias beside "scale" may be "shift".
    """
    older = re.sub("weight$", "gamma", re.sub("bias$", "beta", name))
    return name, older, re.sub("bias$", "shift", name)


class Layers:
    """Weights of every layer of a tower.

    Parameters
    ----------
    store
        The checkpoint's tensors.
    architecture
        The location of its positions; without a family there are no layers.
    d_model
        Width of the added positions; None if none are added.
    """

    def __init__(
        self, store: TensorStore, architecture: Architecture, d_model: int | None = None
    ) -> None:
        self.store = store
        self.architecture = architecture
        self.d_model = d_model

    @property
    def width(self) -> int | None:
        """Size of the layers' states, d_hidden; None if unknown."""
        stack = self.architecture.stack
        if self.d_model is not None and stack is not None and not stack.map_positions:
            return self.d_model
        return self.architecture.setting("n_embd", "hidden_size", "d_model", "dim")

    @property
    def count(self) -> int | None:
        """Number of layers from the configuration; None if it is missing or implausible."""
        count = self.architecture.setting(
            "{side}_layers",
            "num_{side}_layers",
            "l_layers",
            "n_layer",
            "num_hidden_layers",
            "n_layers",
            "num_layers",
            listed=True,
        )
        return count if count is None or 0 <= count <= MAX_LAYERS else None

    @property
    def n_heads(self) -> int | None:
        """Attention heads per layer from the configuration, or None; like :attr:`count`."""
        heads = self.architecture.setting(*N_HEADS, listed=True)
        return heads if heads is None or 0 <= heads <= MAX_HEADS else None

    @property
    def has_norms(self) -> bool:
        """Whether there are norms, by the only setting that can deny it: TransformerLens's."""
        return self.architecture.config.get("normalization_type", "LN") is not None

    def known_heads(self) -> int:
        """Return :attr:`n_heads`; TensorUnavailable if the configuration lacks it."""
        heads = self.n_heads
        if not heads:
            raise TensorUnavailable(
                "The number of heads is not known.",
                "Put the model's config.json in the same folder.",
            )
        return heads

    def stored_in_out(self, layer: int = 0) -> bool:
        """Return whether a layer's matrices are stored (in, out), by their shapes.

        The family's convention, if they are square or missing.
        """
        stack, index = self.stack(layer), self.store.tensors
        query = self._shape_of(stack.query, layer) if stack.fused else None
        if query is not None:
            return stack.conv1d if query[0] == query[1] else query[0] < query[1]
        fan_out = self._shape_of(stack.fan_out, layer)
        gain = index.get(self.name_of(stack.mlp_norm, layer)) if stack.mlp_norm else None
        if fan_out is None or gain is None:
            return stack.conv1d
        reads = [size == gain.shape[:1] for size in (fan_out[:1], fan_out[1:])]
        return stack.conv1d if reads[0] == reads[1] else reads[0]

    def _shape_of(self, suffix: str, layer: int) -> tuple[int, int] | None:
        """Return the shape of a matrix, quantised or not; None if it does not fit the states."""
        info = self.store.tensors.get(self.name_of(suffix, layer))
        if info is None or len(info.shape) != 2 or self.width not in (None, *info.shape):
            return None
        return info.shape[0], info.shape[1]

    def notes(self) -> tuple[str, ...]:
        """Return sentences about peculiarities of the first layer's matrices."""
        stack, name = self.architecture.stack, self.architecture.family
        with_norms = stack is not None and stack.layers_known and self.count != 0 and self.has_norms
        if stack is not None and with_norms and self.folded(stack.attention_norm, 0):
            return ("Gains of norms are not stored: they are taken as part of the matrices.",)
        if stack is None or not stack.fused or stack.alone or not stack.layers_known:
            return ()
        if self.count == 0:
            return ()
        if not self._layout_at_hand() or self.stored_in_out() is stack.conv1d:
            return ()
        layouts = "(in, out), as by Conv1D", "(out, in), as by nn.Linear"
        usual, here = layouts if stack.conv1d else reversed(layouts)
        return (f"By their shapes, matrices are stored {here}; in {name} models, {usual}.",)

    def missing(self) -> dict[str, str]:
        """Return the missing matrices of the first layer with the reason, by the index alone."""
        stack = self.architecture.stack
        if stack is None:
            return dict.fromkeys(WEIGHTS, "the source is only a position table")
        if stack.alone:
            computed = "these positions are computed, without a model"
            return dict.fromkeys(WEIGHTS, NOT_ADDED if stack.inside else computed)
        if not stack.layers_known:
            return dict.fromkeys(WEIGHTS, TABLE_ALONE)
        if self.count is not None and self.count < 1:
            return dict.fromkeys(WEIGHTS, "this model has no layers according to its config.json")
        return {weight: why for weight in WEIGHTS if (why := self._why_missing(weight))}

    def _layout_at_hand(self) -> bool:
        """Return whether the shapes that determine the first layer's layout are available."""
        stack, index = self.stack(0), self.store.tensors
        deciding = [stack.query, stack.fan_out, stack.mlp_norm]
        names = [self.name_of(suffix, 0) for suffix in deciding if suffix]
        if stack.fused and names[0] in index:
            names = names[:1]
        return all(name not in index or self.store.known(name) is not None for name in names)

    def _why_missing(self, name: WeightName) -> str:
        tensor = self._tensor(name, 0)
        if tensor not in self.store.tensors:
            return self._packed(tensor) or f"no {tensor} in this checkpoint"
        info = self.store.known(tensor)
        if info is None or not self._layout_at_hand():
            return ""
        if why := why_missing(info, 2):
            return why
        try:
            self._part(np.broadcast_to(np.float32(0), info.shape), name, tensor)
        except TensorUnavailable as error:
            return str(error).rstrip(".")
        return ""

    def weight(self, name: WeightName, layer: int = 0) -> npt.NDArray[np.float64]:
        """Read a matrix; see :meth:`geometry.models.model.PositionalModel.weight`."""
        tensor = self.tensor(name, layer)
        part = self._part(read_part(self.store, tensor, 2), name, tensor, layer)
        matrix = np.array(part, dtype=np.float64, order="C")
        matrix.setflags(write=False)
        return matrix

    def n_queries(self) -> int:
        """Return the number of rows of W_Q, of all heads, without reading it.

        Raises
        ------
        TensorUnavailable
            The checkpoint has none, or it does not fit.
        """
        tensor = self.tensor("W_Q")
        info = self.store.tensors[tensor]
        if len(info.shape) != 2:
            raise does_not_fit(tensor, info.shape, "two axes")
        part = self._part(np.broadcast_to(np.float32(0), info.shape), "W_Q", tensor)
        return int(part.shape[0])

    def _part(
        self, stored: FloatArray, name: WeightName, tensor: str, layer: int = 0
    ) -> FloatArray:
        """Return the matrix of a name as a (d_out, d_in) view of a stored one."""
        linear = stored.T if self.stored_in_out(layer) else stored
        part = orient(linear, self.architecture.stack, name, self.n_heads)
        inner, width = part.shape if name != "W_O" else part.shape[::-1]
        if self.width is not None and width != self.width:
            raise does_not_fit(tensor, stored.shape, f"{self.width} dimensions on one side")
        if name == "W_in":
            neurons = self.neurons
            if neurons is not None and inner not in (neurons, 2 * neurons):  # twice if gated
                raise does_not_fit(tensor, stored.shape, f"{neurons} neurons on the other side")
        elif (d_head := self.d_head) and inner % d_head:
            raise does_not_fit(tensor, stored.shape, f"whole heads of {d_head} dimensions")
        return part

    @property
    def neurons(self) -> int | None:
        """Size of the MLP's hidden states from the configuration, or None."""
        place = self.architecture
        if place.lenient or "mlp_ratio" in place.config:  # which takes precedence, as in DINOv2
            return None
        return self.architecture.setting(
            "{side}_ffn_dim", "ffn_dim", "n_inner", "intermediate_size", "hidden_dim"
        )

    @property
    def d_head(self) -> int | None:
        """Dimensions of a head; None if unknown or inconsistent with the layers' size."""
        own = None if self.architecture.lenient else self.architecture.setting("head_dim")
        width, heads = self.width, self.n_heads
        if own is not None or self.d_model is None:
            return own
        return width // heads if width and heads and width % heads == 0 else None

    def tensor(self, name: WeightName, layer: int = 0) -> str:
        """Return the name of the tensor with a matrix, which may be fused with others.

        Raises
        ------
        TensorUnavailable
            The checkpoint or the family has no such matrix.
        """
        return self._present(self._tensor(name, layer))

    def norm_gain(
        self, reader: Literal["attention", "mlp"], layer: int = 0
    ) -> npt.NDArray[np.float64] | None:
        """Read the gain γ of the LayerNorm before a layer's attention or MLP.

        Returns
        -------
        (d_hidden,) float64 or None
            Read-only; None if there is none directly before it, as before the first attention of
            GPT-1 and ALBERT.

        Raises
        ------
        TensorUnavailable
            The checkpoint lacks it, or there are no layers; or it cannot be read.
        """
        stack = self.stack(layer)
        suffix = stack.attention_norm if reader == "attention" else stack.mlp_norm
        if reader == "attention" and layer == 0 and "before}" in suffix:
            suffix = stack.embedding_norm
            if stack.map_in and self.architecture.root + stack.map_in not in self.store.tensors:
                suffix = stack.sum_norm  # of ELECTRA, whose map is left out if sizes are equal
        if not suffix:
            return None
        self.check_norms(stack)
        if self.folded(suffix, layer):
            return None
        gain = self.gain(self.name_of(suffix, layer))
        gain.setflags(write=False)
        return gain

    def gain(self, name: str, size: int | None = None) -> npt.NDArray[np.float64]:
        """Read a norm's gain, of ``size`` numbers if given; it may be stored without its 1."""
        return self.vector(name, size) + float(flag(self.architecture.config, GAINS_LESS_1))

    def folded(self, norm: str, layer: int) -> bool:
        """Return whether the gain of a norm is not stored, since it is part of the matrices."""
        stack = self.stack(layer)
        return stack.folds and self.name_of(norm, layer) not in self.store.tensors

    def check_norms(self, stack: Stack) -> None:
        """Raise TensorUnavailable if it is not known what the norms of a family do."""
        if why := stack.norms_unknown:
            raise TensorUnavailable(f"{why[0].upper()}{why[1:]}.", OTHER_FAMILY)

    def vector(self, name: str, size: int | None = None) -> npt.NDArray[np.float64]:
        """Read a vector, of ``size`` numbers if given.

        For other names of a norm's gain and bias see :func:`vector_names`.
        """
        name = self._present(*vector_names(name))
        vector: npt.NDArray[np.float64] = read_part(self.store, name, 1).astype(np.float64)
        if size not in (None, len(vector)):
            raise does_not_fit(name, vector.shape, f"{size} numbers")
        return vector

    def embedding_map(
        self, embedding: Literal["positions", "tokens"]
    ) -> npt.NDArray[np.float64] | None:
        """Read the matrix that maps embeddings to the layers' size, if the two differ.

        Returns
        -------
        (d_hidden, d_embedding) float64 or None
            Read-only; None if there is no map.

        Raises
        ------
        TensorUnavailable
            It cannot be read.
        """
        name = self.map_tensor(embedding)
        if name is None:
            return None
        matrix = read_part(self.store, name, 2).astype(np.float64)
        matrix.setflags(write=False)
        return matrix

    def map_tensor(self, embedding: Literal["positions", "tokens"]) -> str | None:
        """Return the name of the tensor of :meth:`embedding_map`, or None."""
        stack = self.architecture.stack
        if (
            stack is None
            or not stack.map_in
            or (embedding == "positions" and not stack.map_positions)
        ):
            return None
        name = self.architecture.root + stack.map_in
        return name if name in self.store.tensors else None

    def stack(self, layer: int) -> Stack:
        """Return the row of the family table.

        Raises
        ------
        TensorUnavailable
            There is no such layer.
        """
        stack, count = self.architecture.stack, self.count
        if stack is None:
            raise TensorUnavailable(
                "The source is only a position table: it has no layers.",
                "Open a checkpoint's folder.",
            )
        if stack.inside:
            raise TensorUnavailable(f"{NOT_ADDED[0].upper()}{NOT_ADDED[1:]}.", LEARNED)
        if stack.alone:
            raise TensorUnavailable(
                "These positions are computed: there are no layers.", "Open a model."
            )
        if not stack.layers_known:
            raise TensorUnavailable(f"{TABLE_ALONE[0].upper()}{TABLE_ALONE[1:]}.", OTHER_FAMILY)
        if layer < 0 or (count is not None and layer >= count):
            last = "none" if count is None or count < 1 else f"0–{count - 1}"
            raise TensorUnavailable(f"Layer {layer} does not exist; the layers are {last}.")
        return stack

    def _tensor(self, weight: WeightName, layer: int) -> str:
        stack = self.stack(layer)
        names = {
            "W_Q": stack.query,
            "W_K": stack.key,
            "W_V": stack.value,
            "W_O": stack.out,
            "W_in": stack.fan_out,
        }
        return self.name_of(names[weight] or stack.query, layer)

    def name_of(self, suffix: str, layer: int) -> str:
        """Return a tensor's name from the family table's suffix."""
        groups, count = self.architecture.setting("num_hidden_groups") or 1, self.count or 1

        def group(number: int) -> int:  # ALBERT shares weights: its groups are equally large
            return number * groups // count if groups > 1 else 0

        return self.architecture.root + in_layer(
            suffix, layer, group=group(layer), group_before=group(layer - 1)
        )

    def _present(self, *names: str) -> str:
        for name in names:
            if name in self.store.tensors:
                return name
        if packed := self._packed(names[0]):
            raise TensorUnavailable(f"{packed}.", UNQUANTISED)
        raise TensorUnavailable(f"{names[0]} is not in this checkpoint.", FULL)

    def _packed(self, name: str) -> str:
        """Return why a matrix is only stored quantised, or ""."""
        stem = name.removesuffix("weight")
        packed = (self.store.known(stem + end) for end in PACKED)
        if why := next((unreadable(info) for info in packed if info is not None), ""):
            return why
        # torchao's tensors are made of others, below their name.
        begin = f"{name}."
        below = (n.removeprefix(begin) for n in self.store.tensors if n.startswith(begin))
        kinds = (n.partition(".")[0] for n in below)
        made = next((kind for kind in kinds if kind.endswith("Tensor")), "")
        return f"{name} is quantised ({made})" if made else ""
