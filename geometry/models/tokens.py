"""The model's own tokenizer, read on first use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from geometry.checkpoints.boundary import reading
from geometry.checkpoints.config import first_int, parse_json, read_json
from geometry.checkpoints.errors import HelixscopeError, SourceError, TensorUnavailable
from geometry.checkpoints.formats.gguf_store import read_index, without_tensors
from geometry.checkpoints.stores import LocalFile
from geometry.checkpoints.tokenizer_files import FILES, VOCABULARIES
from geometry.models.tokenizer_bounds import MAX_BYTES, check_tokenizer

MAX_CHARACTERS = 100_000
"""Characters of a text: five times those that 4,096 positions take. Splitting as many takes less
than a second."""

MAX_ID = 2**32
"""Ids of tokens are below this, as in the tokenizers library."""

_AGAIN = "Download or copy its tokenizer.json again."


@dataclass(frozen=True, slots=True)
class TokenizedPrompt:
    """A prompt's tokens, one per position from 0.

    Attributes
    ----------
    ids
        Rows of W_E.
    texts
        Readable text of each token: "Hello", " my", "[CLS]".
    truncated
        Number of tokens dropped beyond the last position.
    """

    ids: tuple[int, ...]
    texts: tuple[str, ...]
    truncated: int = 0


def without_row(
    ids: Iterable[int], rows: int, name: str, text_of: Callable[[int], str | None]
) -> str:
    """Return which token a model has no embedding for, as the end of a sentence; "" if none.

    Parameters
    ----------
    ids
        The tokens.
    rows
        Number of token embeddings.
    name, text_of
        The model's name; its tokens' readable texts.
    """
    token = next((token for token in ids if not 0 <= token < rows), None)
    if token is None:
        return ""
    text = text_of(token)
    description = f"token {token}{f' ({text})' if text else ''}"
    return f"{description}; {name} has rows for tokens 0 to {rows - 1}"


class Tokenizer:
    """Splits a text into tokens: a tokenizer that only transformers can load.

    Attributes
    ----------
    backend
        The library's own tokenizer.
    """

    def __init__(self, backend: Any, name: str) -> None:
        self.backend = backend
        self._reading = partial(reading, f"The tokenizer of {name}", _AGAIN)

    def encode(self, text: str) -> list[int]:
        """Return token ids, with the family's special tokens."""
        return self._ids(text)

    def pieces(self, text: str) -> list[int]:
        """Return token ids of the text alone, without the family's special tokens."""
        return self._ids(text, add_special_tokens=False)

    def _ids(self, text: str, **options: bool) -> list[int]:
        if len(text) > MAX_CHARACTERS:
            raise HelixscopeError(
                f"The text is {len(text):,} characters long; at most {MAX_CHARACTERS:,} are split.",
                "No model has as many positions; shorten the text.",
            )
        with self._reading():
            encoded = self.backend.encode(text, **options)
            return list(getattr(encoded, "ids", encoded))

    def text_of(self, token: int) -> str:
        """Return a token's readable text."""
        with self._reading():
            return readable(str(self.backend.convert_ids_to_tokens(token)))

    def id_of(self, token: str) -> int | None:
        """Return the id of a token, or None."""
        with self._reading():
            number = self.backend.get_vocab().get(token)
            return None if number is None else int(number)


class FastTokenizer(Tokenizer):
    """A ``tokenizer.json``, by the tokenizers library, which also reports each token's place."""

    def __init__(self, backend: Any, name: str) -> None:
        super().__init__(backend, name)
        # Sentence encoders pad and truncate, which would add or hide tokens.
        backend.no_padding()
        backend.no_truncation()
        self._bytes = type(backend.decoder).__name__ == "ByteLevel"

    def text_of(self, token: int) -> str:
        """Return a token's readable text."""
        with self._reading():
            piece = self.backend.id_to_token(token) or ""
        return readable_bytes(piece) if self._bytes else readable(piece)

    def id_of(self, token: str) -> int | None:
        """Return the id of a token, or None."""
        with self._reading():
            number: int | None = self.backend.token_to_id(token)
            return number


def readable(token: str) -> str:
    """Convert a piece's marks to text: "▁my" is " my", GPT-1's "my</w>" is "my"."""
    byte = _BYTE_PIECE.fullmatch(token)
    return f"⟨{byte[1]}⟩" if byte else token.replace("▁", " ").removesuffix("</w>")


def readable_bytes(token: str) -> str:
    """Convert a token of a byte-level vocabulary to text: "Ġmy" is " my".

    Such a token may end in the middle of a character: incomplete characters are written as bytes,
    ⟨F0⟩. Added tokens, such as "<|endoftext|>", are text already.
    """
    if not all(character in _BYTES for character in token):
        return token
    text = bytes(_BYTES[character] for character in token).decode("utf-8", "surrogateescape")
    # "surrogateescape" maps an undecodable byte, 80 to FF, to U+DC80 to U+DCFF.
    return "".join(f"⟨{ord(c) - 0xDC00:02X}⟩" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in text)


def _byte_alphabet() -> dict[str, int]:
    """Return the byte of each character of GPT-2's vocabulary.

    Printable bytes map to themselves, the other 68 to U+0100 and up (GPT-2's
    ``bytes_to_unicode``).
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet = {chr(byte): byte for byte in printable}
    unprintable = (byte for byte in range(256) if chr(byte) not in alphabet)
    return alphabet | {chr(0x100 + i): byte for i, byte in enumerate(unprintable)}


_BYTES = _byte_alphabet()
_BYTE_PIECE = re.compile(r"<0x([0-9A-F]{2})>")


def load_tokenizer(folder: Path) -> Tokenizer:
    """Load the tokenizer of a checkpoint folder, without downloads or running its code.

    Parameters
    ----------
    folder
        The folder, or a GGUF file.

    Raises
    ------
    TensorUnavailable
        The folder has none.
    HelixscopeError
        Its tokenizer cannot be read.
    """
    if folder.suffix == ".gguf" and folder.is_file():
        return _load_gguf(folder)
    file = folder / "tokenizer.json"
    if not file.is_file() and not any((folder / name).is_file() for name in VOCABULARIES):
        raise TensorUnavailable(
            "This model has no tokenizer in its folder, so a prompt cannot be split into tokens.",
            "Put the model's tokenizer.json into its folder.",
        )
    for name in FILES:
        if (folder / name).is_file() and LocalFile(folder / name).size() > MAX_BYTES:
            raise SourceError(
                f"{name} in {folder.name} is too large for a tokenizer.",
                "Check that it is the right file.",
            )
    # Both libraries raise many kinds of exceptions on malformed files, and panic.
    where = f"{'tokenizer.json' if file.is_file() else 'The tokenizer'} in {folder.name}"
    if not file.is_file():
        return _load_slow(folder, where, folder.name)
    with reading(where, _AGAIN, fault="cannot be read"):
        return _load_fast(file, where)


def _load_gguf(file: Path) -> Tokenizer:
    """Load the tokenizer in a GGUF file, from a copy of its settings alone."""
    opened = LocalFile(file)
    head = opened.read_at(0, read_index(opened).settings_end).tobytes()
    where, name = f"The tokenizer in {file.name}", "tokenizer.gguf"
    with reading(where, _AGAIN, fault="cannot be read"), TemporaryDirectory() as folder:
        Path(folder, name).write_bytes(without_tensors(head))
        return _load_slow(Path(folder), where, file.stem, gguf_file=name)


def _load_slow(folder: Path, where: str, name: str, **options: str) -> Tokenizer:
    """Load a tokenizer that transformers makes."""
    with reading(where, _AGAIN, fault="cannot be read"):
        if "gguf_file" in options:  # without the settings of the model, which take seconds
            from transformers import PreTrainedTokenizerFast as Loader
        else:
            from transformers import AutoTokenizer as Loader
        slow = Loader.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False, **options
        )
        backend = getattr(slow, "backend_tokenizer", None)
        if backend is None:
            return Tokenizer(slow, name)
        check_tokenizer(where, parse_json(where, backend.to_str().encode()))
        return FastTokenizer(backend, name)


def _load_fast(file: Path, where: str) -> FastTokenizer:
    from tokenizers import Tokenizer as Backend

    opened = LocalFile(file)
    content = opened.read_at(0, opened.size()).tobytes()
    check_tokenizer(where, parse_json(where, content))
    return FastTokenizer(Backend.from_buffer(content), file.parent.name)


def begin_token(folder: Path, config: Mapping[str, Any], tokenizer: Tokenizer) -> int | None:
    """Return the id of the beginning-of-text token, by the tokenizer's or the model's settings."""
    settings = folder / "tokenizer_config.json"
    token = read_json(settings).get("bos_token") if settings.is_file() else None
    if isinstance(token, dict):
        token = token.get("content")
    if isinstance(token, str) and (number := tokenizer.id_of(token)) is not None:
        return number
    begin = first_int(config, ("bos_token_id",))
    return begin if begin is not None and 0 <= begin < MAX_ID else None


def tokenize(
    tokenizer: Tokenizer, text: str, begin: int | None, n_positions: int
) -> TokenizedPrompt:
    """Split a text into one token per position.

    Parameters
    ----------
    begin
        Token to prepend if the tokenizer did not, or None.
    n_positions
        Further tokens are dropped and counted.
    """
    ids = tokenizer.encode(text)
    if begin is not None and ids[:1] != [begin]:
        ids.insert(0, begin)
    kept = ids[:n_positions]
    return TokenizedPrompt(
        tuple(kept), tuple(map(tokenizer.text_of, kept)), truncated=len(ids) - len(kept)
    )
