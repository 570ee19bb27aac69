"""Claims about groups of models: who belongs to one, what is told of them, and what they need."""

from dataclasses import replace

import numpy as np
import pytest

from geometry.claims.claim import CannotTell
from geometry.claims.group_claims import GROUP_CLAIMS, Member, check_groups, family_of, member
from geometry.claims.measurements import Measurements
from geometry.claims.report import report
from geometry.models.sources.computed import model_of_table
from geometry.models.sources.opening import open_model
from geometry.models.sources.source import Source

OPENAI = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
STANFORD = ("alias-x21", "battlestar-x49", "caprica-x81", "darkmatter-x343", "expanse-x777")


def as_in_the_article():
    """The nine GPT-2s, as the article describes them."""
    one = Member("", "openai", 1024, 768, 0.9, 0.04, 1.8, 0.6, True, 8.0, 0.001)
    openai = [replace(one, name=name, top3=0.9 - 0.01 * at) for at, name in enumerate(OPENAI)]
    openai[3] = replace(openai[3], share=0.3, helix=False, climb=None)
    stanford = [
        replace(one, name=name, family="stanford", top3=0.7 - 0.01 * at, gain=0.005,
                turns=3.0 + at, share=0.55, shaking=0.01)
        for at, name in enumerate(STANFORD)
    ]  # fmt: skip
    return openai, stanford


def outcomes(members):
    return {one.claim.id: one.outcome for one in check_groups(members)}


@pytest.mark.slow
def test_nine_gpt2s_as_the_article_describes_them():
    openai, stanford = as_in_the_article()
    found = outcomes([*openai, *stanford])
    assert found.pop("group.shorter") == "cannot tell"  # all are of one length
    assert set(found.values()) == {"holds"}
    verdicts = {one.claim.id: one for one in check_groups([*openai, *stanford])}
    assert verdicts["group.variance"].null.draws == 125  # four of nine, in any other way
    assert verdicts["group.loops"].value == pytest.approx(5 - 1.8)
    # The other way round.
    found = outcomes([
        *(replace(one, family="stanford") for one in openai),
        *(replace(one, family="openai") for one in stanford),
    ])  # fmt: skip
    for claim in ("group.variance", "group.shaky", "group.loops", "group.truncated"):
        assert found[claim] == "worse than any such curve", claim


@pytest.mark.slow
def test_groups_that_chance_divides_as_well_are_no_finding():
    openai, stanford = as_in_the_article()
    mixed = [replace(one, top3=value) for one, value in
             zip([*openai, *stanford], (5, 1, 8, 3, 2, 7, 4, 6, 0), strict=True)]  # fmt: skip
    assert outcomes(mixed)["group.variance"] == "as any smooth curve"


def test_what_is_missing_is_named():
    openai, stanford = as_in_the_article()
    for members in ((), openai[:1], stanford[:1]):
        for verdict in check_groups(members):
            assert verdict.outcome == "cannot tell"
            assert verdict.why_null == f"it needs {verdict.claim.needs}"
    found = outcomes(openai[:2])
    assert found["group.all_but_xl"] == "holds"
    assert found["group.variance"] == "cannot tell"
    assert outcomes([*openai[:1], *stanford[:1]])["group.variance"] == "cannot tell"
    assert outcomes([*openai[:3], *stanford[:3]])["group.variance"] == "holds"


@pytest.mark.slow
def test_a_climb_with_length_is_no_finding_where_any_order_climbs_as_well():
    one = as_in_the_article()[0][0]
    lengths = [
        replace(one, n_positions=n, climb=c) for n, c in ((64, 4), (128, 5), (256, 9), (512, 9.5))
    ]
    found = {verdict.claim.id: verdict for verdict in check_groups(lengths)}["group.shorter"]
    assert (found.outcome, found.null.draws) == ("holds", 23)
    assert found.value == pytest.approx(1.0)
    crossed = [replace(lengths[0], climb=6), *lengths[1:]]
    assert outcomes(crossed)["group.shorter"] == "as any smooth curve"
    assert outcomes(lengths[:3])["group.shorter"] == "cannot tell"


@pytest.mark.parametrize(
    ("source", "family"),
    [("gpt2", "openai"), ("openai-community/gpt2-xl", "openai"),
     ("stanford-crfm/alias-gpt2-small-x21", "stanford"), ("bert-base-uncased", None),
     ("distilgpt2", None)],
)  # fmt: skip
def test_families_are_known_by_name(source, family):
    model = model_of_table(
        "rows", np.eye(9), source=Source.parse(source), name=source.rsplit("/", 1)[-1]
    )
    assert family_of(model) == family


def test_a_member_has_the_numbers_of_its_model(gpt2_folder):
    found = member(Measurements(open_model(gpt2_folder)))
    assert (found.family, found.n_positions, found.helix) == ("openai", 1024, True)
    assert round(100 * found.top3, 2) == 91.06
    assert found.gain == pytest.approx(0.0405, abs=1e-4)
    with pytest.raises(CannotTell, match="too few"):
        member(Measurements(model_of_table("rows", np.eye(5))))


@pytest.mark.slow
def test_a_report_tells_of_a_group_what_stands_beside_it(gpt2_folder):
    other = open_model("synthetic:helix,n=200,d=32,turns=3")
    other.name = "gpt2-medium"
    found = report(open_model(gpt2_folder), positions=(100, 300), beside=[other])
    claims = {one["id"]: one for one in found["claims"]}
    assert claims["group.all_but_xl"]["value"] == 0
    assert claims["group.all_but_xl"]["outcome"] == "holds"
    assert claims["group.variance"]["outcome"] == "cannot tell"
    assert len(GROUP_CLAIMS) == sum(name.startswith("group.") for name in claims)
