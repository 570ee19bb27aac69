"""Sentences that name an option, a command or a menu name one that exists, wherever they appear."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_group

import main as command_line
from gui.window.actions import COMMANDS

ROOT = Path(__file__).parents[1]
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
NAMED = re.compile(r"helixscope ([a-z]+)")
BEFORE = re.compile(r"helixscope (--[a-z][a-z0-9-]+)")
IN_MENU = re.compile(r"“([^”]+)” in the (\w+) menu|(\w+) › ([^”.]+…?)")
OTHER_PROGRAMS = ("gguf-split --merge",)

_PROGRAM = get_group(command_line.app)
_COMMANDS = _PROGRAM.commands
OF_ALL = {spelling for option in _PROGRAM.params for spelling in option.opts}
"""The options that go before a command."""
OPTIONS = {
    name: {spelling for one in command.params for spelling in (*one.opts, *one.secondary_opts)}
    for name, command in _COMMANDS.items()
}
"""The options of each command."""
OPENING = {name for name, of in OPTIONS.items() if "--table" in of}
"""Commands that open a model."""
HEADLESS = OPENING - {"open"}
PRINTED_BY = {
    "gui/commands/headless.py": HEADLESS,
    "gui/commands/steps.py": {name for name, of in OPTIONS.items() if "--fresh" in of},
    "gui/commands/terminal.py": OPENING,
    "gui/commands/model_download.py": {"intervene", "positions"},
    "gui/commands/training_command.py": {"train"},
    "geometry/training/tokenization.py": {"train"},
}
"""Commands that print the sentences of a module, besides those named after their command."""


def sentences(path: Path) -> Iterator[str]:
    """Yield the texts in a module, without docstrings, f-strings with what they contain as "…"."""
    tree = ast.parse(path.read_text("utf-8"))
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            inside.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(getattr(part, "value", "…")) if isinstance(part, ast.Constant)
                          else "…" for part in node.values)  # fmt: skip
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def printed_by(module: str) -> set[str]:
    """Return the commands that print a module's sentences; none for those of the window too."""
    if module in PRINTED_BY:
        return PRINTED_BY[module]
    of_one = re.fullmatch(r"gui/commands/(\w+)_command\.py", module)
    return {of_one[1]} if of_one else set()


def unknown_advice(module: str, text: str) -> Iterator[str]:
    """Yield what a text of a module advises and does not exist for whom it is printed."""
    for program in OTHER_PROGRAMS:
        text = text.replace(program, "")
    yield from (option for option in BEFORE.findall(text) if option not in OF_ALL)
    text = BEFORE.sub("", text)
    commands = {name for name in NAMED.findall(text) if name in OPTIONS}
    yield from (name for name in NAMED.findall(text) if name not in (*OPTIONS, "bookmarks"))
    for option in OPTION.findall(text):
        readers = commands or printed_by(module)
        if not readers or any(option not in OPTIONS[name] for name in readers):
            yield option
    titles = {(one.menu.rstrip("-"), one.title) for one in COMMANDS}
    for title, menu, other_menu, other_title in IN_MENU.findall(text):
        if (menu or other_menu, (title or other_title).strip()) not in titles:
            yield f"{menu or other_menu} › {title or other_title}"


def modules() -> Iterator[Path]:
    for package in ("gui", "geometry"):
        yield from sorted((ROOT / package).rglob("*.py"))


def test_what_sentences_advise_exists():
    found, unknown = 0, []
    for path in modules():
        module = path.relative_to(ROOT).as_posix()
        if module == "gui/commands/arguments.py":  # which defines options
            continue
        for text in sentences(path):
            found += bool(OPTION.search(text) or NAMED.search(text) or IN_MENU.search(text))
            unknown += [(module, advice) for advice in unknown_advice(module, text)]
    assert unknown == []
    assert found > 20


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("geometry/models/model.py", "Start “helixscope --fresh”."),
        ("geometry/models/model.py", "Choose it with --table."),  # the window has no options
        ("gui/commands/table_command.py", "Allow it with --nothing."),
        ("gui/commands/training_command.py", "Choose it with --table."),
        ("gui/window/window.py", "“helixscope survey … --fold-ln” keeps them."),
        ("geometry/a.py", "Measure it with “helixscope measure”."),
        ("gui/window/a.py", "Turn off “Work online” in the File menu."),
        ("gui/window/a.py", "Use “View › Open project…”."),
    ],
)
def test_advice_that_does_not_exist_is_found(module, text):
    assert [*unknown_advice(module, text)]


@pytest.mark.parametrize("name", sorted(OPENING))
def test_commands_take_what_errors_about_tables_advise(name):
    assert {"--table", "--family", "--first-rows"} <= OPTIONS[name]
    assert any(getattr(one, "metavar", "") or one.name in ("source", "sources")
               for one in _COMMANDS[name].params)  # fmt: skip
