"""What a training run is made of: settings, schedule, text, tokens, windows, gradients."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch

from geometry.training.gradients import Gradients
from geometry.training.network import (
    bfloat16_is_faster,
    new_network,
    new_optimizer,
)
from geometry.training.position_rows import PositionRows, continued
from geometry.training.run import Windows
from geometry.training.schedule import (
    learning_rate,
    positions_in_use,
    snapshot_steps,
    window_length,
)
from geometry.training.settings import TrainingError, TrainingSettings
from geometry.training.tokenization import END, Corpus, learn_tokens, write_tokens
from tools.campaigns.failing_disk import SmallDisk

TINY = TrainingSettings(
    positions=8, layers=1, heads=2, width=8, vocabulary=257, batch=4, steps=6, warm_up=2
)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"layers": 0}, "The layers must be at least 1."),
        ({"positions": 1}, "The positions must be at least 2."),
        ({"learning_rate": 0.0}, "The learning rate must be above 0."),
        ({"learning_rate": float("nan")}, "The learning rate must be above 0."),
        ({"weight_decay": -0.1}, "The weight decay must be at least 0."),
        ({"vocabulary": 256}, "A vocabulary of 256 tokens is not possible."),
        ({"vocabulary": 65537}, "A vocabulary of 65,537 tokens is not possible."),
        ({"heads": 3}, "A width of 128 does not divide into 3 heads."),
    ],
)
def test_settings_out_of_bounds(changed, said):
    with pytest.raises(TrainingError) as refused:
        TrainingSettings(**changed)
    assert str(refused.value) == said


def test_settings_name_what_is_different():
    settings = TrainingSettings()
    assert settings.difference(settings.to_json()) == ""
    other = TrainingSettings(weight_decay=0.1)
    assert settings.difference(other.to_json()) == "weight decay 0.1, not 0.3"


def test_the_learning_rate_rises_and_falls():
    settings = TrainingSettings(steps=1000, warm_up=100, learning_rate=1e-3, final_rate=0.05)
    rates = np.array([learning_rate(settings, step) for step in range(1000)])
    assert rates[:100] == pytest.approx(1e-5 * np.arange(1, 101))
    assert rates[100] == pytest.approx(1e-3)
    assert rates[-1] == pytest.approx(5e-5)
    assert (np.diff(rates[100:]) <= 0).all()
    # Half way down the cosine it is at the mean of its ends.
    assert rates[100 + 899 // 2] == pytest.approx(1e-3 * 1.05 / 2, rel=2e-3)


def test_a_run_of_warm_up_alone_has_a_learning_rate():
    settings = TrainingSettings(steps=3, warm_up=3)
    assert learning_rate(settings, 2) == pytest.approx(settings.learning_rate)
    assert learning_rate(TrainingSettings(steps=1, warm_up=0), 0) > 0


def test_snapshots_are_log_spaced_and_hold_both_ends():
    steps = np.array(snapshot_steps(TrainingSettings(steps=8000, snapshots=48)))
    assert len(steps) == 48
    assert (steps[0], steps[1], steps[-1]) == (0, 8, 8000)
    ratios = steps[20:] / steps[19:-1]
    assert ratios.min() == pytest.approx(ratios.max(), rel=0.02)


def test_a_short_run_has_a_snapshot_at_each_step():
    assert snapshot_steps(TrainingSettings(steps=5, snapshots=48)) == (0, 1, 2, 3, 4, 5)
    assert snapshot_steps(TrainingSettings(steps=1, snapshots=3)) == (0, 1)


def test_no_text(tmp_path):
    with pytest.raises(TrainingError, match="does not exist"):
        Corpus(tmp_path / "missing", 0)
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "notes.md").write_text("not a text file by its name")
    with pytest.raises(TrainingError, match=r"contains no \.txt file"):
        Corpus(tmp_path, 0)


def test_the_order_of_documents_is_the_seeds(tmp_path):
    (tmp_path / "folder").mkdir()
    for number in range(20):
        (tmp_path / "folder" / f"{number:02}.txt").write_text(str(number))
    first, again, other = (list(Corpus(tmp_path, seed).documents()) for seed in (1, 1, 2))
    assert first == again != other
    assert sorted(map(int, first)) == list(range(20))


def test_a_corpus_is_told_from_another(tmp_path):
    (tmp_path / "a.txt").write_text("words")
    before = Corpus(tmp_path, 0).fingerprint()
    assert Corpus(tmp_path, 7).fingerprint() == before
    (tmp_path / "b.txt").write_text("more")
    assert Corpus(tmp_path, 0).fingerprint() != before


def test_bytes_come_back_as_they_were(tmp_path):
    text = "Ein Zeichen: \N{SNOWMAN}, tabs\tand\nlines; in all long enough for two windows."
    (tmp_path / "a.txt").write_text(text, "utf-8")
    corpus = Corpus(tmp_path, 0)
    tokenizer = learn_tokens(corpus, 257)
    assert tokenizer.get_vocab_size() == 257
    write_tokens(corpus, tokenizer, TINY, tmp_path / "tokens.npy")
    tokens = np.load(tmp_path / "tokens.npy")
    assert tokens.dtype == np.uint16
    assert len(tokens) == len(text.encode()) + 1
    assert tokens[-1] == tokenizer.token_to_id(END)
    assert tokenizer.decode(tokens[:-1].tolist()) == text


TOKENS_ON = """
from pathlib import Path

from geometry.training.settings import TrainingError
from geometry.training.tokenization import Corpus, learn_tokens, write_tokens
from tests.geometry.training.test_training_parts import TINY

corpus = Corpus(Path({text!r}), 0)
try:
    write_tokens(corpus, learn_tokens(corpus, 257), TINY, Path({out!r}) / "tokens.npy")
except TrainingError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_full_disk_while_the_tokens_are_written_is_reported(tmp_path, run_python):
    """On a real disk, in a process of its own: writing into a memory map would end it."""
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt").write_text("many words " * 20_000)
    disk = SmallDisk.made(tmp_path / "disk")
    if disk is None:
        pytest.skip("no disk may be mounted here")
    try:
        disk.fill(50_000)
        said = run_python(TOKENS_ON.format(text=str(tmp_path / "text"), out=str(disk.folder)))
        assert said.endswith("tokens.npy cannot be written: no space is left on the disk.\n")
        assert [path.name for path in disk.folder.iterdir()] == ["ballast"]
    finally:
        disk.close()


def test_too_little_text(tmp_path):
    (tmp_path / "a.txt").write_text("too short")
    corpus = Corpus(tmp_path, 0)
    with pytest.raises(TrainingError, match=r"^The text is too short for a vocabulary of 400"):
        learn_tokens(corpus, 400)
    tokenizer = learn_tokens(corpus, 257)
    with pytest.raises(TrainingError, match="10 tokens do not fill 2 windows of 8 positions"):
        write_tokens(corpus, tokenizer, TINY, tmp_path / "tokens.npy")
    assert not (tmp_path / "tokens.npy").exists()


def test_windows_are_the_text_and_each_comes_once_in_an_epoch():
    tokens = np.arange(1000, dtype=np.uint16)
    windows = Windows(tokens, 10, 9, seed=3)  # 99 windows, 11 steps
    seen = np.concatenate([windows.at(step) for step in range(11)])
    assert seen.shape == (99, 10)
    assert seen.dtype == np.int64
    assert (np.diff(seen, axis=1) == 1).all()
    starts = np.sort(seen[:, 0])
    assert (np.diff(starts) == 10).all()
    assert 0 <= starts[0] < 10


def test_windows_are_known_from_the_step_alone():
    tokens = np.arange(1000, dtype=np.uint16)
    run = Windows(tokens, 10, 8, seed=3)
    whole = [run.at(step) for step in range(30)]  # over two epochs' ends, and they differ
    for step in (29, 12, 13, 0):
        assert np.array_equal(Windows(tokens, 10, 8, seed=3).at(step), whole[step])
    assert not np.array_equal(np.sort(whole[0][:, 0]), np.sort(whole[13][:, 0]))
    assert not np.array_equal(Windows(tokens, 10, 8, seed=4).at(0), whole[0])


def computed(network, *batch):
    """Set the gradients of a batch; its loss."""
    gradients = Gradients(network, torch.device("cpu"), bfloat16=False)
    with closing(gradients):
        return gradients.compute(*batch)


def test_gradients_of_shares_are_those_of_the_batch(monkeypatch):
    network = new_network(TINY, 0)
    tokens = torch.randint(257, (5, 8), generator=torch.Generator().manual_seed(0))
    loss = network(input_ids=tokens, labels=tokens).loss
    expected = torch.autograd.grad(loss, list(network.parameters()))
    monkeypatch.setattr("geometry.training.gradients._SHARE", 16)  # shares of 2, 2 and 1 windows
    assert computed(network, tokens) == pytest.approx(loss.item(), rel=1e-6)
    for parameter, gradient in zip(network.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-7)


def test_the_last_position_gets_no_gradient():
    network = new_network(TINY, 0)
    computed(network, torch.randint(257, (4, 8)))
    norms = network.transformer.wpe.weight.grad.norm(dim=1)
    assert norms[-1] == 0
    assert (norms[:-1] > 0).all()


@pytest.mark.parametrize("native", [True, False])
def test_bfloat16_is_used_where_it_is_native(monkeypatch, native):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **options: native)
    assert bfloat16_is_faster(torch.device("cuda")) == native
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": native})
    assert bfloat16_is_faster(torch.device("cpu")) == native


def test_the_first_weights():
    network = new_network(TrainingSettings(width=64), 0)
    state = torch.random.get_rng_state()
    again = new_network(TrainingSettings(width=64), 0)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert network.transformer.wpe.weight.std().item() == pytest.approx(0.002, rel=0.05)
    assert network.transformer.wte.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert torch.equal(network.transformer.wpe.weight, again.transformer.wpe.weight)
    assert network.lm_head.weight is network.transformer.wte.weight


def test_embeddings_decay_and_biases_do_not():
    network = new_network(TINY, 0)
    decays = {
        id(weight): group["weight_decay"]
        for group in new_optimizer(network, TINY).param_groups
        for weight in group["params"]
    }
    block = network.transformer.h[0]
    for weight in (network.transformer.wpe.weight, network.transformer.wte.weight,
                   block.attn.c_attn.weight):  # fmt: skip
        assert decays[id(weight)] == 0.3
    for weight in (block.attn.c_attn.bias, block.ln_1.weight):
        assert decays[id(weight)] == 0.0


def test_positions_in_use_grow_to_all():
    settings = TrainingSettings(positions=256, steps=1000, first_positions=24, growth=0.8)
    in_use = [positions_in_use(settings, step) for step in range(1000)]
    assert (in_use[0], in_use[799], in_use[800], in_use[-1]) == (24, 256, 256, 256)
    assert in_use == sorted(in_use)
    assert in_use[400] == 24 + 232 / 2
    assert [window_length(settings, step) for step in range(1000)] == in_use
    assert {positions_in_use(TrainingSettings(), step) for step in (0, 10, 5999)} == {512}


def test_every_second_window_is_short():
    settings = TrainingSettings(
        positions=256, steps=1000, first_positions=24, growth=0.8, window=50
    )
    in_use = [positions_in_use(settings, step) for step in range(1000)]
    lengths = [window_length(settings, step) for step in range(1000)]
    assert lengths[::2] == in_use[::2]
    assert lengths[1::2] == [min(count, 50) for count in in_use[1::2]]


def test_short_windows_are_anywhere():
    windows = Windows(np.arange(1000, dtype=np.uint16), 32, 4, seed=3)
    starts = np.stack([windows.starts(step, 12, 7) for step in range(300)])
    assert np.array_equal(starts[5], windows.starts(5, 12, 7))
    assert np.bincount(starts.ravel()) == pytest.approx(300 * 12 / 7, rel=0.2)
    assert (windows.starts(0, 4, 1) == 0).all()


def test_a_token_is_read_at_the_position_of_its_window():
    """Only rows of positions that are read get a gradient, but for each window's last."""
    network = new_network(replace(TINY, positions=20), 0)
    computed(network, torch.randint(257, (2, 4)), torch.tensor([3, 12]))
    learned = network.transformer.wpe.weight.grad.norm(dim=1) > 0
    assert learned.nonzero().ravel().tolist() == [3, 4, 5, 12, 13, 14]


def rows_of(settings):
    """A network, its optimizer after a step, and the rows in use."""
    network = new_network(settings, 0)
    optimizer = new_optimizer(network, settings)
    torch.square(network.transformer.wpe.weight - 1).sum().backward()
    optimizer.step()
    P = network.transformer.wpe.weight
    return P, optimizer, PositionRows(P, optimizer, settings)


def test_a_row_that_joins_is_a_copy_of_the_one_before_but_the_last():
    P, optimizer, rows = rows_of(replace(TINY, positions=16, first_positions=5))
    before = P.detach().clone()
    rows.join(5)
    assert torch.equal(P, before)
    rows.join(9)
    assert torch.equal(P[4:8], before[3].expand(4, -1)), "4 was the last in use"
    assert torch.equal(P[:4], before[:4])
    assert torch.equal(P[8:], before[8:])
    averages = optimizer.state[P]
    assert (averages["exp_avg"][4:8] == 0).all()
    assert torch.equal(averages["exp_avg_sq"][4:8], averages["exp_avg_sq"][3].expand(4, -1))
    rows.join(16)
    assert torch.equal(P[8:15], before[3].expand(7, -1))
    assert torch.equal(P[15], before[15]), "nothing is ever predicted from it"


def test_rows_stay_in_the_directions_they_had_when_windows_became_shorter():
    settings = replace(TINY, positions=30, width=16, first_positions=8, window=12, components=3)
    P, optimizer, rows = rows_of(settings)
    with torch.no_grad():
        P.normal_()
    whole = P.detach().clone()
    rows.join(12)
    rows.keep_few_directions()
    joined = P.detach().clone()
    assert torch.equal(joined[:7], whole[:7]), "windows are as long as the positions in use"
    rows.join(20)
    rows.keep_few_directions()
    used = P.detach()[1:19]
    kept = used - used.mean(dim=0)
    assert torch.linalg.matrix_rank(kept, atol=1e-4).item() == 3
    assert torch.equal(P[0], joined[0])
    assert torch.equal(P[19:], joined[19:])
    again = PositionRows(P, optimizer, settings)
    again.restore({name: value.clone() for name, value in rows.tensors().items()})
    with torch.no_grad():
        P += torch.randn_like(P)
    changed = P.detach().clone()
    rows.keep_few_directions()
    first = P.detach().clone()
    with torch.no_grad():
        P.copy_(changed)
    again.keep_few_directions()
    assert torch.equal(P, first)
    directions = torch.linalg.svd(kept, full_matrices=False)[2][:3]
    moved = first[1:19] - used
    assert torch.allclose(
        moved - moved.mean(dim=0),
        (moved - moved.mean(dim=0)) @ directions.T @ directions,
        atol=1e-4,
    )


@pytest.mark.parametrize("climb", [0.3, -0.3, 0.0], ids=["right", "left", "circle"])
def test_a_curve_of_one_motion_is_continued_as_it_is(climb):
    t = 0.1 * np.arange(140)
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    curve = np.column_stack([np.cos(t), np.sin(t), climb * t]) @ turn + [1.0, -2.0, 3.0]
    np.testing.assert_allclose(continued(curve[:60], 80), curve[60:], atol=1e-9)


def test_a_row_that_joins_in_few_directions_continues_the_curve():
    settings = replace(TINY, positions=40, width=16, first_positions=8, window=12, components=3)
    P, optimizer, rows = rows_of(settings)
    t = torch.arange(40) * 0.2
    helix = torch.zeros(40, 16)
    helix[:, 2:5] = torch.stack([t.cos(), t.sin(), 0.4 * t], dim=1)
    rows.join(20)
    with torch.no_grad():
        P.copy_(helix)
        P[19:] = 7.0
        P[0] = 5.0  # position 0 is not on the curve
    rows.keep_few_directions()
    rows.join(30)
    assert torch.allclose(P[19:29], helix[19:29], atol=1e-4)
    assert (P[29:] == 7).all()
    rows.join(40)
    assert torch.allclose(P[29:39], helix[29:39], atol=1e-3)
    assert (optimizer.state[P]["exp_avg"][19:39] == 0).all()


def test_shorter_windows_are_the_text_and_as_many_tokens():
    tokens = np.arange(1000, dtype=np.uint16)
    windows = Windows(tokens, 32, 4, seed=3)
    seen = windows.at(5, 10)
    assert seen.shape == (12, 10)
    assert (np.diff(seen, axis=1) == 1).all()
    assert np.array_equal(Windows(tokens, 32, 4, seed=3).at(5, 10), seen)
    assert not np.array_equal(windows.at(6, 10), seen)
    ends = np.concatenate([windows.at(step, 10)[:, [0, -1]] for step in range(300)])
    assert (ends.min(), ends.max()) == (0, 999), "from the first token to the last"
    assert np.array_equal(windows.at(2, 32), windows.at(2))
