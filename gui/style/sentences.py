"""Sentences from fragments."""


def as_sentence(words: str) -> str:
    """Return words with a capital letter and a full stop; names of tensors keep their case."""
    first = words.partition(" ")[0].rstrip(".")
    began = words if "." in first or "_" in first else words[:1].upper() + words[1:]
    return began if began.endswith((".", "…")) else f"{began}."
