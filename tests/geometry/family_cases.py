"""Tiny models of every family, and the modules in them whose parameters count."""

from dataclasses import dataclass
from typing import Any

N = 12
BERT = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": N,
    "vocab_size": 40,
}
GPT = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": N, "vocab_size": 40}
BART = {
    "vocab_size": 40,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": N,
}
VISION = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "image_size": 8,
    "patch_size": 4,
}


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


def bert(model: str, root: str, layer: str = "encoder.layer.{}", **changes: Any) -> Case:
    known = {
        "positions": f"{root}embeddings.position_embeddings",
        "tokens": f"{root}embeddings.word_embeddings",
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "out": "attention.output.dense",
        "fan_out": "intermediate.dense",
        "causal": False,
        "config": BERT,
    }
    return Case(**{"model": model, "layer": f"{root}{layer}", **known, **changes})


def bart(
    model: str, side: str, table: str | None = None, root: str = "model.", **changes: Any
) -> Case:
    known = {
        "positions": f"{root}{side}.embed_positions",
        "tokens": f"{root}{side}.embed_tokens",
        "query": "self_attn.q_proj",
        "key": "self_attn.k_proj",
        "value": "self_attn.v_proj",
        "out": "self_attn.out_proj",
        "fan_out": "fc1",
        "causal": side == "decoder",
        "config": BART,
        "table": table,
    }
    return Case(**{"model": model, "layer": f"{root}{side}.layers.{{}}", **known, **changes})


def both(model: str, root: str = "model.", **changes: Any) -> tuple[Case, Case]:
    return (
        bart(model, "decoder", root=root, **changes),
        bart(model, "encoder", "encoder", root=root, **changes),
    )


def gpt(model: str, root: str = "transformer.", **changes: Any) -> Case:
    known = {
        "positions": f"{root}wpe",
        "tokens": f"{root}wte",
        "query": "attn.c_attn",
        "key": "attn.c_attn",
        "value": "attn.c_attn",
        "out": "attn.c_proj",
        "fan_out": "mlp.c_fc",
        "config": GPT,
    }
    return Case(**{"model": model, "layer": f"{root}h.{{}}", **known, **changes})


def clip(model: str, root: str, **changes: Any) -> Case:
    known = {
        "positions": f"{root}embeddings.position_embedding",
        "tokens": f"{root}embeddings.token_embedding",
        "query": "self_attn.q_proj",
        "key": "self_attn.k_proj",
        "value": "self_attn.v_proj",
        "out": "self_attn.out_proj",
        "fan_out": "mlp.fc1",
        "config": BERT,
    }
    return Case(**{"model": model, "layer": f"{root}encoder.layers.{{}}", **known, **changes})


NEO = {
    "query": "attn.attention.q_proj",
    "key": "attn.attention.k_proj",
    "value": "attn.attention.v_proj",
    "out": "attn.attention.out_proj",
}
LONG = "self_attn.longformer_self_attn."
CASES = (
    gpt("GPT2Model", root=""),
    gpt("GPT2LMHeadModel"),
    gpt(
        "GPTNeoForCausalLM",
        config={
            "hidden_size": 16,
            "num_layers": 2,
            "num_heads": 2,
            "vocab_size": 40,
            "attention_types": [[["global", "local"], 1]],
            "max_position_embeddings": N,
        },
        **NEO,
    ),
    gpt("GPTBigCodeForCausalLM"),
    gpt("GPTBigCodeForCausalLM", config={**GPT, "multi_query": False}, name="GPTBigCode-by-head"),
    gpt("ImageGPTModel", root=""),
    gpt(
        "DecisionTransformerModel",
        root="encoder.",
        tokens="",
        config={"hidden_size": 16, "n_layer": 2, "n_head": 2, "n_positions": N},
    ),
    gpt(
        "OpenAIGPTLMHeadModel",
        positions="transformer.positions_embed",
        tokens="transformer.tokens_embed",
    ),
    bert("BertModel", ""),
    bert("BertForMaskedLM", "bert."),
    bert(
        "DistilBertForMaskedLM",
        "distilbert.",
        "transformer.layer.{}",
        config={
            "dim": 16,
            "n_layers": 2,
            "n_heads": 2,
            "hidden_dim": 24,
            "max_position_embeddings": N,
            "vocab_size": 40,
        },
        query="attention.q_lin",
        key="attention.k_lin",
        value="attention.v_lin",
        out="attention.out_lin",
        fan_out="ffn.lin1",
    ),
    bert("ElectraForPreTraining", "electra.", config={**BERT, "embedding_size": 8}),
    bert(
        "AlbertForMaskedLM",
        "albert.",
        "encoder.albert_layer_groups.0.albert_layers.0",
        config={**BERT, "embedding_size": 8},
        query="attention.query",
        key="attention.key",
        value="attention.value",
        out="attention.dense",
        fan_out="ffn",
    ),
    bert("BigBirdForMaskedLM", "bert.", config={**BERT, "attention_type": "original_full"}),
    bert("RobertaForMaskedLM", "roberta.", n_positions=N - 2),
    bert("XLMRobertaForMaskedLM", "roberta.", n_positions=N - 2),
    bert("CamembertModel", "", n_positions=N - 2),
    bert(
        "LongformerForMaskedLM",
        "longformer.",
        n_positions=N - 2,
        config={**BERT, "attention_window": 4},
    ),
    bert(
        "EsmForMaskedLM",
        "esm.",
        n_positions=N - 2,
        config={**BERT, "pad_token_id": 1, "mask_token_id": 2},
    ),
    bart(
        "OPTForCausalLM",
        "decoder",
        config={
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "ffn_dim": 24,
            "max_position_embeddings": N,
            "vocab_size": 40,
        },
    ),
    bart(
        "OPTForCausalLM",
        "decoder",
        name="OPT-350m",
        config={
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "ffn_dim": 24,
            "max_position_embeddings": N,
            "vocab_size": 40,
            "word_embed_proj_dim": 8,
            "do_layer_norm_before": False,
        },
    ),
    *both("BartForConditionalGeneration"),
    *both("MBartForConditionalGeneration"),
    bart(
        "BioGptForCausalLM",
        "decoder",
        config=BERT,
        positions="biogpt.embed_positions",
        tokens="biogpt.embed_tokens",
        layer="biogpt.layers.{}",
        name="BioGpt",
    ),
    bart("TrOCRForCausalLM", "decoder"),
    bart(
        "TrOCRForCausalLM",
        "decoder",
        computed=True,
        name="TrOCR-sinusoid",
        config={**BART, "use_learned_position_embeddings": False},
    ),
    *both("BlenderbotForConditionalGeneration"),
    bart(
        "LEDForConditionalGeneration",
        "decoder",
        root="led.",
        config={**BART, "max_decoder_position_embeddings": N, "attention_window": 4},
    ),
    bart(
        "LEDForConditionalGeneration",
        "encoder",
        "encoder",
        root="led.",
        config={**BART, "max_encoder_position_embeddings": 16, "attention_window": 4},
        n_positions=16,
        query=LONG + "query",
        key=LONG + "key",
        value=LONG + "value",
        out="self_attn.output",
    ),
    bart(
        "WhisperForConditionalGeneration",
        "decoder",
        config={**BART, "max_target_positions": N, "max_source_positions": 16, "num_mel_bins": 8},
    ),
    bart(
        "WhisperForConditionalGeneration",
        "encoder",
        "encoder",
        computed=True,
        tokens="",
        n_positions=16,
        config={**BART, "max_target_positions": N, "max_source_positions": 16, "num_mel_bins": 8},
    ),
    *both("PegasusForConditionalGeneration", computed=True),
    *both("MarianMTModel", computed=True),
    clip("CLIPTextModel", ""),
    clip("CLIPModel", "text_model.", config={"text_config": BERT, "vision_config": VISION}),
    clip("SiglipTextModel", "", causal=False),
    clip(
        "SiglipModel",
        "text_model.",
        causal=False,
        config={"text_config": BERT, "vision_config": VISION},
    ),
    bart(
        "XGLMForCausalLM",
        "decoder",
        computed=True,
        positions="model.embed_positions",
        tokens="model.embed_tokens",
        layer="model.layers.{}",
        config={
            "vocab_size": 40,
            "d_model": 16,
            "num_layers": 2,
            "attention_heads": 2,
            "ffn_dim": 24,
            "max_position_embeddings": N,
        },
    ),
    *both("M2M100ForConditionalGeneration", computed=True),
)
