"""The settings of rotary positions under the names that code has given them.

Each is read by name. One whose name speaks of rotary positions and that was not read is known at
the end, for a note.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from geometry.checkpoints.config import first_int, flag, positive, unusable

BASES = ("rotary_emb_base", "rope_theta", "global_rope_theta", "rotary_base", "rope_base",
         "rope_freq_constant", "rope_embedding_base", "rotary_embedding_base")  # fmt: skip
LOCAL_BASES = ("rope_local_base_freq", "local_rope_theta")
SHARES = ("rotary_pct", "partial_rotary_factor", "rope_pct", "rotary_percent",
          "rotary_percentage", "rotary_emb_fraction")  # fmt: skip
WIDTHS = ("rotary_dim", "rotary_ndims", "rope_n_elem", "attn_rotary_emb")
HEADS = ("num_attention_heads", "n_head", "n_heads", "decoder_num_attention_heads", "num_heads")
HIDDEN = ("hidden_size", "n_embd", "d_model")
HEAD_WIDTHS = ("head_dim", "attention_head_dim", "kv_channels", "head_size")
CONTEXTS = ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "seq_length",
            "model_max_length", "max_sequence_length", "max_context_length")  # fmt: skip
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers")

SIGNS = (*BASES, *LOCAL_BASES, *SHARES, *WIDTHS, "rope_parameters", "rope_scaling", "rope_ratio",
         "layer_rope_theta", "rotary_emb_interleaved", "use_dynamic_ntk")  # fmt: skip
"""Settings that, where they are there, belong to a model that turns."""

SWITCHES = ("rope", "use_rope", "rotary", "use_rotary", "use_mem_rope", "rotary_embedding",
            "use_rotary_embedding", "use_rotary_embeddings",
            "use_rotary_position_embeddings")  # fmt: skip
"""Settings that say whether a model turns at all."""

KINDS = ("position_embedding_type", "pos_emb_type")
"""Settings that name the kind of positions, and their values for those that turn."""
TURNING = ("rope", "rotary")

HARMLESS = frozenset(
    (
        "finetuned", "llama_4_scaling_beta", "max_position_embeddings", "mrope_interleaved",
        "mrope_section", "original_rope", "pos_idx_in_fp32", "rope_dropout",
        "rope_full_precision", "rope_max_length", "rope_pairing", "xdrope_section",
    )
)  # fmt: skip
"""Settings without effect on the turning of a text's queries and keys: sections of axes, which
are alike for a text; the size of a cache; the precision; factors of the scores."""

CONSTANTS = frozenset(
    (
        "alpha", "attention_factor", "beta_fast", "beta_slow", "factor", "high_freq_factor",
        "long_factor", "low_freq_factor", "mscale", "mscale_all_dim",
        "original_max_position_embeddings", "partial_rotary_factor", "rope_theta", "rope_type",
        "short_factor", "truncate", "type",
    )
)  # fmt: skip
"""Settings of a scaling, none of which is a group."""

_SPEAKS = re.compile(
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
        """Return whether a setting is there and null."""
        return key in self._settings and self._settings[key] is None

    def changed(self, **settings: Any) -> Given:
        """Return these settings with others in the place of some."""
        other = Given({**self._settings, **settings}, self._group)
        other._read = self._read | set(settings)
        self._read = other._read
        return other

    def name(self, key: str) -> str:
        """Return a key with that of its group."""
        return f"{self._group}.{key}" if self._group else key

    def value(self, key: str) -> Any:
        """Return what stands under a key; None if nothing does."""
        self._read.add(key)
        return self._settings.get(key)

    def number(self, *keys: str) -> float | None:
        """Return the first of the keys that is there; SourceError if one is no number above 0.

        Those that are there with another number count as unread.
        """
        found: float | None = None
        for key in keys:
            if key in self:
                number = positive(self.name(key), self._settings[key])
                found = number if found is None else found
                if number == found:
                    self._read.add(key)
        return found

    def whole(self, *keys: str, least: int | None = None) -> int | None:
        """Return the first of the keys that is there; SourceError if it is no whole number."""
        found = first_int(self._settings, keys, minimum=least)
        self._read.update(key for key in keys if self._settings.get(key) in (None, found))
        return found

    def first(self, *keys: str) -> Any:
        """Return what stands under the first of the keys that is there; None if none is."""
        found = next((self._settings[key] for key in keys if key in self), None)
        self._read.update(key for key in keys if self._settings.get(key) in (None, found))
        return found

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return whether a setting is true; SourceError if it is neither true nor false."""
        self._read.add(key)
        return flag(self._settings, key, default=default)

    def numbers(self, key: str, count: int) -> list[float] | None:
        """Return a list of so many numbers above 0; SourceError if it is no such list."""
        values = self.value(key)
        if values is None:
            return None
        if not isinstance(values, list) or len(values) != count:
            raise unusable(self.name(key), values, f"a list of {count} numbers")
        return [positive(self.name(key), one) for one in values]

    def group(self, key: str) -> Given | None:
        """Return a group of settings; None without any. SourceError if it is no group."""
        settings = self.value(key)
        if not settings:
            return None
        if not isinstance(settings, dict):
            raise unusable(self.name(key), settings, "a group of settings")
        return Given(settings, self.name(key))

    def groups(self) -> dict[str, Given | None]:
        """Return the groups among the settings, by kind of layer; None for one that is null."""
        others = {key: one for key, one in self._settings.items() if key not in CONSTANTS}
        named = {key: one for key, one in others.items() if isinstance(one, dict)}
        if not named:
            return {}
        empty = [key for key, one in others.items() if one is None]
        self._read.update(named, empty)
        found: dict[str, Given | None] = {
            key: Given(one, self.name(key)) for key, one in named.items()
        }
        return found | dict.fromkeys(empty)

    def unread(self) -> list[str]:
        """Return the names of settings that speak of rotary positions and were not read."""
        return [
            self.name(key)
            for key, value in self._settings.items()
            if (self._group or _SPEAKS.search(key))
            and value not in (None, False, [], {}, "")
            and not (value is True and key in SWITCHES)
            and key not in self._read | HARMLESS
        ]


def with_usual_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration in which groups that only some families have are spread out."""
    flat = dict(config)
    attention = flat.get("attn_config")  # of MPT and DBRX
    if isinstance(attention, dict):
        turned = {key: one for key, one in attention.items() if _SPEAKS.search(key)}
        ways = {key: turned.pop(f"rope_{key}_config", None) for key in ("hf", "dail")}
        way = ways["hf" if turned.pop("rope_impl", None) == "hf" else "dail"]
        if isinstance(way, dict) and way.get("type") not in ("no_scaling", "original"):
            turned["rope_scaling"] = way
        flat = turned | flat
    own = flat.get("rotary")  # of InternLM
    if isinstance(own, dict):
        flat |= {"rotary": None, "rotary_base": own.get("base")}
        flat |= {"rope_scaling": {key: one for key, one in own.items() if key != "base"}}
    return flat
