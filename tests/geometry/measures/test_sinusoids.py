"""Fixed sines and cosines: the modules' own, of drawn sizes, and tables that are such ones."""

import random

import numpy as np
import pytest
import torch
from transformers.models.ctrl.modeling_ctrl import positional_encoding
from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings
from transformers.models.fsmt.modeling_fsmt import SinusoidalPositionalEmbedding
from transformers.models.kosmos2.modeling_kosmos2 import Kosmos2TextSinusoidalPositionalEmbedding
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.nllb_moe.modeling_nllb_moe import NllbMoeSinusoidalPositionalEmbedding
from transformers.models.pegasus.modeling_pegasus import PegasusSinusoidalPositionalEmbedding
from transformers.models.pegasus_x.modeling_pegasus_x import PegasusXSinusoidalPositionalEmbedding
from transformers.models.speech_to_text.modeling_speech_to_text import (
    Speech2TextSinusoidalPositionalEmbedding,
)
from transformers.models.tipsv2.modeling_tipsv2 import Tipsv2SinusoidalPositionalEmbedding
from transformers.models.trocr.modeling_trocr import TrOCRSinusoidalPositionalEmbedding
from transformers.models.vit_mae.modeling_vit_mae import (
    build_2d_sinusoidal_position_embedding,
)
from transformers.models.whisper.modeling_whisper import sinusoids
from transformers.models.xglm.modeling_xglm import XGLMSinusoidalPositionalEmbedding

from geometry.measures.sinusoids import find_sinusoid, off_sinusoid, sinusoid, sinusoid_in_two
from geometry.models.families.model_types import FAMILIES

OF_ROWS = {
    "fsmt": SinusoidalPositionalEmbedding,
    "kosmos_2_text_model": Kosmos2TextSinusoidalPositionalEmbedding,
    "m2m_100": M2M100SinusoidalPositionalEmbedding,
    "nllb-moe": NllbMoeSinusoidalPositionalEmbedding,
    "speech_to_text": Speech2TextSinusoidalPositionalEmbedding,
    "tipsv2_text_model": Tipsv2SinusoidalPositionalEmbedding,
    "trocr": TrOCRSinusoidalPositionalEmbedding,
    "xglm": XGLMSinusoidalPositionalEmbedding,
}


def interleaved(n, d):
    made = torch.empty(n, d)
    create_sinusoidal_embeddings(n, d, made)
    return made


#: Each family's table of n rows and d columns by its own code.
OWN = {
    **{kind: (lambda n, d, of=of: of.get_embedding(n, d, None)) for kind, of in OF_ROWS.items()},
    "ctrl": lambda n, d: positional_encoding(n, d, torch.float32),
    "distilbert": interleaved,
    "marian": lambda n, d: MarianSinusoidalPositionalEmbedding(n, d).create_weight(),
    "pegasus": lambda n, d: PegasusSinusoidalPositionalEmbedding(n, d).create_weight(),
    "pegasus_x": lambda n, d: PegasusXSinusoidalPositionalEmbedding(d)(torch.zeros(1, n, d))[0],
    "whisper": sinusoids,
}


def kind_of(family):
    """Return the layout in the family's row, or in one of its variants."""
    rows = [row for stack in FAMILIES[family]
            for row in (stack, *(one for _, _, one in stack.variants))]  # fmt: skip
    (kind,) = {row.computed for row in rows if row.computed}
    return kind


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", OWN)
def test_tables_of_drawn_sizes_are_those_of_the_family(family, seed):
    draw = random.Random(seed)
    n, d = draw.randint(3, 300), 2 * draw.randint(2, 24)
    with torch.no_grad():
        own = OWN[family](n, d).numpy()
    assert off_sinusoid(own, kind_of(family)) < 1e-4
    found = find_sinusoid(own)
    assert found is not None
    assert off_sinusoid(own, found.kind, found.first) < 1e-4


def test_every_computed_family_is_compared():
    computed = {
        family for family, stacks in FAMILIES.items()
        if any(row.computed for stack in stacks
               for row in (stack, *(one for _, _, one in stack.variants)))
    }  # fmt: skip
    # The former share the code of the latter, or have none in this release.
    assert computed - set(OWN) == {"kosmos_2_5_text_model", "xlm", "flaubert"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("kind", ["interleaved", "marian", "tensor2tensor"])
@pytest.mark.parametrize("first", [0, 2])
def test_a_table_is_found_in_every_precision(kind, first, dtype):
    exact = sinusoid(kind, 500 + first, 32)[first:]
    stored = torch.tensor(exact).to(dtype)
    table = stored.double().numpy() if dtype is torch.float64 else stored.float().numpy()
    found = find_sinusoid(table)
    assert (found.kind, found.first, found.in_two) == (kind, first, False)
    assert find_sinusoid(table * 1.02) is None
    trained = table.copy()
    trained[300, 7] += 0.02
    assert find_sinusoid(trained) is None


@pytest.mark.parametrize("grid", [(3, 3), (2, 5)])
def test_fixed_patches_are_found(grid):
    for columns_first in (True, False):
        table = sinusoid_in_two(grid, 16, columns_first=columns_first).astype("f4")
        assert find_sinusoid(table, grid).in_two
        table[0, 0] += 0.01
        assert find_sinusoid(table, grid) is None


def test_fixed_patches_are_those_of_mae():
    own = build_2d_sinusoidal_position_embedding(3, 4, 24).numpy()
    np.testing.assert_allclose(sinusoid_in_two((3, 4), 24, columns_first=False), own, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_random_tables_are_no_sinusoids(scale):
    table = np.random.default_rng(0).standard_normal((50, 8)) * scale
    assert find_sinusoid(table) is None
    assert find_sinusoid(table, (5, 10)) is None
