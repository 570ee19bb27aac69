"""Tokenizers that would take a machine's time or memory, or make their library panic."""

import json
from contextlib import suppress
from functools import reduce

import pytest

from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.models import tokenizer_bounds, tokens
from geometry.models.tokenizer_bounds import check_tokenizer
from geometry.models.tokens import load_tokenizer

WORDS = {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1}, "unk_token": "[UNK]"}


def content(**parts):
    empty = dict.fromkeys(
        ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    )
    return {"version": "1.0", **empty, "added_tokens": [], "model": WORDS, **parts}


def replace(old, new):
    return {"type": "Replace", "pattern": old, "content": new}


def sequence(*steps):
    return {"type": "Sequence", "normalizers": list(steps)}


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
            "invert": False}  # fmt: skip


def added(*texts):
    return [{"id": 9 + n, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": False} for n, text in enumerate(texts)]  # fmt: skip


ONCE = {"SpecialToken": {"id": "x", "type_id": 0}}
TEXT = {"Sequence": {"id": "A", "type_id": 0}}
OUT_OF_BOUNDS = {
    "chain": {"normalizer": sequence(*[replace({"String": "a"}, "aa")] * 5)},
    "nothing": {"normalizer": replace({"Regex": ""}, "a" * 20)},
    "long": {"normalizer": {"type": "Prepend", "prepend": "a" * 100}},
    "deep": {"normalizer": reduce(
        lambda inner, _: sequence(inner), range(80), {"type": "NFC"})},
    "many": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits"}] * 100}},
    "bytes": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}] * 5}},
    "repetitions": {"pre_tokenizer": split("(a+)+b")},
    "nested": {"pre_tokenizer": split("((?:a|b*)(c))+d")},
    "powers": {"pre_tokenizer": split("[^x]*[^x]*[^x]*[^x]*x")},
    "pattern": {"pre_tokenizer": split("a" * 3000)},
    "template": {"post_processor": {"type": "TemplateProcessing", "single": [ONCE] * 40}},
    "echo": {"post_processor": {"type": "Sequence", "processors": [
        {"type": "TemplateProcessing", "single": [TEXT] * 8}] * 3}},
    "ids": {"post_processor": {"type": "TemplateProcessing", "single": [ONCE],
                               "special_tokens": {"x": {"id": "x", "ids": [1] * 1000}}}},
    "word": {"model": {"type": "WordPiece", "vocab": {"a": 0}, "max_input_chars_per_word": 10**9}},
    "prefix": {"model": {"type": "WordPiece", "vocab": {"a": 0},
                         "continuing_subword_prefix": "#" * 1000}},
    "piece": {"model": {"type": "Unigram", "vocab": [["a" * 1000, 0.0]], "unk_id": 0}},
}  # fmt: skip


@pytest.mark.parametrize("which", OUT_OF_BOUNDS)
def test_out_of_bounds(which, tmp_path):
    parts = OUT_OF_BOUNDS[which]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content(**parts)))
    with pytest.raises(SourceError, match=r"^tokenizer\.json in .* more than any model needs"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("bound", "parts"),
    [
        ("MAX_ADDED", {"added_tokens": added("x", "y", "z")}),
        ("MAX_ADDED_CHARACTERS", {"added_tokens": added("xyz")}),
        ("MAX_PIECES", {"model": {**WORDS, "vocab": {"a": 0, "b": 1, "c": 2}}}),
        ("MAX_NODES", {"model": {"type": "Unigram", "vocab": [["ab", 0], ["c", 0]]}}),
    ],
)
def test_bounds_of_vocabularies(bound, parts, monkeypatch):
    check_tokenizer("it", content(**parts))
    monkeypatch.setattr(tokenizer_bounds, bound, 2)
    with pytest.raises(SourceError, match="more than any model needs"):
        check_tokenizer("it", content(**parts))


def test_shared_beginnings_of_pieces_count_once(monkeypatch):
    monkeypatch.setattr(tokenizer_bounds, "MAX_NODES", 5)
    pieces = [["abcd", 0], ["abce", 0], ["abc", 0], ["abcd", 0]]
    check_tokenizer("it", content(model={"type": "Unigram", "vocab": pieces}))


@pytest.mark.parametrize(
    "pattern",
    [
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",  # GPT-2
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}]*[\p{Ll}\p{Lm}]+(?i:'s|'t)?|\p{N}{1,3}|\s*[\r\n]+",
        " ?[^(\\s|[.,!?…。，、।۔،])]+",  # BLOOM
        r"\d{1,3}(?=(?:\d{3})*\b)",  # digits in groups of three from the right
        r"<\|startoftext\|>|'s|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",  # CLIP
    ],
)
def test_patterns_of_models_are_within_bounds(pattern):
    check_tokenizer("it", content(pre_tokenizer=split(pattern)))


PANICS = {
    "length": {"pre_tokenizer": {"type": "FixedLength", "length": 0}},
    "map": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAA="}},
    "types": {"normalizer": 3, "added_tokens": "x", "model": {"type": "Unigram", "vocab": 3}},
    "token": {"post_processor": {"type": "TemplateProcessing", "single": [ONCE], "pair": [],
                                 "special_tokens": {}}},
    "unknown": {"model": {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": 7}},
}  # fmt: skip


@pytest.mark.parametrize("which", PANICS)
def test_whatever_the_library_does_is_a_sentence(which, tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(content(**PANICS[which])))
    with suppress(SourceError):
        load_tokenizer(tmp_path).encode("a b")


def test_a_panic_while_a_text_is_split_names_the_tokenizer(tmp_path, capfd):
    (tmp_path / "tokenizer.json").write_text(json.dumps(content(**PANICS["length"])))
    tokenizer = load_tokenizer(tmp_path)
    with pytest.raises(SourceError, match=f"The tokenizer of {tmp_path.name} is damaged"):
        tokenizer.encode("a b")
    with pytest.raises(SourceError, match="is damaged"):
        tokenizer.pieces("a b")


def test_long_texts_and_large_files_are_refused(tmp_path, monkeypatch):
    (tmp_path / "tokenizer.json").write_text(json.dumps(content()))
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.encode("a") == [0]
    with pytest.raises(HelixscopeError, match="100,001 characters long"):
        tokenizer.encode("a" * 100_001)
    monkeypatch.setattr(tokens, "MAX_BYTES", 10)
    with pytest.raises(SourceError, match=r"tokenizer\.json in .* is too large for a tokenizer"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("begin", [-1, 2**32, 10**400])
def test_the_first_token_is_an_id(begin, tmp_path):
    assert tokens.begin_token(tmp_path, {"bos_token_id": begin}, load_words(tmp_path)) is None


@pytest.mark.parametrize("begin", [True, 1.5, "0"])
def test_a_first_token_that_is_no_number_is_named(begin, tmp_path):
    with pytest.raises(SourceError, match="as bos_token_id"):
        tokens.begin_token(tmp_path, {"bos_token_id": begin}, load_words(tmp_path))


def load_words(folder):
    (folder / "tokenizer.json").write_text(json.dumps(content()))
    return load_tokenizer(folder)
