"""Opening models without a window; jobs are done at once, or when the test says so."""

import json
import pickle
from unittest.mock import patch

import numpy as np
import pytest
from safetensors.numpy import save_file

from geometry.checkpoints.transfer import Cancelled
from geometry.models.sources import local_models
from geometry.models.sources.catalogue import read_catalogue
from geometry.models.sources.locating import tried
from geometry.models.sources.source import Source
from gui.scene.scene_state import resolve_scene
from gui.services.controller import Controller
from gui.services.fetching import Fetch
from gui.services.loading import MAX_RECENT, InitialView, OpenRequest, first_range, load
from gui.widgets.fetch_status import transfer_text
from tests.gui.services.conftest import is_same, snapshot

# ---- opening ---------------------------------------------------------------------------


def test_source_opens_whole_or_with_its_range(session, controller, write_table):
    source = str(write_table())
    controller.open(source)
    assert session.model.name == "helix"
    assert session.positions == session.curve.pca.positions == (1, 199)
    assert session.curve.pca.exact
    assert len(session.curve.pca.components) == 10
    assert session.norms.values.shape == (200,)
    np.testing.assert_array_equal(session.turn, np.eye(3))
    assert (session.opening, session.status, session.notice) == (None, "Ready", None)
    assert session.recent == (Source.parse(source),)
    controller.open(str(write_table()), positions=(30, 60))
    assert session.positions == session.curve.pca.positions == (30, 60)


def test_a_relative_path_is_remembered_as_an_absolute_one(
    session, controller, write_table, monkeypatch
):
    path = write_table()
    monkeypatch.chdir(path.parent)
    controller.open(path.name)
    assert session.recent == (Source.parse(str(path)),)
    assert session.recent[0].text == str(path)


def test_a_long_local_read_is_reported_and_stopped(tmp_path):
    path = tmp_path / "p.pkl"
    path.write_bytes(pickle.dumps({"wpe": np.random.default_rng(3).standard_normal((200, 8))}))
    request = OpenRequest(Source.parse(str(path)))
    look = InitialView((1, 2, 3), norms_centred=False)

    def loading(report):
        fetch = Fetch(lambda transfer: load(request, look, lambda: None))
        return fetch(lambda progress: report(fetch, progress))

    seen = []
    assert loading(lambda _, progress: seen.append(progress)).model.n_positions == 200
    assert transfer_text(seen[0]).startswith("Reading p.pkl")
    with pytest.raises(Cancelled):
        loading(lambda fetch, _: fetch.stop())


@pytest.mark.parametrize(
    ("outliers", "n_positions", "first"),
    [
        ((0, 1023), 1024, (1, 1022)),
        ((0, 127, 510, 511), 512, (1, 509)),
        ((0, 1, 2, 50), 100, (3, 99)),
        ((), 100, (1, 99)),
        (range(30), 50, (1, 49)),  # where most stand out, none does
        ((0,), 1, (0, 0)),
        ((1,), 2, (1, 1)),
    ],
)
def test_outliers_at_the_ends_are_left_out_at_first(outliers, n_positions, first):
    assert first_range(outliers, n_positions) == first


@pytest.mark.parametrize(
    ("wanted", "first"), [("typical", (1, 198)), ("from 1", (1, 199)), ("all", (0, 199))]
)
def test_first_positions_follow_choice(session, controller, write_table, helix, wanted, first):
    table = helix()
    table[-1] *= 5
    session.want(first_range=wanted)
    controller.open(str(write_table(table)))
    assert session.positions == session.curve.pca.positions == first


@pytest.mark.parametrize("shape", [(1, 3), (2, 8), (3, 1), (5, 2), (129, 4), (140, 150)])
def test_opens_tables_of_every_shape(session, controller, write_table, shape):
    controller.open(str(write_table(np.random.default_rng(0).normal(size=shape))))
    assert session.notice is None
    assert session.positions == (min(1, shape[0] - 1), shape[0] - 1)
    assert session.curve.coordinates.shape == (shape[0], 3)
    assert np.isfinite(session.curve.coordinates).all()


def test_says_that_it_is_opening_and_keeps_what_is_open(opened, hand_jobs, write_table):
    controller = Controller(opened, hand_jobs)
    before = snapshot(opened)
    controller.open(str(write_table(name="other")))
    assert opened.opening is None  # most are there before one could read it
    hand_jobs.drag_on("open")
    assert opened.opening.text.endswith("other.npy")
    assert opened.status == "Opening other.npy…"
    assert is_same(opened, before)


def test_the_newest_request_to_open_wins(session, by_hand, hand_jobs, write_table, helix):
    by_hand.open(str(write_table(helix(50), "first")))
    hand_jobs.compute("open")
    by_hand.open(str(write_table(helix(60), "second")))
    hand_jobs.deliver_all()
    assert session.model.name == "second"
    assert len(session.recent) == 1


def test_a_fit_meanwhile_does_not_hide_that_it_is_opening(session, by_hand, hand_jobs, write_table):
    by_hand.open(str(write_table()))
    hand_jobs.deliver_all()
    by_hand.open(str(write_table(name="other")))
    hand_jobs.drag_on("open")
    session.positions = (30, 60)
    assert session.status == "Opening other.npy…"
    hand_jobs.deliver("exact")
    assert session.curve.pca.exact
    assert session.status == "Opening other.npy…"
    hand_jobs.deliver_all()
    assert session.status == "Ready"


def test_opening_is_cancelled_or_replaced(session, by_hand, hand_jobs, write_table):
    by_hand.open(str(write_table()))
    hand_jobs.drag_on("open")
    hand_jobs.compute("open")
    by_hand.opening.cancel()
    assert not hand_jobs.waiting
    assert session.opening is None
    assert session.model is None
    assert session.status == "Opening cancelled"
    by_hand.open(str(write_table()))
    hand_jobs.drag_on("open")
    by_hand.open(str(write_table(name="other")))
    assert session.opening.text.endswith("other.npy")
    hand_jobs.deliver_all()
    assert session.opening is None


def test_failed_source_leaves_all_as_it_was(opened, controller, tmp_path, write_table):
    controller.select((3, 7))
    before = snapshot(opened)
    controller.open(str(tmp_path / "nothing.safetensors"))
    assert is_same(opened, before)
    assert opened.recent[0].id.endswith("helix.npy")
    assert "does not exist" in opened.notice.text
    assert "nothing.safetensors" in opened.notice.text
    assert opened.notice.advice
    assert f"As a file or folder: {tmp_path / 'nothing.safetensors'}" in opened.notice.details
    assert "Traceback" not in opened.notice.details
    assert (opened.opening, opened.status) == (None, "Ready")
    controller.open(str(write_table()))
    assert opened.notice is None


def test_mistyped_name_has_details(session, controller, tmp_path, write_table, caplog):
    there = write_table(name="positions")
    mistyped = there.with_name("postions.npy")
    controller.open(str(mistyped))
    assert session.notice.details.splitlines() == [
        f"As a file or folder: {mistyped}, not found.",
        "As a model on the Hub: not tried, since it is not an id such as owner/name.",
        f"Similar names in {there.parent}: positions.npy.",
        "The log has the traceback.",
    ]
    assert any(record.exc_info for record in caplog.records)
    assert tried(Source.parse("gtp2"))[1:] == [
        "As a model on the Hub: gtp2, revision main.", "Similar names of models: gpt2."
    ]  # fmt: skip


def test_a_range_that_the_model_lacks_is_a_sentence(session, controller, write_table):
    controller.open(str(write_table()), positions=(10, 200))
    assert session.model is None
    assert session.notice.text.startswith("positions 10–200 are not a range of this table")
    assert session.notice.advice


def test_our_own_faults_are_reported_as_such(session, controller, caplog):
    with patch("geometry.models.sources.opening.open_model", side_effect=KeyError("wpe")):
        controller.open("a/model")
    assert session.notice.text == "a/model could not be opened: KeyError: 'wpe'"
    assert "error in Helixscope" in session.notice.advice
    assert "KeyError" in session.notice.details
    assert "a/model could not be opened" in caplog.text


def test_unknown_architecture_offers_tables(session, controller, write_safetensors, tmp_path):
    tables = {
        "a.weight": np.ones((9, 4), np.float32),
        "b.weight": np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32),
    }
    source = str(write_safetensors(tmp_path / "odd.safetensors", tables))
    controller.open(source)
    assert session.model is None
    assert {one.name for one in session.notice.candidates} == {"a.weight", "b.weight"}
    assert session.notice.source.text == source
    controller.choose_table(session.notice, "b.weight")
    assert session.model.table == "b.weight"
    assert session.notice is None


def test_recent_sources_and_odd_tables(session, controller, write_table, helix):
    sources = [str(write_table(helix(12), f"t{i}")) for i in range(MAX_RECENT + 2)]
    for source in (*sources, sources[5]):
        controller.open(source)
    assert [source.id for source in session.recent[:3]] == [sources[5], sources[9], sources[8]]
    assert len(set(session.recent)) == len(session.recent) == MAX_RECENT
    table = helix()
    table[7] = 0.5
    controller.open(str(write_table(table)))
    assert "positions 7" in session.notice.text
    assert session.curve is not None


# ---- what the window starts with -------------------------------------------------------


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty Hub cache, and no installed models."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(local_models, "_in_package", lambda entry: None)

    def add(folder, identity):
        snapshot = tmp_path / "hub" / f"models--{identity.replace('/', '--')}"
        revision = snapshot / "snapshots" / "abc"
        revision.parent.mkdir(parents=True)
        (snapshot / "refs").mkdir()
        (snapshot / "refs" / "main").write_text("abc", "utf-8")
        folder.rename(revision)

    return add


def test_empty_start_or_what_is_here(session, controller, hub, write_gpt2):
    controller.open_first(None)
    assert session.model is None
    assert session.notice is None
    assert session.opening is None
    hub(write_gpt2(), "openai-community/gpt2")
    controller.open_first(None, "/" + "x" * 5000)
    assert session.notice is None
    assert session.model.name == "gpt2"


def test_start_with_a_source_or_the_last(session, controller, hub, write_table, write_gpt2):
    source, last = str(write_table()), str(write_table(name="other"))
    controller.open_first(source, last, (2, 30))
    assert session.model.name == "helix"
    assert session.positions == (2, 30)
    hub(write_gpt2(), "openai-community/gpt2")
    controller.open_first(None, str(write_table(name="other")))
    assert session.model.name == "other"
    hub(write_gpt2(), "openai-community/gpt2-medium")
    controller.open_first(None, "openai-community/gpt2-medium")
    assert session.model.name == "gpt2-medium"


def test_starts_with_the_best_model_here(session, controller, hub, write_gpt2, tmp_path):
    hub(write_gpt2(), "distilbert/distilgpt2")
    hub(write_gpt2(), "openai-community/gpt2-large")
    controller.open_first(None, str(tmp_path / "gone"))
    assert session.model.name == "gpt2-large"


def test_lists_the_catalogue_and_what_else_is_here(session, controller, hub, write_gpt2):
    hub(write_gpt2(), "openai-community/gpt2-large")
    hub(write_gpt2(), "someone/their-gpt2")
    controller.refresh_models()
    states = {row.entry.id: row.state for row in session.models}
    assert states["openai-community/gpt2-large"] == "cached"
    assert states["openai-community/gpt2"] == "online"
    assert states["someone/their-gpt2"] == "cached"
    assert len(states) == len(session.models) == len(read_catalogue()) + 1


# ---- another model ---------------------------------------------------------------------


def test_another_model_keeps_what_makes_sense(session, controller, write_gpt2, write_table, helix):
    controller.open(str(write_gpt2()))
    session.components = (2, 3, 4)
    session.colormap = "viridis"
    session.outside = "faint"
    session.prompt = "hello"
    session.norms_centred = True
    controller.select((150, 7, 100, 20))
    session.hover = 150
    controller.open(str(write_table(helix(90))))
    assert session.positions == (1, 89)
    assert session.selection == (7, 20)
    assert session.details.position == 20
    assert session.hover is None
    assert session.components == session.curve.components == (2, 3, 4)
    assert (session.colormap, session.outside, session.prompt) == ("viridis", "faint", "hello")
    assert session.norms.centred
    assert len(session.norms.values) == 90
    assert session.tokens is None
    assert "no tokenizer" in session.tokens_missing


def test_the_tokens_of_another_model_label_nothing(session, by_hand, hand_jobs, write_gpt2, helix):
    by_hand.open(str(write_gpt2()))
    hand_jobs.deliver_all()
    session.prompt = "hello my name is adam"
    hand_jobs.deliver_all()
    assert len(session.tokens.texts) == 6
    by_hand.open(str(write_gpt2("tinier", helix(4))))
    hand_jobs.deliver("open")
    assert session.tokens is None
    hand_jobs.deliver_all()
    assert len(session.tokens.texts) == 4
    assert session.tokens.truncated == 2


def test_wishes_during_an_opening_hold(session, by_hand, hand_jobs, write_table):
    by_hand.open(str(write_table()))
    hand_jobs.compute("open")
    session.norms_centred = True
    session.components = (3, 1, 2)
    hand_jobs.deliver_all()
    assert session.norms.centred
    assert session.curve.components == (3, 1, 2)


def test_whoever_hears_of_a_new_model_finds_all_of_it(session, controller, write_table, helix):
    heard = []

    def check(name):
        sizes = {session.model.n_positions, len(session.curve.coordinates),
                 len(session.norms.values)}  # fmt: skip
        inside = session.positions[1] < min(sizes) and all(
            p < min(sizes) for p in session.selection
        )
        described = session.details is None or session.details.position == session.current
        heard.append((name, len(sizes) == 1 and inside and described))

    controller.open(str(write_table(helix(150), "long")))
    controller.select((140, 20, 130))
    for name in ("model", "positions", "curve", "norms", "selection", "turn", "details"):
        session.events[name].connect(lambda *_, name=name: check(name))
    controller.open(str(write_table(helix(60), "short")))
    controller.open(str(write_table(helix(150), "long")))
    assert {"model", "positions", "curve", "norms", "selection"} <= {name for name, _ in heard}
    assert [name for name, right in heard if not right] == []


# ---- what is odd about a model ---------------------------------------------------------


def test_switches_between_decoder_and_encoder(session, controller, tmp_path, helix):
    decoder, encoder = helix(22, 8, seed=1), helix(22, 8, seed=2)
    tensors = {"decoder.embed_positions.weight": decoder, "encoder.embed_positions.weight": encoder}
    save_file({k: v.astype(np.float32) for k, v in tensors.items()}, tmp_path / "model.safetensors")
    config = {"model_type": "bart", "d_model": 8, "max_position_embeddings": 20}
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    controller.open(str(tmp_path))
    for side, table in (("decoder", decoder), ("encoder", encoder), ("decoder", decoder)):
        assert session.model.side == side
        np.testing.assert_allclose(session.model.W_pos, table[2:], rtol=1e-6)
        assert f"· {side} · positions 1–19" in resolve_scene(session).caption[0]
        controller.opening.switch_side()


def test_switching_sides_of_a_model_with_one_table_does_nothing(opened, controller):
    model = opened.model
    controller.opening.switch_side()
    assert opened.model is model
