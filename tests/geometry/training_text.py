"""A text to train on in tests, and the smallest run worth its name."""

from pathlib import Path

import numpy as np

from geometry.training.settings import TrainingSettings

WORDS = ("the", "a", "system", "file", "user", "reads", "writes", "opens", "that", "which", "is",
         "was", "not", "and", "then", "on", "in", "of")  # fmt: skip

SMALL = TrainingSettings(
    positions=32, layers=2, heads=2, width=16, vocabulary=280, batch=4, steps=24, warm_up=4,
    snapshots=6,
)  # fmt: skip


def write_text(folder: Path, *, documents: int = 30, words: int = 120) -> Path:
    """Write documents of words in an order drawn from a seed."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    for number in range(documents):
        text = " ".join(generator.choice(WORDS, words))
        (folder / f"{number:03}.txt").write_text(text, "utf-8")
    return folder
