"""``positions.log``: what a training appends, and what is read of it."""

import os
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import helixscope as hx
from geometry.checkpoints.errors import FileChanged, SourceError
from geometry.checkpoints.formats.position_log import read_log
from geometry.history.here import history_here
from geometry.history.position_log import PositionLog
from geometry.history.record import read_history

SHAPE = (24, 8)


def table(step, shape=SHAPE):
    return np.random.default_rng(step).standard_normal(shape)


def filled(folder, steps, **options):
    with PositionLog(folder, **options) as log:
        for step in steps:
            log(step, table(step), loss=10.0 - step / 100, tokens=step * 7)
    return log.file


def assert_tables(file, steps, atol=2e-3):
    log = read_log(file)
    assert log.records["step"].tolist() == list(steps)
    for index, step in enumerate(steps):
        np.testing.assert_allclose(log.table(index), table(step), atol=atol)


def test_what_is_logged_is_read(tmp_path):
    file = filled(tmp_path / "run", range(0, 50, 10))
    assert_tables(file, range(0, 50, 10))
    history = read_history(file)
    assert history.shape == SHAPE
    assert history.tokens.tolist() == [0, 70, 140, 210, 280]
    np.testing.assert_allclose(history.losses, [10, 9.9, 9.8, 9.7, 9.6])
    np.testing.assert_allclose(history.last(), table(40), atol=2e-3)
    assert_tables(filled(tmp_path / "single", [3], single=True), [3], atol=1e-6)


def test_the_folder_and_its_steps_open_as_models(tmp_path):
    filled(tmp_path / "run", [0, 5, 10])
    last = hx.open(tmp_path / "run")
    np.testing.assert_allclose(last.W_pos, table(10), atol=2e-3)
    np.testing.assert_allclose(hx.open(tmp_path / "run" / "step 5").W_pos, table(5), atol=2e-3)
    assert history_here(last.model).steps.tolist() == [0, 5, 10]
    with pytest.raises(SourceError, match="no step 7"):
        hx.open(tmp_path / "run" / "step 7")


def test_an_open_model_stays_as_it_is_while_more_is_logged(tmp_path):
    log = PositionLog(tmp_path)
    log(0, table(0))
    whole, step = hx.open(tmp_path), hx.open(tmp_path / "step 0")
    history = read_history(log.file)
    log(1, table(1))
    for one in (whole, step):
        one.check_files()
        np.testing.assert_allclose(one.W_pos, table(0), atol=2e-3)
    np.testing.assert_allclose(history.table(0), table(0), atol=2e-3)
    assert not read_log(log.file).ended
    log.close()
    assert read_log(log.file).ended


@pytest.mark.parametrize("cut", [1, 50, 200, 64 + 24 * 8 * 2 - 1])
def test_a_torn_record_is_left_out_and_replaced(cut, tmp_path):
    file = filled(tmp_path, [0, 1, 2])
    os.truncate(file, file.stat().st_size - cut)
    assert_tables(file, [0, 1])
    filled(tmp_path, [3])
    assert_tables(file, [0, 1, 3])


def test_bytes_that_were_not_written_are_left_out(tmp_path):
    file = filled(tmp_path, [0, 1, 2])
    data = bytearray(file.read_bytes())
    data[-100:] = bytes(100)
    file.write_bytes(data)
    assert_tables(file, [0, 1])
    data[140] ^= 255  # in the table of step 0, which is looked at when it is read
    file.write_bytes(data)
    with pytest.raises(SourceError, match="damaged"):
        read_log(file).table(0)


def test_a_training_that_starts_again_replaces_later_steps(tmp_path):
    file = filled(tmp_path, [0, 10, 20, 30])
    filled(tmp_path, [20, 25])
    assert_tables(file, [0, 10, 20, 25])


def test_a_log_is_thinned_on_a_logarithmic_scale(tmp_path):
    log = PositionLog(tmp_path, max_records=32)
    for step in range(400):
        log(step, table(step))
    steps = read_log(log.file).records["step"].tolist()
    assert len(steps) < 32
    assert (steps[0], steps[-1]) == (0, 399)
    assert_tables(log.file, steps)
    assert np.diff(steps[:4]).max() < np.diff(steps).max() / 4
    history = read_history(log.file)
    for step in range(400, 440):
        log(step, table(step))
    with pytest.raises(FileChanged):
        history.last()


@pytest.mark.parametrize(
    ("what", "match"),
    [
        (np.full(SHAPE, np.nan), "NaN"),
        (np.full(SHAPE, 1e6), "float16"),
        (np.ones((3, 4)), "tables of"),
        (np.ones(5), ""),
        ("no model", ""),
    ],
)
def test_what_cannot_be_logged_gives_one_warning(what, match, tmp_path):
    log = PositionLog(tmp_path)
    log(0, table(0))
    with pytest.warns(RuntimeWarning, match=match):
        log(1, what)
    log(2, what)
    log(3, table(3))
    assert_tables(log.file, [0, 3])


def test_a_full_disk_gives_one_warning_and_later_records_follow(tmp_path, monkeypatch):
    log = PositionLog(tmp_path)
    log(0, table(0))
    write, full = os.write, True

    def some(descriptor, data):
        if full and len(data) > 100:
            write(descriptor, data[:70])
            raise OSError(28, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", some)
    with pytest.warns(RuntimeWarning, match="No space left"):
        log(1, table(1))
    log(2, table(2))
    full = False
    log(3, table(3))
    assert_tables(log.file, [0, 3])


def test_a_folder_that_cannot_be_made_gives_one_warning(tmp_path):
    (tmp_path / "file").write_text("", "utf-8")
    log = PositionLog(tmp_path / "file" / "run")
    with pytest.warns(RuntimeWarning):
        log(0, table(0))
    log.close()


def test_only_the_first_process_writes(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    PositionLog(tmp_path)(0, table(0))
    assert not list(tmp_path.iterdir())


def test_a_module_is_logged_as_it_opens_and_not_held(tmp_path):
    import torch
    import transformers

    config = transformers.GPT2Config(n_layer=1, n_embd=16, n_head=2, n_positions=32, vocab_size=50)
    model = transformers.GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters())
    with PositionLog(tmp_path) as log:
        for step in range(3):
            loss = model(torch.arange(32)[None], labels=torch.arange(32)[None]).loss
            loss.backward()
            optimizer.step()
            log(step, model, loss=loss)
    np.testing.assert_allclose(
        read_log(log.file).table(2), model.transformer.wpe.weight.detach(), atol=1e-3
    )
    assert read_history(log.file).losses[0] > 1


def test_other_files_are_named(tmp_path):
    file = tmp_path / "positions.log"
    for content, match in (
        (b"", "no step yet"),
        (b"x" * 100, "not a log"),
        (b"HXPOSLOG" + (2).to_bytes(4, "little") + bytes(60), "version 2"),
        (b"HXPOSLOG" + (1).to_bytes(4, "little") + bytes(60), "damaged"),
    ):
        file.write_bytes(content)
        with pytest.raises(SourceError, match=match):
            read_log(file)


@pytest.mark.slow
def test_a_killed_training_loses_no_record_but_the_last(tmp_path):
    script = textwrap.dedent(
        """
        import sys
        import numpy as np
        from geometry.history.position_log import PositionLog
        log = PositionLog(sys.argv[1])
        for step in range(int(sys.argv[2]), 10**9):
            log(step, np.full((256, 64), step % 1000, np.float16))
            print(step, flush=True)
        """
    )
    random = np.random.default_rng(0)
    file, begin = tmp_path / "positions.log", 0
    for _ in range(50):
        command = [sys.executable, "-c", script, str(tmp_path), str(begin)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for _ in range(int(random.integers(1, 40))):
                done = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
            printed = process.stdout.read().split()
            done = int(printed[-1]) if printed else done
        log = read_log(file)
        assert log.records["step"].tolist() == list(range(log.written))
        assert log.written > done
        for index in (0, len(log.at) - 1):
            assert (log.table(index) == index % 1000).all()
        begin = log.written


@pytest.mark.slow
def test_the_trainer_of_transformers_logs(tmp_path):
    pytest.importorskip("accelerate")
    import torch
    import transformers

    config = transformers.GPT2Config(n_layer=1, n_embd=16, n_head=2, n_positions=32, vocab_size=50)
    model = transformers.GPT2LMHeadModel(config)
    data = [{"input_ids": torch.arange(32), "labels": torch.arange(32)}] * 24
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path / "out"), per_device_train_batch_size=2, max_steps=10,
        logging_steps=1, report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    callback = hx.TrainerCallback(tmp_path / "run", every=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformers.Trainer(model, arguments, train_dataset=data, callbacks=[callback]).train()
    history = history_here(hx.open(tmp_path / "run").model)
    assert history.steps.tolist() == [0, 4, 8, 10]
    np.testing.assert_allclose(
        history.last(), model.transformer.wpe.weight.detach().cpu(), atol=1e-3
    )
    assert read_log(tmp_path / "run" / "positions.log").ended


@pytest.mark.slow
def test_the_trainer_of_lightning_logs(tmp_path):
    lightning = pytest.importorskip("lightning")
    import torch

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.pos = torch.nn.Embedding(64, 16)
            self.out = torch.nn.Linear(16, 10)

        def training_step(self, batch, _):
            targets = batch[0] % 10
            return torch.nn.functional.cross_entropy(self.out(self.pos(batch[0])), targets)

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    net, data = Net(), torch.utils.data.TensorDataset(torch.arange(40) % 64)
    callback = hx.LightningCallback(tmp_path / "run", every=4, table="pos.weight")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lightning.Trainer(
            max_steps=10, logger=False, enable_checkpointing=False, callbacks=[callback],
            accelerator="cpu", enable_progress_bar=False, enable_model_summary=False,
        ).fit(net, torch.utils.data.DataLoader(data, batch_size=2))  # fmt: skip
    log = read_log(tmp_path / "run" / "positions.log")
    assert log.records["step"].tolist() == [0, 4, 8, 10]
    assert np.isfinite(log.records["loss"][1:]).all()
    np.testing.assert_allclose(log.table(-1), net.pos.weight.detach(), atol=1e-3)
