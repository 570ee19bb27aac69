"""The settings dialog over a real cache, driven as a user drives it."""

import os

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox

from gui.services.jobs.jobs import InlineJobs
from gui.style.theme import LIGHT
from gui.window.settings.dialog import SettingsDialog

LEFT = Qt.MouseButton.LeftButton
COMMIT, OTHER = "607a30d783dfa663caf39e06633721c8d4cfcd7e", "0" * 40
MB = 10**6


def keep(cache, repo, nbytes=MB, commit=COMMIT, revision="main", used=None):
    cache.put(repo, commit, "wpe", bytes(nbytes), core=True)
    cache.remember(repo, revision, commit)
    if used is not None:
        for path in cache.root.glob(f"{repo.replace('/', '_')}-*/{commit}/*"):
            os.utime(path, (used, used))


def fill(cache):
    """Keep three models, "c" used last."""
    for repo, nbytes in (("a/small", MB), ("b/large", 5 * MB), ("c/middle", 2 * MB)):
        keep(cache, repo, nbytes)
    return cache


def dialogs(qtbot, session, dress):
    """Return what makes dialogs, shown: ``make(cache, jobs, find_token, forced_offline=…)``."""
    dress(LIGHT)
    made = []

    def build(cache, jobs=None, find_token=lambda: None, *, show=True, **options):
        dialog = SettingsDialog(session, jobs or InlineJobs(), cache, find_token, **options)
        qtbot.addWidget(dialog, before_close_func=lambda closing: closing.release())
        made.append(dialog)
        heard = dialog.heard = []
        dialog.offlineRequested.connect(lambda on: heard.append(("offline", on)))
        dialog.limitRequested.connect(lambda nbytes: heard.append(("limit", nbytes)))
        dialog.removed.connect(lambda: heard.append(("removed",)))
        if show:
            dialog.show()
            dialog.activateWindow()
            qtbot.waitUntil(dialog.isActiveWindow)
        return dialog

    return build


def rows(dialog):
    model = dialog.kept.table.model()
    cells = [[model.index(r, c).data() for c in range(4)] for r in range(model.rowCount())]
    return [[cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in cells]


def models(dialog):
    return [row[0].split("@")[0] for row in rows(dialog)]


def click(widget):
    QTest.mouseClick(widget, LEFT)


def click_row(dialog, row, modifiers=Qt.KeyboardModifier.NoModifier):
    table = dialog.kept.table
    spot = table.visualRect(table.model().index(row, 0)).center()
    QTest.mouseClick(table.viewport(), LEFT, modifiers, spot)


def text(label):
    return label.text().replace("\N{NO-BREAK SPACE}", " ")


def question(dialog):
    (box,) = dialog.findChildren(QMessageBox)
    return box


def answer(dialog, word):
    box = question(dialog)
    click(next(b for b in box.buttons() if b.text().replace("&", "") == word))
