"""A training that logs a helix that grows: ``child_training.py FOLDER ROWS COLUMNS RECORDS``.

It waits a moment after each record.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from geometry.history.position_log import PositionLog

PAUSE_S = 0.02

folder, rows, columns, count = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(0)
noise = 0.02 * rng.standard_normal((rows, columns)).astype(np.float32)
turn = 6 * np.pi * np.linspace(0, 1, rows)
curve = np.stack([turn / 10, np.cos(turn), np.sin(turn)], axis=1).astype(np.float32)
helix = curve @ rng.standard_normal((3, columns)).astype(np.float32)
with PositionLog(folder) as log:
    for step in range(count):
        log(step, noise + (step + 1) / count * helix, loss=5 - 3 * step / count)
        time.sleep(PAUSE_S)
