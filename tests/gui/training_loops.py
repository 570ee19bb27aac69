"""Trainings that a window watches, which wait for a line on standard input before each step.

The first argument is the loop, the second the folder that it writes to.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

import helixscope as hx

STEPS, EVERY, ROWS, WIDTH = 8, 2, 48, 16
RATE = 1e-4
"""Of learning: so low that the curve does not outgrow its framing."""
TEXT = torch.arange(ROWS)[None]


def wait() -> None:
    """Wait until the test lets the next step begin."""
    if not sys.stdin.readline():
        raise SystemExit("The test has ended.")


def steps_of(model: torch.nn.Module) -> Any:
    """Train a model; yield after each step with its number and loss."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    for step in range(STEPS + 1):
        wait()
        loss = model(input_ids=TEXT, labels=TEXT).loss
        yield step, loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def plain(model: torch.nn.Module, folder: Path) -> None:
    """Log in a loop of one's own."""
    with hx.PositionLog(folder) as log:
        for step, loss in steps_of(model):
            if step % EVERY == 0:
                log(step, model, loss=loss)


def rewritten(model: torch.nn.Module, folder: Path) -> None:
    """Rewrite one checkpoint, as nanoGPT does."""
    for step, _ in steps_of(model):
        if step % EVERY == 0:
            torch.save({"model": model.state_dict(), "iter_num": step}, folder / "ckpt.pt")


class Waiting(TrainerCallback):
    """Lets the Trainer wait."""

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Wait."""
        wait()


def trainer(model: torch.nn.Module, folder: Path) -> None:
    """Log from the Trainer of transformers."""
    arguments = TrainingArguments(
        str(folder.with_name("out")), max_steps=STEPS, learning_rate=RATE, use_cpu=True,
        save_strategy="no", disable_tqdm=True, logging_steps=1, per_device_train_batch_size=1,
        report_to=[],
    )  # fmt: skip
    data = [{"input_ids": TEXT[0], "labels": TEXT[0]}] * STEPS
    log = hx.TrainerCallback(folder, every=EVERY)
    Trainer(model, arguments, train_dataset=data, callbacks=[Waiting(), log]).train()


def lightning(model: torch.nn.Module, folder: Path) -> None:
    """Log from the Trainer of Lightning."""
    import lightning as pl

    class Net(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def training_step(self, batch: Any, _: int) -> torch.Tensor:
            wait()
            return self.model(input_ids=batch[0], labels=batch[0]).loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=RATE)

    data = torch.utils.data.TensorDataset(TEXT.repeat(STEPS, 1))
    pl.Trainer(
        max_steps=STEPS, logger=False, enable_checkpointing=False, accelerator="cpu",
        enable_progress_bar=False, enable_model_summary=False,
        callbacks=[hx.LightningCallback(folder, every=EVERY)],
    ).fit(Net(), torch.utils.data.DataLoader(data, batch_size=1))  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    config = GPT2Config(n_layer=1, n_embd=WIDTH, n_head=2, n_positions=ROWS, vocab_size=ROWS,
                        bos_token_id=0, eos_token_id=0)  # fmt: skip
    loops = {f.__name__: f for f in (plain, rewritten, trainer, lightning)}
    loops[sys.argv[1]](GPT2LMHeadModel(config), Path(sys.argv[2]))
