"""The training text: a folder of .txt files, each a document."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from geometry.training.settings import TrainingError


class Corpus:
    """The .txt files of a folder and its subfolders, in a random order.

    Parameters
    ----------
    folder
        Their folder.
    seed
        Seed of their order.

    Raises
    ------
    TrainingError
        There is no such folder, or no text in it.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        if not folder.is_dir():
            raise TrainingError(f"The folder {str(folder)!r} does not exist.", "Check --corpus.")
        files = sorted(path for path in folder.rglob("*.txt") if path.is_file())
        self._files = [path for path in files if path.stat().st_size]
        if not self._files:
            raise TrainingError(f"The folder {str(folder)!r} contains no .txt file.")
        self._folder = folder
        self.order = np.random.default_rng(seed).permutation(len(self._files))

    def __len__(self) -> int:
        return len(self._files)

    def fingerprint(self) -> str:
        """Return an identifier of this text, from the names and sizes of its files."""
        names = (
            f"{path.relative_to(self._folder).as_posix()} {path.stat().st_size}\n"
            for path in self._files
        )
        return hashlib.sha256("".join(names).encode("utf-8", "replace")).hexdigest()[:16]

    def documents(self) -> Iterator[str]:
        """Yield the documents in order; invalid UTF-8 is replaced."""
        for index in self.order:
            path = self._files[index]
            try:
                yield path.read_text("utf-8", "replace")
            except OSError as error:
                raise TrainingError(f"{path} cannot be read: {error.strerror}.") from error
