"""Files of saved work: what goes in comes out, and nothing else is taken for one."""

import io
import json
import os
import signal
import subprocess
import sys
import tracemalloc
import zipfile
from contextlib import suppress
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.checkpoints.errors import HelixscopeError
from geometry.models.sources.source import Source
from gui.services.work_files.work_file import (
    ARRAYS,
    JSON,
    VERSION,
    WorkError,
    pack_work,
    read_work,
    write_work,
)
from gui.state.aligned_curve import CurveAlignment, OfOther, OfRange, OfStep
from gui.state.camera import CameraPose, Place
from gui.state.layout import Floating, Layout, Split, Tabs
from gui.state.session import SAVED, Session
from gui.state.work import OtherView, Work

POSE = CameraPose(
    np.array([1.0, 2.5, -3.0]), np.array([0.1, 0.0, 0.2]), np.array([0.0, 0.0, 1.0]), 2.25
)
LAYOUT = Layout(
    {
        "left": Split("column", (Tabs(("models",), "models", 40), Tabs(("view",), "view", 60)), 9),
        "bottom": Tabs(("norms", "shape"), "shape", 280),
    },
    {"lesson": "right"},
    {"spectra": Floating("bottom", (-3, 9, 300, 200), hidden=True)},
)
WORK = Work(
    source=Source.parse("/models/gpt2"),
    positions=(3, 99),
    fields={name: getattr(Session(), name) for name in SAVED}
    | {"line_width": 0.5, "point_size": 12.5, "curve_parts": "line", "opacity": 0.3}
    | {"selection": (4, 7), "prompt": "Hello, “world”", "snapshot": 3},
    fingerprint="abc",
    beside="../gpt2",
    table="wpe",
    commit="0" * 40,
    place=Place(POSE, follows=False),
    turn=np.eye(3)[[1, 2, 0]],
    panel="norms",
    size=(1280, 800),
    layout=LAYOUT,
)


OTHERS = (
    OtherView(Source.parse("sample"), (0, 9), (3, 1, 2), place=Place(POSE, follows=True)),
    OtherView(Source.parse("/models/b"), (1, 4), (1, 2, 3), "../b", "wpe", "1" * 40, in_grid=False),
)
BESIDE = replace(WORK, others=OTHERS, main_at=1, alone=2)
LAYINGS = (
    CurveAlignment(OfOther(1), "basis", mirrored=False, middle="own"),
    CurveAlignment(OfRange((3, 40)), "scaled"),
    CurveAlignment(OfStep(2000), "turned", coloring="grey"),
)
HOW = {"how": "turned", "mirrored": True, "middle": None}
PANELS = {
    "shape": {"curve": "circle", "in_view": False, "plotted": "distance"},
    "kernels": {"head": None, "layer": 1},
}


def same(a: Work | OtherView, b: Work | OtherView) -> bool:
    for field in fields(type(a)):
        one, other = getattr(a, field.name), getattr(b, field.name)
        if field.name == "turn":
            assert np.array_equal(one, other)
        elif field.name == "place" and one is not None:
            assert one.follows == other.follows
            for part in ("position", "focal_point", "up", "parallel_scale"):
                assert np.array_equal(getattr(one.pose, part), getattr(other.pose, part))
        elif field.name == "others":
            assert len(one) == len(other)
            assert all(map(same, one, other))
        else:
            assert one == other, field.name
    return True


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a b.helix"


@pytest.mark.parametrize(
    "work",
    [
        WORK,
        replace(WORK, place=None, table=None, commit=None, size=None, layout=None),
        BESIDE,
        *(replace(BESIDE, alignment=alignment) for alignment in LAYINGS),
        replace(WORK, alignment=LAYINGS[1], panels=PANELS),
        replace(WORK, fields={**WORK.fields, "compare_columns": (("turns", 80), ("range", 0))}),
    ],
    ids=range(8),
)
def test_what_goes_in_comes_out(path, work):
    write_work(work, path)
    assert same(read_work(path), work)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_file_is_of_the_first_version_that_has_all_that_is_in_it(path):
    aligned, chosen = replace(WORK, alignment=LAYINGS[1]), replace(WORK, panels=PANELS)
    for work, version in ((WORK, 1), (BESIDE, 3), (aligned, 4), (chosen, 4)):
        write_work(work, path)
        with zipfile.ZipFile(path) as archive:
            assert json.loads(archive.read(JSON))["version"] == version


def test_bytes_for_qt_and_a_damaged_layout_are_left_out_and_so_is_what_is_added(path):
    for docks in ({}, {"docks": 7}, {"docks": {"left": {"tabs": []}}}):
        old = {"layout": "no base64", "layout_version": "two"} | docks

        def change(said, old=old):
            del said["docks"]
            said.update(old)

        rewrite(path, change)
        assert same(read_work(path), replace(WORK, layout=None))
    rewrite(path, lambda said: said["session"].update(something_new=1))
    assert "something_new" not in read_work(path).fields


def test_the_same_work_is_the_same_bytes():
    assert pack_work(WORK) == pack_work(replace(WORK))
    assert pack_work(WORK) != pack_work(replace(WORK, positions=(3, 98)))


def rewrite(path, change, work=WORK) -> None:
    """Write the work with another JSON."""
    archive = io.BytesIO()
    packed = io.BytesIO(pack_work(work))
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(archive, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            if name == JSON:
                said = json.loads(part)
                change(said)
                part = json.dumps(said).encode()
            new.writestr(name, part)
    path.write_bytes(archive.getvalue())


def test_what_an_older_version_did_not_know_takes_its_default(path):
    def forget(said):
        for name in ("panel", "window", "docks", "follows"):
            del said[name]
        del said["model"]["beside"]
        said["session"] = {"prompt": "hi"}

    rewrite(path, forget)
    work = read_work(path)
    assert work.fields == {"prompt": "hi"}
    assert (work.panel, work.size, work.layout, work.beside) == ("", None, None, "")


ALIGNED = replace(BESIDE, alignment=LAYINGS[0])
DAMAGED = [
    (BESIDE, lambda said: said["others"][1].update(source=7)),
    (BESIDE, lambda said: said.update(others=[7])),
    (WORK, lambda said: said.update(format="other")),
    (WORK, lambda said: said.update(version="1")),
    (WORK, lambda said: said.update(version=0)),
    (WORK, lambda said: said.pop("model")),
    (WORK, lambda said: said["model"].update(source=None)),
]


@pytest.mark.parametrize(("work", "change"), DAMAGED, ids=range(len(DAMAGED)))
def test_what_makes_no_sense_is_refused_in_a_sentence(path, work, change):
    rewrite(path, change, work)
    with pytest.raises(HelixscopeError, match=r"^a b\.helix (is|was) "):
        read_work(path)


DAMAGED_IN_PART = [
    (BESIDE, lambda said: said.update(main_at=3)),
    (BESIDE, lambda said: said.update(main_at=-1)),
    (BESIDE, lambda said: said.update(alone=3)),
    (BESIDE, lambda said: said.update(alone="main")),
    (WORK, lambda said: said["session"].update(compare_columns=[["turns"]])),
    (WORK, lambda said: said["session"].update(compare_columns=[["turns", -1]])),
    (WORK, lambda said: said["session"].update(compare_columns=[[7, 80]])),
    (WORK, lambda said: said["session"].update(compare_columns="turns")),
    (BESIDE, lambda said: said["others"][0].update(components=[1, 2])),
    (BESIDE, lambda said: said["others"][1].update(positions=[5, 2])),
    (BESIDE, lambda said: said["others"][1].pop("components")),
    (ALIGNED, lambda said: said.update(laying=[])),
    (ALIGNED, lambda said: said.update(laying="other")),
    (ALIGNED, lambda said: said.update(laying={})),
    (ALIGNED, lambda said: said["laying"].pop("how")),
    (ALIGNED, lambda said: said["laying"].update(how="anyhow")),
    (ALIGNED, lambda said: said["laying"].update(mirrored=1)),
    (ALIGNED, lambda said: said["laying"].update(middle="mean")),
    (ALIGNED, lambda said: said["laying"].update(coloring="red")),
    (ALIGNED, lambda said: said["laying"].update(other=2)),
    (ALIGNED, lambda said: said["laying"].update(other=-1)),
    (ALIGNED, lambda said: said["laying"].update(step=3)),
    (ALIGNED, lambda said: said.update(laying={**HOW, "range": [1]})),
    (ALIGNED, lambda said: said.update(laying={**HOW, "range": [1, -2]})),
    (ALIGNED, lambda said: said.update(laying={**HOW, "range": 7})),
    (ALIGNED, lambda said: said.update(laying={**HOW, "step": 1.5})),
    (ALIGNED, lambda said: said.update(panels=[])),
    (ALIGNED, lambda said: said.update(panels={"shape": 1})),
    (WORK, lambda said: said.pop("positions")),
    (WORK, lambda said: said.update(positions=[9, 3])),
    (WORK, lambda said: said.update(positions=[-1, 3])),
    (WORK, lambda said: said.update(positions="1-9")),
    (WORK, lambda said: said["session"].update(components=[1, 2])),
    (WORK, lambda said: said["session"].update(components=[0, 1, 2])),
    (WORK, lambda said: said["session"].update(color_by="taste")),
    (WORK, lambda said: said["session"].update(selection=[-1])),
    (WORK, lambda said: said["session"].update(line_width=0)),
    (WORK, lambda said: said["session"].update(point_size=1e9)),
    (WORK, lambda said: said["session"].update(opacity=True)),
    (WORK, lambda said: said["session"].update(opacity=float("nan"))),
    (WORK, lambda said: said["session"].update(curve_parts="none")),
    (WORK, lambda said: said["session"].update(color_period=0)),
    (WORK, lambda said: said["session"].update(color_column={"name": "a"})),
    (WORK, lambda said: said.update(column={"name": "a", "file": "b"})),
    (WORK, lambda said: said.update(column={"name": 1, "file": "b", "values": []})),
    (WORK, lambda said: said.update(column={"name": "a", "file": "b", "values": "12"})),
    (WORK, lambda said: said.update(column={"name": "a", "file": "b", "values": [[1]]})),
    (WORK, lambda said: said.update(column={"name": "a", "file": "b", "values": [True]})),
    (WORK, lambda said: said.update(column={"name": "a", "file": "b", "values": [1e300]})),
    (WORK, lambda said: said.update(column={"name": "a", "file": "b", "values": ["x" * 99]})),
    (WORK, lambda said: said.update(column={"name": "a", "file": "b", "values": [0] * 300_000})),
    (WORK, lambda said: said["session"].update(sphere=1)),
    (WORK, lambda said: said["session"].update(colormap="none")),
    (WORK, lambda said: said.update(window=[0, 10])),
    (WORK, lambda said: said.update(session=[])),
]


@pytest.mark.parametrize(("work", "change"), DAMAGED_IN_PART, ids=range(len(DAMAGED_IN_PART)))
def test_a_part_that_makes_no_sense_is_left_out(path, work, change):
    rewrite(path, change, work)
    read = read_work(path)
    (_,) = read.left_out
    assert (read.source, read.table, read.fingerprint) == (work.source, "wpe", "abc")
    kept = {name: value for name, value in work.fields.items() if name in read.fields}
    assert {name: read.fields[name] for name in kept} == kept
    # What is saved again is sound.
    write_work(read, path)
    assert same(read_work(path), replace(read, left_out=()))


AT, TO, UP = POSE.position, POSE.focal_point, POSE.up
ALONG = (AT - TO) / np.linalg.norm(AT - TO)
CAMERAS = {
    "at its own focus": replace(POSE, focal_point=AT),
    "almost at its own focus": replace(POSE, position=AT + 1e9, focal_point=AT + 1e9 + 1e-6),
    "up along the view": replace(POSE, up=ALONG),
    "no up": replace(POSE, up=UP * 0),
    "too long an up": replace(POSE, up=UP * 1e300),
    "far away": replace(POSE, position=AT * 1e300),
    "looking far away": replace(POSE, focal_point=AT * 1e13),
    "tiny": replace(POSE, position=AT * 1e-300, focal_point=TO * 0),
    "no number": replace(POSE, position=AT * np.nan),
    "infinite": replace(POSE, focal_point=AT * np.inf),
    "no scale": replace(POSE, parallel_scale=0.0),
    "an endless scale": replace(POSE, parallel_scale=1e300),
}
TURNS = {
    "zeros": np.zeros((3, 3)),
    "of rank 2": np.diag([1.0, 1.0, 0.0]),
    "no rotation": np.ones((3, 3)),
    "stretched": 1.001 * np.eye(3),
    "huge": 1e300 * np.eye(3),
    "tiny": 1e-300 * np.eye(3),
    "no number": np.full((3, 3), np.nan),
    "infinite": np.diag([np.inf, 1.0, 1.0]),
}


@pytest.mark.parametrize("pose", CAMERAS.values(), ids=CAMERAS)
def test_a_camera_that_sees_nothing_is_left_out(path, pose):
    place = Place(pose, follows=True)
    write_work(replace(BESIDE, place=place), path)
    read = read_work(path)
    assert read.left_out == ("camera",)
    assert same(replace(read, left_out=()), replace(BESIDE, place=None))
    beside = (replace(OTHERS[0], place=place), OTHERS[1])
    write_work(replace(BESIDE, others=beside), path)
    read = read_work(path)
    assert read.left_out == ("camera",)
    assert read.place is not None
    assert [one.place for one in read.others] == [None, None]


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
def test_a_turn_that_is_no_rotation_is_left_out(path, turn):
    write_work(replace(WORK, turn=turn), path)
    read = read_work(path)
    assert read.left_out == ("turn",)
    assert same(replace(read, left_out=()), replace(WORK, turn=np.eye(3)))


def test_a_mirrored_turn_and_one_that_is_rounded_are_turns(path):
    for turn in (np.diag([1.0, 1.0, -1.0]), np.linalg.qr(np.arange(9.0).reshape(3, 3))[0]):
        write_work(replace(WORK, turn=turn), path)
        assert same(read_work(path), replace(WORK, turn=turn))


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"PK\x03\x04", pack_work(WORK)[:-30], pack_work(WORK)[50:]]
)
def test_what_is_no_archive_or_a_part_of_one_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(HelixscopeError, match=r"^a b\.helix (is|was) "):
        read_work(path)


@given(at=st.integers(0, len(pack_work(WORK)) - 1), byte=st.integers(0, 255))
def test_a_damaged_file_is_refused_or_reads_as_it_was(tmp_path_factory, at, byte):
    path = tmp_path_factory.mktemp("damaged") / "a.helix"
    data = bytearray(pack_work(WORK))
    data[at] = byte
    path.write_bytes(data)
    with suppress(HelixscopeError):
        assert same(read_work(path), WORK)


def npy(header: bytes, content: bytes = b"") -> bytes:
    """Return a file of an array with any header."""
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + content


def archive_of(parts: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return packed.getvalue()


HEADER = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }\n"
OF_PACKED = {
    "a header that cannot be tokenized": {"turn.npy": npy(b"{'descr': '<f8', (")},
    "an array larger than the memory": {"turn.npy": npy(HEADER % 2**60)},
    "an array that unpacks to far more": {"turn.npy": npy(HEADER % 2**26, bytes(2**26))},
}


DAMAGES = [*OF_PACKED, "JSON too deep", "LZMA of noise"]


def damaged_work(name: str) -> bytes:
    """Return a file of saved work with a damage of a name."""
    with zipfile.ZipFile(io.BytesIO(pack_work(WORK))) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    if name in OF_PACKED:
        parts[ARRAYS] = archive_of(OF_PACKED[name])
    elif name == "JSON too deep":
        parts[JSON] = b"[" * 100_000
    data = bytearray(archive_of(parts, zipfile.ZIP_LZMA if "LZMA" in name else 8))
    if "LZMA" in name:
        data[60:90] = b"\xff" * 30
    return bytes(data)


@pytest.mark.parametrize("name", DAMAGES)
def test_whatever_goes_wrong_inside_a_reader_is_said_in_one_sentence(path, name):
    path.write_bytes(damaged_work(name))
    tracemalloc.start()
    try:
        with pytest.raises(WorkError) as refused:
            read_work(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(refused.value) == f"{path.name} is damaged."
    assert refused.value.advice
    if "unpacks" in name:
        assert most < 60_000_000  # reading the file makes room for the largest that is allowed


def test_a_file_or_folder_that_is_not_there_or_of_a_newer_version_is_refused(path):
    with pytest.raises(HelixscopeError, match="cannot be read") as refused:
        read_work(path)
    assert "Save the project again" in refused.value.advice
    with pytest.raises(HelixscopeError, match="cannot be written"):
        write_work(WORK, path.parent / "nowhere" / "a.helix")
    rewrite(path, lambda said: said.update(version=VERSION + 1))
    with pytest.raises(HelixscopeError, match="saved by a newer version of Helixscope") as refused:
        read_work(path)
    assert "newer version" in refused.value.advice


WRITER = """
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path
from gui.services.work_files.work_file import read_work, write_work
path = Path(sys.argv[1])
work = read_work(path)
for n in count(work.positions[0] + 1):
    write_work(replace(work, positions=(n, n + 5), fingerprint=f'{n % 251} ' * 60_000), path)
    print(n, flush=True)
"""
KILLS = 4


def run_until_killed(writer, path, most, rng):
    """Let a script write a file until it is killed, in a writing; the number it printed last."""
    running = subprocess.Popen(
        [sys.executable, "-c", writer, path], stdout=subprocess.PIPE, text=True, cwd=os.getcwd()
    )
    for _ in range(int(rng.integers(1, most))):
        told = int(running.stdout.readline())
    running.send_signal(signal.SIGKILL)
    rest = running.stdout.read().split()
    running.stdout.close()
    running.wait()
    return int(rest[-1]) if rest else told


@pytest.mark.slow
def test_killed_at_any_moment_nothing_saved_is_lost(path):
    rng = np.random.default_rng(0)
    write_work(replace(WORK, positions=(0, 5), fingerprint="0 " * 60_000), path)
    for _ in range(KILLS):
        told = run_until_killed(WRITER, path, 40, rng)
        work = read_work(path)
        first, last = work.positions
        assert last == first + 5
        assert work.fingerprint == f"{first % 251} " * 60_000
        assert first >= told > 0  # what it said is saved is saved
    # What a killed writer leaves is written over by the next one.
    write_work(WORK, path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
