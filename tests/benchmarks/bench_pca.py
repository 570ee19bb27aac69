"""One slider tick: our PCA of a range against `numpy.linalg.svd` of the same centred rows.

On GPT-2 small's real table where it is found (``HELIXSCOPE_SHARED`` or ``../shared``), else on a
synthetic helix of the same shape and much the same spectrum. Both sides give three components,
their variances and the coordinates of the range's rows.
"""

import os
from pathlib import Path

import numpy as np
from ratios import ROOT, Report, interleave

from geometry.pca.pca import fit_pca
from geometry.pca.range_pca import RangePCA

Range = tuple[int, int]
SMALL_STEPS = [(first, 1023) for first in range(1, 7)] + [
    (1, last) for last in range(1022, 1018, -1)
]
JUMPS = [(1, 1023), (500, 900), (0, 350), (100, 1022), (600, 1023), (40, 640), (300, 800), (1, 511)]
SHORT = [(1, 99), (200, 330), (700, 760), (300, 500)]


def read_table() -> tuple[str, np.ndarray]:
    """GPT-2 small's positional embeddings, or a stand-in, and what it is."""
    shared = Path(os.environ.get("HELIXSCOPE_SHARED", ROOT.parent / "shared"))
    folder = shared / "checkpoints" / "gpt2"
    if (folder / "model.safetensors").is_file():
        from geometry.models.sources.opening import open_model

        return "GPT-2 small's real table, 1024 × 768", open_model(folder).W_pos
    return "a synthetic helix with GPT-2's spectrum, 1024 × 768", synthetic_table()


def synthetic_table() -> np.ndarray:
    """Three strong slow waves, harmonics that fall like GPT-2's, and noise: (1024, 768)."""
    random = np.random.default_rng(0)
    directions = np.linalg.qr(random.standard_normal((768, 43)))[0].T
    position = np.arange(1024)
    sizes = np.concatenate(([62.0, 61.0, 53.0], 23.0 * 0.87 ** np.arange(40)))
    waves = [np.cos(np.pi * (1.2 + 0.9 * j) * position / 1024 + j) for j in range(43)]
    curve = np.stack(waves, axis=1) / np.sqrt(512) * sizes
    return curve @ directions + 0.007 * random.standard_normal((1024, 768))


def rows_of(table: np.ndarray, positions: Range) -> np.ndarray:
    return table[positions[0] : positions[1] + 1]


def tick(fast: RangePCA, table: np.ndarray, positions: Range) -> np.ndarray:
    return fast.fit(positions, 3).project(rows_of(table, positions))


def decompose(table: np.ndarray, positions: Range) -> np.ndarray:
    rows = rows_of(table, positions)
    U, S, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    return U[:, :3] * S[:3]


def error(fast: RangePCA, table: np.ndarray, positions: Range) -> float:
    """Largest difference of a coordinate as a share of the largest; signs do not count."""
    ours, exact = tick(fast, table, positions), decompose(table, positions)
    signs = np.sign((ours * exact).sum(axis=0))
    return float(np.abs(ours - exact * signs).max() / np.abs(exact).max())


def main() -> int:
    name, table = read_table()
    report = Report("PCA for one slider tick")
    report.note(f"on {name}; {os.cpu_count()} cores")
    fast = RangePCA(table)
    errors = []
    for title, ranges, target in (
        ("small steps, mean of 10", SMALL_STEPS, 50.0),
        ("jumps, mean of 8 ranges of 351–1023 positions", JUMPS, 50.0),
        ("short ranges, mean of 4 of 61–201 positions", SHORT, None),
    ):
        pairs = [
            interleave(lambda r=r: tick(fast, table, r), lambda r=r: decompose(table, r), repeats=7)
            for r in ranges
        ]
        ours, baseline = np.mean(pairs, axis=0)
        report.add(title, float(ours), float(baseline), at_least=target)
        slowest = max(pairs, key=lambda pair: pair[0])
        report.add("    the slowest of them", *slowest)
        errors += [error(fast, table, r) for r in ranges]
    report.add("largest error of a coordinate / largest", max(errors), None, unit="", limit=1e-4)
    whole = (1, len(table) - 1)
    report.add(
        "exact, ten components, on release",
        *interleave(lambda: fit_pca(table, whole), lambda: decompose(table, whole), repeats=7),
    )
    report.add(
        "the first tick of all, with the preparation",
        *interleave(lambda: RangePCA(table).fit(whole), lambda: decompose(table, whole), repeats=7),
    )
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
