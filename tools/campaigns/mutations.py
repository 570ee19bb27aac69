"""Mutated files for every reader of this machine: each opens or is refused in one sentence.

``python -m tools.campaigns.mutations --kind torch --seed 1 --cases 2000``. The cases run in other
processes, in batches, so that one that ends its process or never returns is a fault with a number
too; ``--inside`` runs them in this one.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import logging
import os
import pickle
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.plain_text import LONGEST_SENTENCE, visible
from tests.hostile_pickles import HOSTILE, beside_a_tensor
from tools.campaigns.campaign import Case, Counts, Fault, attack, parser, peak_mb, restart_peak

BUDGET_S, BUDGET_MB = 2.0, 300.0
#: Cases of one process, and seconds without an answer after which it is stopped.
BATCH, PATIENCE_S = 250, 60.0
FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures"
PROMPT = "Hello, my name is a a b " * 20

Files = dict[str, bytes]


@dataclass(frozen=True)
class Kind:
    """A kind of file: sound ones, and what opens them."""

    make: Callable[[], Files]
    targets: tuple[str, ...]  # What is mutated
    open: Callable[[Path], object]


# -- sound files -----------------------------------------------------------------------------------


def _tensors() -> dict[str, np.ndarray]:
    made = np.random.default_rng(0)
    sizes = {
        "wpe.weight": (16, 8), "wte.weight": (12, 8), "h.0.attn.c_attn.weight": (8, 24),
        "h.0.attn.c_proj.weight": (8, 8), "h.0.mlp.c_fc.weight": (8, 32),
        "h.0.ln_1.weight": (8,), "h.0.ln_2.weight": (8,),
    }  # fmt: skip
    return {name: made.standard_normal(size).astype(np.float32) for name, size in sizes.items()}


CONFIG = {"model_type": "gpt2", "n_positions": 16, "n_embd": 8, "n_layer": 1, "n_head": 2,
          "vocab_size": 12, "bos_token_id": 0}  # fmt: skip


def _safetensors(tensors: Mapping[str, np.ndarray]) -> bytes:
    header, body = {}, b""
    names = {"float32": "F32", "float64": "F64", "int64": "I64", "float16": "F16"}
    for name, array in tensors.items():
        place = [len(body), len(body) + array.nbytes]
        header[name] = {"dtype": names[array.dtype.name], "shape": list(array.shape),
                        "data_offsets": place}  # fmt: skip
        body += array.tobytes()
    return _with_header(header, body)


def _with_header(header: object, body: bytes) -> bytes:
    raw = json.dumps(header).encode()
    return len(raw).to_bytes(8, "little") + raw + body


def _torch() -> bytes:
    import torch

    packed = io.BytesIO()
    torch.save({name: torch.from_numpy(array) for name, array in _tensors().items()}, packed)
    return packed.getvalue()


def _training() -> bytes:
    """Write what a training script would: objects and settings beside the tensors."""
    import torch

    tensors = {name: torch.from_numpy(array) for name, array in _tensors().items()}
    packed = io.BytesIO()
    torch.save({
        "model": tensors, "model_args": {"n_head": 2, "block_size": 16, "bias": True},
        "args": argparse.Namespace(lr=0.1, out=Path("out")), "best": np.float64(0.5),
        "losses": [0.5] * 100, "log": defaultdict(list, {"loss": [1.0]}), "seen": {1, "a"},
        "rng": np.random.RandomState(0).get_state(), "dtype": torch.float16,
    }, packed)  # fmt: skip
    return packed.getvalue()


def _npy() -> bytes:
    packed = io.BytesIO()
    np.save(packed, _tensors()["wpe.weight"])
    return packed.getvalue()


def _npz() -> bytes:
    packed = io.BytesIO()
    np.savez_compressed(packed, **{n.replace(".", "_"): a for n, a in _tensors().items()})
    return packed.getvalue()


def _tokenizer(begin: str = "<s>") -> bytes:
    vocabulary = {"a": 0, "b": 1, "Ġa": 2, "Ġ": 3, "H": 4, "e": 5, "l": 6, "o": 7, "ll": 8}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
             "use_regex": True}  # fmt: skip
    added = {"id": 9, "content": begin, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": True}  # fmt: skip
    template = {"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": begin, "type_id": 0}},
                           {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}],
                "special_tokens": {begin: {"id": begin, "ids": [9],
                                           "tokens": [begin]}}}  # fmt: skip
    steps = [{"type": "NFC"}, {"type": "Replace", "pattern": {"String": "x"}, "content": "a"}]
    split = {"type": "Split", "pattern": {"Regex": " ?\\p{L}+|\\s+"}, "behavior": "Isolated",
             "invert": False}  # fmt: skip
    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [added],
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "post_processor": template, "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False,
                  "byte_fallback": False, "vocab": vocabulary, "merges": [["l", "l"]]},
    }).encode()  # fmt: skip


def _unigram() -> bytes:
    content = json.loads(_tokenizer())
    content["model"] = {"type": "Unigram", "unk_id": 0, "byte_fallback": False,
                        "vocab": [["<u>", 0.0], ["a", -1.0], ["b", -2.0],
                                  ["▁a", -3.0]]}  # fmt: skip
    content["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁",
                                "prepend_scheme": "always", "split": True}  # fmt: skip
    return json.dumps(content).encode()


def _history() -> bytes:
    steps = np.array([0, 10, 100], np.int64)
    tables = np.ones((3, 16, 8), np.float16)
    body = _safetensors({"steps": steps, "positions": tables, "tokens": steps * 64,
                         "losses": np.ones(3, np.float32), "decays": np.ones(3)})  # fmt: skip
    return _with_metadata(body, {"format": "helixscope-history", "version": "1"})


def _layers() -> bytes:
    tables = np.random.default_rng(0).normal(size=(2, 3, 16, 8)).astype(np.float32)
    columns = {name: np.ones(3) for name in ("share", "share_noise", "halves_cosine")}
    body = _safetensors({"half_a": tables[0], "half_b": tables[1], "windows": np.array([3, 4]),
                         "special": np.array([0, 15]), **columns})  # fmt: skip
    return _with_metadata(body, {"format": "helixscope-positions", "version": "1", "name": "a"})


def _with_metadata(body: bytes, metadata: dict[str, str]) -> bytes:
    length = int.from_bytes(body[:8], "little")
    header = json.loads(body[8 : 8 + length])
    header["__metadata__"] = metadata
    return _with_header(header, body[8 + length :])


def _work() -> Any:
    from gui.state.camera import CameraPose, Place
    from gui.state.session import Session
    from gui.state.work import FIELDS, OtherView, Work

    pose = CameraPose(np.ones(3), np.zeros(3), np.array([0.0, 0.0, 1.0]), 2.0)
    other = OtherView("gpt2", (1, 9), (1, 2, 3), place=Place(pose, follows=True))
    return Work("sample", (1, 9), {name: getattr(Session(), name) for name in FIELDS},
                place=Place(pose, follows=False), size=(800, 600), others=(other,),
                panels={"norms": {"k": 3}})  # fmt: skip


def _helix() -> bytes:
    from dataclasses import replace

    from gui.services.work_files.work_file import pack_work
    from gui.state.work import Bookmark

    saved = Bookmark("0" * 32, "View 1", "note", "gpt2", _work(), b"\x89PNG")
    return pack_work(replace(_work(), bookmarks=(saved,)))


def _bookmarks() -> bytes:
    from gui.services.work_files.work_file import write_bookmarks
    from gui.state.work import Bookmark

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bookmarks.zip"
        write_bookmarks([Bookmark(f"{n:032x}", "n", "", "m", _work(), b"") for n in range(3)], path)
        return path.read_bytes()


def _lesson() -> bytes:
    from tests.gui.services.lessons.test_lessons import TEXT

    return TEXT.encode()


def _model(**more: bytes) -> Files:
    files = {
        "model.safetensors": _safetensors(_tensors()),
        "config.json": json.dumps(CONFIG).encode(),
    }
    return files | {name.replace("__", "."): content for name, content in more.items()}


def _sharded() -> Files:
    tensors = list(_tensors().items())
    shards = {"a.safetensors": dict(tensors[:2]), "b.safetensors": dict(tensors[2:])}
    places = {name: shard for shard, held in shards.items() for name in held}
    index = {"metadata": {"total_size": 99}, "weight_map": places}
    return {"model.safetensors.index.json": json.dumps(index).encode(),
            "config.json": json.dumps(CONFIG).encode(),
            **{shard: _safetensors(held) for shard, held in shards.items()}}  # fmt: skip


def _trainer() -> bytes:
    log = [
        {"step": n, "loss": 1.5, "num_input_tokens_seen": n * 64, "epoch": 0.1} for n in (1, 2, 3)
    ]
    return json.dumps({"global_step": 3, "log_history": log}).encode()


# -- what opens them -------------------------------------------------------------------------------


def _open_model(path: Path, table: str | None = None) -> object:
    from geometry.models.sources.opening import open_source

    model = open_source(path, table=table)
    found: list[object] = [model.W_pos, model.fingerprint, model.missing, model.warnings,
                           model.d_vocab, model.n_layers, model.n_heads, model.causal]  # fmt: skip
    reads: list[Callable[[], object]] = [
        lambda: model.W_E, lambda: model.token_type, lambda: model.weight("W_Q"),
        lambda: model.weight("W_in"), lambda: model.layers.norm_gain("attention"),
        lambda: model.tokenize(PROMPT), lambda: model.token_ids("a b"),
        lambda: [model.token_text(n) for n in (0, 1, 5, 9, 2**31)],
    ]  # fmt: skip
    refused: list[HelixscopeError] = []
    for read in reads:
        try:
            found.append(read())
        except HelixscopeError as error:
            _check_sentence(error)
            refused.append(error)
    return found


def _open_gguf(folder: Path) -> object:
    from geometry.models.pair_use import pair_use
    from geometry.models.sources.opening import open_source

    found = [_open_model(folder / "a.gguf")]
    try:
        found.append(pair_use(open_source(folder / "a.gguf")))
    except HelixscopeError as error:
        _check_sentence(error)
    return found


def _gguf(arch: str, tensors: Mapping[str, np.ndarray], **settings: float) -> bytes:
    """Write a GGUF file with a vocabulary; a tensor of bytes is quantised."""
    from gguf import GGMLQuantizationType, GGUFWriter

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.gguf"
        writer = GGUFWriter(path, arch)
        for name, value in settings.items():
            key = f"{arch}.{name.replace('__', '.')}"
            add = writer.add_float32 if isinstance(value, float) else writer.add_uint32
            add(key, value)
        writer.add_array("tokenizer.ggml.tokens", ["a", "b", "Hello"] * 10)
        for name, tensor in tensors.items():
            raw = GGMLQuantizationType.Q8_0 if tensor.dtype == np.uint8 else None
            writer.add_tensor(name, tensor, raw_dtype=raw)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()


def _gguf_rotary() -> Files:
    raw = np.full((32, 34), 60, np.uint8)
    tensors = {"blk.0.attn_q.weight": raw, "blk.0.attn_k.weight": raw,
               "rope_freqs.weight": np.ones(4, np.float32)}  # fmt: skip
    return {"a.gguf": _gguf(
        "llama", tensors, context_length=64, embedding_length=32, block_count=1,
        attention__head_count=4, rope__freq_base=1e4, rope__dimension_count=8,
    )}  # fmt: skip


def _gguf_table() -> Files:
    rng = np.random.default_rng(0)
    tensors = {"position_embd.weight": rng.normal(size=(16, 32)).astype(np.float32),
               "token_embd.weight": rng.normal(size=(9, 32)).astype(np.float16)}  # fmt: skip
    return {"a.gguf": _gguf("gpt2", tensors, context_length=16, embedding_length=32)}


def _rotary() -> Files:
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
              "num_hidden_layers": 2, "max_position_embeddings": 64, "rope_theta": 1e4,
              "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32.0,
                               "original_max_position_embeddings": 32}}  # fmt: skip
    weights = {"model.layers.0.self_attn.q_proj.weight": np.eye(64, dtype="f4")}
    return {"model.safetensors": _safetensors(weights),
            "config.json": json.dumps(config).encode()}  # fmt: skip


def _open_only(name: str, table: str | None = None) -> Callable[[Path], object]:
    return lambda folder: _open_model(folder / name, table)


def _open_tokenizer(folder: Path) -> object:
    from geometry.models.tokens import begin_token, load_tokenizer

    tokenizer = load_tokenizer(folder)
    ids = tokenizer.encode(PROMPT)
    begin_token(folder, CONFIG, tokenizer)
    return [tokenizer.text_of(n) for n in ids[:50]], tokenizer.pieces("b"), tokenizer.id_of("a")


def _open_history(folder: Path) -> object:
    from geometry.history.record import read_history

    history = read_history(folder / "history.safetensors")
    return [history.table(n) for n in range(min(3, history.n_snapshots))], history.last()


def _open_step(folder: Path) -> object:
    from geometry.models.sources.opening import open_source

    return open_source(folder / "step 10").W_pos


def _open_layers(folder: Path) -> object:
    from geometry.history.here import history_here
    from geometry.models.sources.opening import open_source

    history = history_here(open_source(folder))
    return [history.table(n) for n in range(history.n_snapshots)]


def _open_log(folder: Path) -> object:
    from geometry.history.trainer_log import read_log

    return read_log([folder], [1, 2, 30])


def _open_work(folder: Path) -> object:
    from gui.services.work_files.work_file import read_work

    return read_work(folder / "a.helix")


def _open_bookmarks(folder: Path) -> object:
    from gui.services.work_files.work_file import read_bookmarks

    return read_bookmarks(folder / "bookmarks.zip")


def _open_lesson(folder: Path) -> object:
    from gui.services.lessons.reader import find_lessons

    _, errors = find_lessons([folder], ("norms", "capture"))
    for error in errors:
        raise error
    return None


def _open_run(folder: Path) -> object:
    from geometry.training.run_folder import RunFolder
    from geometry.training.settings import TrainingSettings

    return RunFolder(folder, TrainingSettings(), "corpus")


def _run() -> Files:
    from geometry.training.settings import TrainingSettings

    about = {"settings": json.loads(TrainingSettings().to_json()), "schedules": [[0, 6000]],
             "corpus": "corpus", "finished": False}  # fmt: skip
    return {"training.json": json.dumps(about).encode(), "unfinished/tokens.npy": b""}


def _open_tokens(folder: Path) -> object:
    from geometry.training.tokenization import read_tokens

    return read_tokens(folder, folder / "tokens.npy", 300)


def _tokens() -> Files:
    from geometry.training.tokenization import END

    row = io.BytesIO()
    np.save(row, np.arange(200, dtype="<u2"))
    return {"tokenizer.json": _tokenizer(END), "tokens.npy": row.getvalue()}


def _open_settings(folder: Path) -> object:
    from gui.window.settings.settings import Settings

    settings = Settings(folder / "settings.json")
    read = [getattr(settings, name) for name, value in vars(Settings).items()
            if isinstance(value, property)]  # fmt: skip
    notice = settings.put_damaged_aside()
    if notice is not None:
        raise HelixscopeError(notice.text, notice.advice)
    return read, settings.new_session()


def _settings(*, old: bool = False) -> Files:
    from gui.state.session import Session
    from gui.window.settings.settings import Settings
    from tests.gui.window.settings.test_settings import LAYOUT, PLACE

    if old:
        return {"settings.ini": (FIXTURES / "0.1" / "settings" / "dark.ini").read_bytes()}
    with tempfile.TemporaryDirectory() as name:
        settings = Settings(Path(name) / "settings.json")
        settings.save_session(Session(recent=("a", "b"), prompt="hi"))
        settings.layout = PLACE, LAYOUT
        settings.workspaces = "own", {"own": LAYOUT}
        settings.keys = {"open": "Ctrl+K"}
        settings.sync()
        return {"settings.json": (Path(name) / "settings.json").read_bytes()}


def _open_columns(folder: Path) -> object:
    from geometry.checkpoints.column_files import read_columns

    columns = read_columns(folder / "a.csv")
    return [column.numbers(50) for column in columns if column.numeric]


def _columns() -> Files:
    lines = ["position,a,b,c", *(f"{n},{n / 3},x{n % 3},{n * n}" for n in range(30))]
    return {"a.csv": "\n".join(lines).encode()}


def _open_effects(folder: Path) -> object:
    from geometry.inside.effects_file import read_effects
    from geometry.models.sources.opening import open_source

    return read_effects(folder / "effects.json", open_source("sample"))


def _effects() -> Files:
    from geometry.inside.effects_file import write_effects
    from geometry.inside.intervene import Effect, Effects
    from geometry.models.sources.opening import open_source

    found = (Effect("top 3", 0.1, 0.0, 0.2, by_window=(0.1, 0.2)), Effect("shift 1", *3 * (0.5,)))
    effects = Effects(4.0, found, 2, fingerprint=open_source("sample").fingerprint)
    with tempfile.TemporaryDirectory() as name:
        write_effects(Path(name) / "effects.json", effects)
        return {"effects.json": (Path(name) / "effects.json").read_bytes()}


def _open_cache(folder: Path) -> object:
    from geometry.models.sources.catalogue import cached_models
    from geometry.models.sources.opening import open_source

    before = os.environ.get("HF_HUB_CACHE")
    os.environ["HF_HUB_CACHE"] = str(folder)
    try:
        listed = cached_models()
        return listed, open_source(folder / "models--o--m").W_pos
    finally:
        os.environ.pop("HF_HUB_CACHE")
        if before is not None:
            os.environ["HF_HUB_CACHE"] = before


@cache
def _survey() -> Files:
    from geometry.survey.parts import RUNNING, SurveyFile
    from geometry.survey.populations import Entry
    from geometry.survey.rows import RowSettings
    from tests.geometry.survey.survey_stage import made_row

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.parquet")
        with SurveyFile(path, RowSettings()) as file:
            file.add(made_row(Entry("own/a", "own", 1, 100)))
        with SurveyFile(path, RowSettings()) as file:
            file.announce([Entry("own/a", "own", 1, 100), Entry("own/b", "own", 2, 100)])
            file.add(made_row(Entry("own/b", "own", 2, 100)))
            file.flush()
            parts = {f"{file.parts.name}/{one}": (file.parts / one).read_bytes()
                     for one in ("part-000001.parquet", RUNNING)}  # fmt: skip
            return {path.name: path.read_bytes(), **parts}


def _open_survey(folder: Path) -> None:
    from geometry.survey.read import read_survey

    survey = read_survey(folder / "s.parquet")
    for column in survey.columns.values():
        column.known.sum()
    assert len(survey.runs) <= len(survey)
    assert survey.failed <= len(survey)


def _cache() -> Files:
    commit = "0123456789" * 4
    inside = f"models--o--m/snapshots/{commit}"
    return {"models--o--m/refs/main": commit.encode(),
            **{f"{inside}/{name}": content for name, content in _sharded().items()}}  # fmt: skip


KINDS = {
    "safetensors": Kind(_model, ("model.safetensors",), _open_model),
    "config": Kind(lambda: _model(tokenizer__json=_tokenizer()), ("config.json",), _open_model),
    "torch": Kind(lambda: {"pytorch_model.bin": _torch()}, ("pytorch_model.bin",), _open_model),
    "training": Kind(lambda: {"pytorch_model.bin": _training()}, ("pytorch_model.bin",),
                     _open_model),
    "gguf": Kind(_gguf_rotary, ("a.gguf",), _open_gguf),
    "gguf table": Kind(_gguf_table, ("a.gguf",), _open_gguf),
    "rotary": Kind(_rotary, ("config.json",), _open_model),
    "npy": Kind(lambda: {"t.npy": _npy()}, ("t.npy",), _open_only("t.npy")),
    "npz": Kind(lambda: {"t.npz": _npz()}, ("t.npz",), _open_only("t.npz", "wpe_weight")),
    "sharded": Kind(_sharded, ("model.safetensors.index.json", "a.safetensors"), _open_model),
    "tokenizer": Kind(lambda: {"tokenizer.json": _tokenizer(), "tokenizer_config.json":
                               b'{"bos_token": {"content": "<s>"}}'},
                      ("tokenizer.json", "tokenizer_config.json"), _open_tokenizer),
    "unigram": Kind(lambda: {"tokenizer.json": _unigram()}, ("tokenizer.json",), _open_tokenizer),
    "log": Kind(lambda: {"trainer_state.json": _trainer()}, ("trainer_state.json",), _open_log),
    "history": Kind(lambda: {"history.safetensors": _history()}, ("history.safetensors",),
                    _open_history),
    "step": Kind(lambda: {"history.safetensors": _history()}, ("history.safetensors",),
                 _open_step),
    "layers": Kind(lambda: {"positions.safetensors": _layers()}, ("positions.safetensors",),
                   _open_layers),
    "helix": Kind(lambda: {"a.helix": _helix()}, ("a.helix",), _open_work),
    "bookmarks": Kind(lambda: {"bookmarks.zip": _bookmarks()}, ("bookmarks.zip",), _open_bookmarks),
    "lesson": Kind(lambda: {"shapes.md": _lesson()}, ("shapes.md",), _open_lesson),
    "run": Kind(_run, ("training.json",), _open_run),
    "tokens": Kind(_tokens, ("tokenizer.json", "tokens.npy"), _open_tokens),
    "settings": Kind(_settings, ("settings.json",), _open_settings),
    "old settings": Kind(lambda: _settings(old=True), ("settings.ini",), _open_settings),
    "columns": Kind(_columns, ("a.csv",), _open_columns),
    "effects": Kind(_effects, ("effects.json",), _open_effects),
    "survey": Kind(_survey, ("s.parquet", "s.parquet.parts/part-000001.parquet",
                             "s.parquet.parts/running.json"), _open_survey),
    "cache": Kind(_cache, ("models--o--m/refs/main",), _open_cache),
}  # fmt: skip

# -- mutations -------------------------------------------------------------------------------------

WHOLE = (0, 1, -1, 2, 7, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1,
         2**63, 2**64, -(2**63), 10**12, 10**400)  # fmt: skip
TEXTS = ("", "\x00", "\x1b[31mred", "<b>x</b>", "$\\frac{$b", "a" * 300, "../../x", "\ud800",
         "\u202ex", "a/[/b]", "x" * 100_000, "=1+1", "CON", "..", "é" * 200, "gpt2", "roberta",
         "clip", "marian", "(a+)+b", "F16", "BF16", "I64")  # fmt: skip


#: Stand for as many lists in dictionaries.
DEEP = ("@2", "@40", "@400", "@5000")


def _edge(made: random.Random) -> object:
    drawn = made.randrange(12)
    if drawn < 4:
        return made.choice(WHOLE)
    if drawn < 7:
        return made.choice(TEXTS)
    if drawn == 7:
        return made.choice(DEEP)
    if drawn == 8:
        return made.choice((float("nan"), float("inf"), 1e308, -0.5, 1e-300))
    if drawn == 9:
        return [made.choice(WHOLE)] * made.choice((1, 3, 17, 70, 50_000))
    return made.choice((None, True, False, [], {}, [None], {"": 0}))


def _places(value: object, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return all (container, key) of a JSON value."""
    waiting = [value]
    while waiting and len(found) <= 5_000:
        one = waiting.pop()
        pairs = one.items() if isinstance(one, dict) else enumerate(one)  # type: ignore[arg-type]
        for key, inner in pairs:
            found.append((one, key))
            if isinstance(inner, dict | list):
                waiting.append(inner)
    return found


def mutate_json(made: random.Random, raw: bytes) -> bytes:
    """Change some values of a JSON text: to edges, to copies of others, to more or none."""
    if made.random() < 0.2:
        return mutate_bytes(made, raw)
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        return mutate_bytes(made, raw)
    for _ in range(made.choice((1, 1, 1, 2, 5))):
        places = _places(content, []) if isinstance(content, dict | list) else []
        if len(places) > 5_000:  # repeated often enough
            break
        if not places or made.random() < 0.03:
            content = _edge(made)
            continue
        holder, key = made.choice(places)
        drawn = made.randrange(10)
        if drawn < 6:
            holder[key] = _edge(made)
        elif drawn == 6:
            del holder[key]
        elif drawn == 7:
            other, at = made.choice(places)
            with contextlib.suppress(KeyError, IndexError):
                holder[key] = json.loads(json.dumps(other[at]))
        elif drawn == 8 and isinstance(holder, dict):
            holder[made.choice(TEXTS)] = holder.pop(key)
        elif isinstance(holder, list):
            holder.extend([holder[key]] * made.choice((1, 10, 1000)))
    return _dump(content)


def _dump(content: object) -> bytes:
    """Return JSON with whole numbers of any length, lone surrogates, and deep lists."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        text = json.dumps(content, ensure_ascii=False)
    finally:
        sys.set_int_max_str_digits(before)
    for name in DEEP:
        depth = int(name[1:])
        text = text.replace(f'"{name}"', '{"a":[' * depth + "]}" * depth)
    return text.encode("utf-8", "surrogatepass")


def mutate_bytes(made: random.Random, raw: bytes) -> bytes:
    """Flip, cut, splice, repeat, and write integer edges into bytes."""
    data = bytearray(raw)
    for _ in range(made.choice((1, 1, 2, 4, 16))):
        if not data:
            return bytes(made.randbytes(made.choice((0, 1, 8, 64))))
        at, drawn = made.randrange(len(data)), made.randrange(9)
        end = min(len(data), at + made.choice((1, 4, 16, 100)))
        if drawn < 3:
            data[at] = made.randrange(256)
        elif drawn == 3:
            data[at] ^= 1 << made.randrange(8)
        elif drawn == 4:
            del data[at : len(data) if made.random() < 0.5 else end]
        elif drawn == 5:
            data[at:at] = data[at:end] * made.choice((1, 2, 50))
        elif drawn == 6:
            to = made.randrange(len(data))
            data[to : to + end - at] = data[at:end]
        elif drawn == 7:
            form, most = made.choice((("B", 8), ("H", 16), ("I", 32), ("Q", 64)))
            written = struct.pack(f"<{form}", made.choice(WHOLE) % 2**most)
            data[at : at + len(written)] = written
        else:
            data[at:at] = made.randbytes(made.choice((1, 8, 200)))
    return bytes(data)


def mutate_header(made: random.Random, raw: bytes) -> bytes:
    """Change the JSON header of a safetensors file, or any of its bytes."""
    length = int.from_bytes(raw[:8], "little")
    if made.random() < 0.3 or length > len(raw):
        return mutate_bytes(made, raw)
    header = mutate_json(made, raw[8 : 8 + length])
    return len(header).to_bytes(8, "little") + header + raw[8 + length :]


def mutate_zip(made: random.Random, raw: bytes) -> bytes:
    """Change an entry of an archive, its name, method, sizes or number; or any of the bytes."""
    if made.random() < 0.3:
        return mutate_bytes(made, raw)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            entries = [(info.filename, archive.read(info)) for info in archive.infolist()]
            method = archive.infolist()[0].compress_type if entries else zipfile.ZIP_STORED
    except Exception:
        return mutate_bytes(made, raw)
    drawn, at = made.randrange(9), made.randrange(max(1, len(entries)))
    if not entries:
        return mutate_bytes(made, raw)
    name, content = entries[at]
    if drawn < 4:
        entries[at] = name, mutate_of(made, name, content)
    elif drawn == 4:
        entries[at] = made.choice((*TEXTS[:12], entries[-1][0])), content
    elif drawn == 5:
        entries.append((name, made.choice(entries)[1]))
    elif drawn == 6:
        del entries[at]
    elif drawn == 7:
        entries[at] = name, content[:200] + bytes(made.choice((10**6, 80 * 10**6, 400 * 10**6)))
        method = zipfile.ZIP_DEFLATED
    else:
        entries += [(f"x{n}.npy", b"") for n in range(made.choice((10, 1000)))]
    if made.random() < 0.15:
        method = made.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method, compresslevel=1) as archive:
        for name, content in entries:
            with contextlib.suppress(UnicodeEncodeError, ValueError):
                archive.writestr(zipfile.ZipInfo(name[:60_000]), content, method)
        if made.random() < 0.1:
            info = made.choice(archive.infolist())
            info.file_size = abs(made.choice(WHOLE[:15]))
        if made.random() < 0.1:
            info = made.choice(archive.infolist())
            info.header_offset = abs(made.choice(WHOLE[:15]))
    return packed.getvalue()


OPERATIONS = (
    b"}", b"]", b")", b"(", b"t", b"\x85", b"\x86", b"2", b"0", b"1", b"R", b"b", b"s", b"u", b"a",
    b"e", b"Q", b"N", b"\x88", b"K\x01", b"J\xff\xff\xff\x7f", b"\x8a\x09" + b"\xff" * 9, b"q\x00",
    b"h\x00", b"h\x01", b"r\xff\xff\xff\xff", b"X\x01\x00\x00\x00a", b"X\xff\xff\xff\xff",
    b"cos\nsystem\n", b"cbuiltins\neval\n", b"ctorch._utils\n_rebuild_tensor_v2\n",
    b"ccollections\nOrderedDict\n", b"cbuiltins\nbytearray\n", b"\x81", b"\x92", b"o", b"\x93",
    b"\x8f", b"\x90", b"\x96\x00\x00\x00\x00\x01\x00\x00\x00", b"\x95" + b"\xff" * 8, b".", b"\x98",
    b"\x82\x01", b"i__main__\nx\n", b"I99999999999999999999\n", b"L5L\n", b"F1e999\n", b"S'a'\n",
)  # fmt: skip


def mutate_pickle(made: random.Random, raw: bytes) -> bytes:
    """Put operations of pickles anywhere, many times, or pickle what is large and small at once."""
    drawn = made.randrange(7)
    if drawn == 2:
        return beside_a_tensor(b"0".join(made.choices(tuple(HOSTILE.values()), k=2)))
    if drawn == 0:
        inner: object = made.choice((1, {}, "a", ()))
        for _ in range(made.choice((20, 40, 200))):
            inner = {"x": inner, "y": inner} if made.random() < 0.9 else (inner, inner)
        return _pickled(inner)
    if drawn == 1:
        content: dict[Any, Any] = {}
        content["me"] = content
        return _pickled(content)
    data = bytearray(raw)
    for _ in range(made.choice((1, 2, 5))):
        at = made.randrange(len(data) + 1)
        written = b"".join(made.choices(OPERATIONS, k=made.choice((1, 1, 3))))
        data[at : at + made.choice((0, len(written)))] = written * made.choice((1, 1, 50, 20_000))
    return bytes(data)


def _pickled(value: object) -> bytes:
    try:
        return pickle.dumps(value, protocol=2)
    except RecursionError:
        return b"]" * 1000 + b"."


def mutate_npy(made: random.Random, raw: bytes) -> bytes:
    """Write another header of an array, or change any bytes."""
    if made.random() < 0.5:
        return mutate_bytes(made, raw)
    kind = made.choice(("<f4", "|O", "|V0", "<U0", "<c8", ">f8", "|b1", "<M8[s]", "<f2", "<i8",
                        [("a", "<f4")], "<f4" * 99))  # fmt: skip
    sizes = tuple(
        made.choice((*WHOLE[:16], 8, 16, 16, 8)) for _ in range(made.choice((0, 1, 2, 2, 9, 70)))
    )
    header = repr({"descr": kind, "fortran_order": made.random() < 0.5, "shape": sizes})
    header = made.choice((header, header, header, "(" * 9000, "-" * 9000 + "1", header[:-5], "[]"))
    text = header.encode() + b"\n"
    version = made.choice((1, 1, 2, 3))
    length = struct.pack(
        "<H" if version == 1 else "<I", len(text) % 2 ** (16 if version == 1 else 32)
    )
    return b"\x93NUMPY" + bytes((version, 0)) + length + text + raw[-512:]


def mutate_text(made: random.Random, raw: bytes) -> bytes:
    """Swap, repeat and replace parts of lines."""
    if made.random() < 0.4:
        return mutate_bytes(made, raw)
    lines = raw.decode("utf-8", "replace").split("\n")
    for _ in range(made.choice((1, 2, 4))):
        at, drawn = made.randrange(len(lines)), made.randrange(5)
        if drawn == 0:
            lines.insert(at, made.choice(lines) * made.choice((1, 1, 300)))
        elif drawn == 1 and len(lines) > 1:
            del lines[at]
        elif drawn == 2:
            text = made.choice(
                (*TEXTS, "[" * 5000, "9" * 5000, "{variance " * 5000, "](panel:" * 5000)
            )
            place = made.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:place] + text + lines[at][place:]
        elif drawn == 3:
            lines[at], lines[0] = lines[0], lines[at]
        else:
            lines[at] = lines[at].replace("1", str(made.choice(WHOLE)))
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def mutate_of(made: random.Random, name: str, content: bytes) -> bytes:
    """Change a file in a way that fits its format."""
    for ending, mutate in (
        (".json", mutate_json), (".safetensors", mutate_header), (".npy", mutate_npy),
        (".pkl", mutate_pickle), ((".md", ".csv", ".ini"), mutate_text), ("refs/main", mutate_text),
        ((".bin", ".npz", ".helix", ".zip"), mutate_zip),
    ):  # fmt: skip
        if name.endswith(ending):
            return mutate(made, content)
    return mutate_bytes(made, content)


# -- a case ----------------------------------------------------------------------------------------


@cache
def _sound(kind: str) -> Files:
    return KINDS[kind].make()


def _check_sentence(error: HelixscopeError) -> None:
    for text in (str(error), error.advice):
        if len(text) > LONGEST_SENTENCE or visible(text) != text or " object at 0x" in text:
            raise Fault("sentence", repr(text[:400]))
    if not str(error):
        raise Fault("sentence", "no words at all")


def case_of(kind: str) -> Case:
    """Return the case of a kind: one of its files is mutated, and opened."""

    def case(made: random.Random) -> str:
        files = dict(_sound(kind))
        name = made.choice(KINDS[kind].targets)
        files[name] = mutate_of(made, name, files[name])
        folder = Path(tempfile.mkdtemp(prefix="mutations"))
        threads, opened = threading.active_count(), _opened()
        try:
            _write(folder, files)
            del files
            return _within_budgets(KINDS[kind], folder)
        finally:
            shutil.rmtree(folder)
            if threading.active_count() > threads:
                raise Fault("thread", f"{threading.enumerate()}")
            if _opened() - opened:
                gc.collect()  # a traceback of transformers holds the file until then
            if still := _opened() - opened:
                raise Fault("file", f"still open: {', '.join(still)}")

    return case


#: The most that a case took so far, in seconds and MB.
_most = {"s": 0.0, "mb": 0.0}


def _within_budgets(kind: Kind, folder: Path) -> str:
    # Of the processor: others may be at work on this machine. What waits is stopped by its process.
    before, start = restart_peak(), time.process_time()
    outcome = _outcome(kind, folder)
    took, added = time.process_time() - start, peak_mb() - before
    _most["s"], _most["mb"] = max(_most["s"], took), max(_most["mb"], added)
    if took > BUDGET_S:
        raise Fault("hang", f"{took:.1f} s, {outcome}")
    if added > BUDGET_MB:
        raise Fault("memory", f"{added:.0f} MB more, {outcome}")
    return outcome


def _outcome(kind: Kind, folder: Path) -> str:
    try:
        kind.open(folder)
    except HelixscopeError as error:
        _check_sentence(error)
        return "refused"
    except (Fault, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        if isinstance(error, Exception):
            raise
        raise Fault("panic", repr(error)) from error
    return "opened"


def _write(folder: Path, files: Files) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _opened() -> Counter[str]:
    """What this process has open; nothing where the system does not say."""
    opened: Counter[str] = Counter()
    if os.path.isdir("/proc/self/fd"):
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # that of the listing itself
                opened[os.readlink(f"/proc/self/fd/{number}")] += 1
    return opened


def run(
    kind: str,
    *,
    seed: int,
    cases: int,
    first: int = 0,
    on_case: Callable[[int], None] | None = None,
) -> Counts:
    """Run cases of a kind in this process, after a sound file, which loads the libraries."""
    logging.disable(logging.CRITICAL)
    folder = Path(tempfile.mkdtemp(prefix="mutations"))
    try:
        _write(folder, _sound(kind))
        KINDS[kind].open(folder)
    finally:
        shutil.rmtree(folder)
    numbers = iter(range(first, first + cases))
    case = case_of(kind)

    def counted(made: random.Random) -> str:
        if on_case is not None:
            on_case(next(numbers))
        return case(made)

    try:
        counts = attack(counted, seed=seed, cases=cases, first=first)
        counts.slowest_s, counts.most_mb = _most["s"], _most["mb"]
        return counts
    finally:
        logging.disable(logging.NOTSET)


def isolated(
    kind: str, *, seed: int, cases: int, first: int = 0, until: float | None = None
) -> Counts:
    """Run cases of a kind in other processes, batch by batch."""
    counts = Counts()
    number, last = first, first + cases
    while number < last and (until is None or time.monotonic() < until):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            numbers = {"seed": seed, "first": number, "cases": min(BATCH, last - number)}
            command = [sys.executable, "-X", "faulthandler", "-m", __spec__.name]
            command += ["--kind", kind, "--inside", str(log)]
            command += [word for name, n in numbers.items() for word in (f"--{name}", str(n))]
            number = _batch(command, log, counts, number)
    return counts


def _batch(command: list[str], log: Path, counts: Counts, number: int) -> int:
    """Run one process, add to the counts, and return the number of the next case."""
    errors = log.with_suffix(".errors")
    with errors.open("w") as taken:
        process = subprocess.Popen(command, stdout=taken, stderr=taken)
    at, since = number - 1, time.monotonic()
    while True:
        try:
            process.wait(1)
            break
        except subprocess.TimeoutExpired:
            now = _reached(log, at)
            at, since = now, since if now == at else time.monotonic()
            if time.monotonic() - since > PATIENCE_S:
                process.kill()
                process.wait()
                break
    result = log.with_suffix(".json")
    if process.returncode == 0 and result.exists():
        told = json.loads(result.read_text())
        counts.outcomes.update(told["outcomes"])
        counts.faults += [(n, what) for n, what in told["faults"]]
        counts.slowest_s = max(counts.slowest_s, told["slowest_s"])
        counts.most_mb = max(counts.most_mb, told["most_mb"])
        return number + sum(told["outcomes"].values())
    at = _reached(log, number - 1)
    if at < number:
        raise RuntimeError(errors.read_text())
    kind = "hang" if process.returncode == -9 else "crash"
    counts.outcomes["opened or refused"] += at - number
    counts.outcomes[kind] += 1
    counts.faults.append((at, f"{kind}: {process.returncode}\n{errors.read_text()[-3000:]}"))
    return at + 1


def _reached(log: Path, number: int) -> int:
    lines = log.read_text().split() if log.exists() else []
    return int(lines[-1]) if lines else number


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign as a command, print its counts, and return its exit status."""
    options = parser("Mutated files for every reader.", cases=200)
    options.add_argument("--kind", choices=KINDS, help="of files (default: all, one by one)")
    options.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args(arguments)
    if given.inside is not None:
        with given.inside.open("a") as log:
            counts = run(given.kind, seed=given.seed, cases=given.cases, first=given.first,
                         on_case=lambda n: print(n, file=log, flush=True))  # fmt: skip
        told = {"outcomes": counts.outcomes, "faults": counts.faults,
                "slowest_s": counts.slowest_s, "most_mb": counts.most_mb}  # fmt: skip
        given.inside.with_suffix(".json").write_text(json.dumps(told))
        return 0
    until = None if given.minutes is None else time.monotonic() + 60 * given.minutes
    faults = 0
    for kind in KINDS if given.kind is None else (given.kind,):
        counts = isolated(kind, seed=given.seed, cases=given.cases, first=given.first, until=until)
        faults += len(counts.faults)
        sys.stdout.write(f"{kind}: seed {given.seed}, first case {given.first}\n{counts}\n")
        sys.stdout.flush()
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
