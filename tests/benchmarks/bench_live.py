"""Opening a module in memory: against a copy of its table and an index of what it saves.

The module has the size of GPT-2 small, with random weights. The baseline copies the table of
positions, and makes the index of its tensors, with what tells later whether they have changed.
Beyond it, opening recognises the family and checks the settings and the table.
"""

import numpy as np
from ratios import Report, interleave
from transformers import GPT2Config, GPT2Model

import helixscope as hx
from geometry.checkpoints.live_store import LiveStore, tensors_of

REPEATS = 31


def main() -> int:
    report = Report("Opening a module in memory")
    module = GPT2Model(GPT2Config())

    def baseline() -> np.ndarray:
        return LiveStore(dict(tensors_of(module))).read("wpe.weight")

    ours, theirs = interleave(lambda: hx.open(module), baseline, repeats=REPEATS)
    report.add("a module, vs copy of its table and index", ours, theirs, at_most=1.2)
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
