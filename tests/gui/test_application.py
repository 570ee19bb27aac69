"""The application as a whole: it starts, shows what it was asked for, and goes away."""

import numpy as np


def test_starts_with_the_source_painted_and_leaves_nothing(application):
    session = application.session
    assert session.notice is None
    assert session.model.name == "tiny-gpt2"
    assert session.curve.pca.exact
    assert application.window.viewport.scene.state.positions == (1, 199)
    assert application.window.windowTitle() == "tiny-gpt2 – Helixscope"


def test_can_be_closed_twice_and_by_its_window(application):
    application.window.close()
    application.close()
    application.close()
    assert application.session.jobs == 0


def test_models_of_all_sizes_follow_each_other(
    start_application, wait_until_idle, write_table, write_gpt2, helix
):
    """Everything is on that could keep something of the model before."""
    application = start_application(write_gpt2())
    session, controller = application.session, application.controller
    session.outside, session.prompt = "faint", "hello my name is adam"
    session.color_component, session.color_by = 5, "component"
    controller.select((199, 3, 150, 198))
    session.hover = 198
    wait_until_idle(application)
    for n_positions, d_model in ((4, 6), (1, 3), (300, 160), (2, 1), (60, 24)):
        table = np.random.default_rng(1).normal(size=(n_positions, d_model))
        folder = write_gpt2(f"m{n_positions}", table)
        controller.open(str(folder))
        wait_until_idle(application)
        assert session.notice is None
        assert session.model.n_positions == n_positions
        controller.select((0, n_positions - 1))
        session.hover = n_positions - 1
        wait_until_idle(application)
        assert application.window.viewport.scene.state.positions == session.positions
