"""Any order of wishes and arrivals, without a window; in the end everything shown is true."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gui.services import fitting
from gui.services.controller import Controller
from gui.state import selection
from gui.state.session import Session

EYE = np.eye(3)
RANGE = st.tuples(st.integers(-20, 230), st.integers(-20, 230))
COMPONENTS = st.permutations(range(1, 13)).map(lambda c: tuple(c[:3]))


class Wishes(RuleBasedStateMachine):
    """Any order of wishes and arrivals; once everything has arrived, all of it is true."""

    jobs = None

    @initialize()
    def start(self):
        self.session, self.hand = Session(), self.jobs()
        self.controller = Controller(self.session, self.hand)
        self.controller.open("0")
        self.hand.deliver_all()

    @rule(which=st.integers(0, 1))
    def open(self, which):
        self.controller.open(str(which))

    @rule(positions=RANGE)
    def request_positions(self, positions):
        self.controller.request_positions(*positions)

    @rule(field=st.sampled_from(("dragging", "keep_turned", "norms_centred")), on=st.booleans())
    def switch(self, field, on):
        setattr(self.session, field, on)

    @rule(components=COMPONENTS)
    def choose_components(self, components):
        self.session.components = components

    @rule(component=st.integers(1, 14))
    def color_by_component(self, component):
        self.controller.color_by("component", component)

    @rule(position=st.integers(-5, 210), toggle=st.booleans(), extend=st.booleans())
    def click(self, position, toggle, extend):
        asked = selection.click(self.session.selection, position, toggle=toggle, extend=extend)
        self.controller.select(asked)

    @rule(step=st.integers(-300, 300))
    def walk(self, step):
        self.controller.walk(step)

    @rule(which=st.integers(0, 3))
    def compute(self, which):
        if self.hand.waiting:
            self.hand.compute(sorted(self.hand.waiting)[which % len(self.hand.waiting)])

    @rule(which=st.integers(0, 3))
    def deliver(self, which):
        if self.hand.waiting:
            self.hand.deliver(sorted(self.hand.waiting)[which % len(self.hand.waiting)])

    @invariant()
    def everything_is_inside_the_table(self):
        session = self.session
        n = session.model.n_positions
        first, last = session.positions
        assert 0 <= first <= last < n
        assert len(session.curve.coordinates) == len(session.norms.values) == n
        assert all(0 <= p < n for p in session.selection)
        assert len(set(session.selection)) == len(session.selection)
        assert (session.details is None) == (session.current is None)
        assert session.details is None or session.details.position == session.current
        assert session.norms.centred == session.norms_centred
        np.testing.assert_allclose(session.turn @ session.turn.T, EYE, atol=1e-9)
        assert session.notice is None

    def teardown(self):
        session = self.session
        self.hand.deliver_all()
        session.dragging = False
        self.hand.deliver_all()
        self.everything_is_inside_the_table()
        assert session.curve.pca.positions == session.positions
        assert session.curve.pca.exact
        assert session.curve.components == session.components
        assert session.opening is None
        assert session.status == "Ready"
        if not session.keep_turned:
            np.testing.assert_array_equal(session.turn, EYE)
        self.controller.close()


@pytest.mark.slow
@pytest.mark.parametrize("inline", [True, False])
def test_any_order_of_wishes_ends_in_the_truth(inline, hand_jobs, open_table, helix, monkeypatch):
    monkeypatch.setattr(fitting, "INLINE_SIZE", 1 << 40 if inline else 0)
    case = Wishes.TestCase
    monkeypatch.setattr(Wishes, "jobs", type(hand_jobs))
    models = open_table(), open_table(helix(90, 30, seed=3), "shorter")
    opening = "geometry.models.sources.opening.open_model"
    monkeypatch.setattr(opening, lambda source, **_: models[int(source.text)])
    case.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
    case().runTest()
