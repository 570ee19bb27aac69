"""Errors shown to the user, each as one plain sentence with advice."""


class HelixscopeError(Exception):
    """Base of all errors that are shown to the user; ``str(error)`` is one plain sentence.

    Parameters
    ----------
    message
        What happened and why.
    advice
        What to do next; may be empty.
    """

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


class SourceError(HelixscopeError):
    """A source that cannot be opened: missing, truncated, malformed or not a checkpoint."""


class NoPositionalEmbeddings(SourceError):
    """The model stores no table of positional embeddings (rotary, ALiBi, relative, ...)."""


class TensorUnavailable(HelixscopeError):
    """The checkpoint lacks a tensor, or the family has no such matrix."""


class RangeError(HelixscopeError, ValueError):
    """A range of positions or a set of components that the table does not have."""
