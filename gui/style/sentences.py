"""Words that are given in pieces, made into sentences."""


def as_sentence(words: str) -> str:
    """Return words with a capital letter and a full stop; a tensor's name stays as it is."""
    first = words.partition(" ")[0].rstrip(".")
    began = words if "." in first or "_" in first else words[:1].upper() + words[1:]
    return began if began.endswith((".", "…")) else f"{began}."
