"""Windows of tokens: independent, reproducible, and in two halves."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.inside.settings import InsideError
from geometry.inside.windows import (
    FAIREST,
    Corpus,
    Splitter,
    TextFile,
    corpus_of,
    draw_windows,
    find_texts,
    split_in_halves,
    window_starts,
)


@pytest.fixture(scope="module")
def splitter():
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {f"w{i}": i + 1 for i in range(500)} | {"?": 0}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return Splitter.of(tokenizer)


def text(n_words, name="a.txt"):
    return TextFile(name, None, " ".join(f"w{i}" for i in range(n_words)))


@given(
    n_tokens=st.integers(0, 3000), length=st.integers(16, 300), at_most=st.integers(1, 50),
    seed=st.integers(0, 9),
)  # fmt: skip
def test_windows_lie_in_the_text_at_least_half_a_window_apart(n_tokens, length, at_most, seed):
    starts = window_starts(n_tokens, length, at_most, np.random.default_rng(seed))
    assert len(starts) <= at_most
    assert all(0 <= first <= n_tokens - length for first in starts)
    assert (np.diff(starts) >= length + length // 2).all()
    assert bool(starts) == (n_tokens >= length)


def test_a_window_begins_anywhere():
    random = np.random.default_rng(0)
    found = {tuple(window_starts(100, 60, 5, random)) for _ in range(2000)}
    assert found == {(first,) for first in range(41)}


def test_windows_keep_their_tokens_and_seed(splitter):
    texts = [text(400, f"{i}.txt") for i in range(6)]
    windows = draw_windows(texts, splitter, 32, 10, seed=3)
    assert len(windows) == 10
    for one in windows:
        assert one.ids.tolist() == list(range(one.first_token + 1, one.first_token + 33))
    again = draw_windows(texts, splitter, 32, 10, seed=3)
    assert [(w.file, w.first_token, w.half) for w in windows] == [
        (w.file, w.first_token, w.half) for w in again
    ]
    other = draw_windows(texts, splitter, 32, 10, seed=4)
    assert [(w.file, w.first_token) for w in windows] != [(w.file, w.first_token) for w in other]


@given(st.lists(st.integers(0, 12), min_size=4, max_size=80))
def test_texts_are_whole_in_one_half_unless_that_is_unfair(texts):
    halves = split_in_halves(texts)
    share = min(np.mean(halves), 1 - np.mean(halves))
    assert share >= FAIREST or len(texts) < 6
    whole = all(len({h for t, h in zip(texts, halves, strict=True) if t == one}) == 1
                for one in set(texts))  # fmt: skip
    assert whole or halves == [i % 2 for i in range(len(texts))]


def test_special_tokens_stand_at_both_ends(minilm_folder):
    from tokenizers import Tokenizer

    bert = Splitter.of(Tokenizer.from_file(str(minilm_folder / "tokenizer.json")))
    assert (bert.before, bert.after) == ((101,), (102,))
    windows = draw_windows([text(600)], bert, 40, 4, seed=0)
    for one in windows:
        assert one.ids.shape == (40,)
        assert (one.ids[0], one.ids[-1]) == (101, 102)
        assert (one.labels[[0, -1]] == -1).all()


def test_sample_texts_are_the_same_everywhere_whatever_has_this_name(tmp_path, monkeypatch):
    texts = find_texts("sample")
    # Their numbers in the documentation are of exactly these texts.
    assert corpus_of(texts) == Corpus(
        28, "256f72b2df1c5d0b487a1bc6ae84cfc68bca8529bd346866cb1ff492842d3abe"
    )
    assert all(len(text.read()) > 2000 for text in texts)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "own.txt").write_text("own", "utf-8")
    assert find_texts("sample") == texts
    for path in ("./sample", tmp_path / "sample", Path("sample/own.txt")):
        assert [text.name for text in find_texts(path)] == ["own.txt"]


def test_a_digest_depends_on_names_and_contents_and_on_nothing_else(tmp_path, monkeypatch):
    names = {"a.txt": b"one", "b.txt": b"two"}
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        for name, content in names.items():
            (tmp_path / folder / name).write_bytes(content)
    here, there = (find_texts(tmp_path / folder) for folder in ("here", "there"))
    assert corpus_of(here) == corpus_of(there)
    assert corpus_of(here).files == 2
    (tmp_path / "there" / "b.txt").rename(tmp_path / "there" / "c.txt")
    renamed = find_texts(tmp_path / "there")
    (tmp_path / "here" / "b.txt").write_bytes(b"too")
    found = {corpus_of(texts).digest for texts in (here, renamed)}
    assert len(found | {corpus_of(here[:1]).digest}) == 3
    monkeypatch.setattr("geometry.inside.windows.MAX_DIGESTED", 5)
    assert corpus_of(here) == Corpus(2, None)


def test_what_cannot_be_measured_is_a_sentence(splitter, tmp_path):
    with pytest.raises(InsideError, match="does not exist"):
        find_texts(tmp_path / "nowhere")
    with pytest.raises(InsideError, match="contains no text"):
        find_texts(tmp_path)
    with pytest.raises(InsideError, match="They make 0 windows of 32 tokens"):
        draw_windows([text(20)], splitter, 32, 10, seed=0)
    with pytest.raises(InsideError, match="too short"):
        draw_windows([text(20)], splitter, 4, 10, seed=0)


def test_what_is_no_text_is_read_without_an_error(splitter, tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, 4000, dtype=np.uint8).tobytes()
    (tmp_path / "noise.txt").write_bytes(noise)
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "good.md").write_text(text(500).content, "utf-8")
    windows = draw_windows(find_texts(tmp_path), splitter, 32, 8, seed=0)
    assert len(windows) == 8
    assert "good.md" in {one.file for one in windows}
