"""Each way to open a source parses it once; then it is a value."""

import pytest
import typer
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

import main
from geometry.models.sources.source import Source
from gui.services.work_files.work_file import write_work
from gui.side_panels.models import model_line
from gui.state.work import Work
from gui.window.palette import Palette
from tests.gui.on_screen import drop

TYPED = "./linked/other.npy"
"""Unlike what is remembered of it, which lists parse again."""


@pytest.fixture
def table(write_table, tmp_path, monkeypatch):
    """Return a table's path by a link, of which the real one is remembered."""
    write_table(name="other")
    (tmp_path / "linked").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path / TYPED


@pytest.fixture
def parsed(monkeypatch):
    """Return the texts that are parsed from now on."""
    model_line.parsed.cache_clear()
    texts, parse = [], Source.parse

    def counted(cls, text):
        texts.append(text)
        return parse(text)

    monkeypatch.setattr(Source, "parse", classmethod(counted))
    return texts


def type_in_field(window, table):
    field = window.panels["models"].search
    yield TYPED
    field.setText(TYPED)
    QTest.keyClick(field, Qt.Key.Key_Return)


def type_in_palette(window, table):
    palette = Palette(window)
    palette.popup()
    yield TYPED
    palette.field.setText(TYPED)
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    QApplication.processEvents()


def drop_file(window, table):
    yield str(table)
    drop(window, table)


def open_project(window, table):
    project = table.with_name("other.helix")
    write_work(Work(Source.parse(str(table)), (1, 9), {}), project)
    yield str(table)
    window.controller.open(str(project))


@pytest.mark.parametrize("way", [type_in_field, type_in_palette, drop_file, open_project])
def test_a_source_is_parsed_once(application, settle, table, parsed, way):
    steps = way(application.window, table)
    text = next(steps)
    parsed.clear()
    next(steps, None)
    settle()
    model = application.session.model
    assert (model.name, model.source.text) == ("other", text)
    assert parsed.count(text) == 1


def test_a_source_of_the_command_line_is_parsed_once(start_application, table, parsed, monkeypatch):
    given = []
    monkeypatch.setattr(
        "gui.commands.run_window.run_window", lambda *args, **_: given.append(args[0]) or 0
    )
    with pytest.raises(typer.Exit):
        main.open_command(str(table))
    application = start_application(*given)
    assert application.session.model.source.text == str(table)
    assert parsed.count(str(table)) == 1
