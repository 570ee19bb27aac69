"""Sizes of small networks of many architectures."""

SMALL = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
         "intermediate_size": 48, "vocab_size": 64, "max_position_embeddings": 40}  # fmt: skip
ARCHITECTURES = {
    "llama": SMALL,
    "mistral": {**SMALL, "num_key_value_heads": 2},
    "qwen2": {**SMALL, "num_key_value_heads": 2},
    "gemma": {**SMALL, "head_dim": 8, "num_key_value_heads": 1},
    "gpt_neox": SMALL,
    "gptj": {"n_embd": 32, "n_layer": 3, "n_head": 4, "rotary_dim": 4, "vocab_size": 64,
             "n_positions": 40},
    "bloom": {"hidden_size": 32, "n_layer": 3, "n_head": 4, "vocab_size": 64},
    "gpt2": {"n_embd": 32, "n_layer": 3, "n_head": 4, "vocab_size": 64, "n_positions": 40},
    "opt": {**SMALL, "ffn_dim": 48, "word_embed_proj_dim": 32},
    "phi": SMALL,
    "bert": SMALL,
    "roberta": {**SMALL, "max_position_embeddings": 42},
    "distilbert": {"dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 48, "vocab_size": 64,
                   "max_position_embeddings": 40},
    "electra": {**SMALL, "embedding_size": 32},
    "mpnet": {**SMALL, "max_position_embeddings": 42},
    "t5": {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 3, "num_heads": 4, "vocab_size": 64},
    "bart": {"d_model": 32, "encoder_layers": 3, "decoder_layers": 3, "vocab_size": 64,
             "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
             "decoder_ffn_dim": 48, "max_position_embeddings": 40},
}  # fmt: skip
