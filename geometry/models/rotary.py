"""How a rotary model turns its queries and keys, from its configuration alone.

The settings have had several names: ``rope_theta`` and ``rope_scaling``, GPT-NeoX's ``rotary_pct``,
GPT-J's ``rotary_dim``, and since transformers 5 ``rope_parameters``, perhaps one for each kind of
layer. What a configuration leaves out is the family's default. Checked against the families' own
modules in transformers 5.23, which the tests repeat.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from geometry.checkpoints.config import first_int
from geometry.checkpoints.errors import SourceError
from geometry.measures.rotary import (
    Ramp,
    llama3,
    longrope,
    stretched_base,
    turning_rates,
    yarn,
)
from geometry.pca.components import Array

Pairing = Literal["halves", "interleaved"]
"""Whether entry i is turned with entry i + width/2, or 2i with 2i + 1."""

MAX_WIDTH = 1024
"""Entries of a head that a configuration can give: twice those of any model."""
MAX_CONTEXT = 2**31
"""Positions that a configuration can give: a hundred times those of any model."""
MAX_BASE, FASTEST = 1e15, 100.0
"""Bases, rates and factors that a configuration can give: far more than those of any model."""
FACTORS = "factors"
"""The scaling of a GGUF file that has what another one comes to."""
RIGHT = "Put the right config.json in the folder of the weights."


@dataclass(frozen=True, slots=True)
class RotaryFamily:
    """What the configurations of a family leave out.

    Attributes
    ----------
    base
        The base of the rates.
    share
        Share of a head's entries that are turned.
    width
        Entries of a head that are turned, where the family has a number of its own; or 0.
    d_head
        Entries of a head, where they are not those of the residual stream over the heads; or 0.
    pairing
        Which entries are turned together.
    sliding_base
        The base in layers of sliding attention; 0 where it is the same.
    without
        Every how many layers one does not turn; 0 for none.
    sliding_only
        Whether only layers of sliding attention turn.
    context
        Positions; 0 if not known.
    """

    base: float = 10_000.0
    share: float = 1.0
    width: int = 0
    d_head: int = 0
    pairing: Pairing = "halves"
    sliding_base: float = 0.0
    without: int = 0
    sliding_only: bool = False
    context: int = 0


#: Families in which each position attends to all others.
ENCODERS = frozenset(
    (
        "embedding_gemma2_text",
        "esm",
        "esmc",
        "eurobert",
        "gte",
        "jina_embeddings_v3",
        "lasr_encoder",
        "modernbert",
        "neomme",
        "nomic_bert",
        "openai_privacy_filter",
        "pe_audio_encoder",
        "roformer",
        "t5gemma2_encoder",
        "t5gemma2_text",
        "ultrabert",
    )
)

_INTERLEAVED = RotaryFamily(pairing="interleaved")
_HALF = RotaryFamily(share=0.5)
_HALF_INTERLEAVED = RotaryFamily(share=0.5, pairing="interleaved", d_head=128)
_GPTJ = RotaryFamily(width=64, pairing="interleaved", context=2048)
_MODERNBERT = RotaryFamily(base=160_000.0, sliding_base=10_000.0)

#: Families with defaults of their own; those of others are usual.
ROTARY_FAMILIES: Mapping[str, RotaryFamily] = MappingProxyType(
    {
        "apertus": RotaryFamily(base=12_000_000.0),
        "bitnet": RotaryFamily(base=500_000.0),
        "codegen": _GPTJ,
        "cwm": RotaryFamily(base=1_000_000.0),
        "hy_v3": RotaryFamily(base=11_158_840.0),
        "lfm2_moe": RotaryFamily(base=1_000_000.0),
        "minimax_m2": RotaryFamily(base=5_000_000.0),
        "cohere": RotaryFamily(base=500_000.0, pairing="interleaved"),
        "cohere2": RotaryFamily(pairing="interleaved", sliding_only=True),
        "deepseek_v2": _INTERLEAVED,
        "deepseek_v3": _INTERLEAVED,
        "ernie4_5": RotaryFamily(base=500_000.0, pairing="interleaved"),
        "ernie4_5_moe": RotaryFamily(base=500_000.0, pairing="interleaved"),
        "exaone4": RotaryFamily(sliding_only=True),
        "flex_olmo": RotaryFamily(base=500_000.0),
        "gemma": RotaryFamily(d_head=256),
        "gemma2": RotaryFamily(d_head=256),
        "gemma3_text": RotaryFamily(base=1_000_000.0, d_head=256, sliding_base=10_000.0),
        "glm": _HALF_INTERLEAVED,
        "glm4": _HALF_INTERLEAVED,
        "glm4_moe": _HALF,
        "glm4v_moe_text": _HALF,
        "gpt_neox": RotaryFamily(share=0.25),
        "gpt_oss": RotaryFamily(base=150_000.0),
        "gptj": _GPTJ,
        "gte": RotaryFamily(base=160_000.0),
        "helium": RotaryFamily(base=100_000.0, pairing="interleaved"),
        "jina_embeddings_v3": RotaryFamily(base=20_000.0),
        "lfm2": RotaryFamily(base=1_000_000.0),
        "llama4_text": RotaryFamily(
            base=500_000.0, d_head=128, pairing="interleaved", without=4
        ),
        "minimax": RotaryFamily(base=1_000_000.0),
        "mixtral": RotaryFamily(base=1_000_000.0),
        "modernbert": _MODERNBERT,
        "modernbert-decoder": _MODERNBERT,
        "moonshine": RotaryFamily(share=0.9, pairing="interleaved"),
        "nemotron": _HALF,
        "nomic_bert": RotaryFamily(base=1_000.0),
        "olmo3": RotaryFamily(base=500_000.0),
        "persimmon": _HALF,
        "phi": _HALF,
        "phimoe": RotaryFamily(base=1_000_000.0),
        "qwen3_next": RotaryFamily(share=0.25),
        "recurrent_gemma": _HALF,
        "roformer": _INTERLEAVED,
        "smollm3": RotaryFamily(base=2_000_000.0, without=4),
        "solar_open": RotaryFamily(base=1_000_000.0),
        "stablelm": RotaryFamily(share=0.25),
    }
)  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Rotary:
    """The turning of a model's queries and keys.

    Attributes
    ----------
    base
        Of the rates; that of full attention.
    d_head
        Entries of a head.
    rates : (n_pairs,)
        Radians per position by which each pair is turned, scaling included; of full attention.
    pairing
        Which entries are turned together.
    scaling
        What is done about longer contexts: "linear", "dynamic", "yarn", "llama3", "longrope", …;
        "none".
    factor
        What cosines and sines are multiplied by; 1 in most models.
    context
        Positions by the configuration; None if it does not say.
    unscaled : (n_pairs,)
        The rates without scaling.
    by_layer_type
        Base and rates of each kind of layer, where they differ.
    layer_types
        The kind of each layer, where they differ and the configuration says it.
    layers_without
        Layers that do not turn.
    note
        A sentence about what was assumed, or "".
    causal
        Whether each position attends only to itself and earlier ones.
    """

    base: float
    d_head: int
    rates: Array
    pairing: Pairing
    scaling: str
    factor: float
    context: int | None
    unscaled: Array
    by_layer_type: Mapping[str, tuple[float, Array]] = field(default_factory=dict)
    layers_without: tuple[int, ...] = ()
    note: str = ""
    causal: bool = True
    layer_types: tuple[str, ...] = ()

    @property
    def alike(self) -> bool:
        """Whether as many pairs are turned in all kinds of layers."""
        return all(len(rates) == self.n_pairs for _, rates in self.by_layer_type.values())

    @property
    def n_pairs(self) -> int:
        """Number of pairs that are turned in each head."""
        return len(self.rates)

    def type_of(self, layer: int) -> str:
        """Return the kind of a layer; "" where all are alike or it is not known."""
        kind = self.layer_types[layer] if layer < len(self.layer_types) else ""
        return kind if kind in self.by_layer_type else ""

    def rates_at(self, layer: int) -> Array:
        """Return the (n_pairs,) rates of a layer; those of full attention if it is not known."""
        kind = self.type_of(layer)
        return self.by_layer_type[kind][1] if kind else self.rates

    def notes(self, n_positions: int) -> list[str]:
        """Return sentences about peculiarities, with so many positions shown."""
        notes = [self.note] if self.note else []
        if self.context is not None and self.context > n_positions:
            notes.append(f"The first {n_positions:,} of {self.context:,} positions are shown.")
        if self.layers_without:
            some = ", ".join(map(str, self.layers_without[:6]))
            more = ", …" if len(self.layers_without) > 6 else ""
            notes.append(f"Some layers do not turn queries and keys: {some}{more}.")
        return notes


def read_rotary(config: Mapping[str, Any]) -> Rotary:
    """Read how a model turns from its configuration.

    Raises
    ------
    SourceError
        The configuration lacks the size of a head, or contradicts itself.
    """
    kind = str(config.get("model_type"))
    row = ROTARY_FAMILIES.get(kind, RotaryFamily())
    own = config.get("rope_parameters") or config.get("rope_scaling")
    parameters = own if isinstance(own, dict) else {}
    by_type = {name: one for name, one in parameters.items() if isinstance(one, dict)}
    # Most have full and sliding attention; Dots3 and DeepSeek-V4 have others.
    main = next((name for name in ("full_attention", *by_type) if name in by_type), "")
    full = by_type.get(main, parameters)
    d_head = _head_width(config, row)
    context = _context(config, row)
    own_width = (_wide_heads(config) if by_type else None) or d_head
    base, rates, unscaled, scaling, factor, note = _rates(config, row, full, own_width, context)
    kinds = {name: one for name, one in by_type.items() if name != main}
    if not kinds and (row.sliding_base or "rope_local_base_freq" in config):
        local = _number(config, "rope_local_base_freq", "local_rope_theta") or row.sliding_base
        kinds = {"sliding_attention": {"rope_theta": local}}
    types: dict[str, tuple[float, Array]] = {}
    for name, one in kinds.items():
        found = _rates(config, row, one, d_head, context)
        types[name] = found[0], found[1]
    if types:
        types = {main or "full_attention": (base, rates), **types}
    return Rotary(
        base, own_width, rates, _pairing(config, row), scaling, factor, context, unscaled,
        MappingProxyType(types), _layers_without(config, row), note, kind not in ENCODERS,
        _layer_types(config) if types else (),
    )  # fmt: skip


def _rates(
    config: Mapping[str, Any],
    row: RotaryFamily,
    given: Mapping[str, Any],
    d_head: int,
    context: int | None,
) -> tuple[float, Array, Array, str, float, str]:
    """Return base, rates, rates without scaling, the scaling's name, factor, and a note."""
    base = (
        _number(given, "rope_theta")
        or _number(config, "rope_theta", "rotary_emb_base", "global_rope_theta", "rotary_base")
        or row.base
    )
    if not 1.0 < base < MAX_BASE:
        raise SourceError(f"config.json has {base:g} as the base of its rotary positions.", RIGHT)
    width = _turned(config, row, given, d_head)
    unscaled = turning_rates(base, width)
    said = given.get("rope_type", given.get("type"))
    said = said if isinstance(said, str) else "default"
    scaling = {"su": "longrope", "default": "none", "mrope": "none"}.get(said, said)
    if scaling == "none":
        return base, unscaled, unscaled, scaling, 1.0, ""
    try:
        with np.errstate(all="ignore"):
            rates, factor = _scaled(scaling, unscaled, base, config, given, d_head, context)
    except (ArithmeticError, ValueError):
        rates, factor = None, 1.0
    if rates is None or not ((rates > 0) & (rates <= FASTEST)).all() or not 0 < factor < FASTEST:
        note = f"The scaling “{scaling[:40]}” in config.json is not understood: shown without it."
        return base, unscaled, unscaled, "none", 1.0, note
    return base, rates, unscaled, scaling, factor, ""


def _scaled(
    scaling: str,
    unscaled: Array,
    base: float,
    config: Mapping[str, Any],
    given: Mapping[str, Any],
    d_head: int,
    context: int | None,
) -> tuple[Array | None, float]:
    """Return the rates with a scaling, and what cosines are multiplied by; None if not known."""
    width = 2 * len(unscaled)
    before = (
        _number(config, "original_max_position_embeddings")
        or _number(given, "original_max_position_embeddings")
        or (float(context) if context else None)
    )
    by = _number(given, "factor")
    if by is None and before and context and context > before:
        by = context / before  # as in DeepSeek-V3 and Phi-3
    own = _number(given, "attention_factor")
    if scaling == "linear" and by:
        return unscaled / by, 1.0
    if scaling == "proportional":
        # The pairs are spread over all entries of a head; the others do not turn.
        rates: Array = base ** (-2.0 * np.arange(width // 2) / d_head) / (by or 1.0)
        return rates, 1.0
    if scaling == "dynamic":
        # Up to the context nothing changes; HunYuan's models have a fixed stretch instead.
        stretch = _number(given, "alpha") or 1.0
        return turning_rates(stretched_base(base, width, stretch), width), 1.0
    if scaling == "llama3" and by and before:
        fast, slow = _number(given, "high_freq_factor"), _number(given, "low_freq_factor")
        if fast and slow and fast > slow:
            return llama3(unscaled, by, Ramp(before, fast, slow)), 1.0
    if scaling == "yarn" and by and before:
        ramp = Ramp(before, _number(given, "beta_fast") or 32.0, _number(given, "beta_slow") or 1.0)
        whole = given.get("truncate", True) is not False
        return yarn(base, width, by, ramp, whole_pairs=whole), _yarn_factor(given, by)
    factors = _numbers(given.get("short_factor"), width // 2)
    if scaling in ("longrope", FACTORS) and factors is not None:
        grown = 1.0
        if scaling == "longrope" and by and before and by > 1 and before > 1:
            grown = math.sqrt(1 + math.log(by) / math.log(before))
        return longrope(base, width, factors), own or grown
    return None, 1.0


def _yarn_factor(given: Mapping[str, Any], by: float) -> float:
    """Return what YaRN multiplies cosines and sines by."""
    factor = _number(given, "attention_factor")
    if factor is not None:
        return factor

    def grown(scale: float = 1.0) -> float:
        return 0.1 * scale * math.log(by) + 1.0 if by > 1 else 1.0

    own, of_all = _number(given, "mscale"), _number(given, "mscale_all_dim")
    return grown(own) / grown(of_all) if own and of_all else grown()


def _head_width(config: Mapping[str, Any], row: RotaryFamily) -> int:
    """Return the entries of a head."""
    latent = first_int(config, ("qk_rope_head_dim",))
    if latent is not None:  # the rest of a head is not turned
        width = latent
    else:
        hidden = first_int(config, ("hidden_size", "n_embd", "d_model"))
        heads = first_int(
            config, ("num_attention_heads", "n_head", "n_heads", "decoder_num_attention_heads")
        )
        given = first_int(config, ("head_dim", "attention_head_dim", "kv_channels"))
        if given is None and row.d_head:
            given = row.d_head
        if given is None:
            if not hidden or not heads:
                raise SourceError(
                    "The size of a head is not in config.json, so its rotary positions are not "
                    "known.",
                    RIGHT,
                )
            if heads < 0 or hidden % heads:
                raise SourceError(
                    f"config.json has {heads} heads for {hidden} dimensions, which do not divide "
                    "evenly.",
                    RIGHT,
                )
            given = hidden // heads
        width = given
    if not 2 <= width <= MAX_WIDTH:
        raise SourceError(f"config.json has heads of {width} entries, as no model does.", RIGHT)
    return width


def _wide_heads(config: Mapping[str, Any]) -> int | None:
    """Return the entries of a head in layers of full attention, where Gemma 4 has more there."""
    width, layers = first_int(config, ("global_head_dim",)), config.get("per_layer_config")
    if width is None and isinstance(layers, dict):
        own = [first_int(one, ("head_dim",)) for one in layers.values() if isinstance(one, dict)]
        width = next((one for one in own if one is not None), None)
    return width if width is not None and 2 <= width <= MAX_WIDTH else None


def _turned(
    config: Mapping[str, Any], row: RotaryFamily, given: Mapping[str, Any], d_head: int
) -> int:
    """Return how many entries of a head are turned."""
    width = first_int(config, ("rotary_dim", "rotary_ndims"))
    if width is None and first_int(config, ("qk_rope_head_dim",)) is not None:
        width = d_head  # a share is that of the whole head, of which this is the turned part
    if width is None:
        share = _number(given, "partial_rotary_factor") or _number(
            config, "partial_rotary_factor", "rotary_pct", "rope_pct"
        )
        whole = "rotary_dim" in config or not row.width
        width = int(d_head * (share or row.share)) if whole else row.width
    if not 2 <= width <= d_head:
        raise SourceError(
            f"config.json turns {width} of the {d_head} entries of a head, which cannot be.", RIGHT
        )
    return width - width % 2


def _context(config: Mapping[str, Any], row: RotaryFamily) -> int | None:
    keys = (
        "max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "seq_length",
        "model_max_length", "max_sequence_length",
    )  # fmt: skip
    context = first_int(config, keys)
    if context is None:
        return row.context or None
    if not 0 < context <= MAX_CONTEXT:
        raise SourceError(f"config.json has {context} positions, as no model does.", RIGHT)
    return context


def _pairing(config: Mapping[str, Any], row: RotaryFamily) -> Pairing:
    if config.get("rope_pairing") in ("halves", "interleaved"):  # of a GGUF file
        return "interleaved" if config["rope_pairing"] == "interleaved" else "halves"
    if config.get("rope_interleave") is False:
        return "halves"
    return row.pairing


def _layers_without(config: Mapping[str, Any], row: RotaryFamily) -> tuple[int, ...]:
    """Return the layers that do not turn."""
    count = _n_layers(config)
    turns = config.get("no_rope_layers")
    if isinstance(turns, list) and turns:
        return tuple(i for i, one in enumerate(turns[:count]) if not one)
    every = first_int(config, ("no_rope_layer_interval",)) or row.without
    if every > 0:
        return tuple(range(every - 1, count, every))
    if not row.sliding_only or not first_int(config, ("sliding_window",)):
        return ()
    types = config.get("layer_types")
    if isinstance(types, list):
        return tuple(i for i, one in enumerate(types[:count]) if one == "full_attention")
    pattern = first_int(config, ("sliding_window_pattern",)) or 4
    return tuple(range(pattern - 1, count, pattern)) if pattern > 0 else ()


def _layer_types(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kind of each layer; empty if the configuration does not say it."""
    count, types = _n_layers(config), config.get("layer_types")
    if isinstance(types, list):
        return tuple(map(str, types[:count]))
    # Before there were lists: every so many layers, the last or the first of them is of the other.
    for key, at in (("sliding_window_pattern", -1), ("global_attn_every_n_layers", 0)):
        every = first_int(config, (key,)) or 0
        if every > 0:
            full = range(at % every, count, every)
            kinds = "sliding_attention", "full_attention"
            return tuple(kinds[layer in full] for layer in range(count))
    return ()


def _n_layers(config: Mapping[str, Any]) -> int:
    count = first_int(config, ("num_hidden_layers", "n_layer", "n_layers", "num_layers")) or 0
    return min(max(count, 0), 10_000)


def _number(config: Mapping[str, Any], *keys: str) -> float | None:
    """Return the first of the keys that holds a finite number above zero, or None."""
    for key in keys:
        value = config.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if 0 < value < 1e300:
            return float(value)
    return None


def _numbers(values: object, count: int) -> list[float] | None:
    """Return so many finite numbers above zero; None if it is no such list."""
    if not isinstance(values, list) or len(values) != count:
        return None
    sound = all(isinstance(one, int | float) and 0 < one < 1e300 for one in values)
    return [float(one) for one in values] if sound else None
