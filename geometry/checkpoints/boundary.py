"""The boundary around all readers of what comes from outside: one sentence, whatever happens."""

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
    """Turn whatever goes wrong in the block into one sentence about what is read.

    Errors of ours and of the operating system pass through, for they say what happened. Anything
    else, also a ``BaseException`` such as the panic of a Rust library, is logged in full.

    Parameters
    ----------
    name
        What is read, as the start of a sentence: "model.safetensors", "The answer of
        huggingface.co".
    advice
        What to do.
    error
        The type of the error that is raised instead.
    fault
        What is wrong with it, as the end of the sentence.

    Raises
    ------
    HelixscopeError
        Of type ``error``: what is read is damaged, is too large for the memory, or needs a package
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
