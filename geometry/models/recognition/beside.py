"""Other positions of a model besides the shown table, by the names of its tensors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

_NAMES: tuple[tuple[str, str], ...] = (
    (r"distance_embedding\.weight$|\brel_embeddings\.weight$", "vectors by distance in attention"),
    (
        r"relative_attention_bias\.weight$|\brel_pos_bias\.weight$|\brel_pos\.mlp\.\d",
        "a bias of attention scores by distance",
    ),
    (
        r"relative_position_bias_table$|continuous_position_bias_mlp\.\d\.weight$|rel_pos_x_bias",
        "a bias of attention scores by offset in two directions",
    ),
    (r"\brel_pos_h$", "vectors by offset in rows and columns in attention"),
    (r"relative_pos_embeddings\.weight$", "a bias of attention scores by distance and content"),
    (r"\b[xyhw]_position_embeddings\.weight$", "a table of places on a page"),
    (r"\btoken_type_embeddings_\d\.weight$", "a table of segments, rows or columns"),
    (r"mid_position_embeddings$", "a table before each later layer"),
    (r"\bglobal_pos_emb$", "a table of steps in time"),
    (r"time_embeddings$|temporal_embeddings\.position_embeddings$", "a table of frames"),
    (r"(rotary|rope).*inv_freq$", "a turning of queries and keys"),
    (r"(^|[._])(alibi|alibi_bias|slopes?)$", "a penalty of attention scores by distance"),
)
"""Regular expressions of names of tensors, with their meaning."""
_PARTS = ("embedding", "rel", "pos", "inv_freq", "alibi", "slope")
"""Parts of names, of which those of any of these have one, and other names of GPT-2 have none."""
_ANY = re.compile("|".join(pattern for pattern, _ in _NAMES))

_NO_DIGITS = dict.fromkeys(map(ord, "0123456789"))

_OF_FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("sam3_vit_model", "sam3_vision_model", "timm's EVA02"),
            "Its queries and keys are also turned, in two directions, which is not shown.",
        ),
        "pvt": "Each of its four stages has a table: shown is the first one.",
        "tapas": (
            "Positions begin anew in each cell of a text's table, unless "
            "reset_position_index_per_cell is false."
        ),
        "bark": "Each of its three transformers has a table: shown is that of the semantic one.",
        "decision_transformer": (
            "Its own code gives every token position 0 of this table, and adds embed_timestep by "
            "the time instead."
        ),
    }
)
"""Other positions of families that the names of tensors do not show."""


def beside(family: str | None, names: Iterable[str]) -> list[str]:
    """Return sentences about other positions of a model besides its table.

    Parameters
    ----------
    family
        Its ``model_type``.
    names
        The tensors of this part of the model, without the table itself.
    """
    own = _OF_FAMILIES.get(family or "")
    notes = [] if own is None else [own]
    names = tuple(names)
    whole = "\n".join(names)
    if not any(part in whole for part in _PARTS):
        return notes
    kinds: dict[str, str] = {}
    for name in names:  # names that differ only in numbers are checked once
        kinds.setdefault(name.translate(_NO_DIGITS), name)
    others = list(filter(_ANY.search, kinds.values()))
    names_of: dict[str, str] = {}
    for pattern, words in _NAMES:
        for name in others:
            if words not in names_of and re.search(pattern, name):
                names_of[words] = name
    return notes + [
        f"It also has {words}, which is not shown: {name}." for words, name in names_of.items()
    ]
