"""The ledger as it is asked for, claim by claim, and in words and print."""

import csv

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from geometry.claims.claims import CLAIMS, Verdict
from geometry.claims.effect_claims import EFFECT_CLAIMS
from geometry.claims.group_claims import GROUP_CLAIMS
from geometry.claims.ledger import DRAWING
from geometry.claims.measurements import Measurements, Scope
from geometry.claims.report import check_all
from geometry.evidence.null import OUTCOMES, null_of
from geometry.hub.faults import NoNetwork
from geometry.models.sources.opening import open_model
from gui.panels.claims.spec import ClaimsOf
from gui.panels.claims.words import (
    by_fact,
    comma_separated,
    counts,
    ledger_figure,
    markdown,
    sign,
    word,
)
from gui.services.questions import Progress, QuestionContext, resolve
from gui.style.verdicts import band, expected, measured, null_text, worth

EVERY = (*CLAIMS, *EFFECT_CLAIMS, *GROUP_CLAIMS)


@pytest.fixture(scope="module")
def minilm(minilm_folder):
    return open_model(minilm_folder)


@pytest.fixture(scope="module")
def ledger(minilm):
    return resolve(ClaimsOf((1, minilm.n_positions - 1)), QuestionContext(minilm))


@pytest.mark.slow
def test_the_ledger_is_that_of_the_report_and_of_its_range(minilm, ledger):
    straight = check_all(Measurements(minilm, Scope((1, 511))))
    assert [v.claim for v in ledger.verdicts] == list(EVERY)
    assert [v.holds for v in ledger.verdicts] == [v.holds for v in straight]
    assert [v.value for v in ledger.verdicts] == pytest.approx([v.value for v in straight])
    assert ledger.positions == (1, 511)
    shorter = resolve(ClaimsOf((200, 400)), QuestionContext(minilm))
    by_id = {v.claim.id: v for v in shorter.verdicts}
    whole = {v.claim.id: v for v in ledger.verdicts}
    assert by_id["entries.waves"].value != pytest.approx(whole["entries.waves"].value)
    assert by_id["norms.stable"].value == whole["norms.stable"].value
    assert by_id["pca.fraying"].holds is None


@pytest.mark.slow
def test_claims_report_progress_and_can_be_stopped(model):
    steps = list(ClaimsOf((1, 199)).steps(QuestionContext(model)))
    said = [step for step in steps[:-1] if step.message.startswith("Claim")]
    assert all(isinstance(step, Progress) for step in steps[:-1])
    assert said[-1].message == f"Claim {len(CLAIMS)} of {len(CLAIMS)}"
    fractions = [step.fraction for step in steps[:-1]]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    waiting = [
        sum(v.outcome is None for v in step.so_far.verdicts) for step in steps[:-1] if step.so_far
    ]
    assert waiting == sorted(waiting, reverse=True)
    assert (waiting[0], waiting[-1]) == (len(CLAIMS), 0)
    assert all(verdict.outcome is not None for verdict in steps[-1].verdicts)
    assert any(step.message.startswith(DRAWING) for step in steps[:-1])

    def stop(progress):
        if progress.message.startswith("Claim 3"):
            raise InterruptedError

    with pytest.raises(InterruptedError):
        resolve(ClaimsOf((1, 199)), QuestionContext(model, report=stop))


@pytest.mark.slow
def test_what_decomposes_tells_within_its_claims_share(minilm):
    told = []
    resolve(ClaimsOf((1, 511)), QuestionContext(minilm, report=told.append))
    fractions = [progress.fraction for progress in told]
    assert any(progress.message == "Decomposing E" for progress in told)
    assert fractions == sorted(fractions)
    assert fractions[0] >= 0.0
    assert fractions[-1] <= 1.0


def test_a_tensor_that_cannot_be_fetched_is_no_finding(minilm_folder, monkeypatch):
    def fail(name):
        raise NoNetwork("The Hub cannot be reached.")

    other = open_model(minilm_folder)
    monkeypatch.setattr(other.store, "read", fail)
    with pytest.raises(NoNetwork):
        resolve(ClaimsOf((1, 511)), QuestionContext(other))


@pytest.mark.slow
def test_another_range_is_told_first_what_it_leaves_alone(model):
    about = QuestionContext(model)
    first = resolve(ClaimsOf((1, 199)), about)
    steps = list(ClaimsOf((30, 190)).steps(about))
    both = zip(steps[-1].verdicts, first.verdicts, strict=True)
    same = [one.claim for one, other in both if one.value == other.value]
    step = next(step for step in steps if step.message == f"Claim {len(CLAIMS)} of {len(CLAIMS)}")
    early = [v.claim for v in step.so_far.verdicts[: len(CLAIMS)] if v.outcome is not None]
    assert len(early) > 15
    assert len({*early} & {*same}) > 15
    assert [v.claim for v in step.so_far.verdicts] == list(EVERY)


@pytest.mark.slow
def test_counts_agree_with_the_verdicts_and_the_figure_has_every_claim(ledger):
    outcomes = [verdict.outcome for verdict in ledger.verdicts]
    holds, usual, fails, worse, out, unknown = map(outcomes.count, OUTCOMES)
    assert counts(ledger.verdicts) == (
        f"{holds} hold · {usual} as any smooth curve · {fails} do not hold · "
        f"{worse} worse than any such curve · {out} not applicable · {unknown} undetermined"
    )
    assert min(holds, usual, fails, worse) > 1
    waiting = Verdict(CLAIMS[0])
    assert counts((waiting,)) == "0 hold · 0 do not hold · 1 to be checked"
    yes, no = (
        next(v for v in ledger.verdicts if v.outcome == outcome)
        for outcome in ("holds", "does not hold")
    )
    assert counts((no,)) == "0 hold · 1 does not hold"
    claim = next(claim for claim in CLAIMS if claim.id == "norms.stable")
    assert expected(Verdict(claim, 0.0)) == "at most 0.1"
    assert band(waiting) == "–"
    drawn = Verdict(CLAIMS[0], null=null_of("walk", "walks", [-1.5, -1.5, 2.0]))
    assert band(drawn) == "−1.500 to 1.650"
    assert band(Verdict(CLAIMS[0], null=null_of("walk", "walks", [1.5, 1.5, 2]))) == "1.500–1.950"
    assert null_text(drawn) == "90 % of 3 draws: −1.500 to 1.650; walks."
    assert null_text(waiting) == ""
    reached = null_of("walk", "walks", [*range(38), 8.5])
    for value, words in ((2.5, "; walks. 3 of them reach"), (-1.0, " None of them reach")):
        share = "2 to 21 %" if value > 0 else "0 to 9 %"
        said = f"{words} the measured value: {share} of all such tables, with 95 % confidence."
        assert null_text(Verdict(claim, value, null=reached)).endswith(said)
    assert word(Verdict(CLAIMS[0], 0.0, "as any smooth curve", reached)) == "as any curve"
    by_chance = null_of("frames", "random rotations", [0.0])
    assert word(Verdict(CLAIMS[0], 0.0, "as any smooth curve", by_chance)) == "as by chance"
    said = worth(Verdict(CLAIMS[0], 0.0, "as any smooth curve", by_chance))
    assert said.startswith(CLAIMS[0].quantity), "first what is judged"
    assert ": 0, expected " in said
    assert ": ≈ holds, as by chance. " in said
    assert (sign(waiting), sign(yes)) == ("…", "✓" if yes.outcome == "holds" else "≈")
    figure = ledger_figure("MiniLM", ledger.verdicts)
    written = " ".join(text.get_text().replace("\n", " ") for text in figure.texts)
    assert all(claim.statement in written for claim in EVERY)
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in figure.texts]
    assert min(box.x0 for box in boxes) >= 0
    assert max(box.x1 for box in boxes) <= figure.bbox.x1
    assert min(box.y0 for box in boxes) >= 0


def test_numbers_have_sensible_digits():
    values = (1.0, 0.905, -0.6787, 12.345, 123.45, 0.000227, None)
    written = [measured(Verdict(CLAIMS[0], value)) for value in values]
    assert written == ["1", "0.905", "−0.679", "12.35", "123.5", "0.000227", "–"]


def test_markdown_has_a_row_for_each_claim_and_csv_the_numbers_in_full():
    why = 'cannot, "so" | they say'
    null = null_of("walk", "random walks", np.arange(40) / 3)
    verdicts = [
        Verdict(
            claim,
            value=None if i % 6 > 3 else i / 7,
            outcome=OUTCOMES[i % 6],
            null=null if i % 2 else None,
            why_null=why if i % 6 > 3 else None,
        )
        for i, claim in enumerate(EVERY)
    ]
    text = markdown("MiniLM", verdicts)
    lines = text.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("|---"))
    titles = [title.strip() for title in lines[start - 1].strip("|").split("|")]
    # A bar within a cell, as in |cosine|, is escaped: the columns stay.
    rows = [
        [cell.strip() for cell in line.replace(r"\|", "¦").strip("|").split("|")]
        for line in lines[start + 1 :]
    ]
    assert {len(row) for row in rows} == {len(titles)}
    assert f"MiniLM. {counts(verdicts)}." in lines
    groups = by_fact(verdicts)
    for fact, group in groups.items():
        assert rows.pop(0)[0] == f"**{fact}**"
        for verdict in group:
            row = dict(zip(titles, rows.pop(0), strict=True))
            assert row["Claim"] == verdict.claim.statement
            assert row["Outcome"].split()[0] == sign(verdict)
            assert row["Random tables"] == ("40 random walks" if verdict.null else "")
    assert not rows
    verdicts = [verdict for group in groups.values() for verdict in group]
    read = list(csv.DictReader(comma_separated(verdicts).splitlines()))
    assert [row["id"] for row in read] == [verdict.claim.id for verdict in verdicts]
    assert [row["fact"] for row in read] == [verdict.claim.fact for verdict in verdicts]
    for row, verdict in zip(read, verdicts, strict=True):
        assert (float(row["measured"]) if row["measured"] else None) == verdict.value
        assert row["why"] == (verdict.why_null or "")
        assert (row["null"] == "") == (verdict.null is None)
        if verdict.null is not None:
            assert (float(row["null_p5"]), float(row["null_p95"])) == verdict.null.band[::2]
