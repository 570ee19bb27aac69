"""Parts that cannot be read, in every panel: what they concern says so, and the rest goes on."""

from functools import cache

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from gui.panels.table import PANELS
from tests.gui.panels.test_contract import CHOSEN, other_choices
from tests.marks import slow_but
from tests.small_models import write_small_gpt2, write_small_llama

pytestmark = pytest.mark.usefixtures("few_random_curves")

#: Panels of which nothing is left without these parts.
GONE = {
    "embeddings": {"capture", "layernorm"},
    "queries": {"kernels", "overlaps"},
    "norm": {"kernels"},
    "tokenizer": set(),
}


def quantised(folder, *ends):
    """Replace tensors by integers."""
    file = folder / "model.safetensors"
    tensors = load_file(file)
    for name in tensors:
        if name.endswith(ends):
            tensors[name] = np.ones(tensors[name].shape, np.int8)
    save_file(tensors, file)
    return folder


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Write a model of which some part cannot be read."""
    ends = {
        "embeddings": ("wte.weight",),
        "queries": ("c_attn.weight", "q_proj.weight"),
        "norm": ("ln_1.weight",),
        "tokenizer": (),
    }

    @cache
    def written(what, write):
        folder = tmp_path_factory.mktemp("broken")
        write(folder)
        if not ends[what]:
            (folder / "tokenizer.json").write_text('{"version": "1.0"')
            return folder
        return quantised(folder, *ends[what])

    rotary, learned = write_small_llama, write_small_gpt2
    return lambda what, panel: written(what, rotary if panel == "rotary" else learned)


@pytest.mark.parametrize("what", slow_but(["embeddings", "queries"], GONE))
@pytest.mark.parametrize("name", PANELS)
def test_a_panel_says_what_is_missing_and_shows_the_rest(name, what, stage_of, broken):
    stage = stage_of(name, broken(what, name), size=(900, 300))
    panel = stage.panel
    if name in GONE[what]:
        assert (stage.answer.state, stage.answer.retry) == ("impossible", False)
        assert "quantised (I8)" in stage.answer.why
    elif name != "training":  # which needs a history
        assert stage.answer.state == "ready", stage.answer.why
        assert panel.caption()
        panel.spec.plots(panel.view())
    for field, value in other_choices(panel.spec, CHOSEN.get(name, {})).items():
        panel.configure(**{field: value})
        if stage.answer.state != "ready" and name != "training":
            assert (stage.answer.state, stage.answer.retry) == ("impossible", False)
            assert not stage.answer.why.startswith("This could not be computed")
