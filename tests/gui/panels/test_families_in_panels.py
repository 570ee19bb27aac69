"""Result panels on tiny models of many families: what they show is what numpy finds in the weights.

The truth is taken from the family's own module in transformers and decomposed here by the plainest
means. What a model lacks is said, with what works instead.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geometry.models.residual_stream import Subject
from gui.window.arrangement.docks import BOTTOM, DOCKS
from tests.geometry.family_cases import CASES, Case
from tests.geometry.models.test_families import built, expected_qkv, linear
from tests.gui.result_stage import ResultStage

WEIGHTS = ("W_Q", "W_K", "W_V", "W_O", "W_in")
BARE = "only a position table"
FAMILIES = (
    "BertForMaskedLM", "OPTForCausalLM", "OPT-350m", "GPTNeoForCausalLM", "AlbertForMaskedLM",
    "ElectraForPreTraining", "BartForConditionalGeneration", "CLIPTextModel",
    "WhisperForConditionalGeneration-encoder", BARE,
)  # fmt: skip
PANELS = tuple(dock.name for dock in DOCKS if dock.lazy and dock.area == BOTTOM)
NO_TOKENS = "This part of the model reads no tokens"
LACKING = {
    ("OPT-350m", "layernorm"): "has tokens of 8 dimensions and positions of 16",
    ("WhisperForConditionalGeneration-encoder", "capture"): NO_TOKENS,
    ("WhisperForConditionalGeneration-encoder", "layernorm"): NO_TOKENS,
    (BARE, "capture"): "No token embeddings",
    (BARE, "overlaps"): "only a position table",
    (BARE, "layernorm"): "No token embeddings",
    (BARE, "kernels"): "only a position table",
    **{(family, "training"): "no training history" for family in FAMILIES},
    **{(family, "rotary"): "does not turn queries and keys" for family in FAMILIES},
}
"""What cannot be shown, and words of the reason."""
PRINTED = ("BertForMaskedLM", "OPT-350m", "WhisperForConditionalGeneration-encoder", BARE)
"""Families of which everything, or something else, is missing, and one that lacks nothing."""


def has(family: str) -> set[str]:
    """What of a family's matrices there is."""
    if family == BARE:
        return {"P"}
    return {"P", *WEIGHTS} | ({"E"} if case_of(family).tokens else set())


def case_of(family: str) -> Case:
    (case,) = (case for case in CASES if case.id == family)
    return case


@dataclass(frozen=True)
class Truth:
    """Matrices of a model in float64, and the map of embeddings to the layers' size, if any."""

    P: np.ndarray
    E: np.ndarray | None
    weights: dict[str, np.ndarray]
    map: np.ndarray | None
    type_row: np.ndarray | None

    def in_one_space(self, one: str, other: str) -> list[np.ndarray]:
        """Two of P, E and weights, embeddings of another size through the map."""
        matrices = [self.matrix(one), self.matrix(other)]
        if matrices[0].shape[1] != matrices[1].shape[1]:
            matrices = [
                A @ self.map.T if name in "PE" and A.shape[1] == self.map.shape[1] else A
                for name, A in zip((one, other), matrices, strict=True)
            ]
        return matrices

    def matrix(self, name: str) -> np.ndarray:
        if name in WEIGHTS:  # what reads has its reading side across; W_O its writing side
            return self.weights[name].T if name == "W_O" else self.weights[name]
        return self.P if name == "P" else self.E

    def overlap(self, one: str, other: str) -> np.ndarray:
        """Squared overlaps of all directions that have some strength."""
        U, V = (strong(A) for A in self.in_one_space(one, other))
        return (U @ V.T) ** 2


def strong(A: np.ndarray) -> np.ndarray:
    """Right singular vectors, without those of no strength: they are any."""
    _, S, Vh = np.linalg.svd(A, full_matrices=False)
    return Vh[1e-6 * S[0] < S]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Where a family's tiny model is written, once."""

    @cache
    def write(family: str) -> tuple[Path, str | None]:
        folder = tmp_path_factory.mktemp("family")
        if family == BARE:
            np.save(folder / "table.npy", truth(BARE).P)
            return folder / "table.npy", None
        built(case_of(family)).save_pretrained(folder)
        return folder, case_of(family).table

    return write


@cache
def truth(family: str) -> Truth:
    if family == BARE:
        return Truth(np.random.default_rng(2).normal(size=(30, 16)), None, {}, None, None)
    case = case_of(family)
    module = built(case)
    parameters = {name: p.detach().double().numpy() for name, p in module.named_parameters()}
    parameters |= {name: b.double().numpy() for name, b in module.named_buffers() if b.ndim}

    def ending(*ends: str) -> np.ndarray | None:
        found = (array for name, array in parameters.items() if name.endswith(ends))
        return next(found, None)

    part = module.get_submodule(case.layer.format(0))
    weights = dict(zip(WEIGHTS, expected_qkv(module, case, 0), strict=False))
    weights |= {"W_O": linear(part.get_submodule(case.out)),
                "W_in": linear(part.get_submodule(case.fan_out))}  # fmt: skip

    def of(name: str) -> np.ndarray:
        return module.get_submodule(name).weight.detach().double().numpy()

    types = ending("token_type_embeddings.weight")
    return Truth(
        # Families that begin at row 2 keep two rows that no position has.
        of(case.positions)[-case.n_positions :],
        of(case.tokens) if case.tokens else None,
        {name: np.asarray(weight, np.float64) for name, weight in weights.items()},
        ending("embedding_hidden_mapping_in.weight", "project_in.weight",
               "embeddings_project.weight"),
        None if types is None else types[0],
    )  # fmt: skip


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture(scope="module")
def shown(qapp, source):
    """Show a family's model in a panel of the window's table, which goes on with the next one."""
    stages: dict[str, ResultStage] = {}

    def show(family: str, name: str) -> Any:
        if name not in stages:
            stages[name] = ResultStage(None, name, size=(900, 320))
        path, table = source(family)
        stages[name].again(path, (1, len(truth(family).P) - 1), table=table)
        assert stages[name].session.notice is None
        return stages[name].panel

    yield show
    for stage in stages.values():
        stage.close()


@pytest.mark.slow
@pytest.mark.parametrize("panel", PANELS)
def test_what_a_model_has_is_shown_and_what_it_lacks_is_said(shown, family, panel):
    made = shown(family, panel)
    why = LACKING.get((family, panel))
    if why is None:
        assert made.result is not None, made.words.message.text()
        assert made.content.isVisible()
        assert made.session.model.name in made.header.caption.text()
        if family in PRINTED:
            assert made.figure()() is not None
        assert made.numbers()
    else:
        assert made.result is None
        assert why in made.words.message.text()
        assert made.words.message.text().endswith(".")
        assert made.words.advice.isVisible()
        assert made.words.advice.text().endswith(".")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "of"),
    [(f, name) for f in FAMILIES for name in ("E", "W_Q", "W_O", "W_in") if name in has(f)],
)
def test_capture(shown, family, of):
    true = truth(family)
    panel = shown(family, "capture")
    panel.configure(name=of)
    expected = np.cumsum(true.overlap("P", of), axis=0)
    rank, columns = expected.shape
    np.testing.assert_allclose(panel.result.by_rank[:rank, :columns], expected, atol=1e-6)
    assert panel.result.d == true.in_one_space("P", of)[0].shape[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "name", "table"),
    [(f, name, table) for f in FAMILIES for name in WEIGHTS for table in "PE"
     if {name, table} <= has(f)],
)  # fmt: skip
def test_overlaps(shown, family, name, table):
    true = truth(family)
    panel = shown(family, "overlaps")
    panel.configure(rows=Subject(name), columns=Subject(table))
    expected = true.overlap(name, table)
    rows, columns = expected.shape
    np.testing.assert_allclose(panel.result.values[:rows, :columns], expected, atol=1e-5)
    assert panel.result.top3 == pytest.approx(expected[:3, :3].sum(), abs=1e-5)


def test_directions(shown, family):
    panel, true = shown(family, "directions"), truth(family)
    result = panel.result
    U, S, Vh = np.linalg.svd(true.P, full_matrices=False)
    np.testing.assert_allclose(result.singular_values, S[:5], atol=1e-6 * S[0])
    for found, expected in ((result.over_index, Vh[:5]), (result.over_position, U.T[:5])):
        alike = np.abs((found * expected).sum(axis=1))
        np.testing.assert_allclose(alike, 1.0, atol=1e-6)
    if true.E is None:
        assert result.E_energy is None
    else:
        E = true.E if true.E.shape[1] == true.P.shape[1] else true.E @ true.map.T
        np.testing.assert_allclose(result.E_energy, (E**2).sum(axis=0), rtol=1e-5)
        assert result.E_mapped == (true.E.shape[1] != true.P.shape[1])


@pytest.mark.parametrize("family", [f for f in FAMILIES if (f, "layernorm") not in LACKING])
def test_layernorm(shown, family):
    true = truth(family)
    result = shown(family, "layernorm").result
    E, P = true.E, true.P
    cosines = (E @ P.T) / np.outer(np.linalg.norm(E, axis=1), np.linalg.norm(P, axis=1))
    assert result.histogram.sum() == cosines.size
    assert result.most_alike[0].cosine == pytest.approx(np.abs(cosines).max(), abs=1e-5)
    at = np.unravel_index(np.abs(cosines).argmax(), cosines.shape)
    assert (result.most_alike[0].token, result.most_alike[0].position) == at
    tokens = E if true.type_row is None else E + true.type_row
    tokens, rows = (A - A.mean(axis=1, keepdims=True) for A in (tokens, P[1:]))
    lengths = np.linalg.norm(tokens[:, None] + rows, axis=2)
    squares = (tokens**2).sum(axis=1)[:, None], (rows**2).sum(axis=1)
    orthogonal = np.abs(lengths / np.sqrt(squares[0] + squares[1]) - 1)
    constant = np.abs(lengths / np.sqrt(squares[0] + np.sqrt(squares[1]).mean() ** 2) - 1)
    assert result.orthogonal.overall[0] == pytest.approx(np.median(orthogonal), rel=1e-5)
    assert result.constant_norm.overall[0] == pytest.approx(np.median(constant), rel=1e-5)


@pytest.mark.slow
def test_claims(shown, family):
    panel, true = shown(family, "claims"), truth(family)
    verdicts = {verdict.claim.id: verdict for verdict in panel.result.verdicts}
    assert not [name for name, one in verdicts.items() if one.outcome is None]
    P = true.P
    expected: dict[str, float | None] = {}
    centred = P[1:] - P[1:].mean(axis=0)
    S = np.linalg.svd(centred, compute_uv=False)
    expected["pca.three"] = (S[:3] ** 2).sum() / (S**2).sum()
    for claim in ("overlap.W_Q_P", "overlap.W_K_P"):
        name = claim.split(".")[1].removesuffix("_P")
        expected[claim] = true.overlap(name, "P")[:3, :3].sum() if true.weights else None
    if true.E is None:
        expected["capture.strong"] = None
    elif true.E.shape[1] == P.shape[1]:
        rank = min(30, *P.shape)
        captured = true.overlap("P", "E")[:rank].sum(axis=0)
        part = captured[int(0.02 * len(captured)) : max(int(0.65 * len(captured)), 1)]
        d = true.in_one_space("P", "E")[0].shape[1]
        # All directions capture everything, which is no finding.
        expected["capture.strong"] = part.mean() * d / rank if rank < d else None
    expected["pca.truncated"] = None  # so many positions no such table has
    for name, value in expected.items():
        if value is None:
            assert verdicts[name].value is None
            assert verdicts[name].why_null
        else:
            assert verdicts[name].value == pytest.approx(value, rel=1e-5), name
