"""One checkpoint to one row: the same numbers as those of `table`, and what went wrong."""

import json

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import save_file

from geometry.checkpoints.errors import FileChanged
from geometry.checkpoints.transfer import Transfer
from geometry.claims.claims import CLAIMS, check
from geometry.claims.measurements import Measurements
from geometry.claims.scalar_results import QUANTITIES, WEIGHED, scalar_results, weighed_scalars
from geometry.hub.client import Hub
from geometry.hub.keeping import opening
from geometry.hub.network import Network
from geometry.hub.tensor_cache import TensorCache
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source
from geometry.pca.pca import fit_pca
from geometry.survey import rows
from geometry.survey.populations import Entry, expand
from geometry.survey.rows import Access, Fault, RowSettings, measure_entry, schema
from tests.geometry.history_stage import growing, write_checkpoint, write_record
from tests.geometry.models.test_layer_tables import METADATA, tensors
from tests.geometry.survey.survey_stage import STEPS, write_runs
from tests.loopback.hub import Fault as HubFault
from tests.stand_ins import STANFORD, write_stand_in

USUAL, HERE = RowSettings(), Access(offline=True)


def entries(path, tmp_path):
    return expand([str(path)], Network(Hub(offline=True), TensorCache(tmp_path), Transfer()))


def test_a_row_parses_its_source_once(tmp_path, monkeypatch):
    texts, parse = [], Source.parse

    def counted(cls, text):
        texts.append(text)
        return parse(text)

    entry, *_ = entries(write_runs(tmp_path / "runs"), tmp_path)
    monkeypatch.setattr(Source, "parse", classmethod(counted))
    assert measure_entry(entry, USUAL, HERE).row["error"] is None
    assert texts == [entry.source]


def test_a_row_has_the_numbers_of_the_table(tmp_path):
    found = entries(write_runs(tmp_path / "runs"), tmp_path)
    assert len(found) == 8
    for entry in found:
        measured = measure_entry(entry, USUAL, HERE)
        model, row = open_model(entry.source), measured.row
        assert (measured.fault, measured.requests, row["error"]) == (None, 0, None)
        assert row.keys() <= set(schema(0).names)
        for scalar in scalar_results(model):
            assert row[scalar.quantity.key] == scalar.value, scalar.quantity.key
        assert (row["step"], row["seed"], row["scheme"]) == (entry.step, entry.seed, "learned")
        assert (row["first_position"], row["last_position"]) == (1, 47)
        assert row["fingerprint"] == model.fingerprint
        assert measure_entry(entry, USUAL, HERE) == measured
    last = measure_entry(found[3], USUAL, HERE).row
    assert (last["verdict"], last["turning_share_outcome"]) == ("helix", "holds")
    assert last["turns"] == pytest.approx(3 * 46 / 47, rel=0.05)
    assert last["variance_3_outcome"] is None


def test_the_range_and_the_components(tmp_path):
    (entry,) = entries(write_checkpoint(tmp_path / "one", growing([1000])[0]), tmp_path)
    row = measure_entry(entry, RowSettings((5, 40), (2, 1, 3)), HERE).row
    for scalar in scalar_results(open_model(entry.source), (5, 40), (2, 1, 3)):
        assert row[scalar.quantity.key] == scalar.value, scalar.quantity.key
    assert (row["first_position"], row["last_position"]) == (5, 40)
    row = measure_entry(entry, RowSettings((5, 48)), HERE).row
    assert "48" in row["error"]
    assert (row["temporary"], row["source"]) == (False, entry.source)


def test_a_chosen_table_is_used_where_a_checkpoint_has_it(tmp_path):
    np.savez(tmp_path / "two.npz", a=np.eye(30, 8), b=np.ones((9, 8)))
    write_checkpoint(tmp_path / "one", growing([1000])[0])
    chosen = RowSettings(table="a[2:]")
    found = {}
    for path in (tmp_path / "two.npz", tmp_path / "one"):
        (entry,) = entries(path, tmp_path)
        row = measure_entry(entry, chosen, HERE).row
        assert row.keys() <= set(schema(0, chosen=True).names)
        found[row["table"]] = row["last_position"]
    assert found == {"a[2:]": 27, None: 47}
    assert "table" not in measure_entry(entry, USUAL, HERE).row
    assert chosen.to_json().keys() - USUAL.to_json().keys() == {"table"}


@pytest.mark.slow
def test_null_distributions_are_those_of_the_claims():
    model = open_model("sample")
    scalars, outcomes = weighed_scalars(model, nulls=True)
    assert scalars == scalar_results(model)
    by_id, measured = {claim.id: claim for claim in CLAIMS}, Measurements(model)
    values = {one.quantity.key: one.value for one in scalars}
    for key, claim in WEIGHED.items():
        verdict = check(by_id[claim], measured)
        assert outcomes[key] == verdict.outcome
        assert values[key] == pytest.approx(verdict.value, rel=1e-9)
    # Of another range, that claim says nothing.
    assert set(weighed_scalars(model, (5, 200), nulls=True)[1]) == {
        "turning_share", *WEIGHED} - {"variance_3"}  # fmt: skip


def test_components_for_a_time_lapse_in_half_precision(tmp_path):
    table = growing([1000])[0]
    (entry,) = entries(write_checkpoint(tmp_path / "one", table), tmp_path)
    row = measure_entry(entry, RowSettings(kept=4), HERE).row
    pca = fit_pca(table.astype(np.float64), (1, 47), 4)
    coordinates = np.frombuffer(row["coordinates"], "<f2").reshape(48, 4)
    directions = np.frombuffer(row["directions"], "<f2").reshape(4, 12)
    mean = np.frombuffer(row["mean"], "<f2")
    np.testing.assert_allclose(coordinates, pca.project(table)[:, :4], atol=1e-3)
    np.testing.assert_allclose(mean + coordinates @ directions, table, atol=0.02)
    # Of a table with fewer columns there are fewer.
    np.save(tmp_path / "narrow.npy", table[:, :2])
    (entry,) = entries(tmp_path / "narrow.npy", tmp_path)
    row = measure_entry(entry, RowSettings(kept=4), HERE).row
    assert len(row["coordinates"]) == 2 * 48 * 2


def test_steps_of_a_history_layers_of_a_run_and_other_schemes(tmp_path):
    trained, measured = tmp_path / "trained", tmp_path / "measured"
    trained.mkdir()
    write_record(trained / "history.safetensors", STEPS)
    for entry, table in zip(entries(trained, tmp_path), growing(STEPS), strict=True):
        row = measure_entry(entry, USUAL, HERE).row
        np.save(tmp_path / "same.npy", table.astype(np.float16))
        same = {one.quantity.key: one.value for one in scalar_results(
            open_model(tmp_path / "same.npy"), (1, 47))}  # fmt: skip
        assert {key: row[key] for key in same} == same
        assert (row["scheme"], row["tokens"]) == ("learned", 100 * entry.step)
    gone = Entry(f"{trained}/step 7", "trained", step=7, history=f"{trained}/history.safetensors")
    found = measure_entry(gone, USUAL, HERE)
    assert found.fault == Fault("again")
    assert found.row["error"] == str(FileChanged("history.safetensors"))
    measured.mkdir()
    save_file(tensors(), measured / "positions.safetensors", metadata=METADATA)
    found = [measure_entry(one, USUAL, HERE).row for one in entries(measured, tmp_path)]
    assert [(row["layer"], row["scheme"], row["error"]) for row in found] == [
        (layer, "inside", None) for layer in range(4)
    ]
    row = measure_entry(Entry("sinusoidal:64x32", "computed"), USUAL, HERE).row
    assert (row["scheme"], row["n_positions"], row["d_model"]) == ("computed", 64, 32)


def test_tokens_are_those_of_the_trainers_log(tmp_path):
    folder = write_checkpoint(tmp_path / "run" / "checkpoint-20", growing([20])[0])
    log = {"log_history": [{"step": 10, "num_input_tokens_seen": 500}]}
    (folder / "trainer_state.json").write_text(json.dumps(log), "utf-8")
    (entry,) = entries(folder, tmp_path)
    assert measure_entry(entry, USUAL, HERE).row["tokens"] == 500


def test_a_row_comes_of_anything(tmp_path, monkeypatch):
    (tmp_path / "torn.npy").write_bytes(b"\x93NUMPY")
    row = measure_entry(Entry(str(tmp_path / "torn.npy"), "torn"), USUAL, HERE).row
    assert (row["temporary"], "torn.npy" in row["error"]) == (False, True)
    row = measure_entry(Entry("stanford-crfm/none", "none"), USUAL, HERE).row
    assert (row["temporary"], "offline" in row["error"]) == (True, True)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("seven")

    monkeypatch.setattr(rows, "weighed_scalars", broken)
    found = measure_entry(Entry("sample", "sample"), USUAL, HERE)
    assert found.fault is None
    assert found.row["error"] == "It could not be measured: ZeroDivisionError: seven."
    assert found.row["temporary"]


@pytest.fixture
def alias(loopback_hub, tmp_path):
    """A checkpoint of Alias on the Hub."""
    rows._hub.cache_clear()
    branch = "checkpoint-1000"
    files = write_stand_in(tmp_path / "served", STANFORD[0], branch)
    commit = loopback_hub.add(STANFORD[0], files, revision=branch)
    yield Entry(f"{STANFORD[0]}@{branch}", "alias", 21, 1000, commit=commit)
    rows._hub.cache_clear()


def test_of_the_hub_only_the_table_is_fetched_and_kept(alias, loopback_hub):
    found = measure_entry(alias, USUAL, Access())
    assert (found.row["error"], found.row["commit"]) == (None, alias.commit)
    assert found.requests == len([one for one in loopback_hub.requests
                                  if not one.path.startswith("/api/agent")])  # fmt: skip
    # Of the answer that there is no model.safetensors, no byte is read.
    unread = sum(one.sent for one in loopback_hub.requests if one.status == 404)
    assert found.nbytes == loopback_hub.bytes_sent - unread
    with loopback_hub.unasked():
        again = measure_entry(alias, USUAL, Access())
    assert (again.row, again.requests) == (found.row, 0)


def test_a_branch_that_has_moved_is_fetched_anew(alias, loopback_hub, tmp_path):
    files = write_stand_in(tmp_path / "moved", STANFORD[1], "checkpoint-1000")
    with opening():  # what is fetched is not yet written when it is asked for again
        first = measure_entry(alias, USUAL, Access()).row
        commit = loopback_hub.add(STANFORD[0], files, revision="checkpoint-1000")
        moved = Entry(alias.source, "alias", 21, 1000, commit=commit)
        second = measure_entry(moved, USUAL, Access()).row
    assert (second["commit"], first["commit"]) == (commit, alias.commit)
    assert second["fingerprint"] != first["fingerprint"]


@pytest.mark.parametrize(
    ("played", "fault", "said"),
    [
        (
            HubFault.status(429, {"Retry-After": "7"}),
            Fault("busy", 7.0),
            "no more requests",
        ),
        (HubFault.status(503), Fault("busy"), "503"),
        (HubFault.status(403), None, ""),
        (HubFault.cut(20), Fault("again"), ""),
        (HubFault.refuse(), Fault("again"), ""),
    ],
)
def test_faults_of_the_hub(alias, loopback_hub, played, fault, said):
    loopback_hub.fault(played)
    found = measure_entry(alias, USUAL, Access())
    assert found.fault == fault
    assert found.row["temporary"] == (fault is not None)
    assert said in found.row["error"].lower()
    # It is not sent again.
    assert found.requests == sum("agent" not in one.path for one in loopback_hub.requests)
    assert found.requests == 1 + (played.kind == "cut")
    assert measure_entry(alias, USUAL, Access()).row["error"] is None


def test_without_a_connection(alias, loopback_hub):
    loopback_hub.close()
    assert measure_entry(alias, USUAL, Access()).fault == Fault("network")


def test_what_is_not_on_the_hub_fails_for_good(alias):
    found = measure_entry(Entry(f"{STANFORD[0]}@checkpoint-8", "alias"), USUAL, Access())
    assert (found.fault, found.row["temporary"]) == (None, False)
    assert "checkpoint-8" in found.row["error"]


def test_the_columns():
    found = schema(0)
    assert found.names[:4] == ["source", "group", "seed", "step"]
    assert {one.key for one in QUANTITIES} <= set(found.names)
    assert found.field("outliers").type == pa.int64()
    assert found.field("turns").type == pa.float64()
    assert set(schema(3).names) - set(found.names) == {"coordinates", "directions", "mean"}
