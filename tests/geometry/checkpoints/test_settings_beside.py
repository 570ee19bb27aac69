"""Settings in the files that other codes than Hugging Face's write beside their weights."""

import json

import pytest

from geometry.checkpoints.errors import SourceError
from geometry.checkpoints.settings_beside import MAX_BYTES, settings_beside

YAML = "n_head: 4\nnorm: null\nrope_base: 10000\neps: 1.0e-5\nhf_config:\n  name: tiny\nbias: false"
READ = {"n_head": 4, "norm": None, "rope_base": 10000, "eps": 1e-5, "hf_config": {"name": "tiny"},
        "bias": False}  # fmt: skip


@pytest.mark.parametrize(
    ("files", "settings"),
    [
        ({"params.json": '{"dim": 64, "n_heads": 4}'}, {"dim": 64, "n_heads": 4}),
        ({"model_config.yaml": YAML}, READ),
        ({"hparams.yaml": "model: !!python/name:os.system\nn_head: 4"},
         {"model": None, "n_head": 4}),
        ({"meta_000100.json": '{"step": 100, "model_config": {"n_head": 4}}'}, {"n_head": 4}),
        ({"meta_000200.json": '{"model_config": {"n_head": 4}}'}, {}),
        ({"config.json": '{"n_head": 4}'}, {}),
        ({"params.json": "[1]", "hparams.json": '{"n_head": 4}'}, {"n_head": 4}),
        ({"hparams.yaml": "lr: 0.1", "config.yaml": "n_head: 4"}, {"n_head": 4}),
        ({"hparams.yaml": "a: [1", "config.yaml": "n_head: 4"}, {"n_head": 4}),
        ({"params.json": '{"n_head": 4, "args": {"lr": 1}}'}, {"n_head": 4, "args": {"lr": 1}}),
        ({"params.json": '{"lr": 1, "args": {"n_head": 4}}'}, {"n_head": 4}),
        ({"hparams.yaml": "lr: 0.1"}, {}),
        ({"config.yaml": "a: 1\n" + "#" * MAX_BYTES}, {}),
        ({}, {}),
    ],
)  # fmt: skip
def test_the_settings_beside_a_file(files, settings, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    found, name = settings_beside(tmp_path / "model_000100.pt")
    assert found == settings
    assert name == (list(files)[-1] if settings else "")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("params.json", "{"),
        ("config.yaml", "a: [1"),
        ("config.yaml", "a: &a [1, 2]\nb: *a"),
        ("config.yaml", "a: &a {x: 1}\nb: {<<: *a}"),
        ("config.yaml", "[" * 20_000),
        ("config.yaml", "a: \x00"),
    ],
)
def test_damaged_settings_are_named(name, content, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(SourceError, match=f"{name} is not valid"):
        settings_beside(tmp_path / "model.pt")


def test_tags_run_nothing(tmp_path):
    trace = tmp_path / "trace"
    content = f"a: !!python/object/apply:os.mkdir [{json.dumps(str(trace))}]\nn_head: 4"
    (tmp_path / "config.yaml").write_text(content)
    assert settings_beside(tmp_path / "a.pt")[0]["n_head"] == 4
    assert not trace.exists()
