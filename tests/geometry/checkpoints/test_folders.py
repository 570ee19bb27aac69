"""Which weights file a folder stands for: its own, or those of a folder in it; else it is said."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import weights_in
from geometry.models.sources.opening import open_model

TABLE = np.arange(32, dtype="f4").reshape(8, 4)


def written(folder: Path, *names: str) -> Path:
    """Write files: weights by their endings, settings as they are given."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        if path.suffix == ".safetensors":
            save_file({"wpe.weight": TABLE}, path)
        if path.suffix in (".bin", ".pt", ".pth", ".ckpt", ".tar"):
            torch.save({"state_dict": {"wpe.weight": torch.from_numpy(TABLE)}}, path)
    return folder


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["ckpt.pt", "log.txt", "meta.pkl", "config.json"], "ckpt.pt"),
        (["epoch=1-step=500.ckpt", "hparams.yaml"], "epoch=1-step=500.ckpt"),
        (["epoch=1.ckpt", "epoch=2.ckpt", "last.ckpt"], "last.ckpt"),
        (["model_best.pth.tar", "args.yaml", "summary.csv"], "model_best.pth.tar"),
        (["checkpoint-1.pth.tar", "last.pth.tar", "model_best.pth.tar"], "last.pth.tar"),
        (["checkpoint_best.pt", "checkpoint_last.pt", "checkpoint1.pt"], "checkpoint_last.pt"),
        (["a.safetensors", "last.ckpt"], "a.safetensors"),
        (["model_000100.pt", "optim_000100_rank0.pt", "meta_000100.json"], "model_000100.pt"),
        (["pytorch_model_fsdp.bin", "optimizer.bin", "scheduler.bin", "sampler.bin"],
         "pytorch_model_fsdp.bin"),
        (["mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00_optim_states.pt",
          "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"], "mp_rank_00_model_states.pt"),
        (["checkpoint-5/a.pt", "checkpoint-10/model.safetensors", "checkpoint-10/optimizer.pt",
          "runs/events.out"], "checkpoint-10/model.safetensors"),
        (["checkpoint-best/model.safetensors", "checkpoint-last/model.safetensors"],
         "checkpoint-last/model.safetensors"),
        (["0_Transformer/model.safetensors", "1_Pooling/config.json", "modules.json"],
         "0_Transformer/model.safetensors"),
        (["run/checkpoints/last.ckpt", "run/hparams.yaml"], "run/checkpoints/last.ckpt"),
        (["one/two/ckpt.pt"], None),
        (["checkpoints/last.ckpt", "hparams.yaml"], "checkpoints/last.ckpt"),
        (["out/ckpt.pt", "data/train.txt", "train.py"], "out/ckpt.pt"),
        (["a/ckpt.pt", "b/ckpt.pt", "notes.txt"], None),
        (["optimus-base.safetensors"], "optimus-base.safetensors"),
        (["samplernet.pt", "sampler_1.bin", "scaler.pt"], "samplernet.pt"),
        (["seed1_step5.pt", "seed2_step5.pt"], None),
    ],
)  # fmt: skip
def test_the_weights_of_a_folder(names, chosen, tmp_path):
    written(tmp_path, *names)
    if chosen is None:
        with pytest.raises(SourceError):
            weights_in(tmp_path)
    else:
        assert weights_in(tmp_path) == tmp_path / chosen
        np.testing.assert_array_equal(open_model(tmp_path).W_pos, TABLE)


@pytest.mark.parametrize(
    ("chosen", "name", "content"),
    [
        ("text", "latest", "text"),
        ("text", "modules.json", '[{"path": "text"}]'),
        ("text", "model_index.json", '{"text": ["transformers", "A"]}'),
        ("checkpoint-last", "notes", ""),
    ],
)
def test_a_folder_that_is_named_among_many(chosen, name, content, tmp_path):
    written(tmp_path, f"{chosen}/a.safetensors", *(f"a{n}/a.safetensors" for n in range(30)))
    (tmp_path / name).write_text(content)
    assert weights_in(tmp_path).parent.name == chosen


def test_several_folders_are_named(tmp_path):
    names = ("one", "two", "three")
    written(tmp_path, *(f"{name}/model.safetensors" for name in names), "empty/readme.md")
    with pytest.raises(SourceError) as caught:
        open_model(tmp_path)
    assert all(name in str(caught.value) for name in names)
    assert "empty" not in str(caught.value)


def test_the_transformer_of_sentence_transformers(tmp_path):
    written(tmp_path, "0_Transformer/model.safetensors", "2_Dense/model.safetensors")
    modules = [{"path": "0_Transformer"}, {"path": "1_Pooling"}, {"path": "2_Dense"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    assert weights_in(tmp_path).parent.name == "0_Transformer"


def test_the_text_encoder_of_a_diffusers_pipeline(tmp_path):
    parts = {"_class_name": "P", "scheduler": ["diffusers", "S"], "unet": ["diffusers", "U"],
             "text_encoder": ["transformers", "CLIPTextModel"],
             "tokenizer": ["transformers", "CLIPTokenizer"]}  # fmt: skip
    written(tmp_path, "unet/model.safetensors", "vae/model.safetensors", "tokenizer/vocab.json",
            "text_encoder/model.safetensors")  # fmt: skip
    (tmp_path / "model_index.json").write_text(json.dumps(parts))
    assert weights_in(tmp_path).parent.name == "text_encoder"
    written(tmp_path, "text_encoder_2/model.safetensors")
    parts["text_encoder_2"] = ["transformers", "CLIPTextModelWithProjection"]
    (tmp_path / "model_index.json").write_text(json.dumps(parts))
    with pytest.raises(SourceError, match="text_encoder, text_encoder_2"):
        weights_in(tmp_path)


def test_the_last_folder_of_deepspeed(tmp_path):
    written(tmp_path, *(f"global_step{n}/mp_rank_00_model_states.pt" for n in (10, 20)))
    (tmp_path / "latest").write_text("global_step20\n")
    assert weights_in(tmp_path).parent.name == "global_step20"


@pytest.mark.parametrize(
    "content", [b"[", b"[]", b"[[]]", b'[{"path": "../x"}]', b'[{"path": 3}]', b"3", b"\xff"]
)
@pytest.mark.parametrize("name", ["modules.json", "model_index.json", "latest"])
def test_what_names_a_folder_can_be_anything(name, content, tmp_path):
    written(tmp_path / "x", "model.safetensors")
    folder = written(tmp_path / "of", "a/model.safetensors", "b/model.safetensors")
    (folder / name).write_bytes(content)
    with pytest.raises(SourceError, match=f"{name}|several folders in it have: a, b"):
        weights_in(folder)


@pytest.mark.parametrize("base", ["openai-community/gpt2", None])
@pytest.mark.parametrize("more", [(), ("transformer.wte",), ("h.0.post_attention_layernorm",)])
def test_an_adapter_names_its_model(base, more, tmp_path):
    root = "base_model.model.transformer.h.0.attn.c_attn"
    names = (f"{root}.lora_A", f"{root}.lora_B", *(f"base_model.model.{name}" for name in more))
    save_file({f"{n}.weight": TABLE for n in names}, tmp_path / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "base_model_name_or_path": base}
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    for source in (tmp_path, tmp_path / "adapter_model.safetensors"):
        with pytest.raises(SourceError, match=f"an adapter of {base or 'another model'}") as error:
            open_model(source)
        assert (base or "Open the model") in error.value.advice


@pytest.mark.parametrize("name", ["wpe.weight", "x.pos_embed", "x.relative_position_bias"])
def test_an_adapter_with_a_table_of_its_own_is_a_model(name, tmp_path):
    tensors = {"h.0.attn.c_attn.lora_A.weight": TABLE, name: TABLE}
    save_file(tensors, tmp_path / "adapter_model.safetensors")
    np.testing.assert_array_equal(open_model(tmp_path, table=name).W_pos, TABLE)


@pytest.mark.parametrize("name", ["zero_pp_rank_0_mp_rank_00_model_states.pt"])
def test_parts_of_zero_name_what_joins_them(name, tmp_path):
    written(tmp_path, name)
    for source in (tmp_path, tmp_path / name):
        with pytest.raises(SourceError, match="ZeRO") as error:
            open_model(source)
        assert "python zero_to_fp32.py" in error.value.advice


def deepspeed_run(folder, stage):
    """Write a run as DeepSpeed's engine saves it: ZeRO-3 cuts the tensors, others do not."""
    step = folder / "global_step20"
    step.mkdir()
    (folder / "latest").write_text("global_step20")
    (folder / "zero_to_fp32.py").write_text("raise SystemExit('it was run')")
    module = {"transformer.wpe.weight": torch.from_numpy(TABLE)}
    beside = {"optimizer": None, "lr_scheduler": None, "global_steps": 20, "ds_config": {"a": [1]}}
    cut = {name: torch.empty(0) for name in module}
    if stage == 3:
        for rank in range(2):
            name = f"zero_pp_rank_{rank}_mp_rank_00"
            torch.save({"module": cut, **beside}, step / f"{name}_model_states.pt")
            torch.save({"optimizer_state_dict": {}}, step / f"{name}_optim_states.pt")
        return
    torch.save({"module": module, **beside}, step / "mp_rank_00_model_states.pt")
    for rank in range(2 * bool(stage)):
        states = {"optimizer_state_dict": {"exp_avg": torch.from_numpy(TABLE)}}
        for kind in ("", "bf16_")[: 1 + (stage == 1)]:
            torch.save(states, step / f"{kind}zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_runs_of_deepspeed(tmp_path, stage):
    deepspeed_run(tmp_path, stage)
    for source in (tmp_path, tmp_path / "global_step20"):
        np.testing.assert_array_equal(open_model(source).W_pos, TABLE)


def test_a_run_of_zero_3_has_the_line_that_joins_it(tmp_path):
    deepspeed_run(tmp_path, 3)
    parts = tmp_path.glob("*/*model_states.pt")
    for source in (tmp_path, tmp_path / "global_step20", *parts):
        with pytest.raises(SourceError, match="ZeRO") as error:
            open_model(source)
        assert "python zero_to_fp32.py . " in error.value.advice
