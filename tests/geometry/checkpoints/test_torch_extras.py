"""What scripts save beside the tensors is skipped or kept as settings; pickles never run."""

import argparse
import collections
import contextlib
import dataclasses
import datetime
import enum
import functools
import os
import pathlib
import random
import subprocess
import sys
import time
import tracemalloc
import types
import zipfile

import numpy as np
import pytest
import torch

from geometry.checkpoints.errors import HelixscopeError, SourceError
from geometry.checkpoints.formats.torch_store import open_torch
from geometry.checkpoints.stored_settings import MAX_VALUES, settings_in
from geometry.models.sources.opening import open_model
from tests.command_line import ROOT
from tests.hostile_pickles import (
    COSTLY,
    HOSTILE,
    REFUSED,
    RUN_SOMETHING,
    beside_a_tensor,
    torch_file,
)
from tests.marks import slow_but

STATE = {
    "transformer.wpe.weight": torch.arange(32.0).reshape(8, 4),
    "transformer.wte.weight": torch.ones(9, 4),
}


@dataclasses.dataclass
class GPTConfig:
    block_size: int = 8
    n_head: int = 2
    dtype: torch.dtype = torch.float32


class Slotted:
    __slots__ = ("n_head",)

    def __init__(self, n_head):
        self.n_head = n_head


class Mode(enum.Enum):
    PRETRAINING = 1


class AttrDict(dict):
    pass


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wpe = torch.nn.Embedding(8, 4)


#: What costs time or memory in each of the ways, and is read in less than a second.
QUICK = [name for name in COSTLY if "shared by all" not in name or "calls" in name]


def training_state():
    """The state of an optimizer and a scheduler; importing the first takes seconds."""
    with_gradients = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.AdamW([with_gradients])
    with_gradients.sum().backward()
    optimizer.step()
    return {"optimizer": optimizer.state_dict(), "scheduler": {"_step_count": 1}}


BESIDE = {
    "namespace": argparse.Namespace(lr=0.1),
    "simple namespace": types.SimpleNamespace(a=1),
    "numpy number": np.float64(0.5),
    "numpy numbers": [np.float32(n) for n in range(1000)],
    "numpy array": np.arange(12.0).reshape(3, 4),
    "numpy state": np.random.RandomState(0).get_state(),
    "numpy generator": np.random.default_rng(0),
    "numpy generator's state": np.random.default_rng(0).bit_generator.state,
    "random state": random.Random(0).getstate(),
    "random": random.Random(0),
    "defaultdict": collections.defaultdict(list, {"loss": [1.0]}),
    "counter": collections.Counter("aab"),
    "deque": collections.deque([1, 2]),
    "path": pathlib.PurePosixPath("/a/b"),
    "dataclass": GPTConfig(),
    "slots": Slotted(2),
    "enum": Mode.PRETRAINING,
    "dictionary": AttrDict(a=1),
    "dtype": torch.bfloat16,
    "device": torch.device("cpu"),
    "size": torch.Size([1, 2]),
    "set": {1, "a", (1, 2)},
    "frozenset": frozenset([1]),
    "keys": {(0, 1): 2, Mode.PRETRAINING: 3, frozenset(): 4},
    "losses": [0.1 * n for n in range(200_000)],
    "large number": 2**1000,
    "complex": 1j,
    "bytes": bytearray(b"abc"),
    "time": datetime.datetime(2020, 1, 1),
    "function": os.getcwd,
    "partial": functools.partial(print, 1, end=""),
    "range": range(3),
    "sparse": torch.eye(3).to_sparse(),
    "module": Net(),
}


@pytest.mark.parametrize("protocol", [2, 5])
@pytest.mark.parametrize("name", [*BESIDE, "training"])
def test_what_stands_beside_the_tensors_is_passed_over(name, protocol, tmp_path):
    path = tmp_path / "checkpoint.pth"
    extra = training_state() if name == "training" else BESIDE[name]
    torch.save({"model": STATE, "extra": extra}, path, pickle_protocol=protocol)
    store = open_torch(path)
    assert [one for one in store.tensors if one.startswith("model.")] == [
        f"model.{one}" for one in STATE
    ]
    for one, values in STATE.items():
        np.testing.assert_array_equal(store.read(f"model.{one}"), values)


@pytest.mark.parametrize(
    ("content", "settings"),
    [
        ({"model_args": {"n_head": 4, "bias": False, "dropout": 0.1}},
         {"n_head": 4, "bias": False, "dropout": 0.1}),
        ({"config": {"lr": 1.0}, "model_args": {"n_head": 4}}, {"n_head": 4}),
        ({"args": argparse.Namespace(n_head=np.int64(4), out=pathlib.PurePosixPath("/a/b"))},
         {"n_head": 4, "out": "/a/b"}),
        ({"config": GPTConfig()}, {"block_size": 8, "n_head": 2}),
        ({"config": Slotted(2)}, {"n_head": 2}),
        ({"cfg": AttrDict(model=AttrDict(heads=2), made=np.zeros(3))}, {"model": {"heads": 2}}),
        ({"hparams": types.SimpleNamespace(sizes=(1, [2, None]))}, {"sizes": [1, [2, None]]}),
        ({"checkpoint": {"hyper_parameters": {"n_head": 4}}}, {"n_head": 4}),
        ({"args": None, "cfg": {"n": np.float32(0.5)}}, {"n": 0.5}),
        ({"dims": {"n": np.array([1], ">i2")[0], "big": 2**80}}, {"n": 1}),
        ({"config": {"of": GPTConfig, "mode": Mode.PRETRAINING, 3: 4, "torn": [GPTConfig, 1]}}, {}),
        ({"config": "gpt2", "args": [1]}, {}),
        ({"config": {"lr": 4}, "args": {"n_head": 4}}, {"n_head": 4}),
        ({"config": {"lr": 4}, "args": {"model": {"depth": 4}}}, {"model": {"depth": 4}}),
        ({"hparams": {"x": [0] * 12_000}, "config": {"n_head": 4}}, {"n_head": 4}),
        ({"hparams": {"x": [[0] * 1_000] * 12}, "config": {"n_head": 4}}, {"n_head": 4}),
        ({"epoch": 3}, {}),
    ],
)  # fmt: skip
def test_settings_are_kept_as_plain_values(content, settings, tmp_path):
    torch.save({"model": STATE, **content}, tmp_path / "a.pt")
    assert open_torch(tmp_path / "a.pt").settings == settings


def omegaconf(value):
    """What omegaconf's objects have as their state."""
    made = argparse.Namespace()
    if isinstance(value, dict):
        made.__dict__["_content"] = {key: omegaconf(inner) for key, inner in value.items()}
    elif isinstance(value, list):
        made.__dict__["_content"] = [omegaconf(inner) for inner in value]
    else:
        made.__dict__["_val"] = value
    made.__dict__["_metadata"] = GPTConfig()
    return made


def test_settings_of_omegaconf(tmp_path):
    settings = {"model": {"n_head": 2, "sizes": [1, 2]}, "name": "a"}
    torch.save({"model": STATE, "cfg": omegaconf(settings)}, tmp_path / "a.pt")
    assert open_torch(tmp_path / "a.pt").settings == settings


def test_settings_without_end():
    own: dict[str, object] = {"n_head": 2}
    own["me"] = own
    shared: object = "x"
    for _ in range(40):
        shared = {"a": shared, "b": shared, "c": [shared] * 100}
    many = {str(n): n for n in range(50_000)}
    numbered = {n: n for n in range(MAX_VALUES)}
    for settings in (
        own, {"n_head": 2, "shared": shared}, {"n_head": 2, **many}, {"vocab": many, "n_head": 2},
        {"vocab": numbered, "n_head": 2}, {**{str(n): numbered for n in range(5_000)}, "n_head": 2},
    ):  # fmt: skip
        found = settings_in({"config": settings})
        assert found["n_head"] == 2
        assert len(found) <= MAX_VALUES


def test_the_first_protocol(tmp_path):
    torch.save({"model": STATE, "args": argparse.Namespace(n_head=2)}, tmp_path / "a.pt",
               pickle_protocol=1)  # fmt: skip
    store = open_torch(tmp_path / "a.pt")
    assert store.settings == {"n_head": 2}
    np.testing.assert_array_equal(store.read("model.transformer.wte.weight"), np.ones((9, 4)))


@pytest.mark.parametrize("kind", [list, tuple])
def test_dictionaries_in_a_list_are_numbered(tmp_path, kind):
    steps = kind({"wpe.weight": torch.full((8, 4), float(n))} for n in range(3))
    torch.save({"steps": steps, "losses": [[0.5] * 2000, [{}] * 2000]}, tmp_path / "a.pt")
    store = open_torch(tmp_path / "a.pt")
    assert list(store.tensors) == [f"steps.{n}.wpe.weight" for n in range(3)]
    np.testing.assert_array_equal(store.read("steps.2.wpe.weight"), np.full((8, 4), 2.0))


def test_names_are_in_the_order_of_the_file(tmp_path):
    names = ["z", "a", "m"]
    torch.save({"b": {name: torch.ones(2) for name in names}, "a": torch.ones(2)},
               tmp_path / "a.pt")  # fmt: skip
    assert list(open_torch(tmp_path / "a.pt").tensors) == ["b.z", "b.a", "b.m", "a"]


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
def test_a_quantised_tensor_is_listed_and_cannot_be_read(tmp_path):
    quantised = torch.quantize_per_tensor(torch.ones(8, 4), 0.1, 0, torch.qint8)
    torch.save({"wpe.weight": quantised, "wte.weight": torch.ones(9, 4)}, tmp_path / "a.pt")
    store = open_torch(tmp_path / "a.pt")
    assert store.tensors["wpe.weight"].shape == (8, 4)
    with pytest.raises(HelixscopeError, match="QInt8"):
        store.read("wpe.weight")


@pytest.mark.parametrize("what", ["conjugated or negated", "without a record"])
def test_a_tensor_without_plain_numbers_is_listed_and_cannot_be_read(what, tmp_path):
    content = {"wpe.weight": torch.ones(8, 4), "other": torch.ones(9, 4, dtype=torch.cfloat).conj()}
    torch.save(content, tmp_path / "whole.pt")
    with (
        zipfile.ZipFile(tmp_path / "whole.pt") as whole,
        zipfile.ZipFile(tmp_path / "a.pt", "w") as some,
    ):
        for record in whole.namelist():
            if what != "without a record" or not record.endswith("/data/1"):
                some.writestr(record, whole.read(record))
    store = open_torch(tmp_path / "a.pt")
    assert store.tensors["other"].shape == (9, 4)
    with pytest.raises(HelixscopeError, match=what):
        store.read("other")
    np.testing.assert_array_equal(store.read("wpe.weight"), np.ones((8, 4)))


@pytest.mark.parametrize("content", [Net(), {"model": Net(), "epoch": 3}])
def test_a_whole_module_is_named_and_not_run(content, tmp_path):
    torch.save(content, tmp_path / "model.pt")
    with pytest.raises(SourceError, match=f"whole module \\({__name__}.Net\\)") as caught:
        open_model(tmp_path / "model.pt")
    assert "torch.save(model.state_dict()" in caught.value.advice


def test_an_object_without_tensors_is_named(tmp_path):
    torch.save(GPTConfig(), tmp_path / "model.pt")
    with pytest.raises(SourceError, match=f"no tensors, only an object of {__name__}.GPTConfig"):
        open_model(tmp_path / "model.pt")


# Opens each file of the current folder, and prints what Python reports meanwhile (import, exec,
# compile, open, os.system, subprocess.Popen, socket.connect, …) but opening that file and listing
# its folder.
WATCHED = """
import os, sys
sys.path[:0] = [sys.argv[1]]
from geometry.checkpoints.errors import HelixscopeError
from geometry.models.sources.opening import open_model
names = sorted(os.listdir())
open_model("a good one.pt")  # imports what it needs
now = None
def heard(event, arguments):
    usual = event == "open" and (arguments[0] == now or isinstance(arguments[0], int))
    if now and not usual and event != "os.listdir":
        os.write(1, f"{now}: {event} {arguments}\\n".encode())
sys.addaudithook(heard)
for name in names:
    now = name
    try:
        open_model(name)
    except HelixscopeError:
        pass
    finally:
        now = None
os.write(1, f"{len(names)} files\\n".encode())
"""


def test_nothing_is_run_imported_or_opened(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for name, value in {"a good one": b"N", **HOSTILE}.items():
        (folder / f"{name.replace('/', ' ')}.pt").write_bytes(torch_file(beside_a_tensor(value)))
        (folder / f"{name.replace('/', ' ')}, alone.pt").write_bytes(
            torch_file(b"\x80\x02" + value + b".")
        )
    before = {path.name for path in folder.iterdir()}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, ROOT], cwd=folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == (f"{2 * len(HOSTILE) + 2} files\n", 0), done.stderr
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", RUN_SOMETHING)
def test_a_table_beside_what_would_run_something_opens(name, tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(torch_file(beside_a_tensor(RUN_SOMETHING[name])))
    store = open_torch(path)
    np.testing.assert_array_equal(store.read("wpe.weight"), np.zeros((4, 4)))


@pytest.mark.parametrize("name", REFUSED)
def test_what_refers_to_something_outside_is_refused(name, tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(torch_file(beside_a_tensor(REFUSED[name])))
    with pytest.raises(SourceError, match=r"a\.pt is damaged"):
        open_model(path)


@pytest.mark.parametrize("name", slow_but(QUICK, COSTLY))
def test_time_and_memory_are_bounded(name, tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(torch_file(beside_a_tensor(COSTLY[name])))
    tracemalloc.start()
    begun = time.process_time()
    with contextlib.suppress(SourceError):
        assert open_torch(path).tensors["wpe.weight"].shape == (4, 4)
    took, peak = time.process_time() - begun, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert took < 5  # counting allocations triples it
    assert peak < 200_000_000
