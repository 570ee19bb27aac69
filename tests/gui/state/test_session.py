"""The session's fields: by whom they are written, and that each has an event."""

import ast
import dataclasses
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from gui.panels.kit.choices import Shared
from gui.panels.table import PANELS
from gui.state.session import VIEW_FIELDS, Documents, Messages, Results, Session, ViewState
from gui.window.lesson_player import ALWAYS, OF_MODEL

ROOT = Path(__file__).resolve().parents[3]
GROUPS = [ViewState, Documents, Results, Messages]


def names(group):
    return {one.name for one in dataclasses.fields(group)}


def test_each_field_is_in_one_group():
    assert sum(len(names(group)) for group in GROUPS) == len(names(Session))
    assert set.union(*map(names, GROUPS)) == names(Session)


@pytest.mark.parametrize("group", GROUPS)
def test_each_field_is_described(group):
    # A comment behind the field, or above it and those that follow without one.
    described = False
    for line in inspect.getsource(group).partition('"""\n\n')[2].splitlines():
        if line.strip():
            described = "#" in line or described
            assert described, line
            described = described and not re.search(r"\S  #", line)


def test_each_field_has_an_event():
    for name in names(Session):
        session, heard = Session(), []
        session.events[name].connect(lambda *values, heard=heard: heard.append(values))
        before = getattr(session, name)
        setattr(session, name, before)
        assert heard == []
        setattr(session, name, "another")
        assert heard == [("another", before)]


def test_an_equal_array_is_no_change():
    session, heard = Session(), []
    session.events.turn.connect(heard.append)
    for turn, times in ((np.eye(3), 0), (-np.eye(3), 1)):
        session.turn = turn
        assert len(heard) == times


def test_fields_changed_together_are_all_set_when_the_first_is_heard_of():
    session, heard = Session(), []
    session.events.status.connect(lambda: heard.append((session.status, session.jobs)))
    session.events.jobs.connect(lambda: heard.append("jobs"))
    session.change(status="Busy", jobs=2, opening=session.opening)
    assert heard == [("Busy", 2), "jobs"]


def test_only_what_the_user_wants_is_set_by_name():
    session = Session()
    session.want(positions=(2, 9), sphere=True)
    assert (session.positions, session.sphere) == ((2, 9), True)
    with pytest.raises(AttributeError, match="set: curve, model"):
        session.want(hover=3, model=None, curve=None)
    assert session.hover is None


def set_by_name(tree):
    """Yield the names that a module gives to what calls ``Session.want``."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.Call(func=ast.Attribute(attr="set_field"), args=[ast.Constant(value=name), _])
                | ast.Call(func=ast.Name(id="ChangeShared"), args=[ast.Constant(value=name), _])
            ):
                yield name


@pytest.mark.slow
def test_what_the_window_and_panels_set_by_name_is_wanted():
    trees = [ast.parse(path.read_text("utf-8")) for path in (ROOT / "gui").rglob("*.py")]
    named = {name for tree in trees for name in set_by_name(tree)}
    assert len(named) > 8
    shared = {
        control.field
        for entry in PANELS.values()
        for control in entry.spec.controls
        if control.shared and not isinstance(control, Shared)
    }
    assert len(shared) > 4
    assert named | shared | {*ALWAYS, *OF_MODEL} <= VIEW_FIELDS


OF_SERVICES = names(Documents) | names(Results)


def targets(node):
    if isinstance(node, ast.Tuple | ast.List):
        return [target for element in node.elts for target in targets(element)]
    return [node]


def written(tree):
    """Yield the names of fields that a module writes, and of which line; None for any field."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=assigned):
                found = [one for target in assigned for one in targets(target)]
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                found = [target]
            case ast.Call(func=ast.Attribute(attr="change"), keywords=keywords):
                yield from ((one.arg, node.lineno) for one in keywords)
                continue
            case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=name), _]):
                yield name, node.lineno
                continue
            case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id="cls"), *_]):
                continue  # no session is a class
            case ast.Call(func=ast.Name(id="setattr")):
                yield None, node.lineno
                continue
            case _:
                continue
        for one in found:
            match one:
                case ast.Attribute(value=ast.Name(id="self" | "window")):  # no session is either
                    pass
                case ast.Attribute(attr=name):
                    yield name, node.lineno


@pytest.mark.slow
def test_what_is_open_and_what_was_found_are_written_by_services_alone():
    others = [
        f"{path.relative_to(ROOT)}:{line} {name or 'any field'}"
        for path in sorted((ROOT / "gui").rglob("*.py"))
        if not path.is_relative_to(ROOT / "gui" / "services")
        and path != ROOT / "gui" / "state" / "session.py"
        for name, line in written(ast.parse(path.read_text("utf-8")))
        if name is None or name in OF_SERVICES
    ]
    assert others == []


@pytest.mark.parametrize(
    ("code", "field"),
    [
        ("session.curve = curve", "curve"),
        ("self.session.shown += 1", "shown"),
        ("self.session.jobs: int = 1", "jobs"),
        ("a, (session.model, b) = c", "model"),
        ("session.change(status='', pair=None)", "pair"),
        ("session.change(**values)", None),
        ("lambda: setattr(session, 'models', rows)", "models"),
        ("setattr(session, name, value)", None),
    ],
)
def test_writing_is_noticed(code, field):
    assert field in {name for name, _ in written(ast.parse(code))}
