"""Tokens with invisible characters."""

import pytest

from gui.style.token_text import is_special, token_label, token_runs


def test_marks_for_blanks_and_split_bytes():
    assert token_runs(" my") == (("·", True), ("my", False))
    assert token_runs("·my") == (("·my", False),)
    assert token_runs("a⟨F0⟩") == (("a", False), ("⟨F0⟩", True))
    assert token_runs("⟨x⟩") == (("⟨x⟩", False),)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hello", "Hello"),
        ("\n\n", "⏎⏎"),
        ("a\tb\r", "a⇥b␍"),
        ("\u00a0", "⍽"),
        ("a\u200bb", "a⟨200B⟩b"),
        ("\u0007", "⟨0007⟩"),
        ("\u3000", "⟨3000⟩"),
        ("東京", "東京"),
        ("\ufffd", "\ufffd"),
        ("", "∅"),
        (" ⟨F0⟩⟨9F⟩", "·⟨F0⟩⟨9F⟩"),
    ],
)
def test_nothing_stays_invisible(text, shown):
    assert token_label(text) == shown


def test_control_and_ordinary_tokens():
    for text in ("<|endoftext|>", "<s>", "</s>", "[CLS]", "<pad>"):
        assert is_special(text)
    for text in ("Hello", "<", " [", "[1]", "a<b>", "<a b>", "[unused1]"):
        assert not is_special(text)
