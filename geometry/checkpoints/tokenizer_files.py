"""Names of a tokenizer's files."""

VOCABULARIES = (
    "vocab.json",
    "vocab.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
    "source.spm",
    "tokenizer.model",
    "vocab.bpe",
)
"""Files from which transformers can build a tokenizer without tokenizer.json."""
BESIDE = (
    "merges.txt",
    "bpe.codes",
    "target.spm",
    "added_tokens.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
    "config.json",
)
"""Files that belong to a vocabulary."""
FILES = ("tokenizer.json", *BESIDE, *VOCABULARIES)
"""All files from which a tokenizer may be built, and the configuration."""
