"""Every kind of file that the app writes, each as one function, and what may stand in it.

A write has two versions, so that a file can be there before. What it may leave is learnt from runs
without a fault: every content that a file has had, and what it has at the end.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from geometry.checkpoints.errors import HelixscopeError
from geometry.checkpoints.whole_files import parts_in, write_text, writing
from tests.command_line import ROOT
from tools.campaigns.campaign import Fault
from tools.campaigns.failing_disk import FailingDisk

if TYPE_CHECKING:
    from geometry.models.model import PositionalModel

COMMIT = "c" * 40
_LOCKS = (".lock", "lock")


@dataclass(frozen=True, slots=True)
class Write:
    """One kind of write.

    Attributes
    ----------
    run
        Writes a version, 0 or 1, into a folder; raises HelixscopeError if it cannot.
    costs_time_alone
        Whether a failure is only logged, because what is kept is found again elsewhere.
    forks
        Whether it works in a process that is forked from another.
    goes_on
        Whether a second run goes on where the first was stopped: there is no older version.
    """

    name: str
    run: Callable[[Path, int], None]
    costs_time_alone: bool = False
    forks: bool = True
    goes_on: bool = False


@dataclass(slots=True)
class Expected:
    """What a write leaves: any content seen meanwhile, by name, and the content at the end."""

    seen: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    last: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    nbytes: int = 0


def content(path: Path) -> str:
    """Return a fingerprint of a file's content, of tensors without the order of their metadata."""
    data = path.read_bytes()
    if path.suffix != ".safetensors":
        return hashlib.sha256(data).hexdigest()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    said = json.dumps(header, sort_keys=True).encode()
    return hashlib.sha256(said + data[8 + length :]).hexdigest()


def files_in(folder: Path) -> dict[str, Path]:
    """Return the files below a folder by name, without locks, and without what is half-written."""
    parts = {part for inside in (folder, *folders_in(folder)) for part in parts_in(inside)}
    return {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.is_file()
        and path not in parts
        and path.parent.name != "incoming"
        and not path.name.endswith(_LOCKS)
        and path.name != "ballast"
    }


def left_in(folder: Path) -> list[str]:
    """Return the names of what is half-written below a folder."""
    parts = [part for inside in (folder, *folders_in(folder)) for part in parts_in(inside)]
    parts += [path for path in folder.rglob("incoming/*") if path.is_file()]
    return [path.name for path in parts]


def folders_in(folder: Path) -> Iterator[Path]:
    """Yield the folders below a folder."""
    return (path for path in folder.rglob("*") if path.is_dir())


def expected(write: Write, folder: Path) -> Expected:
    """Run both versions of a write without a fault, and return what it leaves."""
    found = Expected()

    def note(path: Path) -> None:
        if path.is_file():
            found.seen[path.relative_to(os.path.realpath(folder)).as_posix()].add(content(path))

    for version in (0, 1):
        if version == 1 and write.goes_on:
            break
        with FailingDisk(folder, on_replaced=note) as disk:
            write.run(folder, version)
        found.calls = len(disk.calls)
    for name, path in files_in(folder).items():
        found.last[name] = content(path)
        found.seen[name].add(found.last[name])
        found.nbytes += path.stat().st_size
    return found


def check_whole(write: Write, folder: Path, known: Expected, *, at_the_end: bool = False) -> None:
    """Raise a Fault if a file is torn, and at the end also if one is not the last or is missing."""
    there = {name: content(path) for name, path in files_in(folder).items()}
    for name, found in there.items():
        if found not in known.seen.get(name, ()):
            raise Fault("lost", f"{write.name}: {name} is neither old nor new")
    if at_the_end and not write.costs_time_alone:
        wrong = [name for name, last in known.last.items() if there.get(name) != last]
        if wrong:
            raise Fault("lost", f"{write.name}: {', '.join(wrong)} not written at last")
    if at_the_end and (left := left_in(folder)):
        raise Fault("left", f"{write.name}: {', '.join(left)}")


# ---- the writes ---------------------------------------------------------------------------


@cache
def sample() -> PositionalModel:
    """Return the bundled model."""
    from geometry.models.sources.opening import open_model

    return open_model("sample")


def _random(version: int) -> np.random.Generator:
    return np.random.default_rng(version)


def _work(version: int) -> Any:
    from tests.gui.services.work_files.test_work_file import WORK

    turn = np.linalg.qr(_random(version).standard_normal((3, 3)))[0]
    return replace(WORK, positions=(version, 99), turn=turn)


def _save_work(folder: Path, version: int) -> None:
    from gui.services.work_files.work_file import write_work

    write_work(_work(version), folder / "a.helix")


def _autosave(folder: Path, version: int) -> None:
    from gui.services.work_files.work_file import write_work

    write_work(_work(version), folder / "kept.helix", durable=False)


def _bookmarks(folder: Path, version: int) -> None:
    from gui.services.work_files.work_file import write_bookmarks
    from gui.state.work import Bookmark

    picture = _random(version).bytes(20_000)
    write_bookmarks(
        [
            Bookmark(f"{number:032x}", "View", "", "gpt2", _work(version), picture)
            for number in range(3)
        ],
        folder / "settings" / "bookmarks.zip",
    )


def _image(version: int) -> np.ndarray:
    return _random(version).integers(0, 255, (64, 96, 3), np.uint8)


def _picture(folder: Path, version: int) -> None:
    from gui.export.pictures import write_png

    write_png(_image(version), folder / "a.png")


def _window_picture(folder: Path, version: int) -> None:
    from PySide6.QtGui import QImage

    from gui.export.save_picture import write_picture

    pixels = _image(version)
    height, width, _ = pixels.shape
    image = QImage(pixels.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
    write_picture(image, folder / "window.png")


def _film(ending: str) -> Callable[[Path, int], None]:
    def run(folder: Path, version: int) -> None:
        from gui.export.film import Film

        frames = _random(version).integers(0, 255, (6, 64, 96, 3), np.uint8)
        Film(folder / f"a{ending}", (96, 64), 5).write(6, lambda index: frames[index])

    return run


def _scene(ending: str) -> Callable[[Path, int], None]:
    def run(folder: Path, version: int) -> None:
        from gui.export.scene_files import SceneExport
        from gui.scene.scene_state import resolve_scene
        from gui.state.camera import view_pose
        from gui.style.theme import LIGHT

        session = _session(version)
        state = resolve_scene(session)
        assert state is not None
        pose = view_pose("article", state.coordinates, state.turn, 1.5)
        texts = tuple(str(i) for i in range(len(state.coordinates)))
        SceneExport(state, texts, "sample", LIGHT, pose).write(folder / f"a{ending}")

    return run


@cache
def _session(version: int) -> Any:
    from geometry.measures.norms import norm_profile
    from geometry.pca.curve import place_curve
    from geometry.pca.pca import fit_pca
    from gui.state.session import Session

    model, positions = sample(), (1, 100 - version)
    curve = place_curve(model.W_pos, fit_pca(model.W_pos, positions, 3), (1, 2, 3))
    norms = norm_profile(model.W_pos)
    return Session(positions=positions, model=model, curve=curve, norms=norms)


def _numbers(ending: str) -> Callable[[Path, int], None]:
    def run(folder: Path, version: int) -> None:
        from geometry.checkpoints.number_files import write_numbers

        write_numbers({"P": _random(version).random((400, 3))}, folder / f"a{ending}")

    return run


def _timelapse_numbers(folder: Path, version: int) -> None:
    from gui.export.timelapse_film import write_timelapse

    write_timelapse(_timeline(version), folder / "timelapse.npz")


@cache
def _timeline(version: int) -> Any:
    from geometry.history.here import history_here
    from gui.export.timelapse_film import timeline_session

    return timeline_session(sample(), history_here(sample()), positions=(1, 40 + version))


def _script(folder: Path, version: int) -> None:
    out = folder / "a.py"
    with writing(out):
        write_text(f"version = {version}\n" * 900, out)


def _figure(ending: str) -> Callable[[Path, int], None]:
    def run(folder: Path, version: int) -> None:
        from gui.plots.figure_base import new_figure, save_figure

        figure, axes = new_figure()
        del axes
        figure.text(0.5, 0.5, f"version {version}")
        out = folder / f"figure{ending}"
        with writing(out):
            save_figure(figure, out)

    return run


def _report(folder: Path, version: int) -> None:
    from gui.commands.report_files import ReportFiles, ReportRequest

    request = ReportRequest(folder / "report", positions=(1, 90 - version), figures=False)
    for _, work in ReportFiles(sample(), request).steps():
        work()


def _train(folder: Path, version: int) -> None:
    from geometry.training.run import train
    from tests.geometry.training_text import SMALL

    settings = replace(SMALL, steps=4, snapshots=3, layers=1, warm_up=1)
    train(_Corpus.folder(), folder / "model", settings, bfloat16=False)


class _Corpus:
    """A text, written once a process."""

    made: Path | None = None

    @classmethod
    def folder(cls) -> Path:
        if cls.made is None:
            import tempfile

            from tests.geometry.training_text import write_text

            cls.made = write_text(Path(tempfile.mkdtemp(prefix="corpus-")), documents=12)
        return cls.made


def _entry(folder: Path, version: int) -> None:
    from geometry.hub.tensor_cache import TensorCache

    kept = TensorCache(folder / "cache")
    kept.put("openai/gpt2", COMMIT, "wpe.weight", _random(version).bytes(40_000))
    kept.remember("openai/gpt2", "main", COMMIT, confirmed=True)


def _kept_tokenizer(folder: Path, version: int) -> None:
    from geometry.hub.hub_tokenizer import tokenizer_folder
    from geometry.hub.tensor_cache import TensorCache

    kept = TensorCache(folder / "cache")
    files = {"tokenizer.json": b"{}" * 9_000, "tokenizer_config.json": b"{}"}
    hub = SimpleNamespace(
        list_files=lambda *_: SimpleNamespace(files=dict.fromkeys(files, 9)),
        fetch=lambda _, name, __: files[name],
    )
    address = SimpleNamespace(repo="openai/gpt2", revision=COMMIT)
    hub_files: Any = SimpleNamespace(
        address=address,
        transfer=None,
        tokenizer_agreed=True,
        kept=lambda name: kept.get("openai/gpt2", COMMIT, name),
        keep=lambda name, data: kept.put("openai/gpt2", COMMIT, name, data, core=True),
    )
    network: Any = SimpleNamespace(cache=kept, hub=hub)
    tokenizer_folder(hub_files, network)


def _directions(folder: Path, version: int) -> None:
    from geometry.hub.entries import Key, sweep, write_entry

    root = folder / "directions"
    sweep(root / "incoming")
    data = _random(version).bytes(60_000)
    with writing(root):
        write_entry(root / "a.directions", Key("directions", "x", "y"), data, root / "incoming")


def _survey(folder: Path, version: int) -> None:
    from geometry.survey.parts import SurveyFile
    from geometry.survey.populations import Entry
    from geometry.survey.rows import RowSettings
    from tests.geometry.survey.survey_stage import made_row

    with SurveyFile(folder / "a.parquet", RowSettings()) as file:
        for step in range(3):
            entry = Entry(f"own/run@checkpoint-{step}", "own", step=step + 10 * version)
            file.add(made_row(entry))


def command(*arguments: str) -> Callable[[Path, int], None]:
    """Return a write by the command line; what it refuses is a HelixscopeError."""

    def run(folder: Path, version: int) -> None:
        import main

        words = [word.format(out=folder, last=90 - version) for word in arguments]
        out, err = io.StringIO(), io.StringIO()
        status: object = 0
        with redirect_stdout(out), redirect_stderr(err), _at_home():
            try:
                main.main(words)
            except SystemExit as stop:
                status = stop.code
        if status:
            lines = err.getvalue().strip().splitlines()
            if status != 1 or len(lines) != 1 or not lines[0].startswith("helixscope: "):
                raise Fault("traceback", f"{words}: {status}: {err.getvalue()[-2000:]}")
            raise HelixscopeError(lines[0].removeprefix("helixscope: "))

    return run


@contextmanager
def _at_home() -> Iterator[None]:
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        yield
    finally:
        os.chdir(before)


_RANGE = ("--positions", "1-{last}")
_TINY = ("--size", "64x48")
WRITES = (
    Write("work", _save_work),
    Write("autosave", _autosave),
    Write("bookmarks", _bookmarks),
    Write("picture", _picture),
    Write("window picture", _window_picture),
    Write("film, mp4", _film(".mp4"), forks=False),
    Write("film, gif", _film(".gif"), forks=False),
    Write("scene, glb", _scene(".glb")),
    Write("scene, html", _scene(".html")),
    Write("numbers, csv", _numbers(".csv")),
    Write("numbers, npz", _numbers(".npz")),
    Write("time-lapse numbers", _timelapse_numbers),
    Write("script", _script),
    Write("figure, png", _figure(".png")),
    Write("figure, svg", _figure(".svg")),
    Write("figure, pdf", _figure(".pdf")),
    Write("report", _report),
    Write("training", _train, goes_on=True),
    Write("cache entry", _entry, costs_time_alone=True),
    Write("tokenizer", _kept_tokenizer, costs_time_alone=True, goes_on=True),
    Write("directions", _directions),
    Write("survey", _survey),
)
COMMANDS = (
    Write("render", command("render", "sample", "--out", "{out}/a.png", *_RANGE, *_TINY)),
    Write("export csv", command("export", "sample", "--out", "{out}/a.csv", *_RANGE)),
    Write("export glb", command("export", "sample", "--out", "{out}/a.glb", *_RANGE)),
    Write("export html", command("export", "sample", "--out", "{out}/a.html", *_RANGE)),
    Write(
        "turntable",
        command("export", "sample", "--out", "{out}/a.mp4", "--seconds", "1", *_RANGE, *_TINY),
    ),
    Write(
        "time-lapse",
        command("timelapse", "sample", "--out", "{out}/a.gif", "--steps", "4", *_RANGE, *_TINY),
    ),
    Write("table", command("table", "sample", "--out", "{out}/a.md", *_RANGE)),
    Write("report with figures", command("report", "sample", "--out", "{out}/report", *_RANGE)),
)
"""What is drawn as well; slow, and not for processes that are forked."""


class Kept:
    """Writes with what is expected of them, each found out when first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, Expected] = {}

    def expected(self, write: Write) -> Expected:
        """Return what a write leaves."""
        if write.name not in self._known:
            folder = self._folder / write.name.replace(" ", "-")
            folder.mkdir(parents=True)
            self._known[write.name] = expected(write, folder)
        return self._known[write.name]

    @cached_property
    def root(self) -> Path:
        """A folder for the cases."""
        root = self._folder / "cases"
        root.mkdir(parents=True)
        return root
