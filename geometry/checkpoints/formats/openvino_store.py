"""Models for OpenVINO: a graph (``.xml``), and the numbers of its constants in a file beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.parsers import expat

from geometry.checkpoints.boundary import AGAIN, reading
from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.stores import LocalFile, Region, RegionStore, TensorInfo, checked

MAX_GRAPH = 50_000_000
"""Maximum bytes of a graph; that of a large model has 5 million."""
MAX_TENSORS = 50_000
"""Maximum constants."""

_DTYPES = {
    **{"f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16"},
    **{"f8e4m3": "F8_E4M3", "f8e5m2": "F8_E5M2", "f8e8m0": "F8_E8M0"},
    **{"i64": "I64", "i32": "I32", "i16": "I16", "i8": "I8"},
    **{"u64": "U64", "u32": "U32", "u16": "U16", "u8": "U8"},
}
"""Types of numbers by their names in a graph; others are of fewer than 8 bits."""


def open_openvino(path: Path) -> RegionStore:
    """Open the graph of a model by the places of its constants.

    Raises
    ------
    SourceError
        It is damaged, too large, not a graph, or has no constants; or the file with their numbers
        is missing.
    """
    graph, numbers = LocalFile(path), path.with_suffix(".bin")
    if graph.size() > MAX_GRAPH:
        raise SourceError(f"{path.name} is larger than any graph of OpenVINO.", AGAIN)
    if not numbers.is_file():
        raise SourceError(
            f"{path.name} has its weights in {numbers.name}, which is not beside it.",
            "Copy that file into the same folder.",
        )
    file = LocalFile(numbers)
    regions: dict[str, Region] = {}

    def add(name: str, place: dict[str, str]) -> None:
        kind = place["element_type"]
        shape = tuple(int(size) for size in place["shape"].split(",") if size.strip())
        info = TensorInfo(name, shape, _DTYPES.get(kind, kind), int(place["size"]))
        regions[name] = checked(Region(file, int(place["offset"]), info))
        if len(regions) > MAX_TENSORS:
            raise SourceError(f"{path.name} has more than {MAX_TENSORS} weights.", AGAIN)

    with reading(path.name):
        _read_constants(graph.read_at(0, graph.size()).tobytes(), add)
    if not regions:
        raise SourceError(
            f"{path.name} is an XML file, and not a graph of OpenVINO with weights.",
            "Open the file with the model's weights.",
        )
    store = RegionStore(regions, [graph, file])
    store.check_files()
    return store


def _read_constants(graph: bytes, add: Callable[[str, dict[str, str]], None]) -> None:
    """Pass the name of each constant of a graph on, and the attributes that give its place.

    The names are those of the network before it was converted: without the end that OpenVINO adds
    to a constant of 16 bits, and the beginning that it adds to those of PyTorch.
    """
    constant = ""

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal constant
        if tag == "layer":
            constant = attributes["name"] if attributes["type"] == "Const" else ""
        elif tag == "data" and constant:
            add(constant.removesuffix("_compressed").removeprefix("self."), attributes)

    def refuse(*_: Any) -> None:
        raise ValueError("a declaration of entities, which no graph has")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(graph, True)
