"""Defaults of rotary families for settings missing in their configurations.

Only families whose code was compared are included: the tests draw random settings for each, and
compare the rates with those of transformers' module, or with the formula of the code published with
the first models. Other families have the usual defaults, with a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from geometry.models.families.names import by_name

Pairing = Literal["halves", "interleaved"]
"""Whether entry i is turned with entry i + width/2, or 2i with 2i + 1."""


@dataclass(frozen=True, slots=True)
class RotaryFamily:
    """Defaults of a family for missing settings.

    Attributes
    ----------
    base
        The base of the rates.
    share
        Share of turned entries of a head.
    width
        Number of turned entries of a head, if the family has its own; otherwise 0.
    d_head
        Entries of a head, if not the residual stream's divided by the heads; otherwise 0.
    pairing
        Which entries are turned together.
    sliding_base
        The base in layers of sliding attention; 0 if these turn like the others.
    sliding_scaled
        Whether a scaling also applies to these.
    without
        The last of this many consecutive layers does not turn; 0 if all turn.
    sliding_only
        Whether only layers of sliding attention turn.
    without_window
        The layers of such a family that turn if the window is null: "all", "none", or "sliding",
        those of sliding attention as usual.
    full_at
        Number of layers in a cycle with one layer of full attention, and the index of that layer;
        (0, 0) if unknown.
    context
        Number of positions; 0 if unknown.
    before
        Positions before scaling, independent of the settings; 0 for those of the settings.
    causal
        Whether each position attends only to itself and earlier ones.
    needs
        Required settings, since the defaults in the family's code are not read here: "group", the
        settings of turning; "kinds", those of each kind of layer; "" for none.
    """

    base: float = 10_000.0
    share: float = 1.0
    width: int = 0
    d_head: int = 0
    pairing: Pairing = "halves"
    sliding_base: float = 0.0
    sliding_scaled: bool = False
    without: int = 0
    sliding_only: bool = False
    without_window: Literal["all", "none", "sliding"] = "all"
    full_at: tuple[int, int] = (0, 0)
    context: int = 0
    before: int = 0
    causal: bool = True
    needs: Literal["", "group", "kinds"] = ""


_USUAL = RotaryFamily()

ROTARY_FAMILIES: Mapping[str, RotaryFamily] = by_name(
    {
        "arcee aria_text chameleon dbrx deepseek_ocr2_text diffllama doge dots1 falcon falcon_h1 "
        "glm_image_text gpt_neox_japanese granite granite4_vision_text granite_docling_text "
        "granite_swa granitemoe granitemoe_swa granitemoehybrid granitemoeshared hunyuan_v1_dense "
        "hunyuan_v1_moe hunyuan_vl_text hyperclovax idefics jais2 kyutai_speech_to_text llama "
        "mimi mimi_decoder mimi_encoder ministral mistral moshi nanochat olmo olmo2 olmo_hybrid "
        "olmoe pocket_tts_audio_tokenizer pocket_tts_audio_tokenizer_decoder "
        "pocket_tts_audio_tokenizer_encoder qwen2 qwen2_moe qwen3_moe qwen3_omni_moe_talker_text "
        "starcoder2 unlimited_ocr_text voxtral_realtime_text zamba2": _USUAL,
        "dia_decoder hrm_text internlm3 iquestcoder jetmoe molmo2_text qwen3 "
        "qwen3_omni_moe_talker_code_predictor seed_oss": RotaryFamily(d_head=128),
        "emu3_text_model lfm2 lfm2_moe minimax mixtral phimoe qwen2_5_omni_text qwen2_5_vl_text "
        "qwen2_vl_text qwen3_omni_moe_text": RotaryFamily(base=1_000_000.0),
        "axk1 deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa youtu": RotaryFamily(
            d_head=64, pairing="interleaved"
        ),
        "bamba glm4_moe glm4v_moe_text nemotron persimmon phi recurrent_gemma": RotaryFamily(
            share=0.5
        ),
        "bitnet csm csm_depth_decoder_model flex_olmo mllama_text_model "
        "qwen3_vl_moe_text": RotaryFamily(base=500_000.0),
        "blt_global_transformer blt_local_decoder blt_local_encoder cohere "
        "ernie4_5_moe": RotaryFamily(base=500_000.0, pairing="interleaved"),
        "gemma gemma2 qwen4_exp_text t5_gemma_module vaultgemma": RotaryFamily(d_head=256),
        "esm esmc eurobert lasr_encoder": RotaryFamily(causal=False),
        "blt_patcher glm4v_text glm_ocr_text": RotaryFamily(pairing="interleaved"),
        "diffusion_gemma_text gemma4_text gemma4_unified_text": RotaryFamily(
            d_head=256, needs="kinds"
        ),
        "pe_audio_encoder pe_audio_video_encoder pe_video_encoder": RotaryFamily(
            base=20_000.0, d_head=128, pairing="interleaved", causal=False
        ),
        "qwen3_5_moe_text qwen3_5_text qwen3_next": RotaryFamily(share=0.25, d_head=256),
        "codegen gptj": RotaryFamily(width=64, pairing="interleaved", context=2048),
        "gemma3_text t5gemma2_decoder": RotaryFamily(
            base=1_000_000.0, d_head=256, sliding_base=10_000.0, full_at=(6, 5)
        ),
        "glm glm4": RotaryFamily(share=0.5, d_head=128, pairing="interleaved"),
        "phi3 phi4_multimodal": RotaryFamily(before=4096),
        "gpt_neox stablelm": RotaryFamily(share=0.25),
        "higgs_audio_v2 ministral3": RotaryFamily(d_head=128, needs="group"),
        "hy_v4 voxtral_realtime_encoder": RotaryFamily(d_head=64),
        "laguna mellum": RotaryFamily(d_head=128, needs="kinds"),
        "neucodec xcodec2": RotaryFamily(d_head=64, causal=False),
        "paddleocr_vl_text qwen3_vl_text": RotaryFamily(base=500_000.0, d_head=128),
        "qwen2_5_omni_talker solar_open": RotaryFamily(base=1_000_000.0, d_head=128),
        "afmoe": RotaryFamily(
            d_head=128, sliding_only=True, without_window="sliding", full_at=(4, 3)
        ),
        "apertus": RotaryFamily(base=12_000_000.0, needs="group"),
        "axk2": RotaryFamily(d_head=32, pairing="interleaved"),
        "cohere2": RotaryFamily(
            pairing="interleaved", sliding_only=True, without_window="none", full_at=(4, 3)
        ),
        "cwm": RotaryFamily(base=1_000_000.0, d_head=128, needs="group"),
        "dia_encoder": RotaryFamily(d_head=128, causal=False),
        "embedding_gemma2_text": RotaryFamily(d_head=256, causal=False, needs="kinds"),
        "ernie4_5": RotaryFamily(base=500_000.0, d_head=128, pairing="interleaved"),
        "exaone4 exaone_moe": RotaryFamily(sliding_only=True, full_at=(4, 3)),
        "flint": RotaryFamily(d_head=128, sliding_only=True, without_window="none"),
        "gemma3n_text": RotaryFamily(
            base=1_000_000.0, d_head=256, sliding_base=10_000.0, full_at=(5, 4)
        ),
        "glmasr_encoder": RotaryFamily(share=0.5, causal=False),
        "gpt_oss": RotaryFamily(base=150_000.0, d_head=64, needs="group"),
        "gte": RotaryFamily(base=160_000.0, causal=False),
        "helium": RotaryFamily(base=100_000.0, d_head=128, pairing="interleaved"),
        "hy_v3": RotaryFamily(base=11_158_840.0, d_head=128),
        "jina_embeddings_v3": RotaryFamily(base=20_000.0, causal=False),
        "kolibri1": RotaryFamily(d_head=128, sliding_only=True, full_at=(5, 4)),
        "lfm3": RotaryFamily(base=1_000_000.0, d_head=128, needs="kinds"),
        "llama4_text": RotaryFamily(base=500_000.0, d_head=128, pairing="interleaved", without=4),
        "longcat_flash": RotaryFamily(base=10_000_000.0, d_head=64, pairing="interleaved"),
        "mimo_v2_flash": RotaryFamily(d_head=192, needs="kinds"),
        "minicpm3": RotaryFamily(d_head=32),
        "mistral_large4_text": RotaryFamily(d_head=64, pairing="interleaved", needs="group"),
        "modernbert": RotaryFamily(
            base=160_000.0, sliding_base=10_000.0, sliding_scaled=True, full_at=(3, 0), causal=False
        ),
        "modernbert-decoder": RotaryFamily(
            base=160_000.0, sliding_base=10_000.0, sliding_scaled=True, full_at=(3, 0)
        ),
        "moonshine": RotaryFamily(share=0.9, pairing="interleaved"),
        "moonshine_streaming": RotaryFamily(pairing="interleaved", needs="group"),
        "nomic_bert": RotaryFamily(base=1_000.0, causal=False),
        "olmo3": RotaryFamily(base=500_000.0, sliding_base=500_000.0, full_at=(4, 3)),
        "openai_privacy_filter": RotaryFamily(
            base=150_000.0, d_head=64, pairing="interleaved", causal=False, needs="group"
        ),
        "roformer": RotaryFamily(pairing="interleaved", causal=False),
        "smollm3": RotaryFamily(base=2_000_000.0, without=4),
        "t5gemma2_text": RotaryFamily(
            base=1_000_000.0, d_head=256, sliding_base=10_000.0, full_at=(6, 5), causal=False
        ),
        "timesfm2_5": RotaryFamily(d_head=80),
        "ultrabert": RotaryFamily(causal=False, needs="kinds"),
    }
)
"""Families of transformers."""

WITH_OWN_CODE: Mapping[str, RotaryFamily] = by_name(
    {
        "RefinedWeb RefinedWebModel aquila baichuan codeshell deepseek exaone hf_olmo internlm "
        "internlm2 minicpm mpt qwen xverse": _USUAL,
        "mixformer-sequential phi-msft": RotaryFamily(width=32),
        "Yi": RotaryFamily(base=5_000_000.0),
        "chatglm": RotaryFamily(share=0.5, pairing="interleaved"),
        "openelm": RotaryFamily(d_head=128),
        "stablelm_epoch": RotaryFamily(share=0.25),
    }
)
"""Families whose code was published with their models."""

COMPUTED_ANEW = frozenset(("chatglm",))
"""Families whose code computes the rates, and ignores stored ones."""

COMPARED: Mapping[str, RotaryFamily] = MappingProxyType({**ROTARY_FAMILIES, **WITH_OWN_CODE})
"""All families whose settings were compared with their code."""
