"""Directions on disk: found again, told from others, bounded, and never in the way."""

import os
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from geometry.measures.directions import BLOCK_ROWS, singular_directions
from geometry.models import kept_directions, residual_stream
from geometry.models.kept_directions import DirectionsOnDisk, weights_identity
from geometry.models.residual_stream import ResidualStream, Subject
from geometry.models.sources.opening import open_model
from tests.small_models import write_small_gpt2

P = Subject("P")
D = 200


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.npy"
    np.save(path, np.random.default_rng(0).standard_normal((300, D)))
    return path


@pytest.fixture
def root(tmp_path):
    return tmp_path / "kept"


def stream(path, root, **options):
    model = open_model(path)
    return ResidualStream(model, DirectionsOnDisk(model, root, **options))


def entries(root):
    return sorted(root.glob("*.directions"))


def nothing_is_decomposed(monkeypatch):
    def refuse(*args, **options):
        raise AssertionError("decomposed anew")

    monkeypatch.setattr(residual_stream, "singular_directions", refuse)


def test_directions_come_back_exactly(table, root, monkeypatch):
    first = stream(table, root).directions(P)
    nothing_is_decomposed(monkeypatch)
    again = stream(table, root).directions(P)
    assert (again.vectors == first.vectors).all()
    assert (again.singular_values == first.singular_values).all()
    assert not again.vectors.flags.writeable
    assert again.vectors.flags.aligned


def test_each_way_to_look_at_a_matrix_is_its_own_entry(table, root):
    both = stream(table, root)
    raw, centred = both.directions(P), both.directions(Subject("P", centred=True))
    assert len(entries(root)) == 2
    found = stream(table, root).directions(Subject("P", centred=True))
    assert (found.vectors == centred.vectors).all()
    assert (found.vectors != raw.vectors).any()


def test_other_weights_at_the_same_path_are_others(table, root):
    first = stream(table, root).directions(P)
    np.save(table, 2.0 * np.load(table))
    os.utime(table, ns=(time.time_ns(), os.stat(table).st_mtime_ns + 1))
    second = stream(table, root).directions(P)
    np.testing.assert_allclose(second.singular_values, 2.0 * first.singular_values)


def test_what_was_opened_is_not_kept_as_the_version_that_replaced_it(table, root):
    values = np.load(table)
    first = stream(table, root)
    np.save(table, 2.0 * values)
    os.utime(table, ns=(time.time_ns(), os.stat(table).st_mtime_ns + 1))
    found = first.directions(P)
    second = stream(table, root).directions(P)
    np.testing.assert_allclose(second.singular_values, 2.0 * found.singular_values)


def test_a_damaged_or_cut_entry_is_removed_and_computed_anew(table, root):
    first = stream(table, root).directions(P)
    (path,) = entries(root)
    sound = path.read_bytes()
    damaged = bytearray(sound)
    damaged[100] ^= 1
    for wrong in (damaged, sound[:-9]):
        path.write_bytes(wrong)
        again = stream(table, root).directions(P)
        assert (again.vectors == first.vectors).all()
        assert path.read_bytes() == sound


def test_the_longest_unused_go_first_and_the_newest_stays(table, root):
    size = 8 * D * D
    kept = stream(table, root, max_bytes=int(2.5 * size))
    names = [Subject("P"), Subject("P", centred=True), Subject("P", side="input")]
    for number, subject in enumerate(names[:2]):
        kept.directions(subject)
        for path in entries(root)[-1:]:
            os.utime(path, ns=(number, number))
    before = set(entries(root))
    kept.directions(names[2])
    after = set(entries(root))
    assert len(after) == 2
    assert len(after - before) == 1


def test_what_is_larger_than_the_bound_or_small_is_not_kept(table, root, tmp_path):
    stream(table, root, max_bytes=1000).directions(P)
    assert entries(root) == []
    np.save(tmp_path / "small.npy", np.random.default_rng(0).standard_normal((30, 8)))
    stream(tmp_path / "small.npy", tmp_path / "none").directions(P)
    assert not (tmp_path / "none").exists()


def test_a_place_that_cannot_be_written_costs_nothing_but_time(table, root, caplog):
    root.write_text("a file where a folder should be")
    assert len(stream(table, root).directions(P).singular_values) == D
    assert "cannot be" in caplog.text


def test_nothing_is_kept_of_what_cannot_be_identified(table, root, tmp_path):
    model = open_model(table)
    model._store = SimpleNamespace()
    assert weights_identity(model) is None
    kept = DirectionsOnDisk(model, root)
    kept.put(P, singular_directions(model.W_pos), mapped=False)
    assert kept.get(P, mapped=False) is None
    assert not root.exists()
    # Torch files are identified by their names and times.
    torch_file = tmp_path / "table.bin"
    torch.save({"wpe": torch.ones(4, 4) * torch.arange(4)}, torch_file)
    identity = weights_identity(open_model(torch_file, table="wpe"))
    assert "table.bin" in identity
    assert str(torch_file.stat().st_mtime_ns) in identity
    # A commit needs no file.
    model = open_model(table)
    model.commit = "a" * 40
    assert weights_identity(model) == f"{'a' * 40} {model.table}"


def test_what_is_made_of_a_model_of_a_commit_has_no_directions_in_its_name(table):
    model = open_model(f"resampled:200,{table}")
    model.commit = "a" * 40
    assert weights_identity(model) is None


def test_entries_of_an_older_version_are_not_read(table, root, monkeypatch):
    stream(table, root).directions(P)
    monkeypatch.setattr(kept_directions, "VERSION", kept_directions.VERSION + 1)
    stream(table, root).directions(P)
    assert len(entries(root)) == 2


def test_threads_that_want_the_same_decompose_it_once(table, monkeypatch):
    begun, calls = threading.Barrier(4), []
    real = residual_stream.singular_directions

    def slow(*args, **options):
        calls.append(args)
        return real(*args, **options)

    monkeypatch.setattr(residual_stream, "singular_directions", slow)
    shared = ResidualStream(open_model(table))
    found = []

    def ask():
        begun.wait()
        found.append(shared.with_progress(lambda share, words: None).directions(P))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert all(one is found[0] for one in found)


def test_a_tall_matrix_tells_how_far_it_is_and_ends_when_told(tmp_path):
    n = 2 * BLOCK_ROWS + 800
    np.save(tmp_path / "tall.npy", np.random.default_rng(0).standard_normal((n, 4)))
    told = []
    shared = ResidualStream(open_model(tmp_path / "tall.npy"))
    shared.with_progress(lambda share, words: told.append((share, words))).directions(P)
    assert [share for share, _ in told] == pytest.approx(
        [0.0, BLOCK_ROWS / n, 2 * BLOCK_ROWS / n, 1.0]
    )
    assert told[0][1] == "Decomposing P"

    class Enough(Exception):
        pass

    def stop(share, words):
        raise Enough

    other = ResidualStream(open_model(tmp_path / "tall.npy"))
    with pytest.raises(Enough):
        other.with_progress(stop).directions(P)
    assert len(other.directions(P).singular_values) == 4  # and nobody waits for a lock


def test_what_is_kept_in_memory_is_bounded(table, monkeypatch):
    monkeypatch.setattr(residual_stream, "MAX_BYTES", int(1.5 * 8 * D * D))
    shared = ResidualStream(open_model(table))
    first = shared.directions(P)
    shared.directions(Subject("P", centred=True))
    assert shared.directions(P) is not first


def test_weights_by_layer_are_entries_of_their_own(tmp_path, root):
    model = open_model(write_small_gpt2(tmp_path / "two", d_model=192))
    kept = ResidualStream(model, DirectionsOnDisk(model, root))
    for layer in range(2):
        kept.directions(Subject("W_Q", layer))
    assert len(entries(root)) == 2
