"""The error boundary around all readers of external data."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from geometry.checkpoints.errors import HelixscopeError, SourceError, missing_package

log = logging.getLogger(__name__)

AGAIN = "Download or copy the file again."


@contextmanager
def reading(
    name: str,
    advice: str = AGAIN,
    *,
    error: type[HelixscopeError] = SourceError,
    fault: str = "is damaged",
) -> Iterator[None]:
    """Convert exceptions in the block into an error with a sentence about the data being read.

    Errors of Helixscope and of the operating system are raised unchanged, since they are clear.
    Others, including a ``BaseException`` such as the panic of a Rust library, are logged in full.

    Parameters
    ----------
    name
        The data being read, as the start of a sentence: "model.safetensors", "The answer of
        huggingface.co".
    advice
        Advice for the user.
    error
        The type of the raised error.
    fault
        The fault, as the end of the sentence.

    Raises
    ------
    HelixscopeError
        Of type ``error``: the data are damaged, too large for the memory, or need a package
        that is not installed.
    """
    try:
        yield
    except (HelixscopeError, OSError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except MemoryError as cause:
        log.warning("%s takes too much memory", name, exc_info=True)
        raise error(f"{name} needs more memory than is available.", advice) from cause
    except BaseException as cause:
        missing = missing_package(cause)
        if missing is not None:
            raise error(str(missing), missing.advice) from cause
        log.warning("%s %s", name, fault, exc_info=True)
        raise error(f"{name} {fault}.", advice) from cause
