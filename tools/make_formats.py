"""Make the guide's page of files from the tables that the app itself uses.

    python -m tools.make_formats [FILE]

FILE is resources/guide/formats.md unless another is named.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import get_args, get_type_hints

from geometry.checkpoints import files, suffixes
from geometry.checkpoints.formats.other_formats import OTHER_FORMATS, OTHER_SUFFIXES
from geometry.checkpoints.quantised import _LAYOUTS
from geometry.checkpoints.settings_beside import NAMES
from geometry.models.families.code_families import CODES
from geometry.models.families.stack import Stack

PAGE = Path(__file__).parents[1] / "resources" / "guide" / "formats.md"
INTRODUCTION = """\
# Files and what writes them

Every kind of file that opens, with the codes that write it; then files that are named, and not
opened. How they are opened is in [Opening models](opening-models.md#folders-and-files), and which
`model_type` of transformers opens in [Families of models](families.md).

`tools/make_formats.py` generates this page from the tables of the app.
"""
CODES_ARE = """\
They are recognised by the names of their tensors; that of the table is given, behind any prefix.
"""
SETTINGS = """\
## Settings beside the weights

Without `config.json`, settings are those in the file with the weights, or those in the first of
these beside it: {}, and nanochat's `meta_….json`.
"""
LAYOUTS_ARE = """\
They become numbers one at a time, when something needs them.
"""
IN_PARTS = "the index, then single tensors"

KINDS: dict[str, tuple[str, str, str]] = {
    "safetensors": (
        "`.safetensors`, and `.safetensors.index.json` of several",
        "transformers, diffusers, timm, open_clip, sentence-transformers, MLX, llama.cpp's tools",
        IN_PARTS,
    ),
    "zip": (
        "`.bin`, `.pt`, `.pth`, `.ckpt`, `.pth.tar`, and `.bin.index.json` of several",
        "`torch.save`: nanoGPT, minGPT, PyTorch Lightning, transformers, timm, DINO, MAE, Whisper, "
        "SAM, fairseq, Megatron, GPT-NeoX, litGPT, nanochat, TransformerLens and most training "
        "scripts; `torch.jit.save` (TorchScript), as of OpenAI's CLIP",
        IN_PARTS,
    ),
    "rust": ("`.ot`", "tch and rust-bert, in Rust", IN_PARTS),
    "legacy torch": (
        "the same files in PyTorch's legacy format",
        "`torch.save` before PyTorch 1.6: early checkpoints of transformers and fairseq",
        IN_PARTS,
    ),
    "distributed": (
        "a folder with `.metadata` and `.distcp` files",
        "torch.distributed.checkpoint: torchtitan, FSDP, Accelerate",
        IN_PARTS,
    ),
    "gguf": ("`.gguf`, also in parts", "llama.cpp, Ollama, LM Studio", IN_PARTS),
    "npy": ("`.npy`", "`numpy.save`; objects as a pickle", IN_PARTS),
    "npz": ("`.npz`", "`numpy.savez`: Google's ViT, big_vision, MLX", "single arrays"),
    "pickle": (
        "`.pkl`, `.pickle`",
        "`pickle.dump` of arrays: picoGPT, JAX scripts, gensim's `.kv`; that of Python 2",
        f"{IN_PARTS}, as data",
    ),
    "llm.c": ("`.bin`", "llm.c, in 32 bits or bfloat16", IN_PARTS),
    "tensorflow": (
        "`.ckpt.index` with `.ckpt.data-…`, also in a SavedModel's `variables`",
        "TensorFlow 1 and 2: GPT-2 and BERT as OpenAI and Google released them",
        IN_PARTS,
    ),
    "hdf5": (
        "`.h5`, `.hdf5`, `.keras`",
        "Keras, transformers' TensorFlow models, h5py",
        "the index, then single arrays; a compressed `.keras` is unpacked first; needs `h5py`",
    ),
    "onnx": (
        "`.onnx`, also with its weights in a file beside it",
        "`torch.onnx`, Optimum",
        IN_PARTS,
    ),
    "openvino": (
        "`.xml`, with its numbers in a `.bin` of the same name",
        "OpenVINO, Optimum Intel",
        IN_PARTS,
    ),
    "tar": (
        "`.nemo`, `.tar` and `.zip`, not compressed",
        "NeMo; archives of a file or a folder with weights that `torch.save` or safetensors wrote",
        IN_PARTS,
    ),
    "flax": ("`.msgpack`", "Flax: transformers' JAX models", IN_PARTS),
    "spacy": (
        "a folder with `config.cfg` and `transformer/model`",
        "spaCy's pipelines with a transformer",
        IN_PARTS,
    ),
    "deepspeed": (
        "a folder with `latest` and `global_step…`",
        "DeepSpeed, without ZeRO-3",
        IN_PARTS,
    ),
}  # fmt: skip
"""Files, codes that write them, and how they are read, by the kind of a file or folder."""
TABLES = {
    ".csv": ("spreadsheets, pandas", "numbers and labels in columns"),
    ".tsv": ("TensorFlow's Embedding Projector", "`tensors.tsv`, with `metadata.tsv` beside it"),
    ".txt": ("word2vec, GloVe, fastText; `numpy.savetxt`", "a word and its vector in each line"),
    ".vec": ("fastText", "the same, without its subwords"),
    ".parquet": ("pandas, Polars, Hugging Face Datasets", "columns of numbers, or one of lists"),
    ".feather": ("pandas", "the same"),
    ".arrow": ("Apache Arrow, Hugging Face Datasets", "the same"),
}
"""What writes tables of numbers, and what is in them, by suffix."""
QUANTISED = {
    "SCB": "bitsandbytes, 8 bits",
    ".weight.quant_state.bitsandbytes__": "bitsandbytes, 4 bits (nf4, fp4)",
    "qweight": "GPTQ and AWQ, as of AutoGPTQ, GPTQModel, AutoAWQ and AutoRound",
    "W_q": "HQQ, of 1 to 4 and 8 bits",
    ".weight._scale": "quanto, of 8 bits",
    "weight_packed": "compressed-tensors: integers of 2 to 8 bits, MXFP4, NVFP4",
    "biases": "MLX",
    "scales": "MLX, MXFP4",
    "weight_scale": "8 bits with scales: vLLM, compressed-tensors",
    "weight_scale_inv": "fp8 with scales of blocks: DeepSeek",
    "weight_scale_2": "NVFP4: NVIDIA's ModelOpt",
    "_blocks": "MXFP4: gpt-oss, in transformers' layout",
    "blocks": "MXFP4: gpt-oss, in OpenAI's layout",
    "scale_weight": "fp8 with a scale: ComfyUI",
    "scale": "fp8 with scales of blocks, in DeepSeek's own layout",
    "qdata": "torchao, in PyTorch's files: Int8Tensor, Float8Tensor",
    "_qdata": "the same in safetensors",
}
"""Layouts of quantised matrices, by the end of the name of one of their tensors."""


def formats_page() -> str:
    """Return the page in Markdown."""
    kinds = set(get_args(get_type_hints(files.kind_of)["return"]))
    for name, known, described in (
        ("kinds of files", kinds, KINDS),
        ("suffixes of tables", set(suffixes.TABLE_SUFFIXES), TABLES),
        ("quantised layouts", set(_LAYOUTS), QUANTISED),
    ):
        if missing := known - set(described):
            raise KeyError(f"{name} without a description: {', '.join(sorted(missing))}")
    named = [(f"`{name}`", f"It {what}.", advice) for name, what, advice in files.OTHER_FOLDERS]
    named += [("a file", f"It {what}.", advice) for _, what, advice in OTHER_FORMATS]
    named += [
        (", ".join(f"`{suffix}`" for suffix in suffixes), f"It {what}.", advice)
        for suffixes, what, advice in OTHER_SUFFIXES
    ]
    tables = ((f"`{suffix}`", *row) for suffix, row in TABLES.items())
    codes = (row for name, stacks in CODES.items() for row in _code(name, stacks))
    layouts = ((what, f"`…{end}`") for end, what in QUANTISED.items())
    parts = [
        INTRODUCTION,
        _section("Weights", ("Files", "Written by", "Read"), KINDS.values()),
        _section("Tables of numbers", ("Files", "Written by", "Holds"), tables),
        _section("Codes without `config.json`", ("Code", "Table", "Read"), codes, CODES_ARE),
        SETTINGS.format(", ".join(f"`{name}`" for name in NAMES)),
        _section("Quantised matrices", ("Layout", "Recognised by"), layouts, LAYOUTS_ARE),
        _section("Named, and not opened", ("File", "What it is", "What to do"), named),
    ]
    return "\n".join(parts)


def _code(name: str, rows: Iterable[Stack]) -> Iterable[tuple[str, str, str]]:
    for row in rows:
        parts = [part for part, there in (("E", row.tokens), ("layers", row.layers_known)) if there]
        yield name, f"`{row.positions}`", ", ".join(("P", *parts))


def _section(
    title: str, titles: tuple[str, ...], rows: Iterable[tuple[str, ...]], text: str = ""
) -> str:
    return f"## {title}\n\n{text}{text and chr(10)}{_table(titles, rows)}"


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [titles, tuple("---" for _ in titles), *rows]
    return "".join("| " + " | ".join(cell or " " for cell in line) + " |\n" for line in lines)


if __name__ == "__main__":
    (Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE).write_text(formats_page(), encoding="utf-8")
