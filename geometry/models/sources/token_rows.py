"""Token embeddings of a list of words, in the order of the list, opened like a model.

``tokens:weekdays,gpt2`` has seven rows of GPT-2's W_E, one for each day. Numbers lie on a helix
of several periods (Kantamneni and Tegmark, arXiv:2502.00873), days and months on circles (Engels
et al., arXiv:2405.14860). In place of a list's name there can be the path of a text file with an
entry in each line.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from geometry.checkpoints.column_files import MAX_POSITIONS, PositionColumn, read_text
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.identity import FolderFiles
from geometry.checkpoints.plain_text import shortened, visible
from geometry.checkpoints.stores import reading_file
from geometry.hub.faults import LargeTensor, LargeTokenizer
from geometry.models.model import PositionalModel
from geometry.models.parts import read_part
from geometry.models.recognition.architecture import Architecture, LabelledRows
from geometry.models.sources.computed import model_derived_from
from geometry.models.sources.source import Source
from geometry.models.tokens import without_row

LISTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "numbers": tuple(map(str, range(1000))),
        "weekdays": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
        "months": (
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ),
        "years": tuple(map(str, range(1900, 2000))),
        "letters": tuple(string.ascii_lowercase),
    }
)
"""Lists by name."""
MAX_FILE = 1_000_000
"""Bytes of a list's file: a thousand times those of most lists."""
MAX_ENTRY_LENGTH = 60
"""Characters of an entry: longer ones are no token of any vocabulary."""
NAMED = 3
"""How many of the entries that were left out are named."""
FEWEST = 2
"""Rows of a curve."""


def open_token_rows(source: Source, model: PositionalModel, *, whole: bool) -> PositionalModel:
    """Open the embeddings of a list's tokens, float32, as a model without tokens and layers.

    An entry is used where the model's tokenizer makes it one token: all with a space before them,
    or all without, whichever are more.

    Parameters
    ----------
    source
        What is opened, with the name of a list in :data:`LISTS`, or the path of a text file.
    model
        The model.
    whole
        Whether the user agreed to a large download.

    Raises
    ------
    SourceError
        The list cannot be read, or has too few entries that are one token; the model has no token
        embeddings.
    LargeTensor
        The embeddings have to be downloaded, are large, and the user has not agreed.
    TensorUnavailable
        The model has no tokenizer, or its token embeddings cannot be read.
    """
    from geometry.hub.network import LARGE  # with the client, which a local model does not need

    if source.what in LISTS:
        beside, entries = None, LISTS[source.what]
    else:
        path = _path(source.what)
        beside, entries = FolderFiles(path.parent, (path.name,)), _read(path)
    name = model.tokens_tensor
    if name is None:
        raise SourceError(f"{model.name} has no token embeddings.", "Open another model.")
    nbytes = model.store.bytes_to_fetch(name)
    if nbytes > LARGE and not whole:
        raise LargeTensor(f"The token embeddings of {model.name}", nbytes)
    try:
        ids, spaced = _single_tokens(model, entries)
    except LargeTokenizer as error:
        description = f"The tokenizer and the token embeddings of {model.name}"
        raise LargeTensor(description, nbytes + error.nbytes) from error
    kept = [number for number, token in enumerate(ids) if token is not None]
    if len(kept) < FEWEST:
        raise SourceError(
            f"{len(kept)} of the {len(entries)} entries of {Path(source.what).name} are single "
            f"tokens of {model.name}; at least {FEWEST} are needed.",
            "Use shorter words, or another model.",
        )
    chosen = [token for token in ids if token is not None]
    embeddings = read_part(model.store, name, 2)
    if why := without_row(chosen, len(embeddings), model.name, model.token_text):
        raise SourceError(
            f"{Path(source.what).name} has {why}.",
            "Put the model's own tokenizer.json into its folder.",
        )
    table = embeddings[chosen].astype(np.float64)
    labels = tuple(visible(entries[number]) for number in kept)
    left_out = [entry for entry, token in zip(entries, ids, strict=True) if token is None]
    place = Architecture(
        table="token embeddings",
        notes=(_note(model.name, left_out, spaced=spaced),),
        rows=LabelledRows(labels, _columns(labels)),
    )
    return model_derived_from(model, source, table, place, beside)


def _path(text: str) -> Path:
    """Return the path of a list's file; SourceError if it does not exist."""
    try:
        path = Path(text).expanduser()
        exists = path.exists()
    except (OSError, ValueError, RuntimeError) as error:
        raise SourceError(
            f"{visible(text)!r} is not a path: {error}.", "Check the path."
        ) from error
    if not exists:
        raise SourceError(
            f"There is no list or file {str(path)!r}.",
            f"Use {', '.join(LISTS)}, or the path of a text file with an entry in each line.",
        )
    return path


def _read(path: Path) -> tuple[str, ...]:
    """Return the entries of a text file: its lines, without spaces around them."""
    advice = "Save it as text in UTF-8, with an entry in each line."
    with reading_file(path, advice, fault="cannot be read as a list"):
        lines = map(str.strip, read_text(path, MAX_FILE, advice).splitlines())
        entries = tuple(filter(None, lines))
        if not entries or len(entries) > MAX_POSITIONS:
            raise SourceError(f"{path.name} has {len(entries)} entries.", advice)
        return entries


def _single_tokens(model: PositionalModel, entries: Sequence[str]) -> tuple[list[int | None], bool]:
    """Return the token of each entry, or None, and whether they are those after a space."""
    spaced = [_token(model, entry, " ") for entry in entries]
    plain = [_token(model, entry, "") for entry in entries]
    if sum(token is not None for token in plain) > sum(token is not None for token in spaced):
        return plain, False
    # Most tokenizers of words ignore the space.
    return spaced, spaced != plain


def _token(model: PositionalModel, entry: str, before: str) -> int | None:
    if len(entry) > MAX_ENTRY_LENGTH:
        return None
    ids = model.token_ids(before + entry)
    if not before and len(ids) == 2 and not (model.token_text(ids[0]) or "?").strip():
        ids = ids[1:]  # a piece for the beginning of the text, as of Llama 2
    if len(ids) != 1:
        return None
    text = model.token_text(ids[0]) or ""
    # Not the token for unknown words; some vocabularies have small letters only.
    return ids[0] if text.strip().casefold() == entry.casefold() else None


def _columns(labels: Sequence[str]) -> tuple[PositionColumn, ...]:
    """Return columns to colour by: the numbers of a list of numbers."""
    if not all(label.isascii() and label.isdigit() and len(label) < 16 for label in labels):
        return ()
    return (PositionColumn("Number", "", tuple(float(label) for label in labels)),)


def _note(name: str, left_out: Sequence[str], *, spaced: bool) -> str:
    how = "with" if spaced else "without"
    note = f"Token embeddings of {name}, {how} a space before each word."
    if left_out:
        shown = ", ".join(f"“{shortened(visible(entry), 20)}”" for entry in left_out[:NAMED])
        more = f" and {len(left_out) - NAMED} more" if len(left_out) > NAMED else ""
        note += f" Left out, as they are not one token: {shown}{more}."
    return note
