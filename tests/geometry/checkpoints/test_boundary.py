"""One sentence, whatever goes wrong in a reader."""

import json
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import MAX_JSON, MAX_JSON_VALUES, load_json, read_json
from geometry.checkpoints.errors import HelixscopeError, SourceError, TensorUnavailable
from geometry.checkpoints.plain_text import MAX_SENTENCE_LENGTH, shortened, visible


class Panic(BaseException):
    """Like the panic of a Rust library."""


@pytest.mark.parametrize("wrong", [Panic("rust"), ValueError("x" * 999), RecursionError()])
def test_any_fault_is_one_sentence(wrong: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    with pytest.raises(SourceError) as caught, reading("model.bin"):
        raise wrong
    assert str(caught.value) == "model.bin is damaged."
    assert caught.value.advice == "Download or copy the file again."
    assert caught.value.__cause__ is wrong
    assert caplog.records[0].exc_info is not None  # the details are in the log


def test_too_little_memory_is_said_as_such() -> None:
    with pytest.raises(SourceError, match="needs more memory"), reading("model.bin"):
        raise MemoryError


@pytest.mark.parametrize(
    "passing", [TensorUnavailable("no"), PermissionError(), KeyboardInterrupt()]
)
def test_what_says_what_happened_passes_through(passing: BaseException) -> None:
    with pytest.raises(type(passing)) as caught, reading("model.bin"):
        raise passing
    assert caught.value is passing


def test_names_cannot_write_to_a_terminal_nor_turn_what_is_read() -> None:
    error = SourceError(
        "\x1b[31mred\x1b[0m\x9b2J \u202egnp.exe\u2069 is\nlost \udcff.", "\x07Again."
    )
    assert str(error) == "�[31mred�[0m�2J �gnp.exe� is lost �."
    assert error.advice == "�Again."
    assert visible("wpe.weight · 日本語 👩‍🔬") == "wpe.weight · 日本語 👩‍🔬"


@given(st.text(), st.integers(20, 300))
def test_no_sentence_is_too_long(text: str, longest: int) -> None:
    short = shortened(text, longest)
    assert len(short) <= longest
    assert short == text or len(text) > longest


def test_a_long_path_loses_its_middle() -> None:
    path = "/home/" + "folder/" * 60 + "model.safetensors"
    said = str(HelixscopeError(f"{path} is truncated: 4 bytes are missing."))
    assert len(said) == MAX_SENTENCE_LENGTH
    assert said.startswith("/home/folder")
    assert said.endswith("folder/model.safetensors is truncated: 4 bytes are missing.")


def test_json_has_bounds(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="at most 2000000 in 32000000 are read"):
        load_json("a.json", b"[" + b"1," * MAX_JSON_VALUES + b"1]")
    with pytest.raises(SourceError, match=r"a\.json is not valid JSON"):
        load_json("a.json", b"[" * 100_000)
    with pytest.raises(SourceError, match=r"a\.json is not valid JSON"):
        load_json("a.json", b"1" * 5_000)  # more digits than Python converts
    large = tmp_path / "config.json"
    large.write_bytes(json.dumps({"a": "b" * MAX_JSON}).encode())
    with pytest.raises(SourceError, match=r"config\.json is 320000\d\d bytes long"):
        read_json(large)


def test_a_sentence_of_megabytes_is_shortened_by_its_ends() -> None:
    copied = 0

    class Counted(str):
        def replace(self, old: str, new: str, count: int = -1) -> str:  # type: ignore[override]
            nonlocal copied
            copied += len(self)
            return Counted(str.replace(self, old, new, count))

    words = " ".join(["w" * 40] * 20_000)
    assert len(shortened(Counted(f"The header holds {words}."))) <= MAX_SENTENCE_LENGTH
    assert copied < 1_000_000
    path = "/" + "p" * 1_000_000
    assert shortened(f"{path} cannot be read.").endswith("p cannot be read.")
