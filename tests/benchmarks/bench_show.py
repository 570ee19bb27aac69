"""Showing a large table from Python: the time that it takes beyond that of a small one.

Each is shown in a window of its own, turn by turn, until the window says that it is ready: with its
curve and its panels.
"""

import statistics
import time

import numpy as np
from ratios import Report

import helixscope as hx

REPEATS = 7
LARGE, SMALL = (100_000, 1024), (200, 64)


def main() -> int:
    report = Report("Showing a table from Python")
    times = {shape: [] for shape in (SMALL, LARGE)}
    models = {shape: hx.open(helix(*shape)) for shape in times}
    for _ in range(REPEATS):
        for shape, model in models.items():
            start = time.perf_counter()
            window = hx.show(model, block=False)
            times[shape].append(time.perf_counter() - start)
            window.close()
    for name, of in (("least", min), ("median", statistics.median)):
        large, small = of(times[LARGE]), of(times[SMALL])
        report.note(f"{name}: {large:.2f} s and {small:.2f} s")
        limit = 1.2 if name == "least" else None
        report.add(
            f"100,000 × 1,024 beyond 200 × 64, {name}", large - small, None, unit="s", limit=limit
        )
    return report.close()


def helix(n_positions: int, d_model: int) -> np.ndarray:
    """Return a helix with noise in all dimensions, float32."""
    noise = np.random.default_rng(0).standard_normal((n_positions, d_model), dtype=np.float32)
    angles = np.linspace(0, 6 * np.pi, n_positions)
    table = 0.02 * noise
    table[:, :3] += np.stack([np.cos(angles), np.sin(angles), angles / 10], axis=1)
    return table


if __name__ == "__main__":
    raise SystemExit(main())
