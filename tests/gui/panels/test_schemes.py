"""Every panel on models of every scheme: an answer, or why there is none, and what helps."""

from functools import cache

import numpy as np
import pytest
from matplotlib.figure import Figure

from gui.panels.table import PANELS
from tests.geometry.family_cases import VISION
from tests.gui.panels.test_contract import CHOSEN, other_choices
from tests.small_models import saved, write_small_gpt2, write_small_llama

pytestmark = pytest.mark.usefixtures("few_random_curves")

HEADS = {"num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 30}


def write_rows(folder):
    rows = np.cumsum(np.random.default_rng(0).normal(size=(40, 6)), axis=0)
    lines = [f"word {i}," + ",".join(f"{x:.5f}" for x in row) for i, row in enumerate(rows)]
    (folder / "words.csv").write_text("\n".join(["word,a,b,c,d,e,f", *lines]), "utf-8")
    return folder / "words.csv"


def write_table(folder):
    np.save(folder / "table.npy", np.cumsum(np.random.default_rng(1).normal(size=(40, 12)), axis=0))
    return folder / "table.npy"


WRITERS = {
    "learned": lambda folder: write_small_gpt2(folder),
    "table": write_table,
    "computed": lambda folder: "sinusoidal:64x16",
    "rotary": lambda folder: write_small_llama(folder),
    "alibi": lambda folder: saved("bloom", folder, hidden_size=16, n_layer=2, n_head=4,
                                  vocab_size=30),
    "relative": lambda folder: saved("t5", folder, d_model=16, d_kv=4, d_ff=16, num_layers=2,
                                     num_heads=4, vocab_size=30),
    "relative table": lambda folder: saved(
        "deberta-v2", folder, hidden_size=16, intermediate_size=16, relative_attention=True,
        max_relative_positions=24, position_buckets=12, pos_att_type=["c2p", "p2c"], **HEADS,
    ),
    "offsets": lambda folder: saved(
        "swin", folder, image_size=32, patch_size=4, embed_dim=8, depths=[2], num_heads=[2],
        window_size=4,
    ),
    "grid": lambda folder: saved("vit", folder, **{**VISION, "image_size": 24}),
    "rows": write_rows,
    "inside": lambda folder: "sample/inside/layer 1",
}  # fmt: skip
"""What writes a source of each scheme."""


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    @cache
    def written(scheme):
        folder = tmp_path_factory.mktemp("scheme")
        source = WRITERS[scheme](folder)
        return source if isinstance(source, str) or hasattr(source, "suffix") else folder

    return written


@pytest.mark.slow
@pytest.mark.parametrize("scheme", WRITERS)
@pytest.mark.parametrize("name", PANELS)
def test_a_panel_has_an_answer_or_says_before_drawing_why_not(name, scheme, stage_of, sources):
    stage = stage_of(name, sources(scheme), size=(900, 300))
    panel, answer = stage.panel, stage.answer
    enabled = panel.header._controls.isEnabled()
    if answer.state == "ready":
        assert panel.content.isVisible()
        assert panel.caption()
        assert panel.spec.plots(panel.view()) or panel.spec.body
        assert isinstance(panel.figure()(), Figure)
        assert all(len(column) for column in panel.numbers().values())
        assert enabled
        return
    assert (answer.state, answer.retry) == ("impossible", False)
    assert panel.content is None or not panel.content.isVisible() or name == "training"
    assert panel.session.guides.get(name) is None
    why, advice = panel.words.message.text(), panel.words.advice.text()
    assert why.endswith(".")
    assert advice.endswith(".")
    # Controls work, and advice names them, exactly if another choice has an answer.
    works = []
    for field, value in other_choices(panel.spec, CHOSEN.get(name, {})).items():
        panel.configure(**{field: value})
        works.append(stage.answer.state == "ready")
        panel._set_choices(panel.spec.choices_for(panel.session.model, panel.spec.defaults))
    assert enabled is any(works)
    assert ("above" in advice) <= any(works)
