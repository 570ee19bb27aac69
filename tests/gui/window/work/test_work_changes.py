"""Changed work: the mark in the title, and the question before it is lost."""

import shutil

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox

from gui.services.work_files.work_file import WorkError, read_work
from gui.state.aligned_curve import CurveAlignment, OfRange
from gui.window.arrangement.docks import DOCKS
from gui.window.lesson_player import DOCK as LESSON
from gui.window.settings.settings import Settings
from gui.window.work.save_work import SLOT
from tests.gui.alone import killed
from tests.gui.dialogs import LEFT, answer_file

CTRL = Qt.KeyboardModifier.ControlModifier
Answer = QMessageBox.StandardButton


@pytest.fixture
def asked():
    """Answer questions with a click: the answers to give in order, and the questions then asked."""
    questions, answers = [], []

    def look():
        box = QApplication.activeModalWidget()
        if isinstance(box, QMessageBox) and box.isVisible() and answers:
            questions.append(box.text())
            QTest.mouseClick(box.button(answers.pop(0)), LEFT)

    timer = QTimer(interval=10)
    timer.timeout.connect(look)
    timer.start()
    yield lambda *given: answers.extend(given) or questions
    timer.stop()
    assert answers == []


@pytest.fixture(scope="module")
def first_talk(tmp_path_factory):
    """Where the file is kept, and its models."""
    return tmp_path_factory.mktemp("talk") / "talk.helix"


@pytest.fixture
def talk(start_application, first_talk, write_gpt2, write_table, helix, tmp_path, wait_until_idle):
    """A file of two models, one of whom has another range."""
    if not first_talk.exists():
        made = (write_gpt2(), write_table(helix(90), "mine"))
        model, mine = (path.rename(first_talk.with_name(path.name)) for path in made)
        application = start_application(model)
        application.controller.comparing.add(str(mine), (5, 80))
        wait_until_idle(application)
        application.window.work._write(first_talk)
        wait_until_idle(application)
        application.close()
        QCoreApplication.processEvents()
    return shutil.copy(first_talk, tmp_path / "talk.helix")


@pytest.fixture
def opened(start_application, talk, wait_until_idle):
    """The application with that file, asking as it does outside tests."""
    application = start_application(talk)
    application.ask_before_losing_work()
    wait_until_idle(application)
    return application


@pytest.fixture
def other(write_table, helix):
    """Another model."""
    return str(write_table(helix(70), "other"))


def press(qtbot, window, key, modifiers=CTRL):
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    QTest.keyClick(window, key, modifiers)


def shown(application):
    """The title as it is drawn by window managers."""
    window = application.window
    return window.windowTitle().replace("[*]", "*" if window.isWindowModified() else "")


TITLE, CHANGED = "talk.helix – tiny-gpt2 – Helixscope", "talk.helix* – tiny-gpt2 – Helixscope"


@pytest.mark.slow
def test_title_has_file_and_mark(opened, qtbot, wait_until_idle, tmp_path, other):
    session, window, comparing = opened.session, opened.window, opened.controller.comparing
    (mine,) = session.others

    def marked(on):
        qtbot.waitUntil(lambda: shown(opened) == (CHANGED if on else TITLE))

    def turn():
        interactor = window.viewport.interactor
        middle = interactor.rect().center()
        QTest.mousePress(interactor, LEFT, pos=middle)
        for step in range(1, 6):
            QTest.mouseMove(interactor, middle + QPoint(12 * step, 0))
        QTest.mouseRelease(interactor, LEFT, pos=middle + QPoint(60, 0))
        wait_until_idle(opened)

    marked(False)
    for change in (
        lambda: setattr(session, "selection", (5,)),
        lambda: setattr(session, "positions", (9, 60)),
        lambda: setattr(session, "alignment", CurveAlignment(OfRange((1, 50)), "scaled")),
        lambda: comparing.move(mine.key, -1),
        lambda: comparing.make_current(mine.key),
        lambda: comparing.add(other),
        lambda: comparing.remove(mine.key),
        turn,
    ):
        change()
        wait_until_idle(opened)
        qtbot.waitUntil(window.isWindowModified)
        assert shown(opened).startswith("talk.helix* – ")
        while window.undo.undoes:
            window.undo.undo()
        wait_until_idle(opened)
        marked(False)
    for key, value in (("prompt", "hello"), ("keep_turned", True)):
        before = getattr(session, key)
        setattr(session, key, value)
        marked(True)
        setattr(session, key, before)
        marked(False)
    comparing.request_positions(mine.key, 10, 20)
    marked(True)
    press(qtbot, window, Qt.Key.Key_S, CTRL | Qt.KeyboardModifier.AltModifier)
    marked(False)
    assert read_work(tmp_path / "talk.helix").others[0].positions == (10, 20)


@pytest.mark.slow
def test_a_look_around_is_no_change(opened, qtbot, wait_until_idle):
    window, changes = opened.window, opened.window.work.changes
    for dock in (dock for dock in DOCKS if dock.name != LESSON):
        window.bring(dock.name)
        wait_until_idle(opened)
    window.resize(1000, 700)
    opened.session.hover = 5
    window.grid.show_alone(0)
    wait_until_idle(opened)
    window.grid.show_alone(None)
    window.arrange()
    wait_until_idle(opened)
    assert not changes.any
    panel = window.panels["spectra"]
    panel.configure(chance=not panel.choices.chance)
    qtbot.waitUntil(window.isWindowModified)


@pytest.mark.slow
def test_a_drag_compares_nothing_and_many_changes_are_compared_once(opened, qtbot, monkeypatch):
    changes, compared = opened.window.work.changes, []
    content = changes._content

    def count(**how):
        compared.append(how)
        return content(**how)

    monkeypatch.setattr(changes, "_content", count)
    session = opened.session
    session.dragging = True
    for last in range(100, 150):
        session.positions = (1, last)
    changes._timer.stop()
    changes._check()
    assert compared == []
    assert changes._timer.isActive()  # it is looked at after the drag
    session.dragging = False
    qtbot.waitUntil(opened.window.isWindowModified)
    assert len(compared) == 1


def test_names_are_shown_as_are(start_application, write_table, tmp_path, wait_until_idle, qtbot):
    application = start_application(write_table(name="a[*]b"))
    assert application.window.windowTitle() == "a[*][*]b – Helixscope"
    application.session.selection = (5,)
    assert not application.window.work.changes.any
    application.window.work._write(tmp_path / "c[*].helix")
    wait_until_idle(application)
    assert application.window.windowTitle() == "c[*][*].helix[*] – a[*][*]b – Helixscope"


@pytest.mark.slow
def test_model_loaded_after_saving_is_no_change(opened, wait_until_idle, other, talk):
    work = opened.window.work
    opened.controller.comparing.add(other)
    work.save()
    opened.jobs.deliver(f"{SLOT} {talk}", 60_000)
    assert not work.changes.any
    wait_until_idle(opened)
    assert not work.changes.any
    opened.session.others[-1].session.positions = (3, 20)
    assert work.changes.any
    work.save()
    wait_until_idle(opened)
    assert not work.changes.any


@pytest.mark.slow
@pytest.mark.parametrize("answer", [Answer.Save, Answer.Discard, Answer.Cancel])
def test_closing_changed_work_asks(opened, talk, qtbot, asked, answer):
    opened.session.selection = (5,)
    questions = asked(answer)
    press(qtbot, opened.window, Qt.Key.Key_Q)
    assert questions == ["Save the changes to talk.helix before closing?"]
    qtbot.waitUntil(lambda: opened.window.isVisible() == (answer == Answer.Cancel))
    assert read_work(talk).fields["selection"] == ((5,) if answer == Answer.Save else ())
    opened.close()
    assert len(questions) == 1
    assert list(opened.settings.unsaved.glob("*")) == []


def test_what_cannot_be_saved_keeps_the_window_open(opened, talk, qtbot, asked, monkeypatch):
    def refuse(*_, **__):
        raise WorkError("talk.helix cannot be written: No space left on device", "Make room.")

    opened.session.selection = (5,)
    asked(Answer.Save)
    with monkeypatch.context() as full:
        full.setattr("gui.services.work_files.work_file.write_work", refuse)
        press(qtbot, opened.window, Qt.Key.Key_Q)
        opened.jobs.deliver(f"{SLOT} {talk}", 60_000)
    assert opened.window.isVisible()
    assert opened.session.notice.text.endswith("No space left on device")
    qtbot.waitUntil(opened.window.isWindowModified)


@pytest.mark.slow
@pytest.mark.parametrize("answer", [Answer.Save, Answer.Discard, Answer.Cancel])
@pytest.mark.parametrize("what", ["model", "work"])
def test_opening_over_work_asks(opened, talk, asked, answer, what, other, wait_until_idle, qtbot):
    session = opened.session
    session.selection = (5,)
    source = other if what == "model" else str(talk.with_name("second.helix"))
    if what == "work":
        talk.with_name("second.helix").write_bytes(talk.read_bytes())
    questions = asked(answer)
    opened.controller.open(source)
    wait_until_idle(opened)
    name = "other.npy" if what == "model" else "second.helix"
    assert questions == [f"Save the changes to talk.helix before opening {name}?"]
    assert read_work(talk).fields["selection"] == ((5,) if answer == Answer.Save else ())
    if answer == Answer.Cancel:
        qtbot.waitUntil(lambda: shown(opened) == CHANGED)
        return
    begins = "other – Helixscope" if what == "model" else TITLE.replace("talk", "second")
    assert shown(opened) == begins
    opened.window.undo.undo()  # what was discarded comes back too
    wait_until_idle(opened)
    assert session.selection == (5,)
    assert [one.name for one in session.others] == ["mine"]
    qtbot.waitUntil(lambda: shown(opened) == (TITLE if answer == Answer.Save else CHANGED))


def test_an_id_of_the_hub_is_named_whole(opened, asked):
    opened.session.selection = (5,)
    questions = asked(Answer.Cancel)
    opened.controller.open("openai-comunity/gpt2")
    assert questions == ["Save the changes to talk.helix before opening openai-comunity/gpt2?"]


@pytest.mark.slow
@pytest.mark.parametrize("answer", [Answer.Save, Answer.Discard, Answer.Cancel])
def test_the_nine_over_changed_work_ask(opened, qtbot, asked, answer, other, wait_until_idle):
    from geometry.models.sources.catalogue import CatalogueEntry
    from gui.state.values import ModelRow
    from gui.window.arrangement.side_by_side import ARTICLE

    session = opened.session
    session.models = (ModelRow(CatalogueEntry(other, other, ARTICLE[0], 70, 24, ""), "cached"),)
    session.selection = (5,)
    questions = asked(answer)
    press(qtbot, opened.window, Qt.Key.Key_9)
    wait_until_idle(opened)
    assert questions == ["Save the changes to talk.helix before opening other.npy?"]
    assert session.model.name == ("tiny-gpt2" if answer == Answer.Cancel else "other")
    assert len(session.others) == (1 if answer == Answer.Cancel else 0)


def test_comparison_is_asked_about(
    start_application, write_gpt2, other, qtbot, asked, wait_until_idle, monkeypatch, tmp_path
):
    application = start_application(write_gpt2(), beside=(other,))
    application.ask_before_losing_work()
    application.session.selection = (5,)
    assert application.question.before_closing()  # the command line makes it again
    application.controller.comparing.add(other)
    wait_until_idle(application)
    questions = asked(Answer.Save, Answer.Save)
    answer_file(monkeypatch, None)
    application.window.close()
    assert application.window.isVisible()
    answer_file(monkeypatch, tmp_path / "mine.helix")
    application.window.close()
    qtbot.waitUntil(lambda: not application.window.isVisible())
    assert questions == ["Save this comparison of 3 models before closing?"] * 2
    assert len(read_work(tmp_path / "mine.helix").others) == 2


@pytest.mark.slow
def test_interrupted_window_asks_nothing(opened, start_application, talk):
    opened.session.selection = (5,)
    opened.interrupt()
    opened.close()
    again = start_application(settings=Settings(opened.settings.unsaved.parent / "settings.json"))
    assert again.session.selection == (5,)
    assert shown(again) == CHANGED
    assert again.window.work.file == talk


@pytest.mark.slow
def test_comparison_after_sigint(start_application, write_gpt2, other, wait_until_idle, settings):
    model = write_gpt2()
    for compares in (False, True):
        application = start_application(model, settings=Settings(settings._file))
        if compares:
            application.controller.comparing.add(other)
            wait_until_idle(application)
        application.interrupt()
        application.close()
        assert len([*settings.unsaved.glob("*.helix")]) == compares


def test_the_end_of_the_session_asks_nothing_and_keeps_everything(opened, asked):
    """The desktop may end the process afterwards, or go on."""
    opened.session.selection = (5,)
    opened.session.opacity = 0.5
    opened._qt.commitDataRequest.emit(None)
    (kept,) = opened.settings.unsaved.glob("*.helix")
    assert read_work(kept).fields["selection"] == (5,)
    assert Settings(opened.settings._file).new_session().opacity == 0.5
    opened.session.selection = (6,)
    opened.window.close()
    assert not opened.window.isVisible()
    opened.close()
    assert read_work(kept).fields["selection"] == (6,)


CHANGER = """
import sys, time
from gui.window.work.unsaved_work import UnsavedWork
from tests.gui.alone import settle, start
application = start(*sys.argv[1:3], offline=True)
application.ask_before_losing_work()
session = application.session
while session.work is None:
    application._qt.processEvents()
application.controller.comparing.add(sys.argv[3], (3, 40))
settle(application)
session.selection = (5, 7)
session.prompt = "hello"
unsaved = application.findChild(UnsavedWork)
before, deadline = unsaved._file._content, time.monotonic() + 60
while unsaved._file._content == before and time.monotonic() < deadline:
    application._qt.processEvents()  # the timer keeps it
print("kept" if unsaved._file._content != before else "not kept", flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_kill_keeps_the_changes(start_application, talk, other, tmp_path, wait_until_idle, qtbot):
    ini, before = tmp_path / "killed" / "settings.json", talk.read_bytes()
    with killed(CHANGER, ini, talk, other) as line:
        assert line == "kept\n"
    application = start_application(settings=Settings(ini))
    session = application.session
    assert talk.read_bytes() == before
    assert (session.selection, session.prompt) == ((5, 7), "hello")
    ranges = [(one.name, one.session.positions) for one in session.others]
    assert ranges == [("mine", (5, 80)), ("other", (3, 40))]
    assert shown(application) == CHANGED
    application.window.work.save()
    wait_until_idle(application)
    assert shown(application) == TITLE
    assert len(read_work(talk).others) == 2
