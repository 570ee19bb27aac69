"""Where all heads of a GPT-2 small's first layer look, against the bare matrix products.

The baseline has the normalised positions and the weights in memory, in single precision, and only
multiplies: positions with W_Q and W_K, then each head's queries with its keys. Ours begins at the
open model: it reads the weights, normalises, multiplies, softens all scores, and sums them by lag.
"""

from pathlib import Path

import numpy as np
from checkpoints import write_tensors
from ratios import Report, interleave, scratch

from geometry.checkpoints.threads import one_thread
from geometry.measures.kernels import HeadKernels, attention_map, head_kernels
from geometry.models.attention_layer import AttentionLayer
from geometry.models.head_projections import attention_input, project_heads
from geometry.models.model import PositionalModel
from geometry.models.sources.opening import open_model

D_MODEL, HEADS = 768, 12
RANGE = (1, 1023)


def write_checkpoint(folder: Path) -> None:
    """Write P and a first layer as a GPT-2 checkpoint."""
    random = np.random.default_rng(3)
    tensors = {
        "h.0.attn.c_attn.weight": random.standard_normal((D_MODEL, 3 * D_MODEL)) * 0.2,
        "h.0.attn.c_attn.bias": random.standard_normal(3 * D_MODEL) * 0.1,
        "h.0.ln_1.weight": random.uniform(0.05, 0.5, D_MODEL),
        "h.0.ln_1.bias": random.standard_normal(D_MODEL) * 0.1,
    }
    write_tensors(folder, tensors)


def ours(model: PositionalModel) -> HeadKernels:
    """What the panel does."""
    return head_kernels(project_heads(model, dtype=np.float32), RANGE)


def products(x: np.ndarray, W_Q: np.ndarray, W_K: np.ndarray) -> None:
    """Multiply, and keep nothing."""
    queries, keys = (
        (x @ weight.T).reshape(len(x), HEADS, -1).swapaxes(0, 1) for weight in (W_Q, W_K)
    )
    for head in range(HEADS):
        queries[head] @ keys[head].T


def main() -> int:
    report = Report("Where heads look by position alone")
    with scratch() as folder:
        write_checkpoint(folder)
        model = open_model(folder)
        x = attention_input(model, AttentionLayer(model.layers), model.W_pos).astype(np.float32)
        weights = [model.weight(which).astype(np.float32) for which in ("W_Q", "W_K")]
        report.note("GPT-2 small: 12 heads, 1,024 positions")
        with one_thread():
            mine, bare = interleave(lambda: ours(model), lambda: products(x, *weights), repeats=11)
        report.add("kernels of all heads, one thread", mine, bare, at_most=4)
        mine, bare = interleave(lambda: ours(model), lambda: products(x, *weights), repeats=11)
        report.add("the same, all cores", mine, bare)
        heads = project_heads(model, dtype=np.float32)
        drawn, kernels = interleave(
            lambda: attention_map(heads, 0, RANGE), lambda: ours(model), repeats=11
        )
        report.add("another head's map, against all kernels", drawn, kernels)
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
