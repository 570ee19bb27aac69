"""The settings of a GGUF file, under the names that ``config.json`` has.

llama.cpp's names of architectures, settings and tensors are those of its documentation and of the
package ``gguf``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.gguf_store import TOKENS, GgufIndex
from geometry.checkpoints.stores import TensorStore
from geometry.models.rotary import FACTORS
from geometry.models.stack import Stack

GGUF = "gguf"
"""Key that only these configurations have: the architecture by llama.cpp's name."""
POSITIONS = "position_embd.weight"
MAX_FACTORS = 1 << 16
"""Bytes of a tensor with a factor for each pair: ten times those of any model."""

#: llama.cpp's architecture → transformers' ``model_type``, where the two differ.
ARCHITECTURES: Mapping[str, str] = MappingProxyType(
    {
        "starcoder": "gpt_bigcode", "gptneox": "gpt_neox", "phi2": "phi",
        "nomic-bert": "nomic_bert", "command-r": "cohere", "qwen2moe": "qwen2_moe",
        "qwen3moe": "qwen3_moe", "chatglm": "glm", "deepseek2": "deepseek_v3",
        "gemma3": "gemma3_text",
        "gpt-oss": "gpt_oss",
        "jina-bert-v3": "jina_embeddings_v3", "modern-bert": "modernbert",
    }
)  # fmt: skip

#: Architectures whose files pair entries 2i and 2i + 1, those of Llama among them: there, the rows
#: of W_Q and W_K stand in another order than in transformers' files.
INTERLEAVED = frozenset(
    (
        "llama", "llama4", "deci", "baichuan", "starcoder", "internlm2", "minicpm", "xverse",
        "command-r", "cohere2", "olmo", "arctic", "deepseek", "deepseek2", "chatglm", "granite",
        "granitemoe", "granitehybrid", "chameleon", "gptj", "ernie4_5", "ernie4_5-moe", "smollm3",
        "arcee", "glm4", "bailingmoe", "plm",
    )
)  # fmt: skip

_GPT2 = Stack(
    positions=POSITIONS,
    tokens=("token_embd.weight",),
    query="blk.{layer}.attn_qkv.weight",
    key="",
    value="",
    out="blk.{layer}.attn_output.weight",
    fan_out="blk.{layer}.ffn_up.weight",
    attention_norm="blk.{layer}.attn_norm.weight",
    mlp_norm="blk.{layer}.ffn_norm.weight",
    fused="side by side",
    begin=True,
)
_BERT = replace(
    _GPT2,
    query="blk.{layer}.attn_q.weight",
    key="blk.{layer}.attn_k.weight",
    value="blk.{layer}.attn_v.weight",
    attention_norm="blk.{before}.layer_output_norm.weight",
    mlp_norm="blk.{layer}.attn_output_norm.weight",
    embedding_norm="token_embd_norm.weight",
    sum_norm="token_embd_norm.weight",
    epsilon=("layer_norm_eps", 1e-12),
    fused=None,
    side="encoder",
    causal=False,
    begin=False,
)
#: By ``model_type``: the stacks with a table of positions.
STACKS: Mapping[str, Stack] = MappingProxyType(
    {"gpt2": _GPT2, "bert": _BERT, "gpt_bigcode": replace(_GPT2, fused="multi-query")}
)
#: Queries and keys of rotary models, separate or in one matrix.
HEADS = (replace(_BERT, positions="", causal=True), replace(_GPT2, positions=""))


def read_settings(index: GgufIndex, store: TensorStore, file: str) -> dict[str, Any]:
    """Return what ``config.json`` would have.

    Parameters
    ----------
    index, store
        What stands before the tensors, and these.
    file
        Its name, for messages.

    Raises
    ------
    SourceError
        The file does not name its architecture.
    """
    given = index.settings
    name = given.get("general.architecture")
    if not isinstance(name, str) or not name:
        raise SourceError(
            f"{file} does not name its architecture.",
            "Convert it again with a current llama.cpp.",
        )

    def of(key: str) -> Any:
        value = given.get(f"{name}.{key}")
        return max(value) if isinstance(value, tuple) and value else value

    config: dict[str, Any] = {
        GGUF: name,
        "model_type": ARCHITECTURES.get(name, name),
        "max_position_embeddings": of("context_length"),
        "hidden_size": of("embedding_length"),
        "num_hidden_layers": of("block_count"),
        "num_attention_heads": of("attention.head_count"),
        "num_key_value_heads": of("attention.head_count_kv"),
        "intermediate_size": of("feed_forward_length"),
        "head_dim": of("attention.key_length"),
        "layer_norm_eps": of("attention.layer_norm_epsilon"),
        "vocab_size": of("vocab_size") or index.lengths.get(TOKENS),
        "bos_token_id": given.get("tokenizer.ggml.bos_token_id"),
    }
    if POSITIONS not in store.tensors and any(key.startswith(f"{name}.rope.") for key in given):
        config |= _rotary(store, name, of)
    return {key: value for key, value in config.items() if value is not None}


def _rotary(store: TensorStore, name: str, of: Any) -> dict[str, Any]:
    """Return the settings of rotary positions; llama.cpp's defaults are the same for all."""
    scaling: dict[str, Any] = {}
    kind = of("rope.scaling.type")
    if isinstance(kind, str) and kind != "none":
        scaling = {
            "rope_type": kind,
            "factor": of("rope.scaling.factor"),
            "original_max_position_embeddings": of("rope.scaling.original_context_length"),
            # Llama.cpp multiplies YaRN's own factor by it.
            "attention_factor": of("rope.scaling.attn_factor") if kind != "yarn" else None,
        }
    for tensor in ("rope_freqs.weight", "rope_factors_short.weight"):
        if tensor in store.tensors and store.tensors[tensor].nbytes <= MAX_FACTORS:
            factors = [float(one) for one in store.read(tensor).ravel()]
            scaling |= {"rope_type": FACTORS, "short_factor": factors}
            break
    return {
        "rope_theta": of("rope.freq_base") or 10_000.0,
        "rotary_dim": of("rope.dimension_count"),
        "rope_scaling": {key: value for key, value in scaling.items() if value is not None} or None,
        "rope_pairing": "interleaved" if name in INTERLEAVED else "halves",
    }
