"""The user guide tells of everything there is, and of nothing that is not."""

import importlib
import re
from pathlib import Path

import pytest
from typer.main import get_group

from geometry.checkpoints.suffixes import FILE_SUFFIXES
from geometry.models.sources.opening import open_model
from gui.export.pictures import still_session
from gui.export.window_data import WindowData
from gui.services.lessons.reader import parse_lesson
from gui.window.actions import COMMANDS
from gui.window.arrangement.docks import DOCKS
from main import app
from tests.scripts import run_script
from tools.make_man import PAGE, man_page

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "resources" / "guide"
PAGES = sorted(GUIDE.glob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
WRITTEN = {
    (name, option)
    for name, command in get_group(app).commands.items()
    for parameter in command.params
    for option in (*parameter.opts, *parameter.secondary_opts)
    if option.startswith("--")
}


EXAMPLES = [
    (page.name, example)
    for page in PAGES
    for example in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)
]


def read(page: Path) -> str:
    """Return a page with its lines joined: a title may go over the end of one."""
    return " ".join(page.read_text("utf-8").split())


def own_words() -> str:
    """Return all pages that somebody wrote."""
    return " ".join(read(page) for page in PAGES if page.name != "keys.md")


def without_code(text: str) -> str:
    return re.sub(r"(`{3,}).*?\1", "", text, flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return what links may lead to within a page, as GitHub names it."""
    titles = re.findall(r"^#+ (.+)$", without_code(page.read_text("utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_guide_tells_of_every_command():
    said = own_words()
    themes = said.partition("View → Theme")[2][:200]

    missing = [
        command.name
        for command in COMMANDS
        if command.title.rstrip("…") not in (themes if command.menu.endswith("Theme") else said)
    ]

    assert missing == []


def test_the_page_of_panels_tells_of_every_panel():
    page = (GUIDE / "panels.md").read_text("utf-8")

    assert [dock.title for dock in DOCKS if f"\n## {dock.title}\n" not in page] == []


@pytest.mark.parametrize("name", ["keys", "families", "formats"])
def test_a_page_that_a_script_writes_is_what_it_writes(name):
    made = importlib.import_module(f"tools.make_{name}")

    assert (GUIDE / f"{name}.md").read_text("utf-8") == getattr(made, f"{name}_page")()


def test_the_manual_page_is_what_its_script_writes():
    assert PAGE.read_text("utf-8") == man_page()


def test_the_page_of_files_has_every_suffix_that_is_opened():
    page = (GUIDE / "formats.md").read_text("utf-8")

    assert [suffix for suffix in FILE_SUFFIXES if f"{suffix}`" not in page] == []


def test_command_page_lists_every_option():
    page = (GUIDE / "command-line.md").read_text("utf-8")
    root = {"--version", "--safe", "--install-completion", "--show-completion", "--help"}

    assert [pair for pair in sorted(WRITTEN) if not is_told(page, *pair)] == []
    assert set(re.findall(r"--[a-z][a-z0-9-]+", page)) - {o for _, o in WRITTEN} <= root


def is_told(page: str, name: str, option: str) -> bool:
    """Tell whether an option is in its command's section, or said above to be that command's."""
    common, _, rest = page.partition("\n## open\n")
    section = f"\n## open\n{rest}".partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    if re.search(rf"`{option}[ `]", section):
        return True
    of = [line.split("|")[2] for line in common.splitlines() if line.startswith(f"| `{option}")]
    return any((" all " in said) != (f"`{name}`" in said) for said in of)


@pytest.mark.parametrize(
    "page",
    [*PAGES, *sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md"))],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_every_link_and_picture_is_there(page):
    links = [link for link in LINK.findall(without_code(page.read_text("utf-8")))
             if not re.match(r"https?:|panel:|open:", link)]  # fmt: skip

    for link in links:
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.slow
@pytest.mark.parametrize(("page", "example"), EXAMPLES, ids=[page for page, _ in EXAMPLES])
def test_every_example_runs(page, example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page == "saving.md":
        # What it reads.
        session = still_session(open_model("sinusoidal:128x32"))
        WindowData.of(session).write(tmp_path / "gpt2.npz")
    printed = run_script(example)
    assert printed or (tmp_path / "curve.png").stat().st_size > 5000


def test_the_contents_lead_to_every_page():
    listed = set(LINK.findall((GUIDE / "README.md").read_text("utf-8")))

    assert listed >= {page.name for page in PAGES} - {"README.md"}
    assert len(PAGES) == 21


def test_the_lesson_of_the_guide_is_one():
    text = (GUIDE / "lessons.md").read_text("utf-8")
    (example,) = re.findall(r"^````markdown\n(.*?)^````$", text, flags=re.DOTALL | re.MULTILINE)

    lesson = parse_lesson(example, "lessons.md", {dock.name for dock in DOCKS})

    assert [step.title for step in lesson.steps] == ["What a norm is"]
