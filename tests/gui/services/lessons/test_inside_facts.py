"""Facts about what positions do: of effects measured in the panel, and of layers inside a model."""

import numpy as np
import pytest
from safetensors.numpy import save_file

from geometry.inside.effects import Control, Effect, Effects
from geometry.inside.interventions import USUAL
from geometry.models.sources.layer_tables import AMOUNTS, FILE_NAME
from geometry.models.sources.opening import open_model
from gui.services.effects import EffectsOf, EffectsResult, EffectsRun
from gui.services.lessons.facts import FEATURES, NUMBERS, holds, needs_effects, number
from gui.services.lessons.findings import Findings
from gui.services.lessons.inside_facts import CONDITIONS
from gui.services.questions import QuestionContext, resolve
from gui.side_panels.lesson import facts_of, measured_effects
from gui.state.answer import Answer

N_LAYERS, LENGTH, D_MODEL = 3, 40, 12
COSTS = {
    "top 0": 2.0, "top 1": 1.5, "top 2": 0.5, "top 3": 0.02, "fitted helix": 0.25,
    "fitted helix radius 2.00 pitch 1.00": 0.9, "fitted helix radius 1.00 pitch 0.50": 0.8,
    "random turn": 2.5, "into E": 3.0, "equal norms": 0.1, "scrambled norms": 0.6,
    "shift 1": 0.004, "shift 10": -0.01, "polynomial as close": 0.5,
}  # fmt: skip
CONTROLS = {"scrambled norms": (0.1, 0.3), "into E": (2.5,)}
SAID = {
    "loss": "4.500", "worth": "2.000", "keep_1": "25 %", "keep_2": "75 %", "keep_3": "99 %",
    "keep_helix": "88 %", "own_helix": "1 × radius and 0.5 × pitch", "keep_own": "60 %",
    "cost_turn": "2.500", "cost_into_e": "3.000", "cost_equal": "0.100",
    "cost_scrambled": "0.600", "cost_norms_kept": "0.300", "keep_polynomial": "75 %",
    "lost_scrambled": "30 %", "cost_shift_1": "0.004",
    "cost_shift_10": "\N{MINUS SIGN}0.010",
}  # fmt: skip
MOVED = ((0.1, 0.2, 0.1, 0.1), (0.4, 0.1, 0.6, 0.05))


def effects(moved=(), wide=0.1, **changed):
    costs = {**COSTS, **{name.replace("_", " "): value for name, value in changed.items()}}
    made = []
    for name, delta in costs.items():
        controls = []
        for other in CONTROLS.get(name, ()):
            difference = (delta - other, delta - other - wide, delta - other + wide)
            controls.append(Control("as far", other, other, other, difference))
        attention = moved if name == "top 0" else ()
        ends = delta - wide, delta + wide
        made.append(Effect(name, delta, *ends, attention=attention, controls=tuple(controls)))
    return Effects(4.5, tuple(made), 4)


@pytest.fixture
def run(tmp_path):
    """Write a run: ``run(cosines, shares)``; its folder."""

    def write(
        cosines=(0.95, 0.8, 0.3), shares=(0.2, 0.1, 0.05), random=(0.3, 0.31, 0.304),
        energy=(0.1, 0.6, 0.2), errors=(3.25, 9, 50),
    ):  # fmt: skip
        halves = np.random.default_rng(0).normal(size=(2, N_LAYERS, LENGTH, D_MODEL))
        halves[:, 1] = np.linspace(-9, 9, LENGTH)[:, None] * np.ones(D_MODEL)  # layer 1 is a line
        tensors = {
            "half_a": halves[0].astype(np.float32), "half_b": halves[1].astype(np.float32),
            "windows": np.array([700, 800]), "special": np.array([], np.int64),
            "share": np.array(shares), "share_noise": np.full(N_LAYERS, 0.012),
            "halves_cosine": np.array(cosines), "random_share": np.array(random),
            "energy": np.array(energy), "probe_error": np.array(errors),
            "probe_chance": np.full(N_LAYERS, 62.5),
        }  # fmt: skip
        if errors is None:
            for name in AMOUNTS:
                del tensors[name]
        if random is None:
            del tensors["random_share"]
        about = {"format": "helixscope-positions", "version": "1", "name": "toy", "source": "toy"}
        save_file(tensors, tmp_path / FILE_NAME, metadata=about)
        return tmp_path

    return write


def findings(model, measured=None):
    return Findings(QuestionContext(model), (1, model.n_positions - 1), measured)


def plain(text):
    return None if text is None else text.replace("\N{NO-BREAK SPACE}", " ")


def true_of(found):
    return {name for name in CONDITIONS if holds(name, found)}


@pytest.mark.parametrize(("name", "said"), SAID.items())
def test_numbers_of_measured_effects(name, said, model):
    assert plain(number(name, findings(model, effects()))) == said
    assert number(name, findings(model)) is None


def test_conditions_of_measured_effects(model):
    known = {"measured", "useful", "three_enough", "wrong_worse", "tokens_worst"}
    assert true_of(findings(model)) == set()
    found = findings(model, effects())
    assert true_of(found) == known | {"shiftable"}
    # Beyond the costlier of the controls, by a tenth of what positions are worth.
    assert holds("norms_matter", findings(model, effects(scrambled_norms=0.61)))
    changed = effects(top_3=0.2, fitted_helix=0.1, random_turn=2.05, into_E=2.55, shift_1=0.2)
    assert true_of(findings(model, changed)) == {"measured", "useful", "helix_enough"}


def test_a_change_that_is_impossible_has_no_numbers(model):
    cost = Effect("into E", *[float("nan")] * 3, "This model has no token embeddings.")
    assert number("cost_into_e", findings(model, Effects(4.5, (cost,), 4))) is None


def test_nothing_is_a_share_of_what_may_be_chance(model):
    found = findings(model, effects(wide=2.1))
    assert holds("measured", found)
    assert not holds("useful", found)
    assert number("worth", found) == "2.000"
    for name in ("keep_1", "keep_helix", "keep_own", "lost_scrambled", "keep_polynomial"):
        assert number(name, found) is None


def test_shares_stay_between_nothing_and_all(model):
    found = findings(model, effects(top_2=-0.1, top_1=3.0))
    assert [plain(number(name, found)) for name in ("keep_1", "keep_2")] == ["nothing", "100 %"]


def test_the_heads_that_read_a_table_are_of_the_first_layer(model):
    found = findings(model, effects(MOVED))
    assert found.readers == (0, 1, 2, 3)
    assert number("reader_heads", found) == "heads 0, 1, 2 and 3"
    assert plain(number("reader_moved", found)) == "12 %"
    assert number("others_moved", found) is None
    assert not holds("few_readers", found)


def test_the_heads_that_read_a_layer_are_of_the_next(run):
    model = open_model(f"{run()}/layer 1")
    found = findings(model, effects(MOVED))
    assert number("reader_heads", found) == "heads 0 and 2"
    assert (plain(number("reader_moved", found)), plain(number("others_moved", found))) == (
        "50 %",
        "10 %",
    )
    assert holds("few_readers", found)
    one = findings(model, effects(((0.0,) * 4, (0.4, 0.1, 0.9, 0.05))))
    assert number("reader_heads", one) == "head 2"
    last = findings(open_model(f"{run()}/layer 2"), effects(MOVED))  # nothing reads it
    assert number("reader_heads", last) is None


def test_effects_of_the_panel_reach_the_question():
    found = Effects(4.0, (Effect("top 0", 1.0, 0.5, 2.0), Effect("into E", 0, 0, 0, "no E")), 4)
    result = EffectsResult(None, found, EffectsRun("sample", 24, 4))
    question = EffectsOf(24, result.run)
    read = measured_effects(Answer(question, "ready", result))
    assert read == found
    assert measured_effects(None) is None
    assert measured_effects(Answer(question, "working", result)) is None
    nothing = EffectsResult(None, Effects(None, (), 0))  # or of an encoder
    assert measured_effects(Answer(question, "ready", nothing)) is None
    about, other = ("worth", (1, 9)), ("variance", (1, 9))
    assert facts_of((about, other), read).effects == read
    assert facts_of((other,), read) == facts_of((other,), None)


def test_which_facts_need_effects_or_layers():
    assert needs_effects(["model", "worth"])
    assert needs_effects(["useful"])
    assert not needs_effects(["model", "variance", "helix"])


def test_all_changes_with_facts_are_measured_by_default(model):
    """Else a sentence would always be left out."""
    control = Control("as far", 0.5, 0.4, 0.6, (0.5, 0.4, 0.6))
    usual = Effects(
        4.5, tuple(Effect(name, 1.0, 0.9, 1.1, controls=(control,)) for name in USUAL), 4
    )
    wanted = tuple((name, (1, 199)) for name in SAID if name not in ("own_helix", "keep_own"))
    facts = resolve(facts_of(wanted, usual), QuestionContext(model))
    assert None not in facts.values()


def test_numbers_of_layers(run):
    found = findings(open_model(f"{run()}/layer 1"))
    assert {name: plain(number(name, found)) for name in list(NUMBERS) if name in LAYERS} == LAYERS
    assert true_of(found) == ALL | {"one_direction"}
    assert FEATURES["layers"](found.model)


LAYERS = {
    "layer": "1", "last_layer": "2", "windows": "1\N{THIN SPACE}500", "pos_first": "20.0 %",
    "pos_last": "5.0 %", "seen_last": "6.2 %", "noise_last": "1.2 %", "halves_first": "0.95",
    "halves_last": "0.30", "resolved": "1 of 3", "pos_random": "30 % to 31 %",
    "energy_first": "0.100", "energy_most": "0.600", "energy_layer": "1", "energy_last": "0.200",
    "probe_first": "3.2", "probe_before_last": "9.0", "probe_last": "50.0", "probe_chance": "62.5",
}  # fmt: skip
ALL = {"smaller_share", "grows", "consumed", "last_noise", "random_more"}


@pytest.mark.parametrize(
    ("written", "conditions"),
    [
        ({"cosines": (0.95, 0.8, 0.92)}, ALL - {"last_noise"}),
        ({"cosines": (0.8, 0.8, 0.92)}, ALL - {"last_noise", "smaller_share"}),
        ({"shares": (0.2, 0.1, 0.12)}, ALL - {"smaller_share"}),
        ({"random": (0.1, 0.4, 0.4)}, ALL - {"random_more"}),
        ({"random": None}, ALL - {"random_more"}),
        ({"energy": (0.6, 0.6, 0.1)}, ALL - {"grows"}),
        ({"errors": (3, 9, 40)}, ALL - {"consumed"}),
        ({"errors": (30, 30, 60)}, ALL - {"consumed"}),
        ({"errors": None}, ALL - {"consumed", "grows"}),
    ],
)
def test_conditions_of_layers(run, written, conditions):
    assert true_of(findings(open_model(f"{run(**written)}/layer 2"))) == conditions


def test_missing_control_and_negative_share(run):
    folder = run(random=None, shares=(0.2, 0.1, -0.003))
    found = findings(open_model(folder))
    assert number("pos_random", found) is None
    assert plain(number("pos_last", found)) == "0.0 %"


def test_a_table_has_no_layers(model):
    found = findings(model)
    assert {number(name, found) for name in LAYERS} == {None}
    assert not FEATURES["layers"](model)
    assert not FEATURES["bundled"](model)
    assert FEATURES["bundled"](open_model("sample"))
