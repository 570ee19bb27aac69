"""Bounds of a ``tokenizer.json``, checked before the tokenizers library reads it.

The library has none: a file of a kilobyte can make a text grow without end, and one of some
megabytes take gigabytes. A library written in Rust can neither be stopped nor run out of memory
without ending the process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from geometry.checkpoints.errors import SourceError

MAX_BYTES = 24_000_000
"""Bytes of the file. The largest vocabularies, of 250,000 pieces in 100 languages, take 9 to 17
MB."""

MAX_PIECES = 600_000
"""Pieces of a vocabulary, and its merges: the largest have 260,000 and 520,000."""

MAX_ADDED = 20_000
"""Tokens added to the vocabulary: each takes 20 µs to add. Models have up to some thousand."""
MAX_ADDED_CHARACTERS = 1_000_000

MAX_PIECE = 256
"""Bytes of a piece, and nodes of the tree of all pieces of a Unigram model, which take 340 bytes
each."""
MAX_NODES = 1_500_000

MAX_STEPS = 64
"""Steps from a text to its tokens: normalizers, pre-tokenizers, post-processors. Models have
ten."""

MAX_GROWTH = 16
"""How many times longer all steps together may make a text. One that writes bytes as letters
doubles it."""

MAX_PATTERN = 2_000
"""Characters of a regular expression, and its repetitions in one alternative: with n of them a
text can take time to the power of n. GPT-4's has two."""
MAX_REPETITIONS = 3

MAX_WORD = 1_000
"""Longest word that WordPiece looks up, in characters: it takes time to the square. Usually 100."""

MAX_TEXT = 64
"""Characters of any other text, such as the prefix of a word's later pieces."""

MAX_TEMPLATE = 32
"""Pieces of a template around a text, and tokens in all of them."""

_ADVICE = "Download or copy tokenizer.json again."
_STEPS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_REPETITION = re.compile(r"[*+]|\{\d*,\d*\}")
_GROUP = re.compile(r"\((?:\?[a-z]*[:=!]|\?<[=!])?([^()]*)\)([*+]|\{\d*,\d*\})?")


def check_tokenizer(where: str, content: Mapping[str, Any]) -> None:
    """Check that a tokenizer takes no more time and memory than those of models.

    Values of wrong types are left to the library.

    Parameters
    ----------
    where
        Name of the file, for messages.
    content
        The file's JSON object.

    Raises
    ------
    SourceError
        It is out of bounds.
    """
    growth = _Growth(where)
    for name in _STEPS:
        growth.add(content.get(name), 0)
    _check_added(where, content.get("added_tokens"))
    model = content.get("model")
    if isinstance(model, dict):
        _check_model(where, model)


def _out_of_bounds(where: str, problem: str) -> SourceError:
    return SourceError(f"{where} {problem}, more than any model needs.", _ADVICE)


class _Growth:
    """Counts the steps of a tokenizer, and how much they lengthen a text."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._steps = 0
        self._times = 1.0

    def add(self, step: Any, depth: int) -> None:
        """Add a step with all steps in it."""
        if isinstance(step, list):
            for part in step:
                self.add(part, depth + 1)
        if not isinstance(step, dict):
            return
        self._steps += 1
        if self._steps > MAX_STEPS or depth > MAX_STEPS:
            raise _out_of_bounds(self._where, f"has more than {MAX_STEPS} processing steps")
        for key, value in step.items():
            if key in ("normalizers", "pretokenizers", "processors", "decoders"):
                self.add(value, depth + 1)
            elif key in ("single", "pair"):
                self._check_template(value)
            elif key == "special_tokens":
                _check_ids(self._where, value)
            elif isinstance(value, str) and len(value) > MAX_TEXT and key != "precompiled_charsmap":
                raise _out_of_bounds(self._where, f"has a {key} of {len(value)} characters")
        pattern = step.get("pattern")
        if isinstance(pattern, dict):
            _check_pattern(self._where, pattern.get("Regex"))
        self._times *= _times(step)
        if self._times > MAX_GROWTH:
            raise _out_of_bounds(self._where, f"makes a text over {MAX_GROWTH} times longer")

    def _check_template(self, pieces: Any) -> None:
        if not isinstance(pieces, list):
            return
        if len(pieces) > MAX_TEMPLATE:
            raise _out_of_bounds(self._where, f"adds {len(pieces)} pieces around every text")
        texts = sum(isinstance(piece, dict) and "Sequence" in piece for piece in pieces)
        self._times *= max(1, texts / 2)


def _times(step: Mapping[str, Any]) -> float:
    """Return how many times longer one step can make a text."""
    kind, content = step.get("type"), step.get("content")
    if kind == "ByteLevel":
        return 2
    if kind != "Replace" or not isinstance(content, str):
        return 1
    pattern = step.get("pattern")
    old = pattern.get("String") if isinstance(pattern, dict) else None
    # A regular expression can match nothing at all, between any two characters.
    return max(1.0, len(content) / len(old) if isinstance(old, str) and old else len(content) + 1)


def _check_pattern(where: str, pattern: Any) -> None:
    if not isinstance(pattern, str):
        return
    if len(pattern) > MAX_PATTERN:
        raise _out_of_bounds(where, f"has a regular expression of {len(pattern)} characters")
    # Sets of characters and escaped ones stand for one character; then groups are opened from the
    # inside to the outside.
    bare = re.sub(r"\[(?:\\.|[^\]\\])*\]|\\.", "x", pattern)
    while group := _GROUP.search(bare):
        varies, repeated = _REPETITION.search(group[1]), group[2]
        if varies and repeated:
            raise _out_of_bounds(where, "has a regular expression with nested repetitions")
        longest = max(group[1].split("|"), key=lambda branch: len(_REPETITION.findall(branch)))
        opened = longest if varies else f"x{repeated or ''}"
        bare = bare[: group.start()] + opened + bare[group.end() :]
    if max(len(_REPETITION.findall(branch)) for branch in bare.split("|")) > MAX_REPETITIONS:
        raise _out_of_bounds(
            where, f"has a regular expression with over {MAX_REPETITIONS} repetitions"
        )


def _check_ids(where: str, tokens: Any) -> None:
    for token in tokens.values() if isinstance(tokens, dict) else ():
        ids = token.get("ids") if isinstance(token, dict) else None
        if isinstance(ids, list) and len(ids) > MAX_TEMPLATE:
            raise _out_of_bounds(where, f"adds {len(ids)} tokens around every text")


def _check_added(where: str, added: Any) -> None:
    if not isinstance(added, list):
        return
    if len(added) > MAX_ADDED:
        raise _out_of_bounds(where, f"adds {len(added)} tokens to its vocabulary")
    texts = [token.get("content") for token in added if isinstance(token, dict)]
    length = sum(len(text) for text in texts if isinstance(text, str))
    if length > MAX_ADDED_CHARACTERS:
        raise _out_of_bounds(where, f"adds {length} characters to its vocabulary")


def _check_model(where: str, model: Mapping[str, Any]) -> None:
    for key in ("vocab", "merges"):
        pieces = model.get(key)
        if isinstance(pieces, dict | list) and len(pieces) > MAX_PIECES:
            raise _out_of_bounds(where, f"has a {key} of {len(pieces)} pieces")
    for key, value in model.items():
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise _out_of_bounds(where, f"has a {key} of {len(value)} characters")
    longest = model.get("max_input_chars_per_word")
    if isinstance(longest, int | float) and longest > MAX_WORD:
        raise _out_of_bounds(where, f"looks up words of {longest} characters")
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, list):  # of Unigram
        pieces = _bytes(piece[0] for piece in vocabulary if isinstance(piece, list) and piece)
        longest = max(map(len, pieces), default=0)
        if longest > MAX_PIECE:
            raise _out_of_bounds(where, f"has a piece of {longest} bytes")
        nodes = sum(len(piece) for piece in pieces)
        if nodes > MAX_NODES and (nodes := _nodes(pieces)) > MAX_NODES:
            raise _out_of_bounds(where, f"has a vocabulary of {nodes} letters")


def _bytes(pieces: Iterable[Any]) -> list[bytes]:
    return [piece.encode("utf-8", "surrogatepass") for piece in pieces if isinstance(piece, str)]


def _nodes(pieces: list[bytes]) -> int:
    """Return the number of nodes in the tree of pieces by their beginnings."""
    pieces.sort()
    shared = sum(map(_shared, pieces, pieces[1:]))
    return sum(map(len, pieces)) - shared


def _shared(first: bytes, second: bytes) -> int:
    """Return the length of the beginning that two pieces share."""
    both = zip(first, second, strict=False)
    return next((at for at, (a, b) in enumerate(both) if a != b), min(len(first), len(second)))
