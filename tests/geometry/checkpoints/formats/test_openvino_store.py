"""Graphs of OpenVINO and transformers of spaCy, and damaged ones."""

import warnings

import numpy as np
import pytest
import torch

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.files import open_store, weights_in
from geometry.checkpoints.formats import openvino_store
from geometry.models.sources.opening import open_model
from tools.campaigns.weight_kinds import openvino, spacy

RANDOM = np.random.default_rng(17)
TABLES = {
    "transformer.wte.weight": RANDOM.standard_normal((40, 6)).astype(np.float32),
    "transformer.wpe.weight": RANDOM.standard_normal((16, 6)).astype(np.float32),
}
OF_SPACY = {name.removeprefix("transformer."): array for name, array in TABLES.items()}
GRAPH, NUMBERS = "openvino_model.xml", "openvino_model.bin"


def written(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return folder


def graph(folder, before="", **replaced):
    """Write a graph in which texts are replaced."""
    written(folder, openvino(TABLES))
    text = (folder / GRAPH).read_text()
    for key, value in replaced.items():
        text = text.replace(f'{key}="', f'{key}="{value}" was="')
    (folder / GRAPH).write_text(text.replace("<net", f"{before}<net"))
    return folder / GRAPH


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (openvino(TABLES), ("", GRAPH, NUMBERS)),
        (spacy(OF_SPACY), ("", "transformer", "transformer/model")),
    ],
)
def test_a_folder_and_its_files_open(tmp_path, files, names):
    written(tmp_path, files)
    for name in names:
        model = open_model(tmp_path / name)
        assert model.family == "gpt2"
        np.testing.assert_array_equal(model.W_pos, TABLES["transformer.wpe.weight"])
        np.testing.assert_array_equal(model.W_E, TABLES["transformer.wte.weight"])


def test_the_settings_of_a_transformer_are_beside_its_weights(tmp_path):
    assert open_store(weights_in(written(tmp_path, spacy(OF_SPACY)))).settings["n_head"] == 2


def test_graphs_of_a_tokenizer_are_no_weights(tmp_path):
    written(tmp_path, openvino(TABLES))
    for name in ("openvino_tokenizer", "openvino_detokenizer"):
        for ending in ("xml", "bin"):
            (tmp_path / f"{name}.{ending}").write_bytes(b"<?xml")
    assert weights_in(tmp_path).name == GRAPH


@pytest.mark.parametrize("half", [False, True])
def test_what_openvino_writes(tmp_path, half):
    package = pytest.importorskip("openvino")
    net = torch.nn.ModuleDict({"wpe": torch.nn.Embedding(20, 8), "wte": torch.nn.Embedding(40, 8)})
    net.forward = lambda ids: net["wte"](ids) + net["wpe"](ids)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that TorchScript is no longer developed
        converted = package.convert_model(net, example_input=torch.arange(5))
    package.save_model(converted, tmp_path / "m.xml", compress_to_fp16=half)
    model, table = open_model(tmp_path), net["wpe"].weight.detach()
    np.testing.assert_array_equal(model.W_pos, (table.half() if half else table).float())


def test_what_spacy_writes(tmp_path):
    api = pytest.importorskip("thinc.api")
    net = torch.nn.ModuleDict({"wpe": torch.nn.Embedding(20, 8), "wte": torch.nn.Embedding(40, 8)})
    model = api.chain(api.Relu(4, 4), api.PyTorchWrapper(net))
    written(tmp_path, {"cfg": b"{}", "model": model.to_bytes()})
    np.testing.assert_array_equal(open_model(tmp_path).W_pos, net["wpe"].weight.detach())


# ---- damaged and hostile files -----------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "replaced"),
    [
        ("declaration", {"before": '<!DOCTYPE net [<!ENTITY a "aaaa">]>'}),
        ("is damaged", {"before": "<"}),
        ("size of its shape", {"shape": "16, 7"}),
        ("size of its shape", {"offset": "999999999999"}),
        ("size of its shape", {"offset": "-4"}),
        ("impossible shape", {"shape": ", ".join(["1"] * 99)}),
        ("is damaged", {"size": "many"}),
        ("without weights|not a graph", {"type": "Parameter"}),
    ],
)
def test_damaged_graphs_are_refused_with_a_sentence(tmp_path, part, replaced):
    with pytest.raises(SourceError, match=None if part == "declaration" else part):
        open_store(graph(tmp_path, **replaced))


def test_the_bounds_of_a_graph(tmp_path, monkeypatch):
    path = graph(tmp_path)
    for name, bound in (("MAX_GRAPH", 100), ("MAX_TENSORS", 1)):
        with monkeypatch.context() as narrow:
            narrow.setattr(openvino_store, name, bound)
            with pytest.raises(SourceError):
                open_store(path)
    assert len(open_store(path).tensors) == len(TABLES)


def test_numbers_that_are_not_beside_the_graph_are_named(tmp_path):
    (path := graph(tmp_path)).with_name(NUMBERS).unlink()
    with pytest.raises(SourceError, match=NUMBERS):
        open_store(path)


def test_a_pipeline_without_a_transformer_is_named(tmp_path):
    written(tmp_path, {"config.cfg": b"[nlp]", "tok2vec/model": b"\x80"})
    with pytest.raises(SourceError, match="spaCy"):
        open_model(tmp_path)
