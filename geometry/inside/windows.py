"""Independent windows of tokens from texts.

Windows start at random places, at least half a window apart, so that none continues another. A
mean over them then has the noise of independent texts.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.result import result
from geometry.checkpoints.stores import cannot_read
from geometry.inside.counters import CountedText
from geometry.inside.settings import GROUPS, SAMPLE_TEXTS, InsideError

SUFFIXES = (".txt", ".md")
"""Suffixes of text files in a folder."""
SAMPLE = Path(__file__).parents[2] / "resources" / "texts.zip"
"""The texts included with Helixscope: its documentation, as it was in November 2026."""
MAX_BYTES = 20_000_000
"""Maximum bytes read of a file: enough for thousands of windows, and split in seconds."""
SPARE = 4
"""Candidates per chosen window, so that a few texts do not make up all windows."""
MAX_DIGESTED = 250_000_000
"""Maximum bytes of texts whose digest is computed: a second's work."""
MIN_LENGTH = 16
"""Minimum tokens of a window."""
MIN_WINDOWS = 4
"""Minimum number of windows: two for each half."""
FAIREST = 0.4
"""Minimum share of the windows in a half if no text is divided between the halves."""


class TextFile(NamedTuple):
    """A text: its name, and its file or content."""

    name: str
    path: Path | None
    content: str = ""

    def read(self) -> str:
        """Return the text; invalid UTF-8 is replaced.

        Raises SourceError: it cannot be read.
        """
        if self.path is None:
            return self.content
        try:
            with self.path.open("rb") as file:
                return file.read(MAX_BYTES).decode("utf-8", "replace")
        except OSError as error:
            raise cannot_read(self.path, error) from error


def find_texts(place: Path | str) -> list[TextFile]:
    """Return the texts of a file, or of a folder and its subfolders, by name.

    Parameters
    ----------
    place
        A path, or "sample" for the texts in :data:`SAMPLE`; "./sample" is a path.

    Raises
    ------
    InsideError
        There are no texts.
    """
    if place == SAMPLE_TEXTS:
        with zipfile.ZipFile(SAMPLE) as kept:
            return [TextFile(name, None, kept.read(name).decode()) for name in kept.namelist()]
    place = Path(place).expanduser()
    if place.is_file():
        return [TextFile(place.name, place)]
    if not place.is_dir():
        raise InsideError(f"{str(place)!r} does not exist.", "Check the path of the texts.")
    files = sorted(path for path in place.rglob("*") if path.suffix.lower() in SUFFIXES)
    texts = [TextFile(path.relative_to(place).as_posix(), path) for path in files if path.is_file()]
    if not texts:
        raise InsideError(
            f"The folder {str(place)!r} contains no text.", "Texts are .txt and .md files."
        )
    return texts


@dataclass(frozen=True, slots=True)
class Corpus:
    """What identifies texts.

    Attributes
    ----------
    files
        Number of files.
    digest
        SHA-256 of the files' names and contents, as far as these are read; None if they are larger
        than :data:`MAX_DIGESTED` altogether.
    """

    files: int
    digest: str | None


def corpus_of(texts: Sequence[TextFile]) -> Corpus:
    """Identify texts. Raises SourceError: one cannot be read."""
    result, size = hashlib.sha256(), 0
    for text in texts:
        content = text.read().encode("utf-8", "replace")
        size += len(content)
        if size > MAX_DIGESTED:
            return Corpus(len(texts), None)
        result.update(f"{text.name}\0{len(content)}\0".encode("utf-8", "replace") + content)
    return Corpus(len(texts), result.hexdigest())


@result
class Splitter:
    """A model's tokenizer, without truncation and padding.

    Attributes
    ----------
    backend
        Of the tokenizers library.
    before, after
        Special tokens at the beginning and the end of each window.
    """

    backend: Any
    before: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, backend: Any) -> Splitter:
        """Find the special tokens that a tokenizer adds."""
        backend.no_truncation()
        backend.no_padding()
        plain = backend.encode("a", add_special_tokens=False).ids
        whole = backend.encode("a").ids
        for at in range(len(whole) - len(plain) + 1):
            if whole[at : at + len(plain)] == plain:
                return cls(backend, tuple(whole[:at]), tuple(whole[at + len(plain) :]))
        return cls(backend, (), ())

    @property
    def n_special(self) -> int:
        """Number of special tokens in a window."""
        return len(self.before) + len(self.after)


@result
class Window:
    """A window of a text.

    Attributes
    ----------
    file, first_token
        The text's name, and the first of its tokens in the window.
    group
        From 0 to :data:`geometry.inside.settings.GROUPS` - 1; the first ones are of half 0.
    ids : (length,) int64
        Tokens, special ones included.
    labels : (length, 5) int16
        Counters, see :meth:`geometry.inside.counters.CountedText.labels`; -1 for special tokens.
    """

    file: str
    first_token: int
    group: int
    ids: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int16]

    @property
    def half(self) -> int:
        """0 or 1."""
        return half_of(self.group)


def half_of(group: int) -> int:
    """Return the half, 0 or 1, of a group of texts."""
    return group // (GROUPS // 2)


def draw_windows(
    texts: Sequence[TextFile], splitter: Splitter, length: int, at_most: int, seed: int
) -> list[Window]:
    """Draw windows from texts, in two halves of four groups each.

    All windows of a text are in the same half and group, so that peculiarities of a text are not
    shared by both; if a half would have less than :data:`FAIREST` of the windows, or a group none,
    windows alternate instead.

    Parameters
    ----------
    texts
        The texts; those with fewer tokens than a window are left out.
    splitter
        The model's tokenizer.
    length
        Tokens of a window, special ones included.
    at_most
        Maximum number of windows.
    seed
        Seed of texts, places and order.

    Raises
    ------
    InsideError
        The texts are too short, or cannot be split.
    """
    body = length - splitter.n_special
    if body < MIN_LENGTH:
        raise InsideError(
            f"Windows of {length} tokens are too short.", f"Use at least {MIN_LENGTH} tokens."
        )
    random = np.random.default_rng(seed)
    order = random.permutation(len(texts))
    per_text = max(MIN_WINDOWS, -(-SPARE * at_most // len(texts)))
    candidates: list[tuple[int, int, npt.NDArray[np.int64], npt.NDArray[np.int16]]] = []
    for number in order.tolist():
        pieces = _pieces(texts[number], splitter, body, per_text, random)
        candidates += [(number, *piece) for piece in pieces]
        if len(candidates) >= SPARE * at_most:
            break
    if len(candidates) < MIN_WINDOWS:
        shortage = f"They make {len(candidates)} windows of {length} tokens"
        raise InsideError(
            f"The texts are too short. {shortage}; at least {MIN_WINDOWS} are needed.",
            "Use more or longer texts, or shorter windows.",
        )
    chosen = [candidates[i] for i in random.permutation(len(candidates))[:at_most]]
    groups = split_in_groups([number for number, *_ in chosen])
    return [
        Window(texts[number].name, first, group, *_with_special(splitter, ids, labels))
        for (number, first, ids, labels), group in zip(chosen, groups, strict=True)
    ]


def window_starts(
    n_tokens: int, length: int, at_most: int, random: np.random.Generator
) -> list[int]:
    """Return the starts of windows in a text: anywhere, at least half a window apart."""
    gap = length // 2
    count = min((n_tokens + gap) // (length + gap), at_most)
    if count < 1:
        return []
    spare = n_tokens - count * length - (count - 1) * gap
    moved = np.sort(random.integers(spare + 1, size=count))
    return [int(first) for first in np.arange(count) * (length + gap) + moved]


def split_in_halves(texts: Sequence[int]) -> list[int]:
    """Return the half of each window, given the number of its text."""
    halves = _divided(texts, 2)
    if min(np.bincount(halves, minlength=2)) < FAIREST * len(texts):
        return [i % 2 for i in range(len(texts))]
    return halves


def split_in_groups(texts: Sequence[int]) -> list[int]:
    """Return the group of each window, given the number of its text; see :class:`Window`."""
    halves, per_half = np.array(split_in_halves(texts)), GROUPS // 2
    groups = np.zeros(len(texts), np.int64)
    for half in (0, 1):
        own = np.flatnonzero(halves == half).tolist()
        parts = _divided([texts[i] for i in own], per_half)
        if len(set(parts)) < per_half:
            parts = [i % per_half for i in range(len(own))]
        groups[own] = half * per_half + np.array(parts, np.int64)
    return [int(group) for group in groups]


def _divided(texts: Sequence[int], count: int) -> list[int]:
    """Divide windows by their texts, the largest texts first, into parts of similar size."""
    numbers, counts = np.unique(texts, return_counts=True)
    parts, sizes = {}, [0] * count
    for at in np.argsort(-counts, kind="stable"):
        part = sizes.index(min(sizes))
        parts[int(numbers[at])] = part
        sizes[part] += int(counts[at])
    return [parts[text] for text in texts]


def digest(windows: Sequence[Window]) -> str:
    """Return an identifier of the windows' tokens and groups."""
    result = hashlib.sha256()
    for window in windows:
        result.update(window.ids.tobytes())
        result.update(bytes([window.group]))
    return result.hexdigest()[:16]


def _pieces(
    text: TextFile, splitter: Splitter, body: int, at_most: int, random: np.random.Generator
) -> Iterator[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int16]]]:
    """Yield a text's windows: first token, tokens and labels, without special tokens."""
    content = text.read()
    with reading(text.name, "Leave this text out.", error=InsideError, fault="cannot be split"):
        encoding = splitter.backend.encode(content, add_special_tokens=False)
        ids = np.array(encoding.ids, np.int64)
        starts = window_starts(len(ids), body, at_most, random)
        if not starts:
            return
        offsets = np.array(encoding.offsets, np.int64)
        counted = CountedText.of(content)
        for first in starts:
            rows = slice(first, first + body)
            yield first, ids[rows], counted.labels(offsets[rows])


def _with_special(
    splitter: Splitter, ids: npt.NDArray[np.int64], labels: npt.NDArray[np.int16]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int16]]:
    before, after = len(splitter.before), len(splitter.after)
    tokens = np.concatenate([splitter.before, ids, splitter.after]).astype(np.int64)
    return tokens, np.pad(labels, ((before, after), (0, 0)), constant_values=-1)
