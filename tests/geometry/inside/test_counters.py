"""Counters of tokens, from the window alone and planted in a residual stream."""

import re

import numpy as np
import pytest

from geometry.inside.counted import Counting, angles_between, random_angles
from geometry.inside.counters import CountedText
from geometry.inside.settings import SIZES
from geometry.inside.sums import Sums
from tests.geometry.inside.small_networks import add_windows

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
        "sentence": -1, "word": -1, "line": -1, "brackets": 0, "newline": -1,
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


LENGTH, D_MODEL = 48, 32
NAMES = ("position", "word", "line")


def effects(size, seed, d_model=D_MODEL):
    """A curve in two directions, (size, d_model), and those directions."""
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(d_model, 2)))[0]
    angle = np.linspace(0, 3, size)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) @ basis.T, basis


@pytest.fixture(scope="module")
def sums():
    """Word and character in the line rise together; the position has no effect of its own."""
    random = np.random.default_rng(0)
    made = Sums.empty(1, LENGTH, D_MODEL)
    word, _ = effects(SIZES["word"], 1)
    line, _ = effects(SIZES["line"], 2)
    names = list(SIZES)
    for number in range(120):
        labels = np.full((8, LENGTH, len(SIZES)), -1, np.int16)
        for row in labels:
            begins = np.sort(random.choice(LENGTH, 3, replace=False))
            of_word = np.full(LENGTH, -1)
            for first in begins:
                of_word[first:] = np.arange(LENGTH - first)
            # Longer words here and there: otherwise nothing could tell the two apart.
            of_line = np.where(of_word < 0, -1, of_word * 4 + random.integers(0, 40, LENGTH))
            row[:, names.index("word")] = np.where(of_word < SIZES["word"], of_word, -1)
            row[:, names.index("line")] = np.where(of_line < SIZES["line"], of_line, -1)
        h = 0.2 * random.normal(size=(8, LENGTH, D_MODEL))
        w, c = labels[..., names.index("word")], labels[..., names.index("line")]
        h += np.where((w >= 0)[..., None], word[w], 0) + np.where((c >= 0)[..., None], line[c], 0)
        add_windows(made, number % 2, h, labels)
    return made


def test_planted_counters_are_told_apart(sums):
    found = {one.name: one for one in Counting(sums).counters(0, NAMES)}
    for name, seed in (("word", 1), ("line", 2)):
        one = found[name]
        table, basis = effects(SIZES[name], seed)
        own = table[one.halves.rows] - table[one.halves.rows].mean(axis=0)
        own_of_halves = np.linalg.norm(one.halves.both - own) / np.linalg.norm(own)
        assert own_of_halves < 0.2, name
        inside = np.linalg.norm(one.directions[:, :2].T @ basis)
        assert inside > 0.98 * np.sqrt(2), name
        assert one.halves_cosine > 0.9, name
        assert one.tokens.min() >= 60
    assert found["position"].share < 0.1 * found["word"].share
    assert abs(found["position"].halves_cosine) < 0.5


def test_what_words_have_in_common_is_not_taken_for_an_effect_of_the_sentence():
    """Of windows that begin within a sentence, and of which only the word has an effect."""
    random, word = np.random.default_rng(0), effects(SIZES["word"], 1, 8)[0] + 2
    made, index = Sums.empty(1, LENGTH, 8), list(SIZES).index("word")
    for number in range(8):
        text = "".join("a. B" if new else "a " for new in random.random(2000) < 0.15)
        places = np.array([match.span() for match in re.finditer(r"\S+", text)], np.int64)
        within = [at for at in range(1, 1800, 30) if text[places[at - 1, 1] - 1] != "."]
        counted = CountedText.of(text)
        labels = np.stack([counted.labels(places[at : at + LENGTH]) for at in within])
        of_word = labels[..., index]
        h = np.where((of_word >= 0)[..., None], word[of_word], 0)
        add_windows(made, number % 2, h + 0.2 * random.normal(size=h.shape), labels)
    found = {one.name: one for one in Counting(made).counters(0, ("sentence", "word"))}
    assert found["word"].halves_cosine > 0.9
    assert found["sentence"].share < 0.01 * found["word"].share


def test_a_naive_mean_would_mix_them(sums):
    """Its word effects hold much of the line's, the estimate's next to nothing."""
    _, basis = effects(SIZES["line"], 2)
    (word,) = Counting(sums).counters(0, ("word",))
    place = sums.values_of("word")
    rows = word.halves.rows
    counts = np.diagonal(sums.together.sum(axis=0))[place][rows]
    naive = sums.totals.sum(axis=0)[0, place][rows] / counts[:, None]
    naive = naive - naive.mean(axis=0)
    shares = [np.linalg.norm(one @ basis) / np.linalg.norm(one)
              for one in (naive, word.halves.both)]  # fmt: skip
    assert shares[0] > 0.6
    assert shares[1] < 0.35


def test_counters_of_one_value_are_left_out(sums):
    assert Counting(sums).counters(0, ("brackets", "newline")) == []


def test_angles_and_their_chance(sums):
    counters = Counting(sums).counters(0, ("word", "line"))
    ((pair, degrees),) = angles_between(counters).items()
    assert pair == ("word", "line")
    assert (np.diff(degrees) >= 0).all()
    chance = random_angles(D_MODEL, (3, 3))
    assert chance["p5"] < chance["median"] < chance["p95"] < 90
    # In many dimensions any two directions are nearly at right angles.
    assert random_angles(20_000, (1, 1))["p5"] > 88
    assert random_angles(2, (2, 2))["p95"] == pytest.approx(0, abs=1e-4)
