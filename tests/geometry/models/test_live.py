"""What is opened from memory is what the same model is when it was saved."""

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from geometry.checkpoints import live_store
from geometry.checkpoints.errors import HelixscopeError, SourceError, TensorUnavailable
from geometry.checkpoints.live_store import Changed
from geometry.models.matrices import WEIGHTS
from geometry.models.sources.live import open_live
from geometry.models.sources.opening import open_model
from tests.geometry.family_cases import CASES
from tests.geometry.models.test_families import built


class Gpt(nn.Module):
    """As nanoGPT's, in small."""

    def __init__(self, n=32, d=16, heads=4):
        super().__init__()
        self.config = type("GPTConfig", (), {})()
        self.config.__dict__.update(block_size=n, vocab_size=40, n_layer=1, n_head=heads, n_embd=d)
        block = nn.ModuleDict({
            "ln_1": nn.LayerNorm(d),
            "attn": nn.ModuleDict({"c_attn": nn.Linear(d, 3 * d), "c_proj": nn.Linear(d, d)}),
            "ln_2": nn.LayerNorm(d),
            "mlp": nn.ModuleDict({"c_fc": nn.Linear(d, 4 * d), "c_proj": nn.Linear(4 * d, d)}),
        })  # fmt: skip
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(40, d), "wpe": nn.Embedding(n, d),
            "h": nn.ModuleList([block]), "ln_f": nn.LayerNorm(d),
        })  # fmt: skip
        self.lm_head = nn.Linear(d, 40, bias=False)

    def forward(self, *_):
        raise AssertionError("the model was run")

    def state_dict(self, *_, **__):
        raise AssertionError("the model was run")


def matrices(model):
    found = {"P": model.W_pos, "heads": model.n_heads, "layers": model.n_layers}
    for name in ("W_E", *WEIGHTS):
        try:
            found[name] = model.W_E if name == "W_E" else model.weight(name, 0)
        except TensorUnavailable as error:
            found[name] = str(error)
    return found


def assert_same(live, saved):
    for name, value in matrices(saved).items():
        np.testing.assert_array_equal(matrices(live)[name], value, err_msg=name)
    for name in ("table", "family", "computed", "grid", "rotary", "sides", "usual_positions"):
        np.testing.assert_equal(getattr(live, name), getattr(saved, name), err_msg=name)


#: Of the first, the text in memory has other modules than its files have tensors; the second is
#: saved with other names of its pictures' layers than it was published with.
OTHER_MODULES = ("Tipsv2Model", "AltCLIPModel")


@pytest.mark.parametrize(
    "case", [one for one in CASES if one.id not in OTHER_MODULES], ids=lambda case: case.id
)
def test_families_are_what_they_are_when_saved(case, tmp_path):
    module = built(case)
    module.save_pretrained(tmp_path)
    for side in (None, *open_model(tmp_path).sides):
        assert_same(open_live(module, table=side), open_model(tmp_path, table=side))


def test_nanogpt_with_its_settings_and_without_being_run(tmp_path):
    model = Gpt()
    state = nn.Module.state_dict(model)
    torch.save({"model": state, "model_args": vars(model.config)}, tmp_path / "ckpt.pt")
    saved = open_model(tmp_path / "ckpt.pt")
    np.testing.assert_equal(matrices(open_live(model)), matrices(saved))
    assert open_live(model).n_heads == 4
    nested = open_live({"model": state, "model_args": vars(model.config)})
    assert_same(nested, saved)
    np.testing.assert_array_equal(open_live(state).W_pos, saved.W_pos)


@pytest.mark.parametrize("wrapped", [
    lambda model: torch.compile(model, backend="eager"),
    nn.DataParallel,
    lambda model: nn.DataParallel(torch.compile(model, backend="eager")),
    lambda model: nn.Sequential(nn.ModuleDict({"model": model})),
    lambda model: {"model": model, "step": 3},
    lambda model: {"model": nn.Module.state_dict(model), "config": model.config},
], ids=range(6))  # fmt: skip
def test_modules_in_others_with_their_settings(wrapped):
    model = Gpt()
    opened = open_live(wrapped(model))
    np.testing.assert_equal(matrices(opened), matrices(open_live(model)))
    assert opened.n_heads == 4


def optimisers():
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad):
        for how in ("foreach", "fused"):
            yield pytest.param(kind, {how: True}, id=f"{kind.__name__}-{how}")
    yield pytest.param(torch.optim.RMSprop, {}, id="RMSprop")


@pytest.mark.parametrize(("kind", "options"), [*optimisers()])
def test_later_training_changes_nothing(kind, options):
    model = Gpt()
    opened = open_live(model)
    before = {name: np.array(value) for name, value in matrices(open_live(model)).items()
              if isinstance(value, np.ndarray)}  # fmt: skip
    optimiser = kind(model.parameters(), lr=1.0, **options)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimiser.step()
    for name, value in before.items():
        np.testing.assert_array_equal(matrices(opened)[name], value)
        assert not np.array_equal(matrices(open_live(model))[name], value)


def test_replaced_tensors_stay_what_they_were():
    model = Gpt()
    opened, W_E = open_live(model), model.transformer.wte.weight.detach().clone()
    model.double()
    model.transformer.wte = nn.Embedding(40, 16)
    np.testing.assert_array_equal(opened.W_E, W_E)


def test_neither_modules_nor_gradients_are_kept():
    model = Gpt()
    weight = model.transformer.wte.weight
    weight.grad = torch.ones_like(weight)
    left = weakref.ref(weight.grad), weakref.ref(model)
    opened = open_live(model)
    del model, weight
    gc.collect()
    assert [one() for one in left] == [None, None]
    assert opened.W_E.shape == (40, 16)


def test_copies_before_a_step_are_bounded_in_all(monkeypatch):
    models = [Gpt(), Gpt()]
    for model in models:
        model.lm_head.weight = model.transformer.wte.weight
    size = sum(one.nbytes for one in models[0].parameters())  # the tied one counts once
    monkeypatch.setattr(live_store, "MAX_COPIED", 2 * size - 1)
    opened = [open_live(model) for model in models]
    for model in models:
        optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimiser.step()
    refused = 0
    for one in opened:
        try:
            assert one.W_E.size
        except Changed:
            refused += 1
    assert refused == 1


@pytest.mark.parametrize("change", [
    lambda weight: weight.detach().add_(1.0),
    lambda weight: weight.data.mul_(2.0),
    lambda weight: weight.detach().numpy().fill(3.0),
    lambda weight: torch.no_grad()(lambda: weight[3].sub_(0.1))(),
    lambda weight: nn.init.zeros_(weight),
])  # fmt: skip
def test_what_changed_in_another_way_is_refused(change):
    model = Gpt()
    opened = open_live(model)
    P = opened.W_pos.copy()
    change(model.transformer.wte.weight)
    with pytest.raises(Changed, match=r"wte\.weight has changed"):
        assert opened.W_E.size
    change(model.transformer.wpe.weight)
    np.testing.assert_array_equal(opened.W_pos, P)


@pytest.mark.parametrize("dtype", [
    torch.float64, torch.float32, torch.float16, torch.bfloat16,
    torch.float8_e4m3fn, torch.float8_e5m2,
])  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_tensors_of_any_floating_type(dtype, turned):
    rows = torch.randn(40, 12).to(dtype)
    rows = rows.t().contiguous().t() if turned else rows
    parameter = nn.Parameter(rows, requires_grad=True) if dtype.itemsize > 1 else rows
    np.testing.assert_array_equal(open_live(parameter).W_pos, rows.to(torch.float64).numpy())
    assert open_live(rows[::2, 1:5]).W_pos.shape == (20, 4)
    assert open_live(rows[None], name="pos").W_pos.shape == (40, 12)


def test_arrays_and_lists(tmp_path):
    rows = np.random.default_rng(0).standard_normal((30, 6))
    np.save(tmp_path / "rows.npy", rows)
    assert_same(open_live(rows, name="rows"), open_model(tmp_path / "rows.npy"))
    for kind in (np.float32, np.float16, ">f4"):
        np.testing.assert_array_equal(open_live(rows.astype(kind)).W_pos, rows.astype(kind))
    np.testing.assert_array_equal(open_live(rows.tolist()).W_pos, rows)


def test_data_frames_with_labels(tmp_path):
    pandas = pytest.importorskip("pandas")
    numbers = np.random.default_rng(0).standard_normal((5, 3))
    frame = pandas.DataFrame(numbers, columns=["x0", "x1", "x2"])
    frame["word"], frame["count"] = list("abcde"), [3, 1, 4, 1, 5]
    frame.to_csv(tmp_path / "words.csv", index=False)
    live, saved = open_live(frame, name="words"), open_model(tmp_path / "words.csv")
    np.testing.assert_array_equal(live.W_pos, saved.W_pos)
    assert live.rows.labels == saved.rows.labels == tuple("abcde")
    assert [column.name for column in live.rows.columns] == ["word", "count"]
    by_word = frame.set_index("word").drop(columns="count")
    assert open_live(by_word).rows.labels == tuple("abcde")
    frame.loc[2, "x1"] = np.nan
    with pytest.raises(SourceError, match="missing"):
        open_live(frame)


def test_numbers_of_longer_types_and_masks():
    rows = np.random.default_rng(0).standard_normal((30, 6))
    np.testing.assert_array_equal(open_live(rows.astype(np.longdouble)).W_pos, rows)
    with torch.inference_mode():
        tensor = torch.tensor(rows)
    np.testing.assert_array_equal(open_live(tensor).W_pos, rows)
    with pytest.raises(SourceError, match="NaN"):
        open_live(np.ma.masked_array(rows, rows > 1))


def freed():
    tensor = torch.zeros(9, 4)
    tensor.untyped_storage().resize_(0)
    return tensor


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (SimpleNamespace(step=3, model=nn.Linear(3, 9)), "Open its model"),
        (nn.ModuleDict({"_fsdp_wrapped_module": nn.Embedding(9, 4)}), "full state dict"),
        (nn.LazyLinear(4), "Gather"),
        (freed(), "Gather"),
        ([{"wpe.weight": np.eye(9)}], "one of its items"),
        ([["a", "b"]], "one of its items"),
    ],
    ids=["an object with a model", "FSDP", "not initialised", "freed", "state dicts", "words"],
)
def test_what_cannot_be_opened_names_what_can(thing, said):
    with pytest.raises(SourceError) as error:
        open_live(thing)
    assert said in error.value.advice


class Raises:
    """Attributes that others may define with effects."""

    def __getattr__(self, name):
        raise RuntimeError(name)


def test_no_attribute_of_an_object_is_computed():
    model = nn.Module()
    model.wpe, model.config = nn.Embedding(9, 4), Raises()
    assert open_live(model).W_pos.shape == (9, 4)
    with pytest.raises(SourceError, match="type Raises"):
        open_live(Raises())


@pytest.mark.parametrize("thing", [
    object(), 3, {}, {"a": 1}, nn.ReLU(), nn.Module(), np.zeros(4), np.array(["a", "b"]),
    [[1, 2], [3]], torch.empty(4, 4, device="meta"), torch.zeros(3, 4, dtype=torch.complex64),
    np.full((9, 3), np.nan), np.array(3.0), np.zeros((0, 3)), np.zeros((3, 2), complex),
    np.zeros((3, 2), object), np.broadcast_to(np.float64(1), (2**40, 2**15)), nn.Linear, len,
], ids=lambda thing: type(thing).__name__)  # fmt: skip
def test_what_cannot_be_opened_is_an_error_of_ours(thing):
    with pytest.raises(HelixscopeError) as error:
        open_live(thing)
    assert str(error.value).endswith(".")


def test_a_class_that_raises_is_an_error_of_ours():
    class Odd(dict):
        def items(self):
            raise ZeroDivisionError

    with pytest.raises(SourceError, match="Odd could not be read"):
        open_live(Odd(a=1))


def test_a_source_in_memory_cannot_be_opened_by_its_name():
    model = open_live(np.eye(9))
    with pytest.raises(SourceError, match="memory"):
        open_model(model.source)


# ---- other libraries ------------------------------------------------------------------------

GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 24, "vocab_size": 40}


def gpt2():
    import transformers

    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT2))


def random_numbers(module):
    made = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=made))
    return module


def library(name):
    return pytest.importorskip(name, reason=f"{name} is not installed")


def of_timm(name):
    return lambda: library("timm").create_model(name, depth=1)


def of_open_clip():
    text = {"context_length": 10, "vocab_size": 30, "width": 32, "heads": 4, "layers": 2}
    vision = {"image_size": 32, "patch_size": 8, "width": 32, "head_width": 8, "layers": 2}
    return library("open_clip").CLIP(embed_dim=16, text_cfg=text, vision_cfg=vision)


def of_x_transformers(**options):
    package = library("x_transformers")
    layers = package.Decoder(dim=32, depth=2, heads=4, **options)
    return package.TransformerWrapper(num_tokens=20, max_seq_len=12, attn_layers=layers)


def of_torchvision():
    return library("torchvision").models.VisionTransformer(32, 8, 2, 4, 32, 64)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make",
    [
        of_timm("vit_tiny_patch16_224"),
        of_timm("vit_base_patch16_siglip_224"),
        of_timm("eva02_base_patch14_224"),
        of_timm("beit_base_patch16_224"),
        of_open_clip,
        of_x_transformers,
        lambda: of_x_transformers(alibi_pos_bias=True),
        of_torchvision,
    ],
    ids=[
        "ViT",
        "SigLIP",
        "EVA02",
        "BEiT",
        "open_clip",
        "x-transformers",
        "ALiBi",
        "torchvision",
    ],
)
def test_modules_of_other_libraries_are_what_they_are_when_saved(make, tmp_path):
    module = random_numbers(make())
    torch.save(module.state_dict(), tmp_path / "saved.pt")
    for side in (None, *open_model(tmp_path / "saved.pt").sides):
        live = open_live(module, table=side)
        assert_same(live, open_model(tmp_path / "saved.pt", table=side))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("targets", [["c_attn"], ["wpe"], ["wpe", "c_attn"]])
def test_an_adapter_of_peft_is_added(targets):
    peft = library("peft")
    config = peft.LoraConfig(target_modules=targets, r=2, modules_to_save=["wte"])
    module = random_numbers(peft.get_peft_model(gpt2(), config, adapter_name="mine"))
    opened = open_live(module)
    found = {name: np.array(value) for name, value in matrices(opened).items()}
    assert any("PEFT" in text or "LORA" in text for text in opened.warnings)
    module.merge_adapter()
    with pytest.raises(SourceError, match="LoRA"):
        open_live(module)
    merged = matrices(open_live(module.unload()))
    for name in ("P", "W_E", *WEIGHTS):
        np.testing.assert_allclose(found[name], merged[name], atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_bridge_of_transformer_lens():
    library("transformer_lens.model_bridge")
    from transformer_lens.model_bridge.sources._bridge_builder import build_bridge_from_module

    module = random_numbers(gpt2())
    expected = matrices(open_live(module))
    bridge = build_bridge_from_module(module, "GPT2LMHeadModel", hf_config=module.config)
    np.testing.assert_equal(matrices(open_live(bridge)), expected)
    bridge.enable_compatibility_mode(disable_warnings=True)
    with pytest.raises(SourceError, match="processed"):
        open_live(bridge)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_native_models_of_transformer_lens():
    library("transformer_lens.model_bridge")
    from transformer_lens.config import TransformerBridgeConfig
    from transformer_lens.model_bridge.transformer_bridge import TransformerBridge

    sizes = {"d_model": 32, "d_head": 8, "n_layers": 2, "n_ctx": 24, "n_heads": 4, "d_vocab": 50}
    config = TransformerBridgeConfig(**sizes, d_mlp=64, act_fn="gelu")
    bridge = random_numbers(TransformerBridge.boot_native(config))
    opened, first = open_live(bridge), bridge.original_model.layers[0]
    rows = torch.randn(5, 32)
    np.testing.assert_array_equal(opened.W_pos, bridge.original_model.pos.weight.detach())
    np.testing.assert_array_equal(opened.W_E, bridge.original_model.tok_embed.weight.detach())
    assert (opened.n_heads, opened.scheme) == (4, "learned")
    for name, part in (("W_Q", first.attn.q), ("W_O", first.attn.o), ("W_in", first.mlp.fc_in)):
        own = (part(rows) - part(torch.zeros_like(rows))).detach()
        np.testing.assert_allclose(rows.numpy() @ opened.weight(name).T, own, atol=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_modules_of_sentence_transformers_and_lightning(tmp_path):
    module = random_numbers(gpt2().transformer)
    expected = matrices(open_live(module))

    class Held(library("sentence_transformers").SentenceTransformer):
        def __init__(self):
            nn.Module.__init__(self)
            self.add_module("0", module)

    np.testing.assert_equal(matrices(open_live(Held())), expected)

    class Trained(library("lightning").LightningModule):
        def __init__(self):
            super().__init__()
            self.model = module

    np.testing.assert_equal(matrices(open_live(Trained())), expected)
