"""Counters of a text: sentence, word in the sentence, character in the line, and so on.

All counters start at the beginning of a window and use only that window. The sentence and the word
in it are both unknown until the first sentence begins: if only the word were, what words have in
common would be taken for an effect of the first sentence.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from geometry.checkpoints.result import result
from geometry.inside.settings import SIZES

Integers = npt.NDArray[np.int64]
UNKNOWN = -1

_SENTENCE = re.compile(r"[.!?][\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9])|\n\s*\n\s*")
_WORD = re.compile(r"\S+")
_OPENING, _CLOSING = "([{", ")]}"


@result
class CountedText:
    """A text with the data for its counters, by character.

    Attributes
    ----------
    sentences, sentence_starts
        (n_characters,) index of each character's sentence, and its first character.
    words
        (n_characters,) number of words that have begun up to this character.
    line_starts
        (n_characters,) first character of the line.
    depths
        (n_characters,) brackets opened minus closed before this character.
    """

    text: str
    sentences: Integers
    sentence_starts: Integers
    words: Integers
    line_starts: Integers
    depths: Integers

    @classmethod
    def of(cls, text: str) -> CountedText:
        """Count the characters of a text."""
        n = len(text)
        sentences, starts = _numbered([match.end() for match in _SENTENCE.finditer(text)], n)
        begun = np.zeros(n, np.int64)
        begun[[match.start() for match in _WORD.finditer(text)]] = 1
        codes = np.frombuffer(text.encode("utf-32-le", "replace"), np.uint32)
        _, lines = _numbered((np.flatnonzero(codes == ord("\n")) + 1).tolist(), n)
        steps = _among(codes, _OPENING).astype(np.int64) - _among(codes, _CLOSING)
        depths = np.cumsum(steps) - steps + np.minimum(steps, 0)  # a closing bracket is outside
        return cls(text, sentences, starts, np.cumsum(begun), lines, depths)

    def labels(self, offsets: Integers) -> npt.NDArray[np.int16]:
        """Return the counters of a window's tokens.

        Parameters
        ----------
        offsets : (n_tokens, 2)
            First character of each token, and the character after its last.

        Returns
        -------
        (n_tokens, 5) int16
            In the order of :data:`SIZES`; -1 where a counter is unknown.
        """
        at = self._first_letters(offsets)
        begin = at[0]
        starts, lines = self.sentence_starts[at], self.line_starts[at]
        whole = starts >= begin
        sentence = np.where(whole, self.sentences[at] - self.sentences[begin], UNKNOWN)
        word = np.where(whole, self.words[at] - self.words[starts], UNKNOWN)
        line = np.where(lines >= begin, at - lines, UNKNOWN)
        depth = self.depths[at]
        # Brackets opened before the window do not count.
        brackets = depth - np.minimum.accumulate(depth)
        columns = (sentence, word, line, brackets, self._since_newline(offsets))
        limits = list(SIZES.values())
        labels = np.stack(columns, axis=1)
        return np.where(labels < limits, labels, UNKNOWN).astype(np.int16)

    def _first_letters(self, offsets: Integers) -> Integers:
        """Return each token's first character that is not a space; its first if there is none."""
        at = np.minimum(offsets[:, 0], len(self.text) - 1)
        for i, (first, end) in enumerate(offsets.tolist()):
            while first < end and self.text[first].isspace():
                first += 1
            if first < end:
                at[i] = first
        return at

    def _since_newline(self, offsets: Integers) -> Integers:
        breaks = np.array(["\n" in self.text[first:end] for first, end in offsets.tolist()])
        index = np.arange(len(offsets))
        last = np.maximum.accumulate(np.where(breaks, index, UNKNOWN))
        return np.where(last >= 0, index - last, UNKNOWN)


def _numbered(starts: list[int], n: int) -> tuple[Integers, Integers]:
    """Return each character's number of pieces that begin at ``starts``, and its piece's start."""
    begins = np.array([0, *(start for start in starts if 0 < start < n)], np.int64)
    marks = np.zeros(n, np.int64)
    marks[begins[:n]] = 1
    numbers = np.cumsum(marks) - 1
    return numbers, begins[np.maximum(numbers, 0)] if n else begins[:0]


def _among(codes: npt.NDArray[Any], letters: str) -> npt.NDArray[np.bool_]:
    return np.isin(codes, [ord(letter) for letter in letters])
