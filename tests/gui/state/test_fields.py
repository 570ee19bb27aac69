"""A field of the session is declared in one place, where it stands."""

from pathlib import Path

import pytest

import gui.state.session

#: The session with one more field, a controller, and a computed model that is open.
ADDED = '''
import sys
from pathlib import Path
from types import ModuleType

name = "gui.state.session"
module = sys.modules[name] = ModuleType(name)
before = "    opacity: float = field("
added = """    tilt: bool = field(
        default=False,
        metadata=traits(
            undo="tilt", saved=bool, absent=True, linked=True, drawn=True, setting="view/tilt"
        ),
    )
"""
source = Path({file!r}).read_text("utf-8")
assert source.count(before) == 1
exec(source.replace(before, added + before), vars(module))

from gui.services.controller import Controller
from gui.services.jobs.jobs import InlineJobs

folder = Path({folder!r})
session = module.Session(offline=True)
controller = Controller(session, InlineJobs())
controller.open("sinusoidal:64x16")
assert session.model is not None, session.notice
'''
UNDONE = """
from gui.services.undo import Undo
undo = Undo(session, controller.comparing, lambda: None, lambda place: None)
session.tilt = True
assert undo.undoes == "tilt"
undo.undo()
assert session.tilt is False
"""
LINKED = """
controller.comparing.add("sinusoidal:32x16")
(compared,) = session.others
session.tilt = True
assert compared.session.tilt is True
"""
SAVED = """
from dataclasses import replace
from gui.services.work_files.reopening import take_work
from gui.services.work_files.work_file import read_work, write_work
work = take_work(session, controller.opening.shown, None)
for saved, shown in (({}, True), ({"tilt": False}, False), ({"tilt": True}, True)):
    fields = {name: v for name, v in work.fields.items() if name != "tilt"}
    write_work(replace(work, fields=fields | saved), folder / "a.helix")
    assert read_work(folder / "a.helix").fields.get("tilt") == saved.get("tilt")
    session.tilt = not shown
    controller.open(str(folder / "a.helix"))
    assert session.tilt is shown, (saved, session.notice)
"""
REMEMBERED = """
from gui.window.settings.settings import Settings
file = folder / "settings.json"
for value in (True, False):
    settings = Settings(file)
    session.tilt = value
    settings.save_session(session)
    settings.sync()
    assert Settings(file).new_session().tilt is value
"""


@pytest.mark.parametrize("what", [UNDONE, LINKED, SAVED, REMEMBERED])
def test_a_field_added_there_is_undone_linked_saved_and_remembered(run_python, tmp_path, what):
    file = str(Path(gui.state.session.__file__))
    run_python(ADDED.format(file=file, folder=str(tmp_path)) + what)
