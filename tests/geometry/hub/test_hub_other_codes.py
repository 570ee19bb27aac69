"""Files of training codes on the Hub: their index and the table are downloaded, and no more."""

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from geometry.checkpoints.errors import SourceError, TensorUnavailable
from geometry.hub.hub_files import TAIL_BYTES
from geometry.models.sources.opening import open_model
from tests.geometry.hub_opening import ALLOWANCE, asked, assert_same, serve

N, D, HEADS = 64, 32, 4
LARGE = (20_000, D)  # 2.5 MB, which nobody asked for
SETTINGS = {"model_args": {"n_head": HEADS, "n_layer": 1, "n_embd": D, "block_size": N}}


def random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


def of_nanogpt() -> dict[str, torch.Tensor]:
    layer = "transformer.h.0."
    return {
        "transformer.wte.weight": random(*LARGE), "transformer.wpe.weight": random(N, D),
        f"{layer}attn.c_attn.weight": random(3 * D, D), f"{layer}attn.c_proj.weight": random(D, D),
        f"{layer}mlp.c_fc.weight": random(4 * D, D), f"{layer}ln_1.weight": random(D),
        f"{layer}ln_2.weight": random(D), "lm_head.weight": random(*LARGE),
    }  # fmt: skip


def of_timm() -> dict[str, torch.Tensor]:
    block = "blocks.0."
    return {
        "cls_token": random(1, 1, D), "pos_embed": random(1, 65, D),
        "patch_embed.proj.weight": random(D, 3, 4, 4), f"{block}norm1.weight": random(D),
        f"{block}norm1.bias": random(D), f"{block}attn.qkv.weight": random(3 * D, D),
        f"{block}attn.qkv.bias": random(3 * D), f"{block}attn.proj.weight": random(D, D),
        f"{block}mlp.fc1.weight": random(4 * D, D), f"{block}norm2.weight": random(D),
        "head.weight": random(*LARGE),
    }  # fmt: skip


def of_open_clip() -> dict[str, torch.Tensor]:
    block = "transformer.resblocks.0."
    return {
        "positional_embedding": random(N, D), "token_embedding.weight": random(*LARGE),
        "ln_final.weight": random(D), f"{block}attn.in_proj_weight": random(3 * D, D),
        f"{block}attn.in_proj_bias": random(3 * D), f"{block}attn.out_proj.weight": random(D, D),
        f"{block}mlp.c_fc.weight": random(4 * D, D), f"{block}ln_1.weight": random(D),
        f"{block}ln_1.bias": random(D), f"{block}ln_2.weight": random(D),
    }  # fmt: skip


def of_8_bits() -> dict[str, torch.Tensor]:
    """Quantise the matrices of a layer by rows, as bitsandbytes does."""
    tensors = of_nanogpt()
    for name in [name for name in tensors if "attn" in name or "mlp" in name]:
        matrix = tensors[name]
        largest = matrix.abs().amax(1)
        tensors[name] = (matrix / largest[:, None] * 127).round().to(torch.int8)
        tensors[name.removesuffix("weight") + "SCB"] = largest
    return tensors


def write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content))


def write(kind: str, folder: Path) -> None:
    folder.mkdir(parents=True)
    if kind == "nanoGPT":
        torch.save({"model": of_nanogpt(), **SETTINGS, "iter_num": 5}, folder / "ckpt.pt")
    elif kind == "nanoGPT, settings beside":
        torch.save(of_nanogpt(), folder / "model.pth")
        write_json(folder / "params.json", SETTINGS["model_args"])
    elif kind == "pytorch_model.bin":
        torch.save(of_nanogpt(), folder / "pytorch_model.bin")
    elif kind == "legacy format":
        torch.save(of_nanogpt(), folder / "pytorch_model.bin",
                   _use_new_zipfile_serialization=False)  # fmt: skip
    elif kind == "Lightning":
        state = {f"net.{name}": tensor for name, tensor in of_nanogpt().items()}
        torch.save({"state_dict": state, "hyper_parameters": SETTINGS["model_args"],
                    "callbacks": {"x": [1.0]}}, folder / "last.ckpt")  # fmt: skip
    elif kind == "timm":
        torch.save(of_timm(), folder / "pytorch_model.bin")
        write_json(folder / "config.json", {"architecture": "vit", "pretrained_cfg":
                                            {"input_size": [3, 32, 32]}})  # fmt: skip
    else:
        save_file(of_open_clip(), folder / "open_clip_model.safetensors")
        torch.save(of_open_clip(), folder / "open_clip_pytorch_model.bin")
        text = {"context_length": N, "width": D, "heads": HEADS, "layers": 1}
        write_json(folder / "open_clip_config.json", {"model_cfg": {"text_cfg": text}})


@pytest.mark.parametrize(
    ("kind", "heads"),
    [
        ("nanoGPT", HEADS),
        ("nanoGPT, settings beside", HEADS),
        ("pytorch_model.bin", None),
        ("legacy format", None),
        ("Lightning", HEADS),
        ("timm", None),
        ("open_clip", HEADS),
    ],
)
def test_index_and_table_alone_are_downloaded(kind, heads, loopback_hub, tmp_path, opened):
    write(kind, tmp_path / "files")
    serve(loopback_hub, tmp_path / "files")
    model = opened()
    table = model.W_pos
    assert loopback_hub.bytes_sent <= 4 * table.size + ALLOWANCE + TAIL_BYTES
    assert model.n_heads == heads
    with loopback_hub.unasked():
        np.testing.assert_array_equal(opened().W_pos, table)
    assert_same(model, open_model(tmp_path / "files"))
    assert model.grid == ((8, 8) if kind == "timm" else None)


def test_a_quantised_matrix_is_downloaded_when_it_is_read(loopback_hub, tmp_path, opened):
    (tmp_path / "files").mkdir()
    save_file(of_8_bits(), tmp_path / "files" / "model.safetensors")
    serve(loopback_hub, tmp_path / "files")
    model, local = opened(), open_model(tmp_path / "files")
    assert_same(model, local)
    before = loopback_hub.bytes_sent
    assert model.bytes_to_fetch("W_Q", 0) == 3 * D * D + 4 * 3 * D
    np.testing.assert_array_equal(model.weight("W_Q"), local.weight("W_Q"))
    assert loopback_hub.bytes_sent - before < 4 * D * D
    with loopback_hub.unasked():
        np.testing.assert_array_equal(opened().weight("W_Q"), local.weight("W_Q"))


def write_steps(folder: Path) -> None:
    folder.mkdir()
    for step in (1000, 2000):
        tensors = of_nanogpt()
        tensors["transformer.wpe.weight"] = tensors["transformer.wpe.weight"] * step
        torch.save({"model": tensors, **SETTINGS}, folder / f"ckpt_{step}.pt")
    torch.save({"model": of_nanogpt(), **SETTINGS}, folder / "ema.pth")
    save_file(of_nanogpt(), folder / "other.safetensors")


def test_of_several_files_the_one_that_is_named_opens(loopback_hub, tmp_path, opened):
    """Also after another one was cached, whose tensors have the same names and sizes."""
    write_steps(tmp_path / "files")
    serve(loopback_hub, tmp_path / "files")
    for name in ("ckpt_1000.pt", "ckpt_2000.pt", "ema.pth", "other.safetensors"):
        before = loopback_hub.bytes_sent
        model, local = opened(f"someone/model/{name}"), open_model(tmp_path / "files" / name)
        np.testing.assert_array_equal(model.W_pos, local.W_pos)
        assert loopback_hub.bytes_sent - before <= 4 * N * D + ALLOWANCE + TAIL_BYTES
        assert name.partition(".")[0] in model.name
    page = f"{loopback_hub.url}/someone/model/blob/main/ckpt_1000.pt"
    with loopback_hub.unasked():
        table = opened(page).W_pos
    np.testing.assert_array_equal(table, open_model(tmp_path / "files" / "ckpt_1000.pt").W_pos)


def test_of_several_files_the_advice_opens_one(loopback_hub, tmp_path, opened):
    write_steps(tmp_path / "files")
    serve(loopback_hub, tmp_path / "files")
    with pytest.raises(SourceError) as error:
        opened()
    assert "someone/model/" in error.value.advice


def nested(folder: Path, kind: str) -> str:
    """Write a repository with weights in folders only; return that of those to open."""
    (folder / "x").mkdir(parents=True)
    write_json(folder / "x" / "notes.json", {})
    if kind == "sentence-transformers":
        write("nanoGPT, settings beside", folder / "0_Transformer")
        write("nanoGPT", folder / "2_Dense")
        modules = [{"path": "0_Transformer", "type": "x"}, {"path": "2_Dense", "type": "x"}]
        write_json(folder / "modules.json", modules)
        return "0_Transformer"
    if kind == "diffusers":
        write("open_clip", folder / "text_encoder")
        write("nanoGPT", folder / "unet")
        parts = {"text_encoder": ["transformers", "x"], "unet": ["diffusers", "x"]}
        write_json(folder / "model_index.json", parts)
        return "text_encoder"
    if kind == "shards":
        (folder / "last").mkdir()
        for at, (name, tensor) in enumerate(of_nanogpt().items()):
            save_file({name: tensor}, folder / "last" / f"{at}.safetensors")
        places = {name: f"{at}.safetensors" for at, name in enumerate(of_nanogpt())}
        write_json(folder / "last" / "model.safetensors.index.json", {"weight_map": places})
        write_json(folder / "last" / "config.json", {"model_type": "gpt2", "n_head": HEADS})
        return "last"
    write("nanoGPT", folder / "run")
    return "run"


@pytest.mark.parametrize("kind", ["sentence-transformers", "diffusers", "shards", "one folder"])
def test_weights_in_a_folder_are_found(kind, loopback_hub, tmp_path, opened):
    place = tmp_path / "files" / nested(tmp_path / "files", kind)
    serve(loopback_hub, tmp_path / "files")
    model = opened()
    table = model.W_pos
    assert loopback_hub.bytes_sent <= 4 * table.size + 2 * ALLOWANCE + TAIL_BYTES
    with loopback_hub.unasked():
        np.testing.assert_array_equal(opened().W_pos, table)
    assert_same(model, open_model(place))
    assert model.n_heads == HEADS


def test_of_several_folders_with_weights_each_can_be_named(loopback_hub, tmp_path, opened):
    for name in ("a", "b"):
        write("nanoGPT", tmp_path / "files" / "runs" / name)
    write("pytorch_model.bin", tmp_path / "files" / "runs" / "c")
    serve(loopback_hub, tmp_path / "files")
    with pytest.raises(SourceError, match="runs/a, runs/b") as error:
        opened()
    assert "someone/model/" in error.value.advice
    for file in ("runs/b/ckpt.pt", "runs/c/pytorch_model.bin"):
        model, local = opened(f"someone/model/{file}"), open_model(tmp_path / "files" / file)
        assert_same(model, local)
        with loopback_hub.unasked():
            assert_same(opened(f"someone/model/{file}"), local)


def test_an_archive_of_nemo_is_read_in_pieces(loopback_hub, tmp_path, opened):
    files = tmp_path / "files"
    write("nanoGPT, settings beside", tmp_path / "inside")
    files.mkdir()
    with tarfile.open(files / "model.nemo", "w") as archive:
        for path in sorted((tmp_path / "inside").iterdir()):
            archive.add(path, f"./{path.name}")
    serve(loopback_hub, files)
    model = opened()
    table = model.W_pos
    assert loopback_hub.bytes_sent <= 4 * table.size + 4 * ALLOWANCE
    with loopback_hub.unasked():
        np.testing.assert_array_equal(opened().W_pos, table)
    assert_same(model, open_model(files / "model.nemo"))
    assert model.n_heads == HEADS


LAYER = "model.decoder.layers.{}."
LINEAR = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj")


def quantised(kind: str) -> dict[str, dict[str, torch.Tensor]]:
    """Return the tensors of an OPT of two layers by file, its attention's matrices quantised."""
    whole = np.random.default_rng(2)
    ln = {"weight": random(D), "bias": random(D)}
    files = {"a": {"model.decoder.embed_tokens.weight": random(100, D),
                   "model.decoder.embed_positions.weight": random(N + 2, D)}}  # fmt: skip
    for layer in (0, 1):
        files[str(layer)] = {
            LAYER.format(layer) + f"{name}.{part}": value.clone()
            for name in ("self_attn_layer_norm", "final_layer_norm")
            for part, value in ln.items()
        }
        for name in LINEAR:
            codes = torch.from_numpy(whole.integers(1, 2**31, (D, D // 8)).astype(np.int32))
            scales = torch.from_numpy(whole.uniform(0.1, 1, (D, 2)).astype(np.float32))
            parts = {"weight_packed": codes, "weight_scale": scales,
                     "weight_shape": torch.tensor([D, D])}  # fmt: skip
            if kind == "gptq":
                parts = {"qweight": codes.T.contiguous(), "scales": scales.T.contiguous(),
                         "qzeros": codes[:2, :4].contiguous()}  # fmt: skip
            if kind == "fp8":
                parts = {"weight": random(D, D).to(torch.float8_e4m3fn),
                         "weight_scale": scales[:, :1].contiguous()}  # fmt: skip
            if kind == "other":
                parts = {"qweight": codes.to(torch.uint8), "scales": scales, "qzeros": scales}
            files[str(layer)] |= {
                f"{LAYER.format(layer)}{name}.{part}": value.clone()
                for part, value in parts.items()
            }
    return files


def of_opt(kind: str) -> dict[str, object]:
    return {"model_type": "opt", "hidden_size": D, "num_attention_heads": HEADS,
            "num_hidden_layers": 2, "vocab_size": 100, "max_position_embeddings": N,
            "word_embed_proj_dim": D, "quantization_config": {"quant_method": kind}}  # fmt: skip


@pytest.mark.parametrize("kind", ["gptq", "compressed-tensors", "fp8"])
def test_quantised_matrices_of_one_file(kind, loopback_hub, tmp_path, opened):
    (tmp_path / "files").mkdir()
    tensors = {name: value for part in quantised(kind).values() for name, value in part.items()}
    save_file(tensors, tmp_path / "files" / "model.safetensors")
    write_json(tmp_path / "files" / "config.json", of_opt(kind))
    serve(loopback_hub, tmp_path / "files")
    model, local = opened(), open_model(tmp_path / "files")
    n_asked = len(loopback_hub.requests)
    assert dict(model.missing) == dict(local.missing)
    assert len(loopback_hub.requests) == n_asked
    np.testing.assert_array_equal(model.weight("W_Q", 1), local.weight("W_Q", 1))
    with loopback_hub.unasked():
        np.testing.assert_array_equal(opened().weight("W_Q", 1), local.weight("W_Q", 1))


@pytest.mark.parametrize("kind", ["gptq", "compressed-tensors", "fp8", "other"])
def test_quantised_matrices_of_several_files(kind, loopback_hub, tmp_path, opened):
    """Only the files of the matrices that are read are asked for, and of these the parts alone."""
    folder, files = tmp_path / "files", quantised(kind)
    folder.mkdir()
    for file, tensors in files.items():
        save_file(tensors, folder / f"{file}.safetensors")
    places = {name: f"{file}.safetensors" for file, tensors in files.items() for name in tensors}
    write_json(folder / "model.safetensors.index.json", {"weight_map": places})
    write_json(folder / "config.json", of_opt(kind))
    serve(loopback_hub, folder)
    model, local = opened(), open_model(folder)
    np.testing.assert_array_equal(model.W_pos, local.W_pos)
    assert any("quantised" in note for note in model.warnings)
    for name in ("W_Q", "W_K"):
        if kind == "other":
            with pytest.raises(TensorUnavailable, match="quantised"):
                model.weight(name, 1)
        else:
            np.testing.assert_array_equal(model.weight(name, 1), local.weight(name, 1))
    assert "0.safetensors" not in asked(loopback_hub)
