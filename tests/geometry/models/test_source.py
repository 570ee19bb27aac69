"""Sources: parsed by their form, and located on the disk."""

import pickle

import numpy as np
import pytest

from geometry.checkpoints.errors import SourceError
from geometry.models.sources.locating import located
from geometry.models.sources.names import name_apart
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source


@pytest.mark.parametrize(
    ("text", "kind", "saved"),
    [
        ("sample", "bundled", "sample"),
        ("sample/inside/layer 1", "bundled", "sample/inside/layer 1"),
        ("sinusoidal:8X4", "computed", "sinusoidal:8x4"),
        ("sinusoidal:many", "computed", "sinusoidal:many"),
        ("tokens: weekdays , gpt2", "tokens", "tokens:weekdays,openai-community/gpt2"),
        ("tokens:weekdays", "tokens", "tokens:weekdays"),
        ("pair:8,tokens:weekdays,gpt2", "pair", "pair:8,tokens:weekdays,gpt2"),
        ("gpt2@v1", "hub", "openai-community/gpt2@v1"),
        ("hf://someone/theirs", "hub", "someone/theirs"),
        ("someone/theirs/a b.gguf", "hub", "someone/theirs/a b.gguf"),
        ("someone/model.safetensors", "path", "someone/model.safetensors"),
        ("/a/model", "path", "/a/model"),
        ("./gpt2", "path", "./gpt2"),
        ("", "path", ""),
        ("\0", "path", "\0"),
    ],
)
def test_parse_never_fails_and_gives_the_form_that_is_saved(text, kind, saved):
    source = Source.parse(text)
    assert (source.kind, source.id) == (kind, saved)
    again = Source.parse(source.id)
    assert (again, again.kind) == (source, kind)
    assert pickle.loads(pickle.dumps(source)) == source


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("gpt2", "https://huggingface.co/openai-community/gpt2"),
        ("synthetic:circle,turns=2", "synthetic:circle"),
        ("extended:helix:9:20, gpt2", "extended:helix:9:20,openai-community/gpt2"),
    ],
)
def test_sources_of_the_same_model_are_equal(text, same):
    assert Source.parse(text) == Source.parse(same)
    assert len({Source.parse(text), Source.parse(same), Source.parse("gpt2@v1")}) == 2


def test_a_relative_path_is_located_where_a_file_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "someone").mkdir()
    (file := tmp_path / "someone" / "table").write_bytes(b"")
    source = Source.parse("someone/table")
    assert source.address is not None
    there = located(source)
    assert (there.kind, there.id, there.text) == ("path", str(file), "someone/table")
    assert there.address is None
    assert located(Source.parse("tokens:weekdays,someone/table")).id == f"tokens:weekdays,{file}"
    assert located(Source.parse("someone/other")).address is not None
    assert located(Source.parse("someone/model/last.ckpt")).kind == "path"  # mistyped
    assert located(Source.parse("nobody/model/last.ckpt")).kind == "hub"
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    assert located(Source.parse("link")).address is None


def test_at_commit_changes_only_what_is_on_the_hub():
    commit = "f" * 40
    for text, expected in (
        ("c/d@main", f"c/d@{commit}"),
        ("tokens:a@b.txt,c/d@v1", f"tokens:a@b.txt,c/d@{commit}"),
        ("/models/a@b", "/models/a@b"),
        ("sample", "sample"),
    ):
        assert Source.parse(text).at_commit(commit).text == expected
    assert Source.parse("c/d@v1").at_commit(None).text == "c/d"


@pytest.mark.parametrize(
    ("source", "others", "name"),
    [
        ("/a/out/ckpt.pt", [], "out"),
        ("/a/out/ckpt.pt", ["/b/out/ckpt.pt"], "a/out"),
        ("/a/x/out/ckpt.pt", ["/b/x/out/ckpt.pt", "/c/x/out/ckpt.pt"], "a/out"),
        ("/a/x/out/ckpt.pt", ["/b/y/out/ckpt.pt"], "x/out"),
        ("/a/out/ckpt.pt", ["/out/ckpt.pt"], "a/out"),
        ("/a/out/ckpt.pt", ["/a/out/ckpt.pt"], "out"),  # two tables of one file
        ("us/out", ["them/out"], "us/out"),
    ],
)
def test_models_of_the_same_name_have_their_folders(source, others, name):
    named = [("out", Source.parse(other)) for other in others]
    assert name_apart("out", Source.parse(source), named) == name
    assert name_apart("other", Source.parse(source), named) == "other"


@pytest.mark.parametrize(
    ("model", "same"),
    [
        ("gpt2", "gpt2"),
        ("someone/theirs@v1", "someone/theirs@v1"),
        ("https%3A%2F%2Fhuggingface.co%2Fsomeone%2Ftheirs", "someone/theirs"),
        ("sample", "sample"),
    ],
)
def test_a_link_names_a_model(model, same):
    source = Source.parse(f"helixscope://open?model={model}")
    assert source == Source.parse(same)
    assert source.linked == (same != "sample")
    assert located(source) is source


@pytest.mark.parametrize(
    "link",
    [
        "helixscope:",
        "helixscope://open",
        "helixscope://open?model=",
        "helixscope://open?model=gpt2&out=/etc/passwd",
        "helixscope://open?model=gpt2&model=sample",
        "helixscope://open/more?model=gpt2",
        "helixscope://open?model=gpt2#more",
        "helixscope://report?model=gpt2",
        "helixscope://open?model={there}",
        "helixscope://open?model=a/../../../../../../../../../..{there}",
        "helixscope://open?model=sinusoidal:8x4",
        "helixscope://open?model=tokens:weekdays,gpt2",
        "helixscope://open?model=memory:0123456789abcdef:m",
        "helixscope://open?model=--offline",
        "helixscope://[open?model=gpt2",
    ],
)
def test_a_link_opens_nothing_else(link, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "m.npy", np.eye(20))
    with pytest.raises(SourceError, match="no link to a model"):
        open_model(link.format(there=tmp_path / "m.npy"))
