"""Steps of a training as codes leave them: found, ordered by their numbers, opened as one."""

from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed.checkpoint as dcp

from geometry.checkpoints.files import weights_in
from geometry.checkpoints.steps import step_of, steps_of
from geometry.checkpoints.transfer import Transfer
from geometry.history.here import history_here
from geometry.history.origins import find_history
from geometry.hub.client import Hub
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache
from geometry.models.sources.history_steps import NoStep
from geometry.models.sources.opening import open_model
from geometry.survey.populations import expand
from tests.geometry.history_stage import growing
from tests.marks import slow_but

STEPS = [5, 20, 100]

LAYOUTS = {
    "nanoGPT": ("ckpt_{}.pt", "out/ckpt-{}.pt", "step_{}/ckpt.pt", "{}/ckpt.pt"),
    "Lightning": (
        "epoch=0-step={}.ckpt", "checkpoints/epoch=0-step={}.ckpt",
        "lightning_logs/version_0/checkpoints/epoch=3-step={}.ckpt",
        "checkpoints/epoch={}-val_loss=0.25.ckpt",
    ),
    "Trainer": ("checkpoint-{}/pytorch_model.bin", "out/checkpoint-{}/pytorch_model.bin"),
    "DeepSpeed": ("global_step{}/mp_rank_00_model_states.pt",),
    "DCP": ("checkpoint/step-{}/.metadata", "step-{}/.metadata"),
    "FSDP": ("checkpoint-{}/pytorch_model_fsdp_0/.metadata",),
    "TransformerLens": ("model_{}.pt", "checkpoints/tokens_{}.pth"),
    "timm": ("checkpoint-{}.pth.tar",),
    "fairseq": ("checkpoint_1_{}.pt", "checkpoint{}.pt"),
    "nanochat": ("model_{:06}.pt",),
    "litGPT": ("step-{:08}/lit_model.pth", "iter-{:06}-ckpt.pth"),
    "open_clip": ("checkpoints/epoch_{}.pt",),
    "Megatron": ("iter_{:07}/mp_rank_00/model_optim_rng.pt",),
    "Composer": ("ep0-ba{}-rank0.pt",),
}  # fmt: skip
BESIDE = (
    *("latest_notes", "optimizer_5.pt", "checkpoint-best/notes", "events.out.tfevents.1700"),
    *("zero_pp_rank_0_mp_rank_00_optim_states.pt", "hparams.yaml", "meta.pkl"),
)
"""Names of files that such codes write beside the steps."""


@pytest.fixture
def offline(tmp_path) -> Network:
    return Network(Hub(offline=True), TensorCache(tmp_path / "cache"), Transfer())


def write(path: Path, table: np.ndarray) -> None:
    """Write nothing but a table of positions, in the format of the name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {"transformer.wpe.weight": torch.from_numpy(table)}
    if path.name == ".metadata":
        dcp.save(state, checkpoint_id=path.parent, no_dist=True)
    else:
        torch.save({"model": state}, path)


def write_run(folder: Path, layout: str, steps: list[int] = STEPS) -> Path:
    for step, table in zip(steps, growing(steps), strict=True):
        write(folder / layout.format(step), table)
    for name in BESIDE:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("beside")
    return folder


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
@pytest.mark.parametrize(
    "layout",
    slow_but([first for first, *_ in LAYOUTS.values()], chain.from_iterable(LAYOUTS.values())),
)
def test_a_training_is_its_steps_in_order(layout, tmp_path, offline):
    run = write_run(tmp_path / "run", layout)
    tables = growing(STEPS)
    model = open_model(run)
    np.testing.assert_array_equal(model.W_pos, tables[-1])
    assert any("3 steps" in note for note in model.warnings)
    first = open_model(weights_of(run, layout, STEPS[0]))
    np.testing.assert_array_equal(first.W_pos, tables[0])
    for opened in (model, first):
        history = history_here(opened)
        assert history.steps.tolist() == STEPS
        for at, table in enumerate(tables):
            np.testing.assert_array_equal(history.table(at), table)
    entries = expand([str(run)], offline)
    assert [entry.step for entry in entries] == STEPS
    assert len({entry.group for entry in entries}) == 1
    for entry, table in zip(entries, tables, strict=True):
        np.testing.assert_array_equal(open_model(entry.source).W_pos, table)


def weights_of(run: Path, layout: str, step: int) -> Path:
    path = run / layout.format(step)
    return path.parent if path.name == ".metadata" else path


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (["epoch=9.ckpt", "epoch=10.ckpt", "last.ckpt"], [9, 10]),
        (["epoch=0-step=9.ckpt", "epoch=1-step=10.ckpt", "epoch=1-step=10-v1.ckpt"], [9, 10]),
        (["checkpoint1.pt", "checkpoint2.pt", "checkpoint_1_500.pt"], [1, 2]),
        (["step1000-tokens4B", "step20000-tokens80B", "main"], [1000, 20000]),
        (["seed1_step5.pt", "seed2_step5.pt"], []),
        (["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"], []),
        (["layer_00-model_00-model_states.pt", "layer_01-model_00-model_states.pt"], []),
        (["consolidated.00.pth", "consolidated.01.pth"], []),
        (["gpt2-124M.pt", "gpt2-350M.pt", "pythia-70", "pythia-160", "vit_b_16", "v1.0"], []),
        (["shard_00001.pt", "shard_00002.pt", "model-seed_00001", "model-seed_00002"], []),
        (["llama-2-7b.gguf", "model-7b.pt", "model-13b.pt", "epoch0.5.pt"], []),
        (["step_٣", "step_²", "step-", "step", "checkpoint-" + "9" * 30], []),
    ],
)
def test_which_names_are_of_steps(names, steps):
    assert [*steps_of(names).values()] == steps
    assert list(steps_of(reversed(names))) == sorted(steps_of(names), key=step_of)


def test_the_weights_beside_the_steps_are_shown(tmp_path):
    run = write_run(tmp_path / "run", "ckpt_{}.pt")
    last = growing([7])[0]
    write(run / "ckpt.pt", last)
    assert weights_in(run) == run / "ckpt.pt"
    model = open_model(run)
    np.testing.assert_array_equal(model.W_pos, last)
    assert any("ckpt.pt is shown" in note for note in model.warnings)
    assert history_here(model).steps.tolist() == STEPS


def test_the_best_step_is_not_the_last(tmp_path):
    run = write_run(tmp_path / "run", "checkpoint-{}.pth.tar")
    write(run / "model_best.pth.tar", growing([7])[0])
    assert weights_in(run) == run / "checkpoint-100.pth.tar"


def test_what_names_the_last_step_is_right(tmp_path):
    run = write_run(tmp_path / "run", "global_step{}/mp_rank_00_model_states.pt")
    (run / "latest").write_text("global_step20")  # an earlier run of more steps
    np.testing.assert_array_equal(open_model(run).W_pos, growing(STEPS)[1])


@pytest.mark.parametrize("names", [["ckpt_5.pt"], ["a.pt", "model_best.pt"]])
def test_one_file_is_no_training(names, tmp_path):
    for name in names:
        write(tmp_path / name, growing([1])[0])
    model = open_model(tmp_path / names[0])
    assert find_history(model) is None
    assert not any("step" in note for note in model.warnings)


def test_numbered_folders_without_weights_are_no_steps(tmp_path):
    write(tmp_path / "out" / "ckpt.pt", growing([1])[0])
    for name in ("1", "2", "3"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text.txt").write_text("a page")
    assert weights_in(tmp_path) == tmp_path / "out" / "ckpt.pt"


def test_links_in_circles_end(tmp_path):
    for name in ("1", "2", "checkpoints", "version_0", "out"):
        (tmp_path / name).symlink_to(tmp_path, target_is_directory=True)
    write(tmp_path / "inner" / "ckpt.pt", growing([1])[0])
    assert weights_in(tmp_path) == tmp_path / "inner" / "ckpt.pt"


def states(tables: list[np.ndarray]) -> list[dict]:
    """State dicts with layers, whose numbers are no steps."""
    return [
        {
            "transformer.wpe.weight": torch.from_numpy(table),
            "transformer.wte.weight": torch.ones(9, table.shape[1]),
            **{f"transformer.h.{n}.ln_1.weight": torch.ones(table.shape[1]) for n in range(4)},
        }
        for table in tables
    ]


OPTIMIZER = {"state": {n: {"exp_avg": torch.ones(48, 12), "step": 1} for n in range(3)}}


def by_step(items: list) -> dict:
    return dict(zip(STEPS, items, strict=True))


FILES = {
    "list": (lambda found: found, [0, 1, 2]),
    "dict by step": (by_step, STEPS),
    "dict by name": (lambda found: {f"step_{n}": s for n, s in by_step(found).items()}, STEPS),
    "list in a dict": (lambda found: {"snapshots": found, "losses": [1.0] * 3}, [0, 1, 2]),
    "whole states": (
        lambda found: by_step([{"model": s, "optimizer": OPTIMIZER} for s in found]),
        STEPS,
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_several_state_dicts_in_a_file(kind, tmp_path, offline):
    tables, (made, steps) = growing(STEPS), FILES[kind]
    path = tmp_path / "run.pt"
    torch.save(made(states(tables)), path)
    model = open_model(path)
    np.testing.assert_array_equal(model.W_pos, tables[-1])
    history = history_here(model)
    assert (history.steps.tolist(), history.shown) == (steps, 2)
    for at, table in enumerate(tables):
        np.testing.assert_array_equal(history.table(at), table)
    entries = expand([str(path)], offline)
    assert [entry.step for entry in entries] == steps
    in_folder = expand([str(tmp_path)], offline)
    assert [(one.source, one.step) for one in in_folder] == [
        (one.source, one.step) for one in entries
    ]
    for entry, table in zip(entries, tables, strict=True):
        np.testing.assert_array_equal(open_model(entry.source).W_pos, table)
    with pytest.raises(NoStep):
        open_model(tmp_path / "run.pt" / "step 7")


def test_layers_and_optimizers_are_no_steps(tmp_path, offline):
    path = tmp_path / "ckpt.pt"
    torch.save({"model": states(growing([5]))[0], "optimizer": OPTIMIZER}, path)
    model = open_model(path)
    assert find_history(model) is None
    assert not any(".state." in name for name in model.store.tensors)
    assert [entry.source for entry in expand([str(path)], offline)] == [str(path)]
    with pytest.raises(NoStep):
        open_model(path / "step 0")
