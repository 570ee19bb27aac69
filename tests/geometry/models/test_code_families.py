"""Families of other codes, compared with the libraries themselves where these are installed.

None of them is needed by the app or by other tests: what is not installed is skipped.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from geometry.models.attention_layer import AttentionLayer
from geometry.models.sources.opening import open_model

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries

D, HEADS, LAYERS = 32, 4, 2
Map = Callable[[torch.Tensor], torch.Tensor]


@dataclass
class Known:
    """What a library's own module does, and a file as it is saved."""

    path: Path
    added: torch.Tensor  #: (n, d): what is added to the tokens or patches
    maps: list[Mapping[str, Map]]  #: of each layer, by the name of the matrix, with their biases
    norms: list[Map]  #: before the attention of each layer
    sum_norm: Map | None = None  #: over the sum of embeddings
    heads: int | None = HEADS
    tokens: torch.Tensor | None = None
    grid: tuple[int, int] | None = None
    first_rows: int = 0
    table: str | None = None
    causal: bool = True
    family: str = ""
    only: set[str] = field(default_factory=lambda: {"W_Q", "W_K", "W_V", "W_O", "W_in"})


def random_numbers(module: torch.nn.Module) -> Any:
    """Fill a module with random numbers, the same each time."""
    made = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=made))
    return module.double().eval()


def saved(module: torch.nn.Module, path: Path, prefix: str = "", **beside: Any) -> Path:
    state = {f"{prefix}{name}": tensor for name, tensor in module.state_dict().items()}
    torch.save({"model": state, **beside} if beside else state, path)
    return path


def thirds(of: Map) -> dict[str, Map]:
    """The maps of queries, keys and values that are one."""
    return {
        name: lambda x, n=n: of(x).chunk(3, -1)[n] for n, name in enumerate(("W_Q", "W_K", "W_V"))
    }


def of_multihead(attention: torch.nn.MultiheadAttention) -> dict[str, Map]:
    weight, bias = attention.in_proj_weight, attention.in_proj_bias
    return {
        **thirds(lambda x: torch.nn.functional.linear(x, weight, bias)),
        "W_O": attention.out_proj,
    }


def before_blocks(
    module: torch.nn.Module, first: torch.nn.Module, *inputs: Any, **more: Any
) -> torch.Tensor:
    """What a module's first block is given."""
    seen: list[torch.Tensor] = []
    hook = first.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    with torch.no_grad():
        module(*inputs, **more)
    hook.remove()
    return seen[0]


def difference(module: torch.nn.Module, table: torch.Tensor, run: Callable[[], Any]) -> Any:
    """What a table adds: the difference to the same module with zeros in its place."""
    with torch.no_grad():
        whole = run()
        kept = table.clone()
        table.zero_()
        without = run()
        table.copy_(kept)
    return (whole - without)[0]


# ---- the libraries -----------------------------------------------------------------------


def of_timm(block: torch.nn.Module) -> dict[str, Map]:
    """The maps of a block; EVA's may have biases of their own, which queries and values have."""
    a, mlp = block.attn, block.mlp
    beside = {"W_O": a.proj, "W_in": mlp.fc1 if hasattr(mlp, "fc1") else mlp.fc1_g}
    if getattr(a, "q_proj", None) is not None:
        return {"W_Q": a.q_proj, "W_K": a.k_proj, "W_V": a.v_proj, **beside}
    if getattr(a, "q_bias", None) is None:
        return {**thirds(a.qkv), **beside}
    bias = torch.cat((a.q_bias, torch.zeros_like(a.q_bias), a.v_bias))
    return {**thirds(lambda x: torch.nn.functional.linear(x, a.qkv.weight, bias)), **beside}


def timm_model(name: str, **options: Any) -> Callable[[Path], Known]:
    def make(folder: Path) -> Known:
        timm = pytest.importorskip("timm", reason="timm is not installed")
        module = random_numbers(
            timm.create_model(name, num_classes=3, img_size=64, depth=LAYERS, embed_dim=D,
                              num_heads=HEADS, **options)
        )  # fmt: skip
        side = 64 // module.patch_embed.patch_size[0]
        with_norm = isinstance(module.norm_pre, torch.nn.LayerNorm)
        first = module.norm_pre if with_norm else module.blocks[0]
        picture = torch.randn(1, 3, 64, 64, dtype=torch.float64)
        n_before = module.num_prefix_tokens if not module.no_embed_class else 0
        added = difference(module, module.pos_embed,
                           lambda: before_blocks(module, first, picture))  # fmt: skip
        added = added[module.num_prefix_tokens :]
        folder = folder / "timm"
        folder.mkdir()
        save_file({name: t.float() for name, t in module.state_dict().items()},
                  folder / "model.safetensors")  # fmt: skip
        config = {"architecture": name, "num_classes": 3,
                  "pretrained_cfg": {"input_size": [3, 64, 64]}}  # fmt: skip
        (folder / "config.json").write_text(json.dumps(config))
        return Known(
            folder, added,
            [of_timm(b) for b in module.blocks], [b.norm1 for b in module.blocks],
            module.norm_pre if with_norm else None,
            heads=None, grid=(side, side), first_rows=n_before, causal=False,
            family="timm's CLIP" if with_norm else "timm",
        )  # fmt: skip

    return make


def sam(folder: Path) -> Known:
    package = pytest.importorskip("segment_anything", reason="segment_anything is not installed")
    module = random_numbers(
        package.modeling.ImageEncoderViT(
            img_size=32, patch_size=8, embed_dim=D, depth=LAYERS, num_heads=HEADS, out_chans=4,
            norm_layer=lambda d: torch.nn.LayerNorm(d, eps=1e-6), use_rel_pos=True, window_size=2,
        )
    )  # fmt: skip
    picture = torch.randn(1, 3, 32, 32, dtype=torch.float64)
    added = difference(module, module.pos_embed,
                       lambda: before_blocks(module, module.blocks[0], picture))  # fmt: skip
    return Known(
        saved(module, folder / "sam_vit_x.pth", "image_encoder."), added.reshape(-1, D),
        [{**thirds(b.attn.qkv), "W_O": b.attn.proj, "W_in": b.mlp.lin1} for b in module.blocks],
        [b.norm1 for b in module.blocks], heads=None, grid=(4, 4), causal=False,
        family="segment-anything",
    )  # fmt: skip


def torchvision(folder: Path, older: bool = False) -> Known:
    package = pytest.importorskip("torchvision", reason="torchvision is not installed")
    module = random_numbers(package.models.VisionTransformer(
        image_size=32, patch_size=8, num_layers=LAYERS, num_heads=HEADS, hidden_dim=D, mlp_dim=64
    ))  # fmt: skip
    blocks = list(module.encoder.layers)
    picture = torch.randn(1, 3, 32, 32, dtype=torch.float64)
    added = difference(module, module.encoder.pos_embedding,
                       lambda: before_blocks(module, blocks[0], picture))  # fmt: skip
    path = saved(module, folder / "vit_b_16.pth")
    if older:
        state = {name.replace("mlp.0", "mlp.linear_1").replace("mlp.3", "mlp.linear_2"): tensor
                 for name, tensor in torch.load(path).items()}  # fmt: skip
        module.load_state_dict(state)  # which still reads them
        torch.save(state, path)
    return Known(
        path, added[1:],
        [{**of_multihead(b.self_attention), "W_in": b.mlp[0]} for b in blocks],
        [b.ln_1 for b in blocks], heads=None, grid=(4, 4), first_rows=1, causal=False,
        family="torchvision before 0.14" if older else "torchvision",
    )  # fmt: skip


def vit_pytorch(folder: Path) -> Known:
    package = pytest.importorskip("vit_pytorch", reason="vit_pytorch is not installed")
    module = random_numbers(package.ViT(
        image_size=32, patch_size=8, num_classes=3, dim=D, depth=LAYERS, heads=HEADS, dim_head=16,
        mlp_dim=64,
    ))  # fmt: skip
    pairs = list(module.transformer.layers)
    picture = torch.randn(1, 3, 32, 32, dtype=torch.float64)
    added = difference(module, module.pos_embedding,
                       lambda: before_blocks(module, pairs[0][0], picture))  # fmt: skip
    return Known(
        saved(module, folder / "vit.pt"), added[1:],
        [{**thirds(a.to_qkv), "W_O": a.to_out[0], "W_in": f.net[1]} for a, f in pairs],
        [a.norm for a, _ in pairs], heads=None, grid=(4, 4), first_rows=1, causal=False,
        family="vit-pytorch",
    )  # fmt: skip


def x_transformers(folder: Path, cross: bool = False) -> Known:
    package = pytest.importorskip("x_transformers", reason="x_transformers is not installed")
    module = random_numbers(package.TransformerWrapper(
        num_tokens=20, max_seq_len=12,
        attn_layers=package.Decoder(
            dim=D, depth=LAYERS, heads=HEADS, attn_dim_head=8, cross_attend=cross
        ),
    ))  # fmt: skip
    layers = list(module.attn_layers.layers)
    step = len(layers) // LAYERS
    heard = {"context": torch.randn(1, 3, D, dtype=torch.float64)} if cross else {}
    ids = torch.arange(12)[None]
    added = difference(module, module.pos_emb.emb.weight,
                       lambda: before_blocks(module, module.attn_layers, ids, **heard))  # fmt: skip
    return Known(
        saved(module, folder / "x.pt"), added,
        [{"W_Q": a[1].to_q, "W_K": a[1].to_k, "W_V": a[1].to_v, "W_O": a[1].to_out,
          "W_in": f[1].ff[0][0]}
         for a, f in zip(layers[::step], layers[step - 1 :: step], strict=True)],
        [], heads=None, tokens=module.token_emb.emb.weight,
        family="x-transformers",
    )  # fmt: skip


def x_transformers_pair(folder: Path, side: str) -> Known:
    package = pytest.importorskip("x_transformers", reason="x_transformers is not installed")
    module = random_numbers(package.XTransformer(
        dim=D, enc_num_tokens=20, enc_depth=LAYERS, enc_heads=HEADS, enc_max_seq_len=12,
        dec_num_tokens=20, dec_depth=LAYERS, dec_heads=HEADS, dec_max_seq_len=10,
    ))  # fmt: skip
    part = module.decoder.net if side == "decoder" else module.encoder
    layers = list(part.attn_layers.layers)
    step = len(layers) // LAYERS  # a decoder's attention to the encoder comes between
    path = saved(module, folder / "x.pt")
    assert open_model(path).sides == ("decoder", "encoder")
    return Known(
        path, part.pos_emb.emb.weight / np.sqrt(D),
        [{"W_Q": a[1].to_q, "W_K": a[1].to_k, "W_V": a[1].to_v, "W_O": a[1].to_out,
          "W_in": f[1].ff[0][0]}
         for a, f in zip(layers[::step], layers[step - 1 :: step], strict=True)],
        [], heads=None, tokens=part.token_emb.emb.weight, table=side, causal=side == "decoder",
        family="x-transformers' XTransformer",
    )  # fmt: skip


def x_transformers_vision(folder: Path) -> Known:
    package = pytest.importorskip("x_transformers", reason="x_transformers is not installed")
    module = random_numbers(package.ViTransformerWrapper(
        image_size=32, patch_size=8, num_classes=3,
        attn_layers=package.Encoder(dim=D, depth=LAYERS, heads=HEADS, attn_dim_head=8),
    ))  # fmt: skip
    layers = list(module.attn_layers.layers)
    picture = torch.randn(1, 3, 32, 32, dtype=torch.float64)
    added = difference(module, module.pos_embedding,
                       lambda: before_blocks(module, module.attn_layers, picture))  # fmt: skip
    return Known(
        saved(module, folder / "x.pt"), added,
        [{"W_Q": a[1].to_q, "W_K": a[1].to_k, "W_V": a[1].to_v, "W_O": a[1].to_out,
          "W_in": f[1].ff[0][0]} for a, f in zip(layers[::2], layers[1::2], strict=True)],
        [], heads=None, grid=(4, 4), causal=False,
        family="x-transformers' ViT",
    )  # fmt: skip


def open_clip(folder: Path, side: str, causal: bool = True, **more: Any) -> Known:
    package = pytest.importorskip("open_clip", reason="open_clip is not installed")
    settings = {
        "embed_dim": 16,
        "text_cfg": {"context_length": 10, "vocab_size": 30, "width": D, "heads": HEADS,
                     "layers": LAYERS, **more, **({} if causal else {"no_causal_mask": True})},
        "vision_cfg": {"image_size": 32, "patch_size": 8, "width": D, "head_width": 8,
                       "layers": LAYERS, **more},
    }  # fmt: skip
    module = random_numbers(package.CLIP(**settings))
    folder = folder / "open_clip"
    folder.mkdir()
    save_file({name: t.float() for name, t in module.state_dict().items()},
              folder / "open_clip_model.safetensors")  # fmt: skip
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": settings}))
    tower = module.transformer if side == "text" else module.visual.transformer
    blocks = list(tower.resblocks)
    if side == "text":
        table, run = module.positional_embedding, lambda: before_blocks(
            _Text(module), blocks[0], torch.arange(10)[None]
        )  # fmt: skip
    else:  # its first LayerNorm is before the blocks
        picture = torch.randn(1, 3, 32, 32, dtype=torch.float64)
        table, run = module.visual.positional_embedding, lambda: before_blocks(
            module.visual, module.visual.ln_pre, picture
        )  # fmt: skip
    first_rows = 0 if side == "text" else 1
    return Known(
        folder, difference(module, table, run)[first_rows:],
        [{**of_multihead(b.attn), "W_in": b.mlp.c_fc} for b in blocks], [b.ln_1 for b in blocks],
        None if side == "text" else module.visual.ln_pre,
        tokens=module.token_embedding.weight if side == "text" else None,
        grid=None if side == "text" else (4, 4), first_rows=first_rows, table=side,
        causal=causal and side == "text", family="open_clip",
    )  # fmt: skip


def coca(folder: Path) -> Known:
    package = pytest.importorskip("open_clip", reason="open_clip is not installed")
    text = {"context_length": 10, "vocab_size": 30, "width": D, "heads": HEADS, "layers": LAYERS}
    sizes = {"image_size": 32, "patch_size": 8, "width": D, "head_width": 8, "layers": LAYERS}
    attended = {"attentional_pool": True, "attn_pooler_heads": HEADS, "output_tokens": True}
    module = random_numbers(package.CoCa(
        D, text, {**text, "embed_cls": True, "output_tokens": True}, {**sizes, **attended}
    ))  # fmt: skip
    blocks = list(module.text.transformer.resblocks)
    return Known(
        saved(module, folder / "coca.pt", state_dict={}), module.text.positional_embedding[:10],
        [{**of_multihead(b.attn), "W_in": b.mlp.c_fc} for b in blocks], [b.ln_1 for b in blocks],
        tokens=module.text.token_embedding.weight, heads=None, table="text", family="open_clip",
    )  # fmt: skip


class _Text(torch.nn.Module):
    """The text side of a model of open_clip."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.module.encode_text(ids)
        return made


def whisper(folder: Path, side: str) -> Known:
    package = pytest.importorskip("whisper", reason="openai-whisper is not installed")
    sizes = {"n_mels": 8, "n_audio_ctx": 12, "n_audio_state": D, "n_audio_head": HEADS,
             "n_audio_layer": LAYERS, "n_vocab": 51864, "n_text_ctx": 10, "n_text_state": D,
             "n_text_head": 8, "n_text_layer": LAYERS}  # fmt: skip
    dims = package.model.ModelDimensions(**sizes)
    module = random_numbers(package.model.Whisper(dims)).float()  # as its norms need
    path = folder / "tiny.pt"
    torch.save({"dims": sizes, "model_state_dict": module.state_dict()}, path)
    if side == "encoder":
        part = module.encoder
        sound = torch.randn(1, 8, 24, dtype=torch.float32)
        added = difference(part, part.positional_embedding,
                           lambda: before_blocks(part, part.blocks[0], sound))  # fmt: skip
    else:
        part = module.decoder
        ids, heard = torch.arange(10)[None], torch.randn(1, 12, D, dtype=torch.float32)
        added = difference(part, part.positional_embedding,
                           lambda: before_blocks(part, part.blocks[0], ids, heard))  # fmt: skip
    return Known(
        path, added,
        [{"W_Q": b.attn.query, "W_K": b.attn.key, "W_V": b.attn.value, "W_O": b.attn.out,
          "W_in": b.mlp[0]} for b in part.blocks],
        [b.attn_ln for b in part.blocks], heads=HEADS if side == "encoder" else 8,
        tokens=part.token_embedding.weight if side == "decoder" else None, table=side,
        causal=side == "decoder", family="whisper",
    )  # fmt: skip


def transformer_lens(folder: Path, norm: str, attn_only: bool = False) -> Known:
    package = pytest.importorskip("transformer_lens", reason="transformer_lens is not installed")
    if "HookedTransformer" not in dir(package):
        pytest.skip("HookedTransformer is in transformer_lens below 4")
    config = package.HookedTransformerConfig(
        n_layers=LAYERS, d_model=D, n_ctx=12, d_head=8, n_heads=HEADS, d_vocab=20, d_mlp=64,
        act_fn=None if attn_only else "gelu", attn_only=attn_only, normalization_type=norm,
        default_prepend_bos=True, device="cpu",
    )  # fmt: skip
    module = random_numbers(package.HookedTransformer(config))
    module.cfg.dtype = torch.float64
    path = saved(module, folder / "lens.pt")

    def by_head(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return (torch.einsum("nd,hde->nhe", x, weight) + bias).flatten(1)

    maps = []
    for block in module.blocks:
        a = block.attn
        own: dict[str, Map] = {
            f"W_{n}": lambda x, a=a, n=n: by_head(x, getattr(a, f"W_{n}"), getattr(a, f"b_{n}"))
            for n in "QKV"
        }
        own["W_O"] = lambda x, a=a: torch.einsum("nhe,hed->nd", x.reshape(-1, HEADS, 8), a.W_O)
        if not attn_only:
            own["W_in"] = lambda x, m=block.mlp: x @ m.W_in + m.b_in
        maps.append(own)
    return Known(
        path, module.pos_embed.W_pos, maps,
        [b.ln1 for b in module.blocks], tokens=module.embed.W_E,
        family="transformer_lens",
        only={"W_Q", "W_K", "W_V", "W_O"} | ({"W_in"} if not attn_only else set()),
    )  # fmt: skip


CASES: dict[str, Callable[[Path], Known]] = {
    "timm ViT": timm_model("vit_tiny_patch16_224"),
    "timm DeiT": timm_model("deit_tiny_distilled_patch16_224"),
    "timm DINOv2": timm_model("vit_small_patch14_dinov2", patch_size=16),
    "timm DINOv2 with registers": timm_model("vit_small_patch14_reg4_dinov2", patch_size=16),
    "timm CLIP": timm_model("vit_base_patch16_clip_224"),
    "timm SigLIP": timm_model("vit_base_patch16_siglip_224"),
    "timm without class token in its table": timm_model("deit3_small_patch16_224"),
    "timm EVA02": timm_model("eva02_base_patch14_224", patch_size=16),
    "timm EVA": timm_model("eva_giant_patch14_224", patch_size=16),
    "timm without biases": timm_model("vit_tiny_patch16_224", qkv_bias=False),
    "segment-anything": sam,
    "torchvision": torchvision,
    "torchvision before 0.14": lambda folder: torchvision(folder, older=True),
    "vit-pytorch": vit_pytorch,
    "x-transformers": x_transformers,
    "x-transformers with cross-attention": lambda folder: x_transformers(folder, cross=True),
    "x-transformers' encoder": lambda folder: x_transformers_pair(folder, "encoder"),
    "x-transformers' decoder": lambda folder: x_transformers_pair(folder, "decoder"),
    "x-transformers ViT": x_transformers_vision,
    "open_clip text": lambda folder: open_clip(folder, "text"),
    "open_clip text of SigLIP": lambda folder: open_clip(folder, "text", causal=False),
    "open_clip text, another epsilon": lambda folder: open_clip(
        folder, "text", norm_kwargs={"eps": 0.1}
    ),
    "open_clip vision, another epsilon": lambda folder: open_clip(
        folder, "vision", norm_kwargs={"eps": 0.1}
    ),
    "open_clip CoCa": coca,
    "open_clip vision": lambda folder: open_clip(folder, "vision"),
    "whisper decoder": lambda folder: whisper(folder, "decoder"),
    "whisper encoder": lambda folder: whisper(folder, "encoder"),
    "TransformerLens": lambda folder: transformer_lens(folder, "LN"),
    "TransformerLens, folded": lambda folder: transformer_lens(folder, "LNPre"),
    "TransformerLens, attention only": lambda folder: transformer_lens(
        folder, "LN", attn_only=True
    ),
}


@pytest.fixture(params=CASES)
def known(request, tmp_path) -> Iterator[Known]:
    return CASES[request.param](tmp_path)


def test_a_model_of_another_library_is_read_as_its_module_uses_it(known):
    model = open_model(known.path, table=known.table)
    assert model.store.tensors
    assert (model.n_heads, model.grid, model.prefix_rows, model.causal) == (
        known.heads, known.grid, known.first_rows, known.causal
    )  # fmt: skip
    assert known.family in str(model.warnings)
    np.testing.assert_allclose(model.W_pos, known.added.detach().numpy(), atol=1e-5)
    if known.tokens is None:
        assert "W_E" in model.missing
    else:
        np.testing.assert_allclose(model.W_E, known.tokens.detach().numpy(), atol=1e-6)
    for layer, maps in enumerate(known.maps):
        assert set(maps) == known.only
        attention = AttentionLayer(model.layers, layer)
        for name, own in maps.items():
            matrix = model.weight(name, layer)
            rows = torch.randn(5, matrix.shape[1], dtype=known.added.dtype)
            got, bias = rows.numpy() @ matrix.T, None
            if name in ("W_Q", "W_K"):
                _, bias = attention.projection(name)
            with torch.no_grad():
                expected, constant = own(rows), own(torch.zeros_like(rows[:1]))
            expected = expected if bias is not None else expected - constant
            np.testing.assert_allclose(got + (0 if bias is None else bias), expected, atol=1e-4)
            if name in ("W_Q", "W_K"):
                assert (bias is None) == (not constant.any())
    for layer, own in enumerate(known.norms):
        norms = AttentionLayer(model.layers, layer).norms()
        rows = torch.randn(5, model.W_pos.shape[1], dtype=known.added.dtype)
        for norm, module in zip(norms, (known.sum_norm, own), strict=True):
            assert (norm is None) == (module is None)
            if norm is not None and module is not None:
                with torch.no_grad():
                    expected = module(rows)
                np.testing.assert_allclose(norm(rows.numpy()), expected, atol=1e-5)


def test_a_table_with_rows_and_columns_of_patches(tmp_path):
    timm = pytest.importorskip("timm", reason="timm is not installed")
    module = random_numbers(
        timm.create_model("naflexvit_base_patch16_gap", depth=1, embed_dim=D, num_heads=HEADS)
    )
    model = open_model(saved(module, tmp_path / "naflex.pt"))
    np.testing.assert_array_equal(model.W_pos, module.embeds.pos_embed.detach().reshape(-1, D))
    assert model.grid == (16, 16)
    rows = torch.randn(5, D, dtype=torch.float64)
    with torch.no_grad():
        queries = thirds(module.blocks[0].attn.qkv)["W_Q"](rows).numpy()
    matrix, bias = AttentionLayer(model.layers).projection("W_Q")
    np.testing.assert_allclose(rows.numpy() @ matrix.T + bias, queries, atol=1e-6)
