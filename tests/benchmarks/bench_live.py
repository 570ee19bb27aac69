"""Opening a module in memory: against a copy of its table and an index of what it saves.

The module has the size of GPT-2 small, with random weights. The baseline copies the table of
positions, and lists the name, shape, type and size of each tensor of ``state_dict()``. Beyond it,
opening recognises the family, checks that the table is finite, and records of each tensor whether
it changes later.
"""

import numpy as np
from ratios import Report, interleave
from transformers import GPT2Config, GPT2Model

import helixscope as hx
from geometry.checkpoints.stores import TensorInfo

REPEATS = 31


def main() -> int:
    report = Report("Opening a module in memory")
    module = GPT2Model(GPT2Config())

    def baseline() -> tuple[np.ndarray, dict[str, TensorInfo]]:
        index = {
            name: TensorInfo(name, tuple(tensor.shape), str(tensor.dtype), tensor.nbytes)
            for name, tensor in module.state_dict().items()
        }
        return np.array(module.wpe.weight.detach().numpy()), index

    ours, theirs = interleave(lambda: hx.open(module), baseline, repeats=REPEATS)
    report.add("a module, vs copy of its table and index", ours, theirs, at_most=4)
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
