"""The settings of a GGUF file, under the names in ``config.json``.

llama.cpp's names of architectures, settings and tensors are from its documentation and the package
``gguf``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from geometry.checkpoints.config import first_int, flag, positive, unusable
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.formats.gguf_store import TOKENS, GgufIndex
from geometry.checkpoints.stores import TensorStore
from geometry.models.families.names import names_in
from geometry.models.families.stack import Stack
from geometry.models.schemes.rotary import FULL, SLIDING
from geometry.models.schemes.rotary_scaling import FACTORS

GGUF = "gguf"
"""Key of these configurations alone: llama.cpp's name of the architecture."""
POSITIONS = "position_embd.weight"
PROJECTOR = "clip"
"""The architecture of files with the tower for pictures of a model, "mmproj-….gguf"."""
MAX_FACTORS = 1 << 16
"""Maximum bytes of a tensor with a factor for each pair: ten times those of any model."""

ARCHITECTURES: Mapping[str, str] = MappingProxyType(
    {
        PROJECTOR: "clip_vision_model",
        "starcoder": "gpt_bigcode",
        "gptneox": "gpt_neox",
        "phi2": "phi",
        "nomic-bert": "nomic_bert",
        "command-r": "cohere",
        "qwen2moe": "qwen2_moe",
        "qwen3moe": "qwen3_moe",
        "chatglm": "glm",
        "deepseek2": "deepseek_v3",
        "gemma3": "gemma3_text",
        "gemma-embedding": "gemma3_text",
        "gemma3n": "gemma3n_text",
        "llama4": "llama4_text",
        "exaone-moe": "exaone_moe",
        "falcon-h1": "falcon_h1",
        "lfm2moe": "lfm2_moe",
        "hunyuan-dense": "hunyuan_v1_dense",
        "hunyuan-moe": "hunyuan_v1_moe",
        "qwen2vl": "qwen2_vl_text",
        "ernie4_5-moe": "ernie4_5_moe",
        "gpt-oss": "gpt_oss",
        "jina-bert-v3": "jina_embeddings_v3",
        "modern-bert": "modernbert",
    }
)
"""The ``model_type`` of transformers by llama.cpp's architecture, if the two differ."""

INTERLEAVED = names_in("""
    arcee arctic baichuan bailingmoe chameleon chatglm cohere2 command-r deci deepseek deepseek2
    deepseek2-ocr ernie4_5 ernie4_5-moe glm-dsa glm4 gptj granite granitehybrid granitemoe
    internlm2 llada llama llama-embed llama4 maincoder minicpm mistral3 mistral4 neo-bert olmo
    plm smollm3 starcoder xverse
""")
"""Architectures whose files pair entries 2i and 2i + 1, such as Llama: the rows of W_Q and W_K have
another order than in transformers' files."""
HALVES = names_in("""
    afmoe apertus bailingmoe2 bert bitnet codeshell cogvlm dbrx dots1 dream eurobert exaone
    exaone-moe exaone4 falcon falcon-h1 gemma gemma-embedding gemma2 gemma3 gemma3n gemma4
    glm4moe gpt-oss gptneox grok grovemoe hunyuan-dense hunyuan-moe hunyuan_vl jais2
    jina-bert-v3 lfm2 lfm2moe llada-moe mimo2 minicpm3 minimax-m2 modern-bert nemotron
    nomic-bert nomic-bert-moe olmo2 olmoe openelm orion paddleocr pangu-embedded phi2 phi3
    phimoe plamo plamo2 plamo3 qwen qwen2 qwen2moe qwen2vl qwen3 qwen35 qwen35moe qwen3moe
    qwen3next qwen3vl qwen3vlmoe rnd1 seed_oss smallthinker stablelm starcoder2 step35
""")
"""Architectures whose files pair entries i and i + width/2. For others this is unknown."""
ALIBI = frozenset(("bloom", "jina-bert-v2", "refact"))
"""Architectures with ALiBi whose exponent of the slopes is in llama.cpp's code, not in the file."""
USUAL_BIAS = 8.0
"""This exponent, as in ALiBi's paper: slopes down to 2⁻⁸."""

_READ = names_in("""
    rope.freq_base rope.freq_base_swa rope.dimension_count rope.dimension_sections
    rope.scale_linear rope.scaling.type rope.scaling.factor rope.scaling.attn_factor
    rope.scaling.original_context_length rope.scaling.finetuned rope.scaling.yarn_log_multiplier
    rope.scaling.yarn_attn_factor rope.scaling.yarn_beta_fast rope.scaling.yarn_beta_slow
""")
"""Settings of rotary positions that are read here, or have no effect for a text."""

_GPT2 = Stack(
    positions=POSITIONS,
    tokens=("token_embd.weight",),
    query="blk.{layer}.attn_qkv.weight",
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
_PICTURES = Stack(
    positions="v.position_embd.weight",
    tokens=(),
    query="v.blk.{layer}.attn_q.weight",
    key="v.blk.{layer}.attn_k.weight",
    value="v.blk.{layer}.attn_v.weight",
    out="v.blk.{layer}.attn_out.weight",
    fan_out="v.blk.{layer}.ffn_up.weight",
    attention_norm="v.blk.{layer}.ln1.weight",
    mlp_norm="v.blk.{layer}.ln2.weight",
    sum_norm="v.pre_ln.weight",
    sum_norm_if=("pre_ln", False),
    epsilon=("layer_norm_eps", 1e-5),
    side="vision",
    causal=False,
    patches=True,
)
STACKS: Mapping[str, Stack] = MappingProxyType(
    {
        "gpt2": _GPT2,
        "bert": _BERT,
        "gpt_bigcode": replace(_GPT2, fused="multi-query"),
        "clip_vision_model": _PICTURES,
    }
)
"""Stacks with a table of positions, by ``model_type``."""
HEADS = (replace(_BERT, positions="", causal=True), replace(_GPT2, positions=""))
"""Queries and keys of rotary models, separate or fused."""


def read_settings(index: GgufIndex, store: TensorStore, file: str) -> dict[str, Any]:
    """Return the settings as in ``config.json``.

    Parameters
    ----------
    index, store
        The index of the file, and its tensors.
    file
        Name of the file, for messages.

    Raises
    ------
    SourceError
        The file does not name its architecture, or has an invalid setting.
    """
    given = index.settings
    name = given.get("general.architecture")
    if not isinstance(name, str) or not name:
        raise SourceError(
            f"{file} does not name its architecture.",
            "Convert it again with a current llama.cpp.",
        )

    of = _Settings(given, f"{name}.vision" if name == PROJECTOR else name)
    config: dict[str, Any] = {
        GGUF: name,
        "model_type": ARCHITECTURES.get(name, name),
        "max_position_embeddings": of.whole("context_length"),
        "hidden_size": of.whole("embedding_length"),
        "num_hidden_layers": of.whole("block_count"),
        "num_attention_heads": of.each("attention.head_count"),
        "num_key_value_heads": of.each("attention.head_count_kv"),
        "intermediate_size": of.each("feed_forward_length"),
        "head_dim": of.whole("attention.key_length"),
        "layer_norm_eps": of.number("attention.layer_norm_epsilon"),
        "vocab_size": of.whole("vocab_size") or index.lengths.get(TOKENS),
        "bos_token_id": given.get("tokenizer.ggml.bos_token_id"),
    }
    if name == PROJECTOR:
        sizes = {key: of.whole(key) for key in ("image_size", "patch_size")}
        config |= {**sizes, "pre_ln": _PICTURES.sum_norm in store.tensors}
    config |= _alibi(name, of)
    turns = name in (*INTERLEAVED, *HALVES) or any(key.startswith(f"{name}.rope.") for key in given)
    if POSITIONS not in store.tensors and turns:
        config |= _rotary(store, name, of)
    return {key: value for key, value in config.items() if value is not None}


class _Settings:
    """The settings of an architecture; an invalid setting is an error."""

    def __init__(self, given: Mapping[str, Any], name: str) -> None:
        self._given = given
        self._name = name

    def value(self, key: str) -> Any:
        """Return a setting unchanged; None if there is none."""
        return self._given.get(f"{self._name}.{key}")

    def whole(self, key: str) -> int | None:
        """Return an integer setting."""
        with converting():
            return first_int(self._given, (f"{self._name}.{key}",))

    def each(self, key: str) -> int | list[int] | None:
        """Return an integer setting, or a list with an integer for each layer."""
        value = self.value(key)
        if not isinstance(value, tuple) or not value:
            return self.whole(key)
        return value[0] if all(n == value[0] for n in value) else list(value)

    def number(self, key: str) -> float | None:
        """Return a positive setting; None for 0, which means that there is none."""
        value = self.value(key)
        if value is None or (value == 0 and type(value) is not bool):
            return None
        with converting():
            return positive(f"{self._name}.{key}", value)

    def flag(self, key: str) -> bool | None:
        """Return a boolean setting."""
        if self.value(key) is None:
            return None
        with converting():
            return flag(self._given, f"{self._name}.{key}")

    def text(self, key: str) -> str | None:
        """Return a text setting."""
        value = self.value(key)
        with converting():
            if value is not None and not isinstance(value, str):
                raise unusable(f"{self._name}.{key}", value, "a text")
        return value

    def unread(self) -> dict[str, Any]:
        """Return the settings of rotary positions that are not read here, by their own names."""
        prefix = f"{self._name}."
        return {
            key: value
            for key, value in self._given.items()
            if key.startswith(f"{prefix}rope.") and key.removeprefix(prefix) not in _READ
        }


@contextmanager
def converting() -> Iterator[None]:
    """Convert errors of invalid settings into those of a GGUF file."""
    try:
        yield
    except SourceError as error:
        raise SourceError(
            of_file(str(error)), "Convert the model again with a current llama.cpp."
        ) from error


def of_file(text: str) -> str:
    """Return a sentence about config.json as a sentence about a GGUF file."""
    return text.replace("config.json", "this GGUF file")


def _rotary(store: TensorStore, name: str, of: _Settings) -> dict[str, Any]:
    """Return the settings of rotary positions; llama.cpp's defaults are the same for all."""
    pairing = "interleaved" if name in INTERLEAVED else "halves" if name in HALVES else "unknown"
    settings: dict[str, Any] = {
        "rope_theta": of.number("rope.freq_base") or 10_000.0,
        "rope_local_base_freq": of.number("rope.freq_base_swa"),
        "rotary_dim": of.whole("rope.dimension_count"),
        "rope_scaling": _scaling(store, of),
        "rope_pairing": pairing,
        "sliding_window": of.whole("attention.sliding_window"),
        "is_causal": of.flag("attention.causal"),
    }
    pattern = of.value("attention.sliding_window_pattern")
    if isinstance(pattern, tuple):
        settings["layer_types"] = [SLIDING if near else FULL for near in pattern]
    else:
        settings["sliding_window_pattern"] = of.whole("attention.sliding_window_pattern")
    window = of.value("attention.sliding_window")
    if (name == "exaone4" and not window) or (name == "llama4" and window == 0):
        settings["no_rope_layers"] = [1]  # without sliding attention all layers turn
    if isinstance(of.each("attention.head_count"), list) and not of.whole("attention.key_length"):
        settings["head_dim"] = settings["rotary_dim"]  # of layers with different numbers of heads
    if name == "gemma-embedding":  # whose code has no causal mask
        settings["is_causal"] = False
    if name == "olmo2" and settings["sliding_window"]:  # of OLMo 3, whose bases are alike
        settings |= {"model_type": "olmo3", "rope_local_base_freq": settings["rope_theta"]}
    if name.startswith("granite") and of.flag("rope.scaling.finetuned") is False:
        settings["use_rope"] = False
    return settings | of.unread()


def _alibi(name: str, of: _Settings) -> dict[str, Any]:
    """Return the settings of ALiBi, as in MPT; 0 means that there is none."""
    if name in ALIBI:
        return {"alibi": True, "alibi_bias_max": USUAL_BIAS}
    if name not in ("mpt", "jais"):
        return {}
    bias_max = of.number("attention.max_alibi_bias")
    if bias_max is None and of.value("attention.max_alibi_bias") is not None:
        return {"attn_config": {"alibi": False}, "position_embedding_type": "none"}
    return {"alibi": True, "alibi_bias_max": bias_max or USUAL_BIAS}


def _scaling(store: TensorStore, of: _Settings) -> dict[str, Any] | None:
    """Return the scaling for longer contexts, with the names of ``config.json``."""
    factor = of.number("rope.scaling.factor") or of.number("rope.scale_linear")
    kind = of.text("rope.scaling.type") or "linear"
    before = of.whole("rope.scaling.original_context_length")
    attention = math.prod(
        of.number(f"rope.scaling.{key}") or 1.0 for key in ("attn_factor", "yarn_attn_factor")
    )
    scaling: dict[str, Any] = {"rope_type": kind, "factor": factor}
    if kind == "yarn":
        own = 0.1 * math.log(factor) + 1.0 if factor and factor > 1 else 1.0
        if of.number("rope.scaling.yarn_log_multiplier"):  # of DeepSeek, which removes it again
            own = 1.0
        scaling |= {
            "factor": factor or 1.0,
            "original_max_position_embeddings": before,
            "attention_factor": own * attention,
            "beta_fast": of.number("rope.scaling.yarn_beta_fast"),
            "beta_slow": of.number("rope.scaling.yarn_beta_slow"),
        }
        attention = 1.0
    same = kind in ("none", "longrope") or (kind == "linear" and factor is None)
    names = [f"{name}.weight" for name in ("rope_freqs", "rope_factors_short")]
    sizes = {name: store.tensors[name].nbytes for name in names if name in store.tensors}
    stored = next((name for name, size in sizes.items() if size <= MAX_FACTORS), None)
    if stored is not None or attention != 1.0:  # llama.cpp applies both with any kind of scaling
        scaling |= {
            "rope_type": FACTORS,
            "before": None if same else kind,
            "short_factor": stored and [float(n) for n in store.read(stored).ravel()],
            "attn_factor": attention,
            "original_max_position_embeddings": before,
            "longer": "rope_factors_long.weight" in store.tensors,
        }
    elif same and kind != "longrope":
        return None
    return {key: value for key, value in scaling.items() if value is not None}
