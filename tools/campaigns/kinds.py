"""Kinds of files: sound ones of each kind, and what opens them."""

from __future__ import annotations

import argparse
import io
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.plain_text import MAX_SENTENCE_LENGTH, visible
from geometry.models.sources.source import Source
from tools.campaigns import weight_kinds
from tools.campaigns.campaign import Fault
from tools.campaigns.weight_kinds import Files

PROMPT = "Hello, my name is a a b " * 20


@dataclass(frozen=True)
class Kind:
    """A kind of file: sound ones, and what opens them."""

    make: Callable[[], Files]
    targets: tuple[str, ...]  # What is mutated
    open: Callable[[Path], object]
    watched: bool = False  # Whether opening it must neither import, run nor open anything else


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
    names = {"float32": "F32", "float64": "F64", "int64": "I64", "float16": "F16", "int8": "I8",
             "uint8": "U8", "int32": "I32", "uint32": "U32", "void8": "F8_E4M3"}  # fmt: skip
    for name, array in tensors.items():
        place = [len(body), len(body) + array.nbytes]
        header[name] = {"dtype": names[array.dtype.name], "shape": list(array.shape),
                        "data_offsets": place}  # fmt: skip
        body += array.tobytes()
    return _with_header(header, body)


def _with_header(header: object, body: bytes) -> bytes:
    raw = json.dumps(header).encode()
    return len(raw).to_bytes(8, "little") + raw + body


def _torch(*, legacy: bool = False) -> bytes:
    import torch

    packed = io.BytesIO()
    tensors = {name: torch.from_numpy(array) for name, array in _tensors().items()}
    torch.save(tensors, packed, _use_new_zipfile_serialization=not legacy)
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
    from gui.state.session import SAVED, Session
    from gui.state.work import OtherView, Work

    pose = CameraPose(np.ones(3), np.zeros(3), np.array([0.0, 0.0, 1.0]), 2.0)
    other = OtherView(Source.parse("gpt2"), (1, 9), (1, 2, 3), place=Place(pose, follows=True))
    return Work(Source.parse("sample"), (1, 9), {name: getattr(Session(), name) for name in SAVED},
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


def check_sentence(error: HelixscopeError) -> None:
    """Raise a Fault, unless an error is a sentence to be read."""
    for text in (str(error), error.advice):
        if len(text) > MAX_SENTENCE_LENGTH or visible(text) != text or " object at 0x" in text:
            raise Fault("sentence", repr(text[:400]))
    if not str(error):
        raise Fault("sentence", "no words at all")


def _open_model(path: Path, table: str | None = None) -> object:
    from geometry.models.sources.opening import open_model

    model = open_model(path, table=table)
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
            check_sentence(error)
            refused.append(error)
    return found


def _open_gguf(folder: Path) -> object:
    from geometry.models.pair_use import pair_use
    from geometry.models.sources.opening import open_model

    found = [_open_model(folder / "a.gguf")]
    try:
        found.append(pair_use(open_model(folder / "a.gguf")))
    except HelixscopeError as error:
        check_sentence(error)
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


def _quantised() -> Files:
    files: Files = {}
    for n, (tensors, settings) in enumerate(weight_kinds.quantised(_tensors())):
        config = CONFIG | {"quantization_config": settings}
        files[f"{n}/model.safetensors"] = _safetensors(tensors)
        files[f"{n}/config.json"] = json.dumps(config).encode()
    return files


def _open_quantised(folder: Path) -> object:
    found, refused = [], []
    for path in sorted(folder.iterdir()):
        try:
            found.append(_open_model(path))
        except HelixscopeError as error:
            refused.append(error)
    for error in refused:
        raise error
    return found


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
    from geometry.models.sources.opening import open_model

    return open_model(folder / "step 10").W_pos


def _open_layers(folder: Path) -> object:
    from geometry.history.here import history_here
    from geometry.models.sources.opening import open_model

    history = history_here(open_model(folder))
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
    notice = settings.quarantine_damaged()
    if notice is not None:
        raise HelixscopeError(notice.text, notice.advice)
    return read, settings.new_session()


def _settings() -> Files:
    from gui.state.session import Session
    from gui.window.settings.settings import Settings
    from tests.gui.window.settings.test_settings import LAYOUT, PLACE

    with tempfile.TemporaryDirectory() as name:
        settings = Settings(Path(name) / "settings.json")
        settings.save_session(Session(recent=(Source.parse("a"), Source.parse("b")), prompt="hi"))
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
    from geometry.models.sources.opening import open_model

    return read_effects(folder / "effects.json", open_model("sample"))


def _effects() -> Files:
    from geometry.inside.effects import Effect, Effects
    from geometry.inside.effects_file import write_effects
    from geometry.models.sources.opening import open_model

    found = (Effect("top 3", 0.1, 0.0, 0.2, by_window=(0.1, 0.2)), Effect("shift 1", *3 * (0.5,)))
    effects = Effects(4.0, found, 2, fingerprint=open_model("sample").fingerprint)
    with tempfile.TemporaryDirectory() as name:
        write_effects(Path(name) / "effects.json", effects)
        return {"effects.json": (Path(name) / "effects.json").read_bytes()}


def _open_cache(folder: Path) -> object:
    from geometry.models.sources.local_models import cached_models
    from geometry.models.sources.opening import open_model

    before = os.environ.get("HF_HUB_CACHE")
    os.environ["HF_HUB_CACHE"] = str(folder)
    try:
        listed = cached_models()
        return listed, open_model(folder / "models--o--m").W_pos
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


def _of_another(
    make: Callable[..., Files], *targets: str, folder: bool = False, table: str | None = None
) -> Kind:
    """Return the kind of a file, or folder, that another library writes."""
    open_ = _open_model if folder else _open_only(targets[0], table)
    return Kind(lambda: make(_tensors()), targets, open_, watched=True)


_OF_OTHER_LIBRARIES = {
    "distributed": _of_another(weight_kinds.distributed, ".metadata", "__0_0.distcp", folder=True),
    "torchscript": _of_another(weight_kinds.torchscript, "a.pt"),
    "tensorflow": _of_another(weight_kinds.tensorflow, "model.ckpt.index"),
    "onnx": _of_another(weight_kinds.onnx, "a.onnx"),
    "openvino": _of_another(weight_kinds.openvino, "openvino_model.xml"),
    "spacy": _of_another(weight_kinds.spacy, "transformer/model", folder=True),
    "hdf5": _of_another(weight_kinds.hdf5, "a.h5", table="wpe/weight"),
    "pickle": _of_another(weight_kinds.pickled, "a.pkl"),
    "tar": _of_another(weight_kinds.tar, "a.nemo"),
    "zip": _of_another(weight_kinds.zipped, "a.zip"),
    "parquet": _of_another(weight_kinds.parquet, "a.parquet"),
    "feather": _of_another(weight_kinds.feather, "a.feather"),
    "vectors": _of_another(weight_kinds.vectors, "a.txt"),
    "projector": _of_another(weight_kinds.projector, "tensors.tsv", "metadata.tsv", folder=True),
    "llm.c": Kind(weight_kinds.llmc, ("a.bin",), _open_only("a.bin"), watched=True),
    "quantised": Kind(_quantised, tuple(f"{n}/{name}" for n in range(8) for name in
                                        ("model.safetensors", "config.json")),
                      _open_quantised, watched=True),
}  # fmt: skip


KINDS = {
    "safetensors": Kind(_model, ("model.safetensors",), _open_model),
    "config": Kind(lambda: _model(tokenizer__json=_tokenizer()), ("config.json",), _open_model),
    "torch": Kind(lambda: {"pytorch_model.bin": _torch()}, ("pytorch_model.bin",), _open_model,
                  watched=True),
    "legacy torch": Kind(lambda: {"pytorch_model.bin": _torch(legacy=True)},
                         ("pytorch_model.bin",), _open_model, watched=True),
    "training": Kind(lambda: {"pytorch_model.bin": _training()}, ("pytorch_model.bin",),
                     _open_model, watched=True),
    "gguf": Kind(_gguf_rotary, ("a.gguf",), _open_gguf),
    "gguf table": Kind(_gguf_table, ("a.gguf",), _open_gguf),
    "rotary": Kind(_rotary, ("config.json",), _open_model),
    **_OF_OTHER_LIBRARIES,
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
    "columns": Kind(_columns, ("a.csv",), _open_columns),
    "effects": Kind(_effects, ("effects.json",), _open_effects),
    "survey": Kind(_survey, ("s.parquet", "s.parquet.parts/part-000001.parquet",
                             "s.parquet.parts/running.json"), _open_survey),
    "cache": Kind(_cache, ("models--o--m/refs/main",), _open_cache),
}  # fmt: skip
