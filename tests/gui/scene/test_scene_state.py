"""What the scene shows, resolved from the session: the caption says exactly that."""

import numpy as np
import pytest

from gui.scene.scene_state import MAX_TOKEN_LABELS, resolve_scene
from gui.scene.shown_range import inside
from gui.state.session import Session
from gui.style.theme import format_percent

NBSP = "\N{NO-BREAK SPACE}"


def test_the_caption_says_exactly_what_is_shown(opened, controller):
    assert resolve_scene(Session()) is None
    controller.request_positions(20, 120)
    opened.components = (2, 1, 4)
    state = resolve_scene(opened)
    assert state.caption[0] == "helix · positions 20–120 · centred"
    table = opened.model.W_pos[20:121]
    s2 = np.linalg.svd(table - table.mean(0), compute_uv=False) ** 2
    shares = [s2[k - 1] / s2.sum() for k in (2, 1, 4)]
    named = [(f"PC{NBSP}{k}", format_percent(x)) for k, x in zip((2, 1, 4), shares, strict=True)]
    parts = " · ".join("  ".join(one) for one in named)
    assert state.caption[1] == f"{parts}  =  {format_percent(sum(shares))}"
    assert state.axis_labels == tuple(" · ".join(one) for one in named)


def test_the_caption_says_which_range_is_drawn_even_if_another_is_wanted(opened, hand_jobs):
    """While a large table is being fitted, the old range is still on the screen."""
    curve = opened.curve
    opened.events.block()
    opened.positions = (3, 9)
    opened.events.unblock()
    state = resolve_scene(opened)
    assert state.positions == curve.pca.positions == (1, 199)
    assert "positions 1–199" in state.caption[0]


def test_gpt2s_caption_has_the_articles_numbers(session, controller, gpt2_folder):
    controller.open(str(gpt2_folder))
    assert resolve_scene(session).caption == (
        "gpt2 · positions 1–1022 · centred",
        f"PC{NBSP}1  33.7{NBSP}% · PC{NBSP}2  32.6{NBSP}% · PC{NBSP}3  24.8{NBSP}%  =  91.1{NBSP}%",
    )


COMMIT = "607a30d783dfa663caf39e06633721c8d4cfcd7e"


@pytest.mark.parametrize(
    ("name", "commit", "expected"),
    [
        ("helix", None, "helix"),
        ("gpt2", COMMIT, "gpt2 · 607a30d"),
        ("alias@checkpoint-1000", COMMIT, "alias@checkpoint-1000 · 607a30d"),
        ("gpt2@refs/pr/3", COMMIT, "gpt2@refs/pr/3 · 607a30d"),
        # What was asked for by its commit does not say it twice.
        ("gpt2@607a30d", COMMIT, "gpt2 · 607a30d"),
        (f"gpt2@{COMMIT}", COMMIT, "gpt2 · 607a30d"),
        ("gpt2@607", COMMIT, "gpt2@607 · 607a30d"),  # a branch, rather
        ("607a30d", COMMIT, "607a30d · 607a30d"),  # a model of that name
    ],
)
def test_the_caption_names_the_commit(opened, name, commit, expected):
    opened.model.name, opened.model.commit = name, commit
    assert resolve_scene(opened).caption[0] == f"{expected} · positions 1–199 · centred"


def test_a_computed_table_is_called_that(session, controller, written):
    sizes = {"max_position_embeddings": 32, "num_layers": 1, "attention_heads": 2, "ffn_dim": 32}
    config = {"model_type": "xglm", "d_model": 16, "vocab_size": 9, **sizes}
    controller.open(str(written({"model.embed_tokens.weight": np.ones((9, 16), "f4")}, config)))
    assert session.notice is None
    assert resolve_scene(session).caption[0].endswith(" · centred · computed, not learned")


def test_labels_in_order_and_limited(session, controller, write_gpt2):
    controller.open(str(write_gpt2()))
    session.prompt = "hello my name is adam"
    controller.select((9, 3, 50))
    session.hover = 2
    norm = session.norms.values[2]
    assert list(resolve_scene(session).labels.items()) == [
        (2, f"position 2 · norm {norm:.3f} · my"),
        (50, "50"),
        (3, "3 name"),
        (9, "9"),
        (0, "<|endoftext|>"),
        (5, "adam"),
        (1, "hello"),
        (4, "is"),
    ]
    session.prompt = "hello " * 150
    session.change(selection=(), hover=None)
    assert len(session.tokens.texts) == 151
    assert len(resolve_scene(session).labels) == MAX_TOKEN_LABELS


def test_what_is_visible(opened, controller):
    controller.request_positions(20, 120)
    for opened.outside in ("hidden", "faint"):
        state, faint = resolve_scene(opened), opened.outside == "faint"
        seen = [state.visible(p) for p in (0, 19, 20, 120, 121, 199)]
        assert seen == [faint, faint, True, True, faint, faint]


def test_what_is_displayed_is_turned_and_marks_and_switches_are_passed_on(opened, controller):
    turn = np.diag([-1.0, 1.0, -1.0])
    controller.select((4, 8))
    opened.change(turn=turn, hover=7, projection="parallel", outside="faint")
    state = resolve_scene(opened)
    assert state.coordinates is opened.curve.coordinates
    assert state.turn is turn
    assert (state.selection, state.hover) == ((4, 8), 7)
    assert (state.projection, state.outside) == ("parallel", "faint")


@pytest.mark.parametrize(
    ("shape", "lack"),
    [
        ((40, 1), "this table has 1 column: no PC 2 or PC 3"),
        ((40, 2), "this table has 2 columns: no PC 3"),
        ((2, 9), "the range has 2 positions: no PC 2 or PC 3"),
    ],
)
def test_missing_components_are_zero(session, controller, write_table, shape, lack):
    controller.open(str(write_table(np.random.default_rng(1).standard_normal(shape), "narrow")))
    controller.request_positions(0, shape[0] - 1)
    state = resolve_scene(session)
    assert state.caption[1].endswith(f" · {lack}")
    assert state.axis_labels[2] == "PC\N{NO-BREAK SPACE}3 · none"
    assert not state.coordinates[:, 2].any()
    assert state.coordinates[:, 0].any()


def test_a_range_is_in_order_and_inside_the_table():
    assert inside((3, 9), 100) == inside((9, 3), 100) == (3, 9)
    assert inside((-5, 900), 100) == (0, 99)
    assert inside((500, 200), 100) == inside((100, 99), 100) == (99, 99)
    assert inside((-1, -7), 100) == (0, 0)
