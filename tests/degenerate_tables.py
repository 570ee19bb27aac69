"""Tables of positions that do not vary, vary in few dimensions, or have numbers of unusual size."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from tests.small_models import gpt2_config, gpt2_layer, write_model

N, D, VOCABULARY = 64, 16, 90
SCALES = (1e-307, 1e-200, 1e-155, 1e-30, 1e30, 1e155, 1e200, 1e307)


def helix(n: int = N, d: int = D) -> np.ndarray:
    """A helix of two and a half turns in three of d dimensions, about a mean row, with noise."""
    rng = np.random.default_rng(0)
    along = np.arange(n) / n
    angle = 2 * np.pi * 2.5 * along
    curve = np.column_stack([2 * np.cos(angle), 2 * np.sin(angle), 2 * along])
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return curve @ axes[:3] + 0.4 * axes[3] + 0.02 * rng.standard_normal((n, d))


def _flat() -> dict[str, np.ndarray]:
    """Tables that do not vary in three dimensions."""
    a, b, c = np.random.default_rng(1).standard_normal((3, D))
    i = np.arange(N)[:, None]
    return {
        "zeros": np.zeros((N, D)),
        "equal": np.tile(a, (N, 1)),
        "two rows in turn": np.where(i % 2, a, b),
        "two halves": np.where(i < N // 2, a, b),
        "one other row": np.where(i == 7, a, b),
        "another first row": np.where(i == 0, a, b),
        "a line": np.linspace(-1.0, 1.0, N)[:, None] * a + b,
        "a plane": np.cos(0.3 * i) * a + np.sin(0.3 * i) * b + c,
        "three rows in turn": np.choose(i % 3, [a, b, c]),
        "one column": np.where(np.arange(D) == 3, helix(), 0.0),
    }


def _odd() -> dict[str, np.ndarray]:
    """Small tables, and others whose rows or columns are very different."""
    curve, i = helix(), np.arange(N)[:, None]
    return {
        "one position": curve[:1],
        "two positions": curve[:2],
        "three positions": curve[:3],
        "one dimension": curve[:, :1],
        "two dimensions": curve[:, :2],
        "constant columns": np.where(np.arange(D) % 2, curve, 0.7),
        "rows of zeros": np.where(i % 2, curve, 0.0),
        "whole numbers": np.round(3 * curve),
        "subnormal": 5e-322 * curve,
        "one huge row": np.where(i == 9, 1e200 * curve, curve),
        "rows of all sizes": curve * 10.0 ** np.linspace(-300, 300, N)[:, None],
        "single, large": (1e37 * curve).astype(np.float32),
        "single, small": (1e-30 * curve).astype(np.float32),
    }


FLAT: Mapping[str, np.ndarray] = _flat()
ODD: Mapping[str, np.ndarray] = _odd()
SCALED: Mapping[str, np.ndarray] = {f"times {scale:g}": scale * helix() for scale in SCALES}
TABLES: Mapping[str, np.ndarray] = {**FLAT, **ODD, **SCALED}


def write_gpt2_of(folder: Path, table: np.ndarray) -> Path:
    """Write a GPT-2 of two layers and random weights with this table of positions."""
    n, d = table.shape
    rng = np.random.default_rng(5)

    def drawn(*shape: int) -> np.ndarray:
        return (0.3 * rng.standard_normal(shape)).astype(np.float32)

    tensors = {"wpe.weight": table, "wte.weight": drawn(VOCABULARY, d)}
    for layer in range(2):
        for name, shape in gpt2_layer(d).items():
            is_gain = name in ("ln_1.weight", "ln_2.weight")
            tensors[f"h.{layer}.{name}"] = is_gain + drawn(*shape)
    config = gpt2_config(n, d, n_head=1 + (d % 2 == 0), n_layer=2, vocab_size=VOCABULARY)
    return write_model(folder, config, tensors, dtype=None)


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the numbers, words and others of a report with their dotted names."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for name, one in value.items():
            yield from leaves(one, f"{path}.{name}".lstrip("."))
    else:
        yield path, value
