"""Errors shown to the user, each as a plain sentence with advice."""

import sys

from geometry.checkpoints.plain_text import shortened, visible

_INSTALLED_AS = {"PIL": "pillow", "vtkmodules": "vtk", "yaml": "pyyaml"}
"""Names of packages that differ from those of their modules."""


class HelixscopeError(Exception):
    """Base of all errors that are shown to the user; ``str(error)`` is a plain sentence.

    Since it may contain names of files and answers of servers, control characters are replaced, and
    it is shortened to :data:`geometry.checkpoints.plain_text.MAX_SENTENCE_LENGTH`.

    Parameters
    ----------
    message
        What happened and why.
    advice
        What to do next; may be empty.
    """

    exit_status = 1
    """Of a command that it ends."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(shortened(visible(message)))
        self.advice = shortened(visible(advice))


class SourceError(HelixscopeError):
    """A source that cannot be opened: missing, truncated, malformed or not a checkpoint."""


class FileChanged(SourceError):
    """A file has changed since it was opened, and is no longer read.

    Parameters
    ----------
    name
        Name of the file.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has changed since it was opened.", "Open it again.")
        self.name = name


class NoStepYet(SourceError):
    """A training that has just begun: the source can be opened after its first step."""


class NoPositionalEmbeddings(SourceError):
    """The model stores no table of positional embeddings (rotary, ALiBi, relative, ...)."""


class TensorUnavailable(HelixscopeError):
    """The checkpoint lacks a tensor, or the family has no such matrix."""


class PackageMissing(HelixscopeError):
    """A package that is not installed.

    Parameters
    ----------
    name
        Its name.
    """

    def __init__(self, name: str) -> None:
        if getattr(sys, "frozen", False):  # where nothing can be installed
            super().__init__(
                f"This needs the package {name}, which is not in this bundle.",
                "Use one that has it, or install Helixscope with pip.",
            )
            return
        super().__init__(
            f"This needs the package {name}, which is not installed.",
            f"Install it: pip install {name}.",
        )


def missing_package(error: BaseException) -> PackageMissing | None:
    """Return the error for a missing package; None for other errors and our own modules."""
    name = (error.name or "" if isinstance(error, ModuleNotFoundError) else "").partition(".")[0]
    if name in ("", "geometry", "gui", "resources"):
        return None
    return PackageMissing(_INSTALLED_AS.get(name, name))


class RangeError(HelixscopeError, ValueError):
    """A range of positions or a set of components that is not in the table."""

    exit_status = 2
