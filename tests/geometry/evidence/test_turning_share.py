"""The balanced turning share and its nulls: closed forms, real models, drawn tables."""

from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from geometry.evidence.null import least_favourable
from geometry.evidence.random_curves import slow_modes
from geometry.evidence.turning_nulls import MEANINGS, rule_null, rule_nulls, turning_nulls
from geometry.evidence.turning_pairs import pairs_of
from geometry.evidence.turning_share import (
    balanced_turning,
    turn_counts,
    turning_in,
    turning_share,
    waves,
)
from geometry.models.sources.opening import open_model
from geometry.pca.pca import fit_pca
from tools import evidence_rates
from tools.random_tables import HELICES, RANDOM, draw, walk

ROWS = 400


def curve(turns, *, radius=1.0, climb=0.0, m=1000, d=8, ratio=1.0):
    t = np.linspace(0, 1, m)
    made = np.zeros((m, d))
    made[:, 0] = radius * np.cos(2 * np.pi * turns * t)
    made[:, 1] = ratio * radius * np.sin(2 * np.pi * turns * t)
    made[:, 2] = climb * t
    return made


def test_waves_are_orthonormal_and_free_of_constants_and_the_ramp():
    m, counts = 200, turn_counts(200)
    assert counts[-1] < m / 4
    for plane in waves(m, counts):
        against = np.vstack([plane, np.ones(m), np.arange(m)])
        products = plane @ against.T
        np.testing.assert_allclose(products[:, :2], np.eye(2), atol=1e-12)
        np.testing.assert_allclose(products[:, 2:], 0.0, atol=1e-9)


@pytest.mark.parametrize("turns", [2, 3, 5, 12, 40])
def test_circle_loses_only_its_part_of_the_ramp(turns):
    """The sine's share of the ramp is 6/(πw)², with w the turns."""
    found = turning_share(curve(turns))
    assert found.turns == pytest.approx(turns, rel=1e-3)
    assert found.b == pytest.approx(1 - 6 / (np.pi * turns) ** 2, abs=5e-3)
    assert (found.tier, found.kind) == (2, "circle")
    assert found.climb_ratio is None


def test_a_climb_takes_its_share_of_b_and_nothing_of_b_prime():
    flat, steep = (turning_share(curve(5, climb=climb)) for climb in (0.0, 8.0))
    assert steep.b < 0.3 < flat.b
    assert steep.b_prime == pytest.approx(flat.b_prime, abs=0.01)
    assert (steep.tier, steep.kind) == (2, "helix")
    assert steep.climb_ratio > 1000


def test_an_ellipse_has_twice_the_square_of_its_smaller_axis():
    found = turning_share(curve(20, ratio=0.5))
    assert found.b == pytest.approx(2 * 0.25 / 1.25, rel=0.01)
    assert found.remarkable is False


@pytest.mark.parametrize(
    ("rows", "b", "remarkable"),
    [
        (curve(0, climb=1.0), 0.0, False),
        (curve(0.25), 0.001, None),
        (curve(0.5), 0.024, None),
        (curve(0.75), 0.126, None),
        (curve(1.0), 0.39, None),
        (curve(1.25), 0.79, None),
        (curve(1.5), 0.95, True),
        (np.outer(np.linspace(-1, 1, 500) ** 2, [1.0, 0.0, 0.0]), 0.0, False),
        (np.random.default_rng(0).normal(size=(600, 100)), 0.0, False),
        (np.random.default_rng(0).normal(size=(600, 1)), 0.0, False),
        (np.ones((20, 3)), 0.0, False),
    ],
    ids=["line", "arc ¼", "arc ½", "arc ¾", "one turn", "1¼ turns", "1½ turns", "parabola", "noise",
         "one column", "equal rows"],
)  # fmt: skip
def test_what_there_is_to_tell(rows, b, remarkable):
    found = turning_share(rows)
    assert found.b == pytest.approx(b, abs=0.006)
    assert found.remarkable is remarkable
    assert (found.kind is None) == (not remarkable)


def test_scores_with_their_share_tell_b_as_whole_rows_do():
    rows = curve(3, climb=1.0, m=200, d=20) + 0.05 * np.random.default_rng(0).normal(size=(200, 20))
    pca = fit_pca(rows, (0, 199), 5)
    scores, whole = pca.project(rows)[:, :3], turning_share(rows)
    three = float(pca.explained_variance_ratio[:3].sum())
    alone = turning_share(scores, share=three, columns=20)
    assert alone.b == pytest.approx(whole.b)
    assert alone.turns == pytest.approx(whole.turns, rel=0.01)
    assert turning_share(rows, scores).b == pytest.approx(whole.b)
    assert turning_in(rows, scores[:, [2, 0, 1]], (3, 1, 2)) == whole
    assert turning_share(rows, pca.project(rows)[:, 2:5]).b < 0.05


def test_two_tables_that_cannot_be_measured():
    for rows in (np.zeros((7, 3)), np.zeros((9, 0))):
        with pytest.raises(ValueError, match="at least 8 rows"):
            turning_share(rows)


@pytest.mark.slow
@given(st.integers(0, 2**31), st.floats(1.3, 9), st.floats(0, 2), st.floats(0.01, 100))
@example(224111156, 2.0, 0.109375, 1.0)  # a climb near the bound
@example(0, 1.375, 0.0, 1.0)  # a strength near its bound, which depends on the number of columns
def test_it_does_not_depend_on_frame_place_scale_or_direction(seed, turns, climb, scale):
    rng = np.random.default_rng(seed)
    rows = curve(turns, climb=climb, m=120, d=6) + 0.05 * rng.normal(size=(120, 6))
    found = turning_share(rows)
    turned = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    for other in (
        scale * rows @ turned + 20.0 * scale * rng.normal(size=6),
        rows[::-1],
        np.pad(rows, ((0, 0), (0, 9))),
    ):
        again = turning_share(other, columns=6)
        assert again.b == pytest.approx(found.b, rel=1e-6)
        assert again.b_prime == pytest.approx(found.b_prime, rel=1e-6)
        assert again.kind == found.kind


def test_curves_together_are_as_each_alone():
    rng = np.random.default_rng(2)
    curves, counts = rng.normal(size=(5, 90, 3)).cumsum(axis=1), turn_counts(90)
    together = balanced_turning(curves, counts)
    for number, one in enumerate(curves):
        alone = balanced_turning(one[None], counts)
        np.testing.assert_allclose([together[0][number], together[1][number]], np.ravel(alone))


def test_long_tables_take_bounded_memory_and_give_the_same(monkeypatch):
    rows = curve(7, climb=1.0, m=400)
    whole = turning_share(rows)
    monkeypatch.setattr("geometry.evidence.turning_share.BLOCK", 4000)
    assert turning_share(rows).b == pytest.approx(whole.b, rel=1e-12)


def pair(rows):
    """The straight pair of the highest purity, of rows about their mean."""
    counts = turn_counts(len(rows))
    tries = pairs_of((rows - rows.mean(axis=0))[None], counts, waves(len(rows), counts))
    found = [tries.purity[0, i] for i in np.flatnonzero(~tries.bent[0])]
    return tries, int(np.argmax(found))


def test_purity_is_what_noise_and_another_wave_in_the_plane_leave():
    """1/(1 + 2ν²/d) with noise of norm ν in each row, 1/(1 + a²) with a wave of amplitude a."""
    t = np.linspace(0, 1, 2000, endpoint=False)
    rows = curve(5, m=2000) + 0.5 / np.sqrt(8) * np.random.default_rng(0).normal(size=(2000, 8))
    tries, best = pair(rows)
    assert tries.purity[0, best] == pytest.approx(1 / (1 + 2 * 0.25 / 8), abs=5e-3)
    other = 0.5 * np.exp(2j * np.pi * 9 * t)
    rows = np.zeros((2000, 2))
    rows[:, 0], rows[:, 1] = (
        np.cos(10 * np.pi * t) + other.real,
        np.sin(10 * np.pi * t) + other.imag,
    )
    tries, best = pair(rows)
    # The phase follows the other wave a little at both ends.
    assert tries.purity[0, best] == pytest.approx(0.8, abs=0.01)
    assert tries.turns[0, best] == pytest.approx(5, abs=0.11)


def test_a_bent_pair_follows_pitch_and_radius():
    t = np.linspace(0, 1, 600)
    phase = 2 * np.pi * 12 * (t + 0.3 * t * (t - 1))
    radius = 1.2 - 0.4 * t
    rows = np.stack([radius * np.cos(phase), 0.8 * radius * np.sin(phase), 1.5 * t], axis=1)
    found = turning_share(rows)
    assert found.purity > 0.995
    assert found.turns == pytest.approx(12, rel=2e-3)
    assert found.kind == "helix"


@pytest.mark.parametrize("name", [*HELICES, "circle"])
def test_helices_of_all_kinds_are_found_with_their_turns(name):
    for number in range(2):
        assert evidence_rates.measure(name, 48, number).right


@pytest.mark.parametrize("name", RANDOM)
def test_random_curves_are_not(name):
    assert not any(evidence_rates.measure(name, 48, number).beyond >= 1.0 for number in range(2))


def outcome(rows):
    found = turning_share(rows)
    return found.tier, found.remarkable, found.kind


def test_named_outcomes(gpt2_table):
    """Each beside its turns, where there are some."""
    assert outcome(gpt2_table) == outcome(gpt2_table[1:1023]) == (1, True, "helix")
    assert outcome(gpt2_table[100:1023]) == (2, True, "helix")
    found, later = turning_share(gpt2_table[1:1023]), turning_share(gpt2_table[100:1023])
    assert (found.b, found.b_prime) == pytest.approx((0.564, 0.753), abs=5e-4)
    assert (later.b, later.b_prime) == pytest.approx((0.693, 0.897), abs=5e-4)
    assert (found.turns, later.turns) == pytest.approx((1.86, 1.73), abs=0.01)
    assert (found.purity, later.purity) == pytest.approx((0.841, 0.968), abs=2e-3)
    shuffled = np.random.default_rng(0).permutation(gpt2_table[1:1023])
    assert outcome(shuffled) == (0, False, None)


def test_the_bundled_model_is_a_helix_of_more_turns_than_gpt2():
    table = open_model("sample").W_pos
    found = turning_share(table[1:255])
    assert (found.b, found.b_prime) == pytest.approx((0.577, 0.877), abs=5e-4)
    assert found.turns == pytest.approx(2.17, abs=0.01)
    assert outcome(table) == outcome(table[1:255]) == (1, True, "helix")


def test_the_sinusoidal_table_does_not():
    found = turning_share(open_model("sinusoidal").W_pos[1:1023])
    assert found.b == pytest.approx(0.108, abs=5e-4)
    assert found.remarkable is False


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("synthetic:helix,n=400,d=64,turns=3", (2, True, "helix")),
        ("synthetic:helix,n=400,d=64,turns=6,noise=0.3", (2, True, "helix")),
        ("synthetic:circle,n=400,d=64,turns=4", (2, True, "circle")),
        ("synthetic:line,n=400,d=64", (0, False, None)),
        ("synthetic:helix,n=400,d=64,turns=0.5,climb=0", (0, None, None)),
        ("synthetic:helix,n=400,d=64,turns=12,climb=0.1", (2, True, "helix")),
    ],
)
def test_synthetic_tables(source, expected):
    assert outcome(open_model(source).W_pos) == expected


def test_minilm_does_not(minilm_table):
    found = turning_share(minilm_table[1:511])
    assert found.b < 5e-4
    assert found.remarkable is False


def test_rows_that_the_norm_rule_names_change_nothing():
    table = draw("helix", 32, np.random.default_rng(5)).rows + 1.0
    whole = turning_share(table)
    changed = table.copy()
    changed[[0, 40, -1]] *= [[30.0], [3.0], [20.0]]
    found = turning_share(changed)
    assert (found.tier, found.kind) == (whole.tier, whole.kind)
    assert (found.b, found.turns) == pytest.approx((whole.b, whole.turns), rel=0.02)


@pytest.mark.slow
def test_a_small_run_of_the_tool_keeps_its_promises_and_resumes(tmp_path, capsys):
    names = ["squared-exponential process", "Fourier series, 0.5 to 2 cycles", "cubic spline",
             "cosine series of 3 terms", "helix", "frayed start",
             "second frequency of equal amplitude"]  # fmt: skip
    asked = ["--out", str(tmp_path), "--tables", "10", "--workers", "1", "--only", *names]
    assert evidence_rates.run([*asked, "--minutes", "0"]) == 2
    assert evidence_rates.run(asked) == 0
    lines = (tmp_path / "tables.jsonl").read_text().splitlines()
    assert len(lines) == 10 * len(names) * len(evidence_rates.WIDTHS)
    first = capsys.readouterr().out
    assert evidence_rates.run(asked) == 0
    assert capsys.readouterr().out in first
    assert len((tmp_path / "tables.jsonl").read_text().splitlines()) == len(lines)


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, 100])
def test_they_are_those_of_whole_tables(d):
    """Drawn from the kernel's few eigenvectors, they are as from every row and column."""
    t = np.linspace(0, 1, ROWS)
    nulls = turning_nulls(walk(t, d, np.random.default_rng(0)), 400)
    tables = [walk(t, d, np.random.default_rng(number)) for number in range(60)]
    found = [turning_share(table).b for table in tables]
    assert ks_2samp(found, nulls["walk"].values).pvalue > 0.05


@pytest.mark.slow
def test_few_random_curves_of_any_kind_reach_the_bound_at_any_width():
    for d in (3, 16, 64, 768):
        nulls = rule_nulls(np.random.default_rng(1).normal(size=(300, d)).cumsum(axis=0), 99)
        assert list(nulls) == list(MEANINGS)
        for null in nulls.values():
            assert null.p_value(1.0) <= 0.05
        assert rule_null(d, 99).name in MEANINGS


@pytest.mark.slow
def test_the_rule_is_drawn_as_it_is_asked_of_whole_tables():
    """Of curves that a few places show as well, those of the drawn modes and whole tables."""
    t = np.linspace(0, 1, 192)
    for kind in ("fourier", "spline"):
        found = []
        for number in range(60):
            rng = np.random.default_rng(number)
            modes = slow_modes(kind, len(t), rng)
            found.append(turning_share(modes @ rng.normal(size=(modes.shape[1], 64))).strength)
        drawn = rule_nulls(np.zeros((200, 64)), 99, names=[kind])[kind]
        assert ks_2samp(found, drawn.values).pvalue > 0.01


def test_the_least_favourable_kind_decides(gpt2_table):
    rows = gpt2_table[100:1023]
    nulls, strength = rule_nulls(rows, 199), turning_share(rows).strength
    deciding = least_favourable(nulls.values(), strength)
    assert deciding.p_value(strength) == max(null.p_value(strength) for null in nulls.values())
    assert deciding.p_value(strength) <= 0.05


def test_phases_drawn_anew_make_gpt2_unremarkable(gpt2_table):
    P = gpt2_table[1:1023]
    found = turning_nulls(P, 400)["phase"]
    assert found.share_from(turning_share(P).b) < 0.08


def test_they_are_seeded_and_can_be_stopped():
    rows = np.random.default_rng(0).normal(size=(60, 20)).cumsum(axis=0)
    one, again, other = (turning_nulls(rows, 20, seed) for seed in (3, 3, 4))
    for name, null in one.items():
        np.testing.assert_array_equal(null.values, again[name].values)
        assert (null.values != other[name].values).any()
        assert not null.values.flags.writeable
    with pytest.raises(InterruptedError):
        turning_nulls(rows, 20, check=Mock(side_effect=[None, None, InterruptedError]))


@pytest.mark.parametrize("shape", [(8, 1), (9, 2), (40, 3), (5000, 4)])
def test_small_and_long_tables_have_them_too(shape):
    nulls = turning_nulls(np.random.default_rng(0).normal(size=shape).cumsum(axis=0), 20)
    for null in nulls.values():
        assert np.isfinite(null.values).all()
        assert ((null.values >= 0) & (null.values <= 1 + 1e-9)).all()
