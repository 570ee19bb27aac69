"""Tiny models of every family, and the modules in them whose parameters count."""

from dataclasses import dataclass
from typing import Any

N = 12
BERT = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 24, "max_position_embeddings": N, "vocab_size": 40}  # fmt: skip
GPT = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": N, "vocab_size": 40}
NEO = {"hidden_size": 16, "num_layers": 2, "num_heads": 2, "vocab_size": 40,
       "attention_types": [[["global", "local"], 1]], "max_position_embeddings": N}  # fmt: skip
DISTIL = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": N,
          "vocab_size": 40}  # fmt: skip
BART = {"vocab_size": 40, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24, "max_position_embeddings": N}  # fmt: skip
OPT = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 24,
       "max_position_embeddings": N, "vocab_size": 40}  # fmt: skip
XGLM = {"vocab_size": 40, "d_model": 16, "num_layers": 2, "attention_heads": 2, "ffn_dim": 24,
        "max_position_embeddings": N}  # fmt: skip
WHISPER = {**BART, "max_target_positions": N, "max_source_positions": 16, "num_mel_bins": 8}
VISION = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
          "intermediate_size": 24, "image_size": 8, "patch_size": 4}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A tiny model and the modules whose parameters count."""

    model: str
    config: dict[str, Any]
    positions: str
    tokens: str
    layer: str
    query: str
    key: str
    value: str
    out: str
    fan_out: str
    table: str | None = None
    causal: bool = True
    computed: bool = False
    n_positions: int = N
    name: str = ""

    @property
    def id(self) -> str:
        return self.name or "-".join(filter(None, (self.model, self.table)))


def matrices(query: str, key: str, value: str, out: str, fan_out: str) -> dict[str, str]:
    """The modules of a layer, by what reads or writes there."""
    return {"query": query, "key": key, "value": value, "out": out, "fan_out": fan_out}


def parts(place: str, *names: str, fan_out: str) -> dict[str, str]:
    """Those of attention, which stand in one place, and the one that fans out."""
    return matrices(*(f"{place}.{name}" for name in names), fan_out=fan_out)


OF_GPT = matrices("attn.c_attn", "attn.c_attn", "attn.c_attn", "attn.c_proj", "mlp.c_fc")
OF_NEO = parts("attn.attention", "q_proj", "k_proj", "v_proj", "out_proj", fan_out="mlp.c_fc")
OF_BERT = parts("attention", "self.query", "self.key", "self.value", "output.dense",
                fan_out="intermediate.dense")  # fmt: skip
OF_DISTIL = parts("attention", "q_lin", "k_lin", "v_lin", "out_lin", fan_out="ffn.lin1")
OF_ALBERT = parts("attention", "query", "key", "value", "dense", fan_out="ffn")
OF_BART = parts("self_attn", "q_proj", "k_proj", "v_proj", "out_proj", fan_out="fc1")
OF_LED = parts("self_attn", *(f"longformer_self_attn.{name}" for name in ("query", "key", "value")),
               "output", fan_out="fc1")  # fmt: skip


def gpt(model: str, root: str = "transformer.", **changes: Any) -> Case:
    known = {"layer": f"{root}h.{{}}", "positions": f"{root}wpe", "tokens": f"{root}wte",
             "config": GPT}  # fmt: skip
    return Case(**{"model": model, **OF_GPT, **known, **changes})


def bert(model: str, root: str, layer: str = "encoder.layer.{}", **changes: Any) -> Case:
    known = {"layer": f"{root}{layer}", "positions": f"{root}embeddings.position_embeddings",
             "tokens": f"{root}embeddings.word_embeddings", "causal": False,
             "config": BERT}  # fmt: skip
    return Case(**{"model": model, **OF_BERT, **known, **changes})


def bart(
    model: str, side: str, table: str | None = None, root: str = "model.", **changes: Any
) -> Case:
    known = {"layer": f"{root}{side}.layers.{{}}", "positions": f"{root}{side}.embed_positions",
             "tokens": f"{root}{side}.embed_tokens", "causal": side == "decoder",
             "config": BART, "table": table}  # fmt: skip
    return Case(**{"model": model, **OF_BART, **known, **changes})


def both(model: str, **changes: Any) -> tuple[Case, Case]:
    return bart(model, "decoder", **changes), bart(model, "encoder", "encoder", **changes)


def clip(model: str, root: str, **changes: Any) -> Case:
    known = {"layer": f"{root}encoder.layers.{{}}", "tokens": f"{root}embeddings.token_embedding",
             "positions": f"{root}embeddings.position_embedding", "config": BERT,
             "fan_out": "mlp.fc1"}  # fmt: skip
    return Case(**{"model": model, **OF_BART, **known, **changes})


NARROW, TEXT = {**BERT, "embedding_size": 8}, {"text_config": BERT, "vision_config": VISION}
CASES = (
    gpt("GPT2Model", root=""),
    gpt("GPT2LMHeadModel"),
    gpt("GPTNeoForCausalLM", config=NEO, **OF_NEO),
    gpt("GPTBigCodeForCausalLM"),
    gpt("GPTBigCodeForCausalLM", config={**GPT, "multi_query": False}, name="GPTBigCode-by-head"),
    gpt("ImageGPTModel", root=""),
    gpt("DecisionTransformerModel", root="encoder.", tokens="",
        config={"hidden_size": 16, "n_layer": 2, "n_head": 2, "n_positions": N}),
    gpt("OpenAIGPTLMHeadModel", positions="transformer.positions_embed",
        tokens="transformer.tokens_embed"),
    bert("BertModel", ""),
    bert("BertForMaskedLM", "bert."),
    bert("DistilBertForMaskedLM", "distilbert.", "transformer.layer.{}", config=DISTIL,
         **OF_DISTIL),
    bert("ElectraForPreTraining", "electra.", config=NARROW),
    bert("AlbertForMaskedLM", "albert.", "encoder.albert_layer_groups.0.albert_layers.0",
         config=NARROW, **OF_ALBERT),
    bert("BigBirdForMaskedLM", "bert.", config={**BERT, "attention_type": "original_full"}),
    bert("RobertaForMaskedLM", "roberta.", n_positions=N - 2),
    bert("XLMRobertaForMaskedLM", "roberta.", n_positions=N - 2),
    bert("CamembertModel", "", n_positions=N - 2),
    bert("LongformerForMaskedLM", "longformer.", n_positions=N - 2,
         config={**BERT, "attention_window": 4}),
    bert("EsmForMaskedLM", "esm.", n_positions=N - 2,
         config={**BERT, "pad_token_id": 1, "mask_token_id": 2}),
    bart("OPTForCausalLM", "decoder", config=OPT),
    bart("OPTForCausalLM", "decoder", name="OPT-350m",
         config={**OPT, "word_embed_proj_dim": 8, "do_layer_norm_before": False}),
    *both("BartForConditionalGeneration"),
    *both("MBartForConditionalGeneration"),
    bart("BioGptForCausalLM", "decoder", config=BERT, positions="biogpt.embed_positions",
         tokens="biogpt.embed_tokens", layer="biogpt.layers.{}", name="BioGpt"),
    bart("TrOCRForCausalLM", "decoder"),
    bart("TrOCRForCausalLM", "decoder", computed=True, name="TrOCR-sinusoid",
         config={**BART, "use_learned_position_embeddings": False}),
    *both("BlenderbotForConditionalGeneration"),
    bart("LEDForConditionalGeneration", "decoder", root="led.",
         config={**BART, "max_decoder_position_embeddings": N, "attention_window": 4}),
    bart("LEDForConditionalGeneration", "encoder", "encoder", root="led.", n_positions=16,
         config={**BART, "max_encoder_position_embeddings": 16, "attention_window": 4}, **OF_LED),
    bart("WhisperForConditionalGeneration", "decoder", config=WHISPER),
    bart("WhisperForConditionalGeneration", "encoder", "encoder", computed=True, tokens="",
         n_positions=16, config=WHISPER),
    *both("PegasusForConditionalGeneration", computed=True),
    *both("MarianMTModel", computed=True),
    clip("CLIPTextModel", ""),
    clip("CLIPModel", "text_model.", config=TEXT),
    clip("SiglipTextModel", "", causal=False),
    clip("SiglipModel", "text_model.", causal=False, config=TEXT),
    bart("XGLMForCausalLM", "decoder", computed=True, positions="model.embed_positions",
         tokens="model.embed_tokens", layer="model.layers.{}", config=XGLM),
    *both("M2M100ForConditionalGeneration", computed=True),
)  # fmt: skip
