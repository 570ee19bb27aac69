"""The riddle of the last position: what supports the hypothesis, what refutes it, what neither."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.claims.claims import CLAIMS, check, check_claims
from geometry.claims.measurements import Measurements
from geometry.history.last_position import follow, last_position
from geometry.models.sources.opening import open_model
from tests.geometry.history_stage import (
    D,
    N,
    decays_of,
    growing,
    helix,
    history_of,
    write_checkpoint,
    write_record,
)

STEPS = [0, 50, 200, 600, 1500, 3000]


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("stored", [np.float16, np.float32])
def test_a_row_without_gradient(recorded, stored):
    tables = [table.astype(stored) for table in growing(STEPS)]
    decays = decays_of(STEPS)
    found = last_position(history_of(STEPS, tables, **{"decays": decays} if recorded else {}))
    assert found.supports is True
    assert found.recorded is recorded
    assert found.departure < 1e-3
    assert found.position == N - 1
    np.testing.assert_allclose(found.predicted_norms, found.norms[0] * decays, rtol=2e-2)
    np.testing.assert_allclose(found.norms, found.norms[0] * decays, rtol=2e-2)
    assert found.neighbour_norms[-1] > 100 * found.norms[-1]
    assert found.neighbour_departures[-1] > 0.99
    assert ("as its weight decay predicts" in found.why) is recorded


@pytest.mark.parametrize("recorded", [True, False])
def test_a_row_that_learns(recorded):
    tables = growing(STEPS)
    for table, decay in zip(tables, decays_of(STEPS), strict=True):
        table[-1] += np.float32(1 - decay) * helix(N, D)[-1].astype(np.float32)
    decays = decays_of(STEPS) if recorded else None
    found = last_position(history_of(STEPS, tables, decays=decays))
    assert found.supports is False
    assert found.departure > 0.9
    assert "it does learn" in found.why


def test_a_row_that_grows_or_shrinks_otherwise_than_its_weight_decay_says():
    found = last_position(history_of(STEPS, growing(STEPS), decays=decays_of(STEPS) ** 0.8))
    assert found.supports is False
    assert last_position(history_of(STEPS, growing(STEPS))).supports is True
    tables = growing(STEPS)
    for table, grown in zip(tables, (1, 1, 1, 1, 1.2, 1), strict=True):
        table[-1] = grown * growing([0])[0][-1]
    found = last_position(history_of(STEPS, tables))
    assert found.supports is False
    assert found.departure == pytest.approx(1 - 1 / 1.2, rel=1e-5)


def test_no_more_than_all_of_a_row_is_new():
    """A row that has turned back differs from its first value by more than its norm."""
    tables = growing(STEPS)
    for table in tables[1:]:
        table[-1] = -table[-1]
        table[:-1] = -tables[0][:-1]
    found = last_position(history_of(STEPS, tables, decays=decays_of(STEPS)))
    assert max(found.departure, *found.neighbour_departures) > 1
    shares = [int(share) for share in re.findall(r"(\d+) ?%", found.why.replace("\u00a0", " "))]
    assert shares
    assert max(shares) == 100


def test_what_half_precision_has_rounded_away_is_no_sign_of_learning():
    steps = [0, 3000, 5000, 5500, 6000, 9000]
    tables = [table.astype(np.float16) for table in growing(steps)]
    assert np.abs(tables[3][-1]).max() < 1e-6  # some units of the last place
    assert not tables[-1][-1].any()
    found = last_position(history_of(steps, tables, decays=decays_of(steps)))
    assert found.supports is True


@pytest.mark.parametrize(
    ("steps", "change", "said"),
    [
        ([0], None, "too short"),
        ([0, 1, 2], None, "hardly changed either"),
        (STEPS, "zero", "starts at zero"),
        (STEPS, "two rows", "too short"),
        (STEPS, "one row", "too short"),
    ],
)
def test_what_cannot_tell(steps, change, said):
    tables = growing(steps)
    if change == "zero":
        tables[0][-1] = 0
    rows = {"two rows": 2, "one row": 1}.get(change or "", N)
    found = last_position(history_of(steps, [table[-rows:] for table in tables]))
    assert found.supports is None
    assert said in found.why


@settings(max_examples=50)
@given(
    st.integers(0, 10**6),
    st.lists(st.floats(0, 1), min_size=1, max_size=8),
    st.sampled_from([np.float16, np.float32]),
)
def test_any_decay_is_followed(seed, rates, stored):
    first = np.random.default_rng(seed).standard_normal(16)
    factors = np.cumprod([1.0, *rates])
    rows = (factors[:, None] * first).astype(stored).astype(np.float32)
    found, departures = follow(rows)
    np.testing.assert_allclose(found, factors, atol=2e-3)
    assert departures.max() < 5e-3
    # And so, whatever the rotation.
    turn = np.linalg.qr(np.random.default_rng(seed + 1).standard_normal((16, 16)))[0]
    np.testing.assert_allclose(follow((rows @ turn).astype("f4"))[0], found, atol=1e-4)


CLAIM = next(claim for claim in CLAIMS if claim.id == "position.last_decays")


@pytest.mark.slow
def test_the_claim_of_a_model_with_a_history(tmp_path):
    folder = write_checkpoint(tmp_path / "model", growing(STEPS)[-1])

    def checked():
        return check(CLAIM, Measurements(open_model(folder)))

    assert (checked().value, checked().holds) == (None, None)
    assert checked().why_null == "this model has no training history"

    path = write_record(folder / "history.safetensors", STEPS)
    found = {one.claim.id: one for one in check_claims(Measurements(open_model(folder)))}
    assert found[CLAIM.id].holds is True
    assert found[CLAIM.id].value == pytest.approx(0, abs=1e-3)

    tables = np.array(growing(STEPS), np.float16)
    tables[2:, -1] = tables[2:, -2]
    write_record(path, STEPS, positions=tables)
    assert checked().holds is False
    assert checked().value > 0.9

    write_record(path, [0, 1])
    assert checked().holds is None
    assert "too short" in checked().why_null
    path.write_bytes(path.read_bytes()[:-1])
    assert "truncated" in checked().why_null


def test_the_claim_of_a_folder_of_checkpoints(tmp_path):
    for step, table in zip(STEPS, growing(STEPS), strict=True):
        write_checkpoint(tmp_path / f"checkpoint-{step}", table)
    model = open_model(tmp_path / f"checkpoint-{STEPS[-1]}")
    assert check(CLAIM, Measurements(model)).holds is True
