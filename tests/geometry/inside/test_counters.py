"""Counters of tokens, from the window alone."""

import numpy as np
import pytest

from geometry.inside.counters import CountedText
from geometry.inside.settings import SIZES

TEXT = "One (two [three] four). Five six!\nSeven eight.\n\nnine ten"


def labels(text, words, first=0):
    """Return the counters of words from one on, as {word: {counter: value}}."""
    offsets, at = [], 0
    for word in words:
        begin = text.index(word, at)
        at = begin + len(word)
        offsets.append((begin, at))
    found = CountedText.of(text).labels(np.array(offsets[first:], np.int64))
    return {
        word: dict(zip(SIZES, row.tolist(), strict=True))
        for word, row in zip(words[first:], found, strict=True)
    }


WORDS = ["One", "two", "three", "four", "Five", "six", "!\n", "Seven", "eight", "nine", "ten"]


def test_by_hand():
    found = labels(TEXT, WORDS)
    assert [found[w]["sentence"] for w in WORDS] == [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    assert [found[w]["word"] for w in WORDS] == [0, 1, 2, 3, 0, 1, 1, 0, 1, 0, 1]
    assert [found[w]["line"] for w in WORDS] == [0, 5, 10, 17, 24, 29, 32, 0, 6, 0, 5]
    assert [found[w]["brackets"] for w in WORDS] == [0, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0]
    assert [found[w]["newline"] for w in WORDS] == [-1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 4]


def test_a_window_does_not_know_what_was_before():
    found = labels(TEXT, WORDS, first=2)
    assert found["three"] == {
        "sentence": 0, "word": -1, "line": -1, "brackets": 0, "newline": -1,
    }  # fmt: skip
    assert found["four"]["brackets"] == 0, "the closed one was opened before"
    assert found["Five"] == {"sentence": 1, "word": 0, "line": -1, "brackets": 0, "newline": -1}
    assert found["Seven"]["line"] == 0


def test_a_token_counts_from_its_first_letter():
    offsets = np.array([[0, 3], [3, 9], [9, 11]], np.int64)
    text = "One\n\n Two x"
    found = CountedText.of(text).labels(offsets)
    names = list(SIZES)
    assert found[1, names.index("sentence")] == 1
    assert found[1, names.index("line")] == 1
    assert found[1, names.index("newline")] == 0


@pytest.mark.parametrize("name", SIZES)
def test_rare_values_are_left_out(name):
    many = {
        "sentence": "Aa bb. " * 60, "word": "a " * 90, "line": "a" * 200,
        "brackets": "(" * 20 + "a " * 90, "newline": "\n" + "a " * 90,
    }[name]  # fmt: skip
    at = [i for i, letter in enumerate(many) if not letter.isspace() or letter == "\n"]
    found = CountedText.of(many).labels(np.array([[i, i + 1] for i in at], np.int64))
    column = found[:, list(SIZES).index(name)]
    assert column.max() == SIZES[name] - 1
    assert column.min() == -1
