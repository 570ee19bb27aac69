"""Every file is written by `whole_file`, but for the few places here, each with its reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import ROOT

GIVES_A_PART = {"whole_file", "whole_text", "atomically"}
"""What yields a path that may be written, for it is not the file yet."""
FUNCTIONS = """
write_bytes write_text touch savefig savez savez_compressed savetxt tofile save_file dump copyfile
copy2 copytree move replace rename symlink_to hardlink_to mkdtemp mkstemp NamedTemporaryFile
TemporaryDirectory TemporaryFile RotatingFileHandler FileHandler QSaveFile QFile FileLock QSettings
"""
WRITING = set(FUNCTIONS.split())
"""Names of functions and classes that write files; `replace` and `rename` those of `os` alone."""
ELSEWHERE = {
    "geometry/checkpoints/whole_files.py": "the writer itself",
    "geometry/checkpoints/number_files.py": "writes into the part that its caller got",
    "geometry/checkpoints/stores.py": "opens without waiting for a pipe, for reading alone",
    "geometry/checkpoints/formats/hdf5_store.py": "what is unpacked, in the system's folder",
    "geometry/hub/entries.py": "entries with checksums; their parts are in a folder of their own",
    "geometry/hub/cached_commits.py": "moves whole folders away, to be removed",
    "geometry/hub/whole_model.py": "parts of Hugging Face's cache, by its own layout and locks",
    "geometry/history/position_log.py": "records are appended; a torn one is left out",
    "geometry/history/versions.py": "a log of its own, in the system's folder",
    "geometry/inside/worker.py": "no file: the pipe to the window",
    "geometry/models/sources/handed.py": "a snapshot for a window, which removes it",
    "gui/commands/script_pipes.py": "no file: the pipe to Python",
    "geometry/models/tokens.py": "a copy of a GGUF file's settings, in the system's folder",
    "geometry/survey/parts.py": "a damaged part, which is renamed",
    "geometry/survey/run.py": "what Dask's processes keep, in the system's folder",
    "geometry/checkpoints/folder_lock.py": "a lock, which has no content",
    "gui/commands/home.py": "a folder, in the place of a home that is not there",
    "gui/commands/start_mark.py": "a mark, of which it counts that it is there",
    "gui/commands/log.py": "entries are appended; one that does not fit is left out",
    "gui/commands/terminal.py": "no file: the null device, for what cannot be printed",
    "gui/export/film.py": "what ffmpeg reads and reports, in the system's folder",
    "gui/export/save_result.py": "the clipboard, in memory",
    "gui/notebook/survey.py": "a survey that is not kept, in the system's folder",
    "gui/plots/figure_base.py": "a figure drawn in memory",
    "gui/services/work_files/bookmarks.py": "a lock; a damaged file moved aside under it",
    "gui/services/work_files/work_file.py": "an archive packed in memory",
    "gui/window/settings": "Qt's own settings, which write a part and rename it",
    "gui/window/work/unsaved_work.py": "a lock; whole files moved under it",
}


@pytest.mark.slow
def test_files_are_written_by_the_one_writer() -> None:
    found = {}
    for package in ("geometry", "gui", "main.py"):
        for path in sorted((ROOT / package).rglob("*.py")) or [ROOT / package]:
            for line in _writes(ast.parse(path.read_text("utf-8"))):
                found.setdefault(path.relative_to(ROOT).as_posix(), []).append(line)
    allowed = tuple(ELSEWHERE)
    assert not {path: lines for path, lines in found.items() if not path.startswith(allowed)}


def _writes(module: ast.Module) -> Iterator[int]:
    """Yield the lines that write anything but a part given by the one writer."""
    parts = {
        item.optional_vars.id
        for node in ast.walk(module)
        if isinstance(node, ast.With)
        for item in node.items
        if isinstance(item.optional_vars, ast.Name) and _name(item.context_expr) in GIVES_A_PART
    }
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef):  # a handler of logging, with a method of its own
            bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
            if bases & WRITING:
                yield node.lineno
        if not isinstance(node, ast.Call):
            continue
        name, of = _name(node), node.func.value if isinstance(node.func, ast.Attribute) else None
        on = of.id if isinstance(of, ast.Name) else ""
        if on in parts:
            continue
        opened = name in {"open", "fdopen"} and any(
            isinstance(value, ast.Constant)
            and isinstance(value.value, str)
            and set(value.value) & set("wax+")
            and set(value.value) <= set("rwaxbt+")
            for value in (*node.args[:2], *(word.value for word in node.keywords))
        )
        if name in {"write_bytes", "write_text", "touch"} and of is None:
            continue  # those of the one writer
        if name in {"replace", "rename", "open"} and not opened and on != "os":
            continue
        if name == "dump" and on not in {"json", "pickle", "yaml"}:
            continue
        if name == "move" and on != "shutil":
            continue
        if opened or name in WRITING or (name == "open" and on == "os"):
            yield node.lineno


def _name(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("path.write_bytes(data)", [1]),
        ("with whole_file(out) as part:\n    part.write_bytes(data)", []),
        ("write_bytes(data, out)", []),
        ("open(out, 'wb')\nopen(out)\npath.open('rb')\npath.open(mode='a')", [1, 4]),
        ("os.replace(a, b)\ntext.replace('a', 'b')\nreplace(work, size=None)", [1]),
        ("class Log(RotatingFileHandler):\n    pass", [1]),
        ("np.savez(file, **arrays)\nfigure.savefig(buffer)", [1, 2]),
    ],
)
def test_the_search_finds_what_writes(code: str, lines: list[int]) -> None:
    assert [*_writes(ast.parse(code))] == lines


def test_every_exception_exists() -> None:
    assert all(Path(ROOT, name).exists() for name in ELSEWHERE)
