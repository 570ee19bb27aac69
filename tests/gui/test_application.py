"""The application as a whole: it starts, shows what it was asked for, and goes away."""


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
