"""The settings of rotary positions under their various names.

Each is read by name. Settings that were not read although their names concern rotary positions are
listed at the end, for a note.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from geometry.checkpoints.config import first_int, flag, positive, unusable
from geometry.models.families.names import names_in

BASES = names_in("""
    rotary_emb_base rope_theta global_rope_theta rotary_base rope_base rope_freq_constant
    rope_embedding_base rotary_embedding_base
""")
LOCAL_BASES = ("rope_local_base_freq", "local_rope_theta")
SHARES = names_in("""
    rotary_pct partial_rotary_factor rope_pct rotary_percent rotary_percentage
    rotary_emb_fraction
""")
WIDTHS = ("rotary_dim", "rotary_ndims", "rope_n_elem", "attn_rotary_emb")
HEADS = ("num_attention_heads", "n_head", "n_heads", "decoder_num_attention_heads", "num_heads")
HIDDEN = ("hidden_size", "n_embd", "d_model")
HEAD_WIDTHS = ("head_dim", "attention_head_dim", "kv_channels", "head_size")
CONTEXTS = names_in("""
    max_position_embeddings n_positions max_seq_len n_ctx seq_length model_max_length
    max_sequence_length max_context_length
""")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers")

SIGNS = (
    *BASES,
    *LOCAL_BASES,
    *SHARES,
    *WIDTHS,
    "rope_parameters",
    "rope_scaling",
    "rope_ratio",
    "layer_rope_theta",
    "rotary_emb_interleaved",
    "use_dynamic_ntk",
    "use_scaled_rope",
)
"""Settings whose presence indicates a rotary model."""

SWITCHES = names_in("""
    rope use_rope rotary use_rotary use_mem_rope rotary_embedding use_rotary_embedding
    use_rotary_embeddings use_rotary_position_embeddings
""")
"""Settings that give whether a model turns at all."""

KINDS = ("position_embedding_type", "pos_emb_type")
"""Settings with the kind of positions."""
TURNING = ("rope", "rotary")
"""Their values for rotary positions."""

HARMLESS = names_in("""
    finetuned llama_4_scaling_beta max_position_embeddings mrope_interleaved mrope_section
    original_rope pos_idx_in_fp32 rope_dropout rope_full_precision rope_max_length rope_pairing
    xdrope_section
""")
"""Settings without effect on the turning of a text's queries and keys: sections of axes, which are
equal for a text; the size of a cache; the precision; factors of the scores."""

CONSTANTS = names_in("""
    alpha attention_factor beta_fast beta_slow factor high_freq_factor long_factor
    low_freq_factor mscale mscale_all_dim original_max_position_embeddings partial_rotary_factor
    rope_theta rope_type short_factor truncate type
""")
"""Settings of a scaling, none of which is a group."""

_CONCERNS_ROTARY = re.compile(
    r"(^|[_.])(rope|rotary|rot(_|$)|theta|ntk|yarn|xpos)"
    r"|^(use_nope|use_alibi|nope_|pos_emb_type|compress_pos_emb|pos(ition)?_scal)"
    r"|(^|_)interpolation(_factor|_scale)?$",
    re.IGNORECASE,
)


class Given:
    """Settings that are read by name.

    Parameters
    ----------
    settings
        The configuration, or a group of it.
    group
        The group's name; "" for the configuration.
    """

    def __init__(self, settings: Mapping[str, Any], group: str = "") -> None:
        self._settings = settings
        self._group = group
        self._read: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return self._settings.get(key) is not None

    def null(self, key: str) -> bool:
        """Return whether a setting is present and null."""
        return key in self._settings and self._settings[key] is None

    def changed(self, **settings: Any) -> Given:
        """Return these settings with some of them replaced."""
        copy = Given({**self._settings, **settings}, self._group)
        copy._read = self._read | set(settings)
        self._read = copy._read
        return copy

    def name(self, key: str) -> str:
        """Return a key prefixed by that of its group."""
        return f"{self._group}.{key}" if self._group else key

    def value(self, key: str) -> Any:
        """Return the value of a key; None if it is missing."""
        self._read.add(key)
        return self._settings.get(key)

    def number(self, *keys: str) -> float | None:
        """Return the positive number of the first key that is present.

        Other keys with a different number count as unread. Raises SourceError: a value is not a
        positive number.
        """
        first: float | None = None
        for key in keys:
            if key in self:
                number = positive(self.name(key), self._settings[key])
                first = number if first is None else first
                if number == first:
                    self._read.add(key)
        return first

    def whole(self, *keys: str, minimum: int | None = None) -> int | None:
        """Return the integer of the first key that is present. Raises SourceError for others."""
        number = first_int(self._settings, keys, minimum=minimum)
        self._read.update(key for key in keys if self._settings.get(key) in (None, number))
        return number

    def first(self, *keys: str) -> Any:
        """Return the value of the first key that is present; None if there is none."""
        value = next((self._settings[key] for key in keys if key in self), None)
        self._read.update(key for key in keys if self._settings.get(key) in (None, value))
        return value

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return a boolean setting. Raises SourceError if it is neither true nor false."""
        self._read.add(key)
        return flag(self._settings, key, default=default)

    def numbers(self, key: str, count: int) -> list[float] | None:
        """Return a list of ``count`` positive numbers. Raises SourceError if it is not."""
        values = self.value(key)
        if values is None:
            return None
        if not isinstance(values, list) or len(values) != count:
            raise unusable(self.name(key), values, f"a list of {count} numbers")
        return [positive(self.name(key), value) for value in values]

    def group(self, key: str) -> Given | None:
        """Return a group of settings; None if it is missing or empty.

        Raises SourceError: it is not a group.
        """
        settings = self.value(key)
        if not settings:
            return None
        if not isinstance(settings, dict):
            raise unusable(self.name(key), settings, "a group of settings")
        return Given(settings, self.name(key))

    def groups(self) -> dict[str, Given | None]:
        """Return the groups among the settings, by kind of layer; None for null."""
        candidates = {key: value for key, value in self._settings.items() if key not in CONSTANTS}
        named = {key: value for key, value in candidates.items() if isinstance(value, dict)}
        if not named:
            return {}
        empty = [key for key, value in candidates.items() if value is None]
        self._read.update(named, empty)
        by_kind: dict[str, Given | None] = {
            key: Given(value, self.name(key)) for key, value in named.items()
        }
        return by_kind | dict.fromkeys(empty)

    def unread(self) -> list[str]:
        """Return the names of settings of rotary positions that were not read."""
        return [
            self.name(key)
            for key, value in self._settings.items()
            if (self._group or _CONCERNS_ROTARY.search(key))
            and value not in (None, False, [], {}, "")
            and not (value is True and key in SWITCHES)
            and key not in self._read.union(HARMLESS)
        ]


def with_usual_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration in which the groups of certain families are flattened."""
    flat = dict(config)
    attention = flat.get("attn_config")  # of MPT and DBRX
    if isinstance(attention, dict):
        rotary = {key: value for key, value in attention.items() if _CONCERNS_ROTARY.search(key)}
        scalings = {key: rotary.pop(f"rope_{key}_config", None) for key in ("hf", "dail")}
        scaling = scalings["hf" if rotary.pop("rope_impl", None) == "hf" else "dail"]
        if isinstance(scaling, dict) and scaling.get("type") not in ("no_scaling", "original"):
            rotary["rope_scaling"] = scaling
        flat = rotary | flat
    own = flat.get("rotary")  # of InternLM
    if isinstance(own, dict):
        flat |= {"rotary": None, "rotary_base": own.get("base")}
        flat |= {"rope_scaling": {key: value for key, value in own.items() if key != "base"}}
    return flat
