"""Tiny models of every family, and the modules in them whose parameters count."""

from dataclasses import dataclass, fields
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
NEO = {
    "hidden_size": 16,
    "num_layers": 2,
    "num_heads": 2,
    "vocab_size": 40,
    "attention_types": [[["global", "local"], 1]],
    "max_position_embeddings": N,
}
DISTIL = {
    "dim": 16,
    "n_layers": 2,
    "n_heads": 2,
    "hidden_dim": 24,
    "max_position_embeddings": N,
    "vocab_size": 40,
}
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
SPECIAL = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
"""Ids of special tokens in the tiny vocabularies."""
OPT = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "ffn_dim": 24,
    "max_position_embeddings": N,
    "vocab_size": 40,
}
XGLM = {
    "vocab_size": 40,
    "d_model": 16,
    "num_layers": 2,
    "attention_heads": 2,
    "ffn_dim": 24,
    "max_position_embeddings": N,
}
WHISPER = {**BART, "max_target_positions": N, "max_source_positions": 16, "num_mel_bins": 8}
VISION = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "image_size": 8,
    "patch_size": 4,
}


XLM = {
    "emb_dim": 16,
    "n_layers": 2,
    "n_heads": 2,
    "max_position_embeddings": N,
    "vocab_size": 40,
    "n_langs": 1,
    "pad_index": 1,
    "bos_index": 0,
    "eos_index": 2,
}
FSMT = {
    **{key: value for key, value in BART.items() if key != "vocab_size"},
    "langs": ["en", "de"],
    "src_vocab_size": 40,
    "tgt_vocab_size": 40,
}
PROPHET = {
    "config": {
        "vocab_size": 40,
        "hidden_size": 16,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "num_encoder_attention_heads": 2,
        "num_decoder_attention_heads": 2,
        "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24,
        "max_position_embeddings": N,
    }
}
SPEECH = {**BART, "max_target_positions": N, "input_feat_per_channel": 8, "conv_channels": 8}
KOSMOS = {
    "vocab_size": 40,
    "embed_dim": 16,
    "layers": 2,
    "attention_heads": 2,
    "ffn_dim": 24,
    "max_position_embeddings": N,
}
CTRL = {**GPT, "dff": 24}
BARK_PART = {
    "hidden_size": 16,
    "num_layers": 2,
    "num_heads": 2,
    "block_size": N,
    "input_vocab_size": 40,
    "output_vocab_size": 40,
}
BARK = {f"{part}_config": BARK_PART for part in ("semantic", "coarse_acoustics", "fine_acoustics")}


@dataclass(frozen=True)
class Case:
    """A tiny model and the modules whose parameters count.

    ``query`` is "" where only the table is read; ``adds_more``: whether more than tokens, token
    types and positions is added up.
    """

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
    adds_more: bool = False
    name: str = ""

    @property
    def id(self) -> str:
        return self.name or "-".join(filter(None, (self.model, self.table)))

    def place(self, name: str, layer: int) -> str:
        """The path of a module of a layer."""
        return ".".join(filter(None, (self.layer, name))).format(layer)


def matrices(query: str, key: str, value: str, out: str, fan_out: str) -> dict[str, str]:
    """The modules of a layer, by what reads or writes there."""
    return {"query": query, "key": key, "value": value, "out": out, "fan_out": fan_out}


def parts(place: str, *names: str, fan_out: str) -> dict[str, str]:
    """Those of attention, which stand in one place, and the one that fans out."""
    return matrices(*(f"{place}.{name}" for name in names), fan_out=fan_out)


OF_GPT = matrices("attn.c_attn", "attn.c_attn", "attn.c_attn", "attn.c_proj", "mlp.c_fc")
OF_NEO = parts("attn.attention", "q_proj", "k_proj", "v_proj", "out_proj", fan_out="mlp.c_fc")
OF_BERT = parts(
    "attention",
    "self.query",
    "self.key",
    "self.value",
    "output.dense",
    fan_out="intermediate.dense",
)
OF_MPNET = parts("attention.attn", "q", "k", "v", "o", fan_out="intermediate.dense")
OF_DISTIL = parts("attention", "q_lin", "k_lin", "v_lin", "out_lin", fan_out="ffn.lin1")
OF_ALBERT = parts("attention", "query", "key", "value", "dense", fan_out="ffn")
OF_BART = parts("self_attn", "q_proj", "k_proj", "v_proj", "out_proj", fan_out="fc1")
OF_XLM = matrices(
    *(f"attentions.{{}}.{name}_lin" for name in ("q", "k", "v", "out")), "ffns.{}.lin1"
)
OF_PROPHET = parts(
    "self_attn",
    "query_proj",
    "key_proj",
    "value_proj",
    "out_proj",
    fan_out="feed_forward.intermediate",
)
OF_CTRL = parts("multi_head_attention", "Wq", "Wk", "Wv", "dense", fan_out="ffn.0")
OF_VIT = parts(
    "attention",
    "attention.query",
    "attention.key",
    "attention.value",
    "output.dense",
    fan_out="intermediate.dense",
)
OF_AIM = parts("attention", "q_proj", "k_proj", "v_proj", "out_proj", fan_out="ffn.up_proj")
OF_BIGBIRD = parts("self_attn", "self.query", "self.key", "self.value", "output", fan_out="fc1")
OF_LED = parts(
    "self_attn",
    *(f"longformer_self_attn.{name}" for name in ("query", "key", "value")),
    "output",
    fan_out="fc1",
)


def made(known: dict[str, Any], changes: dict[str, Any]) -> Case:
    """A case of a family; what is no field of it is a setting of its configuration."""
    own = {field.name for field in fields(Case)}
    values = known | {key: value for key, value in changes.items() if key in own}
    settings = {key: value for key, value in changes.items() if key not in own}
    return Case(**{**values, "config": {**values["config"], **settings}})


def gpt(model: str, root: str = "transformer.", **changes: Any) -> Case:
    names = {"layer": f"{root}h.{{}}", "positions": f"{root}wpe", "tokens": f"{root}wte"}
    return made({"model": model, "config": GPT, **OF_GPT, **names}, changes)


def bert(model: str, root: str, layer: str = "encoder.layer.{}", **changes: Any) -> Case:
    names = {
        "layer": f"{root}{layer}",
        "positions": f"{root}embeddings.position_embeddings",
        "tokens": f"{root}embeddings.word_embeddings",
    }
    return made({"model": model, "config": BERT, "causal": False, **OF_BERT, **names}, changes)


def bart(
    model: str, side: str, table: str | None = None, root: str = "model.", **changes: Any
) -> Case:
    names = {
        "layer": f"{root}{side}.layers.{{}}",
        "positions": f"{root}{side}.embed_positions",
        "tokens": f"{root}{side}.embed_tokens",
    }
    known = {"config": BART, "table": table, "causal": side == "decoder", **OF_BART, **names}
    return made({"model": model, **known}, changes)


def both(model: str, **changes: Any) -> tuple[Case, Case]:
    return bart(model, "decoder", **changes), bart(model, "encoder", "encoder", **changes)


def xlm(model: str, **changes: Any) -> Case:
    names = {"layer": "", "positions": "position_embeddings", "tokens": "embeddings"}
    return made({"model": model, "config": XLM, "causal": False, **OF_XLM, **names}, changes)


def clip(model: str, root: str, **changes: Any) -> Case:
    names = {
        "layer": f"{root}encoder.layers.{{}}",
        "positions": f"{root}embeddings.position_embedding",
        "tokens": f"{root}embeddings.token_embedding",
    }
    return made({"model": model, "config": BERT, **OF_BART, "fan_out": "mlp.fc1", **names}, changes)


def table(model: str, positions: str, tokens: str = "", **changes: Any) -> Case:
    """A family of which only the table is read."""
    known = {"config": BERT, "causal": False, **matrices("", "", "", "", "")}
    places = {"layer": "", "positions": positions, "tokens": tokens}
    return made({"model": model, **known, **places}, changes)


NARROW, TEXT = {**BERT, "embedding_size": 8}, {"text_config": BERT, "vision_config": VISION}
CASES = (
    gpt("GPT2Model", root=""),
    gpt("GPT2LMHeadModel"),
    gpt("GPTNeoForCausalLM", config=NEO, **OF_NEO),
    gpt("GPTBigCodeForCausalLM"),
    gpt("GPTBigCodeForCausalLM", multi_query=False, name="GPTBigCode-by-head"),
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
    bert("MPNetModel", "", n_positions=N - 2, **OF_MPNET),
    bert(
        "DistilBertForMaskedLM", "distilbert.", "transformer.layer.{}", config=DISTIL, **OF_DISTIL
    ),
    bert("ElectraForPreTraining", "electra.", config=NARROW),
    bert(
        "AlbertForMaskedLM",
        "albert.",
        "encoder.albert_layer_groups.0.albert_layers.0",
        config=NARROW,
        **OF_ALBERT,
    ),
    bert("BigBirdForMaskedLM", "bert.", attention_type="original_full"),
    bert("RobertaForMaskedLM", "roberta.", n_positions=N - 2),
    bert("XLMRobertaForMaskedLM", "roberta.", n_positions=N - 2),
    bert("CamembertModel", "", n_positions=N - 2),
    bert("LongformerForMaskedLM", "longformer.", n_positions=N - 2, attention_window=4),
    bert("EsmForMaskedLM", "esm.", n_positions=N - 2, pad_token_id=1, mask_token_id=2),
    bart("OPTForCausalLM", "decoder", config=OPT),
    bart(
        "OPTForCausalLM",
        "decoder",
        name="OPT-350m",
        config=OPT,
        word_embed_proj_dim=8,
        do_layer_norm_before=False,
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
        use_learned_position_embeddings=False,
    ),
    *both("BlenderbotForConditionalGeneration"),
    bart(
        "LEDForConditionalGeneration",
        "decoder",
        root="led.",
        max_decoder_position_embeddings=N,
        attention_window=4,
    ),
    bart(
        "LEDForConditionalGeneration",
        "encoder",
        "encoder",
        root="led.",
        n_positions=16,
        max_encoder_position_embeddings=16,
        attention_window=4,
        **OF_LED,
    ),
    bart("WhisperForConditionalGeneration", "decoder", config=WHISPER),
    bart(
        "WhisperForConditionalGeneration",
        "encoder",
        "encoder",
        computed=True,
        tokens="",
        n_positions=16,
        config=WHISPER,
    ),
    *both("PegasusForConditionalGeneration", computed=True),
    *both("MarianMTModel", computed=True),
    clip("CLIPTextModel", ""),
    clip("CLIPModel", "text_model.", config=TEXT),
    clip("SiglipTextModel", "", causal=False),
    clip("SiglipModel", "text_model.", causal=False, config=TEXT),
    bart(
        "XGLMForCausalLM",
        "decoder",
        computed=True,
        positions="model.embed_positions",
        tokens="model.embed_tokens",
        layer="model.layers.{}",
        config=XGLM,
    ),
    *both("M2M100ForConditionalGeneration", computed=True),
    bert("BertGenerationEncoder", ""),
    bert("ErnieModel", ""),
    bert("SplinterModel", ""),
    bert("VisualBertModel", "", visual_embedding_dim=8),
    bert("LxmertModel", "", l_layers=2, x_layers=1, r_layers=1, visual_feat_dim=8),
    bert("DPRQuestionEncoder", "question_encoder.bert_model."),
    bert("BrosModel", "", hidden_size=64),
    bert("LayoutLMModel", "", adds_more=True),
    bert("TapasModel", "", adds_more=True),
    bert("GitModel", "", causal=True, vision_config=VISION),
    bert("RemBertModel", "", input_embedding_size=8),
    bert("NystromformerModel", "", num_landmarks=4, segment_means_seq_len=4),
    bert("YosoModel", ""),
    bert("MraModel", "", max_position_embeddings=64, n_positions=64),
    bert("Data2VecTextModel", "", n_positions=N - 2),
    bert("LukeModel", "", n_positions=N - 2, entity_vocab_size=5, entity_emb_size=8),
    bert("XmodModel", "", n_positions=N - 2, default_language="en_XX"),
    bert("IBertModel", "", n_positions=N - 2),
    bert(
        "LayoutLMv3Model",
        "",
        n_positions=N - 2,
        adds_more=True,
        coordinate_size=3,
        shape_size=2,
        visual_embed=False,
    ),
    bert("LiltModel", "", n_positions=N - 2, hidden_size=24),
    bert("MarkupLMModel", "", n_positions=N - 2, adds_more=True),
    bert(
        "MarkupLMModel",
        "",
        n_positions=N - 1,
        adds_more=True,
        name="MarkupLM-padding-0",
        pad_token_id=0,
    ),
    bert("RobertaPreLayerNormModel", "", n_positions=N - 2),
    bert("XLMRobertaXLModel", "", n_positions=N - 2),
    bert("MegatronBertModel", ""),
    xlm("XLMModel"),
    xlm("FlaubertModel"),
    xlm("FlaubertModel", name="Flaubert-pre-norm", pre_norm=True),
    bert(
        "RoCBertModel",
        "",
        tokens="",
        adds_more=True,
        shape_vocab_size=9,
        pronunciation_vocab_size=9,
        shape_embed_dim=8,
        pronunciation_embed_dim=8,
    ),
    *both("MvpForConditionalGeneration"),
    *both("PLBartForConditionalGeneration"),
    bart("BigBirdPegasusForConditionalGeneration", "decoder", attention_type="original_full"),
    bart(
        "BigBirdPegasusForConditionalGeneration",
        "encoder",
        "encoder",
        attention_type="original_full",
        **OF_BIGBIRD,
    ),
    bart("BlenderbotSmallForConditionalGeneration", "decoder", tokens="", adds_more=True),
    bart("BlenderbotSmallForConditionalGeneration", "encoder", "encoder"),
    *both("FSMTForConditionalGeneration", computed=True, config=FSMT),
    *both(
        "NllbMoeForConditionalGeneration",
        computed=True,
        fan_out="ffn.fc1",
        encoder_sparse_step=0,
        decoder_sparse_step=0,
    ),
    *both(
        "PegasusXForConditionalGeneration",
        computed=True,
        num_global_tokens=2,
        block_size=4,
        stagger_local_blocks=False,
    ),
    bart(
        "ProphetNetModel",
        "decoder",
        root="",
        **{**PROPHET, **OF_PROPHET},
        positions="decoder.position_embeddings",
        tokens="decoder.word_embeddings",
        n_positions=N - 2,
    ),
    bart(
        "ProphetNetModel",
        "encoder",
        "encoder",
        root="",
        **{**PROPHET, **OF_PROPHET},
        positions="encoder.position_embeddings",
        tokens="encoder.word_embeddings",
        n_positions=N - 2,
    ),
    bart("Speech2TextForConditionalGeneration", "decoder", computed=True, config=SPEECH),
    gpt(
        "CTRLModel",
        positions="pos_encoding",
        tokens="w",
        layer="h.{}",
        computed=True,
        config=CTRL,
        **OF_CTRL,
    ),
    *(
        clip(model, "text_model.", config=TEXT)
        for model in ("CLIPSegModel", "MetaClip2Model", "OwlViTModel", "Owlv2Model")
    ),
    clip(
        "XCLIPModel",
        "text_model.",
        config=TEXT,
        vision_config={
            **VISION,
            "mit_hidden_size": 16,
            "mit_num_attention_heads": 2,
            "mit_num_hidden_layers": 1,
        },
    ),
    clip(
        "GroupViTModel",
        "text_model.",
        config=TEXT,
        vision_config={
            **VISION,
            "depths": [1, 1, 1],
            "num_group_tokens": [2, 2, 0],
            "num_output_groups": [2, 2, 0],
        },
    ),
    clip(
        "Siglip2Model",
        "text_model.",
        causal=False,
        config=TEXT,
        vision_config={**VISION, "num_patches": 4},
    ),
    clip("Aimv2Model", "text_model.", config=TEXT, **OF_AIM),
    bert("ChineseCLIPModel", "text_model.", config=TEXT),
    bert("BlipModel", "text_model.", config=TEXT, text_config={**BERT, "is_decoder": False}),
    bert("AlignModel", "text_model.", config={"text_config": BERT}),
    bert("ClapModel", "text_model.", config={"text_config": BERT}, n_positions=N - 2),
    bert(
        "AltCLIPModel",
        "text_model.roberta.",
        "encoder.layers.{}",
        n_positions=N - 2,
        config=TEXT,
        text_config={**BERT, "project_dim": 8},
    ),
    bert(
        "BridgeTowerModel",
        "text_model.",
        n_positions=N - 2,
        config={
            "text_config": BERT,
            "vision_config": {**VISION, "hidden_size": 64},
            "hidden_size": 16,
            "num_attention_heads": 2,
        },
    ),
    bert(
        "FlavaModel",
        "text_model.",
        **OF_VIT,
        config={
            "text_config": BERT,
            "image_config": VISION,
            "multimodal_config": VISION,
            "image_codebook_config": {"hidden_size": 8, "vocab_size": 20},
        },
    ),
    bert(
        "ViltModel",
        "",
        **OF_VIT,
        positions="embeddings.text_embeddings.position_embeddings",
        tokens="embeddings.text_embeddings.word_embeddings",
        config={**VISION, **BERT},
        adds_more=True,
    ),
    table(
        "Kosmos2Model",
        "text_model.model.embed_positions",
        "text_model.model.embed_tokens",
        computed=True,
        causal=True,
        config={"vision_config": VISION, "text_config": KOSMOS},
    ),
    table(
        "Kosmos2_5Model",
        "text_model.model.embed_positions",
        "text_model.model.embed_tokens",
        adds_more=True,
        computed=True,
        causal=True,
        config={
            "text_config": KOSMOS,
            "vision_config": {**VISION, "head_dim": 8, "patch_embed_hidden_size": 16},
        },
    ),
    table(
        "Tipsv2Model",
        "text_model.embeddings.position_embedding",
        "text_model.embeddings.token_embedding",
        computed=True,
        config=TEXT,
    ),
    table(
        "TvpModel",
        "embeddings.position_embeddings",
        "embeddings.word_embeddings",
        backbone_config={"model_type": "resnet"},
    ),
    table(
        "CanineModel",
        "char_embeddings.char_position_embeddings",
        n_positions=64,
        num_hash_buckets=64,
        max_position_embeddings=64,
        num_hash_functions=2,
    ),
    table(
        "MobileBertModel",
        "embeddings.position_embeddings",
        embedding_size=8,
        intra_bottleneck_size=16,
    ),
    table(
        "ConvBertModel",
        "embeddings.position_embeddings",
        "embeddings.word_embeddings",
        config=NARROW,
    ),
    table("FNetModel", "embeddings.position_embeddings", "embeddings.word_embeddings"),
    table(
        "SqueezeBertModel",
        "embeddings.position_embeddings",
        "embeddings.word_embeddings",
        embedding_size=16,
    ),
    table(
        "BarkModel",
        "semantic.position_embeds_layer",
        "semantic.input_embeds_layer",
        causal=True,
        config=BARK,
    ),
)
