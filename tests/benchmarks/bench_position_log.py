"""Logging the positions of a training: against a step of it.

A model of GPT-2 small's size, with random weights, learns one window of 1,024 tokens a step on this
CPU. A record has its table and its loss; one is written after every step.
"""

import numpy as np
import torch
from ratios import Report, interleave, scratch
from transformers import GPT2Config, GPT2LMHeadModel

import helixscope as hx

REPEATS = 7


def main() -> int:
    report = Report("Logging positions")
    torch.manual_seed(0)
    module = GPT2LMHeadModel(GPT2Config())
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4)
    tokens = torch.from_numpy(np.random.default_rng(0).integers(0, 50257, (1, 1024)))
    number = 0

    def step() -> None:
        module(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    with scratch() as folder, hx.PositionLog(folder / "run") as log:

        def record() -> None:
            nonlocal number
            number += 1
            log(number, module, loss=3.0)

        ours, theirs = interleave(record, step, repeats=REPEATS)
    report.add("a record, vs a step of the training", ours, theirs, at_most=0.01)
    return report.close()


if __name__ == "__main__":
    raise SystemExit(main())
