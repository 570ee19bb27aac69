"""What is opened from memory is what the same model is when it was saved."""

import numpy as np
import pytest
import torch
from torch import nn

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


def test_later_training_changes_nothing():
    model = Gpt()
    opened = open_live(model)
    before = {name: np.array(value) for name, value in matrices(open_live(model)).items()
              if isinstance(value, np.ndarray)}  # fmt: skip
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimiser.step()
    for name, value in before.items():
        np.testing.assert_array_equal(matrices(opened)[name], value)
        assert not np.array_equal(matrices(open_live(model))[name], value)


@pytest.mark.parametrize("change", [
    lambda weight: weight.detach().add_(1.0),
    lambda weight: weight.data.mul_(2.0),
    lambda weight: weight.detach().numpy().fill(3.0),
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


@pytest.mark.parametrize("thing", [
    object(), 3, {}, {"a": 1}, nn.ReLU(), nn.Module(), np.zeros(4), np.array(["a", "b"]),
    [[1, 2], [3]], torch.empty(4, 4, device="meta"), torch.zeros(3, 4, dtype=torch.complex64),
    np.full((9, 3), np.nan),
], ids=repr)  # fmt: skip
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
